package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/holdfast/loadtest"
)

// loadtestCommand drives a shop as people do, hurts it, and judges it.
type loadtestCommand struct {
	Run       loadtestRunCommand       `cmd:"" help:"Play a scenario. Exit code 0: passed, 1: a bar was missed, 2: could not run, 3: void (it proves nothing: this machine could not send the load, or an act did not collapse as it must)."`
	Proof     loadtestProofCommand     `cmd:"" help:"Play every scenario, one after the other, and keep what each has shown. Exit codes as of run."`
	Ablate    loadtestAblateCommand    `cmd:"" help:"Play a scenario's fault with all defences, with none, with each alone and with each missing: what each is worth."`
	Endurance loadtestEnduranceCommand `cmd:"" help:"Measure the capacity, then send two fifths of it for five minutes while recommendations is held. Exit codes as of run."`
	Capacity  loadtestCapacityCommand  `cmd:"" help:"Measure what the defences cost: book pages a second with all and with none, turn about."`
	Report    loadtestReportCommand    `cmd:"" help:"Tell what the results in a directory have shown: as a page, as Markdown, and as a line."`
	Picture   loadtestPictureCommand   `cmd:"" help:"Draw a result's acts against each other, for a README."`
	List      loadtestListCommand      `cmd:"" help:"List the scenarios."`
}

type loadtestRunCommand struct {
	Scenario     string   `arg:"" help:"The name of a scenario, see 'holdfast loadtest list', or a YAML file."`
	Acts         []string `placeholder:"ACT" help:"Only these acts, in this order. Default: all; against a --target, which cannot be opened afresh, the last."`
	Defences     string   `placeholder:"EXPR" help:"Instead of the acts a single one with these defences, as all,-timeouts,-deadlines. Prints what happens and judges nothing."`
	FaultSeconds float64  `placeholder:"N" help:"The length of the fault. Default: the scenario's."`
	Target       string   `placeholder:"local|compose|FILE" help:"Load a shop that is open, as other commands find it, instead of opening a fresh one for each act."`
	Hurt         string   `placeholder:"COMMAND" help:"Run COMMAND in a shell where the scenario's faults would begin, in their place, as 'docker compose pause recommendations'. Needs --target and --heal."`
	Heal         string   `placeholder:"COMMAND" help:"Run COMMAND where the faults would end, or the run does, however it ends: 'docker compose unpause recommendations'."`
	HTML         string   `name:"html" placeholder:"FILE" help:"Write the result to FILE as a page: pictures and tables, one file that needs no network."`
	measureFlags
}

type loadtestCapacityCommand struct {
	Pairs    int           `default:"5" help:"How often each side is measured."`
	InFlight int           `default:"16" help:"Requests under way at any instant."`
	Each     time.Duration `default:"4s" help:"How long one measurement lasts."`
	measureFlags
}

type loadtestAblateCommand struct {
	Scenario     string  `arg:"" help:"The name of a scenario, see 'holdfast loadtest list', or a YAML file. Its last act is played."`
	FaultSeconds float64 `placeholder:"N" help:"The length of the fault. Default: the scenario's."`
	measureFlags
}

type loadtestEnduranceCommand struct {
	Minutes float64 `default:"5" help:"How long recommendations is held, 2 to 600."`
	measureFlags
}

type loadtestListCommand struct{}

// measureFlags are what everything that measures has in common.
type measureFlags struct {
	Seed uint64 `default:"1" help:"What is left to chance is decided by this number."`
	JSON string `name:"json" placeholder:"FILE" help:"Write the result to FILE."`
	logsFlag
}

