package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.com/holdfast/loadtest"
	tell "example.com/holdfast/loadtest/report"
	"example.com/holdfast/loadtest/simulate"
)

// simulateCommand answers in seconds what a run answers in minutes, as far as a model can.
type simulateCommand struct {
	Scenario simulateScenarioCommand `cmd:"" default:"withargs" help:"Play a scenario: 'holdfast simulate slow-map' will do."`
	Against  simulateAgainstCommand  `cmd:"" help:"Set simulations beside what was measured. Exit 1 where one is not near."`
	Scale    simulateScaleCommand    `cmd:"" help:"Hold a leaf that many instances of a service call, defended."`
}

// seedFlag is what is left to chance.
type seedFlag struct {
	Seed uint64 `default:"1" help:"Decides all that is left to chance. The same seed gives the same output."`
}

type simulateScenarioCommand struct {
	Scenario string `arg:"" help:"One of the scenarios, or a file."`
	seedFlag
}

type simulateAgainstCommand struct {
	Dir string `arg:"" help:"Where the results are: what 'loadtest proof' or 'loadtest run --json' wrote."`
}

type simulateScaleCommand struct {
	Instances []int   `default:"1,10,100,1000" help:"Of the catalogue; several: one row each. 1 to 10000."`
	Rate      float64 `default:"200" help:"Pages a second of each instance, above 0 and at most 1000."`
	seedFlag
}

// Run prints what became of everybody, and when services had no worker left.
func (c *simulateScenarioCommand) Run(ctx context.Context, t terminal) error {
	s, err := loadtest.Load(c.Scenario)
	if err != nil {
		return err
	}
	acts, err := simulate.Scenario(ctx, s, house(), c.Seed)
	if err != nil {
		return err
	}
	if why, ok := simulate.Untold[s.Name]; ok {
		fmt.Fprintf(t.err, "Not told of %s: %s.\n", s.Name, why)
	}
	return printActs(t.out, acts)
}

// house is what the services declare, for the model.
func house() simulate.Shop {
	shop := simulate.Shop{}
	for _, d := range declarations {
		shop[d.service] = simulate.Declaration{Edges: d.edges, Routes: d.routes}
	}
	return shop
}

func printActs(w io.Writer, acts []loadtest.ActResult) error {
	rows := [][]string{{"act", "phase", "class", "asked", "good", "fallback", "p50/p99 ms", "no worker left"}}
	for _, a := range acts {
		for _, p := range a.Phases {
			full := ""
			if p.Name == "fault" {
				full = fullAt(a.Measured.SaturationS)
			}
			for _, name := range slices.Sorted(maps.Keys(p.Classes)) {
				c := p.Classes[name]
				if c.Asked == 0 {
					continue
				}
				rows = append(rows, []string{a.Name, p.Name, name, fmt.Sprint(c.Asked), fmt.Sprintf("%.1f %%", 100*c.GoodRatio),
					fmt.Sprint(c.Fallback), fmt.Sprintf("%.0f/%.0f", c.P50, c.P99), full})
				full = ""
			}
		}
	}
	return printTable(w, rows)
}

// fullAt lists the services and seconds, the first first.
func fullAt(seconds map[string]float64) string {
	var all []string
	names := slices.SortedFunc(maps.Keys(seconds), func(a, b string) int {
		if seconds[a] < seconds[b] {
			return -1
		}
		return strings.Compare(a, b)
	})
	for _, service := range names {
		all = append(all, fmt.Sprintf("%s %.2f s", service, seconds[service]))
	}
	return strings.Join(all, ", ")
}

// Run prints the table.
func (c *simulateAgainstCommand) Run(ctx context.Context, t terminal) error {
	r, err := tell.Read(c.Dir)
	if err != nil {
		return err
	}
	if err := addSimulations(ctx, r); err != nil {
		return err
	}
	rows, untold, near := r.Simulation()
	if err := printTable(t.out, rows); err != nil {
		return err
	}
	for _, line := range untold {
		fmt.Fprintln(t.out, line)
	}
	if near {
		return nil
	}
	return exitError{code: exitMissed}
}

// addSimulations plays the scenarios of a report beside its runs, each with the seed of its run.
func addSimulations(ctx context.Context, r *tell.Report) error {
	r.Simulated, r.Untold = map[string][]loadtest.ActResult{}, simulate.Untold
	for _, run := range r.Results {
		s := r.Scenarios[run.Scenario]
		if s == nil {
			continue // it does not come with the program
		}
		played, ok := s.As(run)
		if !ok {
			continue
		}
		acts, err := simulate.Scenario(ctx, played, house(), run.Seed)
		if err != nil {
			return err
		}
		r.Simulated[run.Scenario] = acts
	}
	return nil
}

// Run prints a row for each number of instances, and what the jitter of their breakers does.
func (c *simulateScaleCommand) Run(ctx context.Context, t terminal) error {
	rows := [][]string{{"instances", "pages/s", "good", "calls in flight", "of slots", "calls in 10 ms, healthy",
		"probes", "in 10 ms", "without jitter", "carousels back"}}
	for _, n := range c.Instances {
		jittered := simulate.Scale{Instances: n, Rate: c.Rate, Seed: c.Seed}
		straight := jittered
		straight.NoJitter = true
		both, err := c.play(ctx, jittered, straight)
		if err != nil {
			return err
		}
		j, s := both[0], both[1]
		rows = append(rows, []string{
			fmt.Sprint(n), fmt.Sprintf("%.0f", c.Rate*float64(n)), fmt.Sprintf("%.2f %%", 100*float64(j.Good)/float64(j.Pages)),
			fmt.Sprint(j.InFlight), fmt.Sprint(j.Slots), fmt.Sprint(j.Healthy),
			fmt.Sprint(j.Probes), fmt.Sprint(j.Most), fmt.Sprint(s.Most), fmt.Sprintf("%.1f s", j.Back.Seconds()),
		})
	}
	return printTable(t.out, rows)
}

// play plays each, all at once: one simulation keeps one processor busy.
func (c *simulateScaleCommand) play(ctx context.Context, all ...simulate.Scale) ([]simulate.Scaled, error) {
	scaled := make([]simulate.Scaled, len(all))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range all {
		g.Go(func() (err error) {
			scaled[i], err = s.Run(ctx, house())
			return err
		})
	}
	return scaled, g.Wait()
}
