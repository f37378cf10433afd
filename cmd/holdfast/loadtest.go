package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/holdfast/loadtest"
)

// loadtestCommand drives a shop as people do, hurts it, and judges it.
type loadtestCommand struct {
	Run  loadtestRunCommand  `cmd:"" help:"Play a scenario. Exit code 0: passed, 1: a bar was missed, 2: could not run, 3: void (this machine could not send the load)."`
	List loadtestListCommand `cmd:"" help:"List the scenarios."`
}

type loadtestRunCommand struct {
	Scenario     string   `arg:"" help:"The name of a scenario, see 'holdfast loadtest list', or a YAML file."`
	Acts         []string `placeholder:"ACT,…" help:"Only these acts, in this order. Default: all; against a --target, which cannot be opened afresh, the last."`
	Defences     string   `placeholder:"EXPR" help:"Instead of the acts a single one with these defences, as all,-timeouts,-deadlines. Prints what happens and judges nothing."`
	FaultSeconds float64  `placeholder:"N" help:"The length of the fault. Default: the scenario's."`
	Seed         uint64   `default:"1" help:"What is left to chance is decided by this number. Default: 1."`
	JSON         string   `name:"json" placeholder:"FILE" help:"Write the result to FILE."`
	Target       string   `placeholder:"local|compose|FILE" help:"Load a shop that is open, as other commands find it, instead of opening a fresh one for each act."`
	logsFlag
}

type loadtestListCommand struct{}

func (c *loadtestRunCommand) Run(ctx context.Context, t terminal) error {
	scenario, err := loadtest.Load(c.Scenario)
	if err != nil {
		return err
	}
	sink, closeLogs, err := c.open(dropLogs)
	if err != nil {
		return err
	}
	defer func() { _ = closeLogs() }()

	o := loadtest.Options{
		Open: c.opener(sink), Acts: c.Acts, Defences: c.Defences, FaultSeconds: c.FaultSeconds, Seed: c.Seed,
		Progress: t.err,
	}
	if c.Target != "" && len(o.Acts) == 0 && c.Defences == "" {
		o.Acts = []string{scenario.Acts[len(scenario.Acts)-1].Name}
	}
	result, err := loadtest.Run(ctx, scenario, o)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted: nothing was judged")
		}
		return err
	}
	if c.JSON != "" {
		if err := writeJSON(c.JSON, result); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if err := result.WriteText(t.out); err != nil {
		return err
	}
	if code := result.ExitCode(); code != 0 {
		return exitError{code: code}
	}
	return nil
}

// opener opens the shop of an act: a fresh one in processes of its own, or the one that stands.
func (c *loadtestRunCommand) opener(log logSink) loadtest.Opener {
	if c.Target == "" {
		return freshShops(log, c.Logs == "")
	}
	return func(ctx context.Context, _ loadtest.Environment) (loadtest.Shop, error) {
		return targetFlag{c.Target}.addresses(ctx)
	}
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

func writeJSON(file string, result *loadtest.Result) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(result.WriteJSON(f), f.Close())
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