func (c *loadtestRunCommand) Run(ctx context.Context, t terminal) error {
	scenario, err := loadtest.Load(c.Scenario)
	if err != nil {
		return err
	}
	o := loadtest.Options{
		Acts: c.Acts, Defences: c.Defences, FaultSeconds: c.FaultSeconds, Seed: c.Seed, Progress: t.err,
	}
	if c.Target != "" && len(o.Acts) == 0 && c.Defences == "" {
		o.Acts = []string{scenario.Acts[len(scenario.Acts)-1].Name}
	}
	if (c.Hurt != "") != (c.Heal != "") || c.Hurt != "" && c.Target == "" {
		return errors.New("--hurt, --heal and --target go together: what is hurt must be healed again, " +
			"and be a shop that is open")
	}
	var found *loadtest.Result
	err = c.measure(ctx, t, func(fresh loadtest.Opener) (report, error) {
		o.Open = fresh
		if c.Target != "" {
			shop := targetShop{flag: targetFlag{c.Target}, terminal: t}
			o.Open = shop.open
			if c.Hurt != "" {
				o.Outside = &loadtest.Outside{Hurt: shop.command(c.Hurt), Heal: shop.command(c.Heal)}
			}
		}
		var err error
		found, err = loadtest.Run(ctx, scenario, o)
		return found, err
	})
	if c.HTML != "" && found != nil {
		if err := writeRun(c.HTML, found, scenario); err != nil {
			return err
		}
	}
	return err
}

func (c *loadtestCapacityCommand) Run(ctx context.Context, t terminal) error {
	return c.measure(ctx, t, func(fresh loadtest.Opener) (report, error) {
		return loadtest.Capacity(ctx, loadtest.CapacityOptions{
			Open: fresh, Pairs: c.Pairs, InFlight: c.InFlight, Each: c.Each, Seed: c.Seed, Progress: t.err,
		})
	})
}

func (c *loadtestEnduranceCommand) Run(ctx context.Context, t terminal) error {
	return c.measure(ctx, t, func(fresh loadtest.Opener) (report, error) {
		return loadtest.Endure(ctx, loadtest.EnduranceOptions{
			Open: fresh, Minutes: c.Minutes, Seed: c.Seed, Progress: t.err,
		})
	})
}

func (c *loadtestAblateCommand) Run(ctx context.Context, t terminal) error {
	scenario, err := loadtest.Load(c.Scenario)
	if err != nil {
		return err
	}
	return c.measure(ctx, t, func(fresh loadtest.Opener) (report, error) {
		return loadtest.Ablate(ctx, scenario, loadtest.Options{
			Open: fresh, FaultSeconds: c.FaultSeconds, Seed: c.Seed, Progress: t.err,
		})
	})
}

// report is what a measurement has found.
type report interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
	ExitCode() int
}

// measure runs a measurement that opens its shops by fresh, prints and keeps what it has found, and exits with its
// verdict.
func (f measureFlags) measure(ctx context.Context, t terminal, run func(fresh loadtest.Opener) (report, error)) error {
	sink, closeLogs, err := f.open(dropLogs)
	if err != nil {
		return err
	}
	defer func() { _ = closeLogs() }()
	found, err := run(freshShops(sink, f.Logs == ""))
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing was judged")
	}
	if err != nil {
		return err
	}
	if f.JSON != "" {
		if err := writeJSON(f.JSON, found); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if err := found.WriteText(t.out); err != nil {
		return err
	}
	if code := found.ExitCode(); code != 0 {
		return exitError{code: code}
	}
	return nil
}

// freshShops opens shops of five processes on free ports. Quiet ones log nothing below a warning: writing what
// nobody reads would cost the sender its processor.
func freshShops(log logSink, quiet bool) loadtest.Opener {
	environ := append(plainEnviron(), "DRAIN_DELAY=0s", "DRAIN_TIMEOUT=2s") // nobody is left whom it could serve
	if quiet {
		environ = append(environ, "LOG_LEVEL=warn")
	}
	l := launcher{environ: environ, freePorts: true, log: log}
	return func(ctx context.Context, env loadtest.Environment) (loadtest.Shop, error) { return l.open(ctx, env) }
}

func writeJSON(file string, found interface{ WriteJSON(io.Writer) error }) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(found.WriteJSON(f), f.Close())
}

func (loadtestListCommand) Run(t terminal) error {
	var rows [][]string
	for _, name := range loadtest.Names() {
		s, err := loadtest.Load(name)
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, strings.Join(strings.Fields(s.About), " ")})
	}
	return printTable(t.out, rows)
}
