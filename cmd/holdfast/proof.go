package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/holdfast/loadtest"
)

type loadtestProofCommand struct {
	Scenarios    []string `arg:"" optional:"" help:"Only these; the verdicts on others stay as proof.json has them. Default: all of 'holdfast loadtest list'."`
	FaultSeconds float64  `placeholder:"N" help:"The length of every phase called fault. Default: the scenario's."`
	Seed         uint64   `default:"1" help:"What is left to chance is decided by this number."`
	Out          string   `default:"out" placeholder:"DIR" help:"Where NAME.json of each scenario and proof.json are written. Default: out."`
	logsFlag
}

// Run plays scenarios. A void one is played once more: the machine may have had something else to do.
func (c *loadtestProofCommand) Run(ctx context.Context, t terminal) error {
	names := c.Scenarios
	if len(names) == 0 {
		names = loadtest.Names()
	}
	scenarios := make([]*loadtest.Scenario, len(names)) // all are read before the first is played
	for i, name := range names {
		var err error
		if scenarios[i], err = loadtest.Load(name); err != nil {
			return err
		}
	}
	sink, closeLogs, err := c.open(dropLogs)
	if err != nil {
		return err
	}
	defer func() { _ = closeLogs() }()
	o := loadtest.Options{
		Open: freshShops(sink, c.Logs == ""), FaultSeconds: c.FaultSeconds, Seed: c.Seed, Progress: t.err,
	}
	proof, err := c.others(names)
	if err != nil {
		return err
	}
	for i, s := range scenarios {
		lasts, err := s.Lasts(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.err, "\n%s (%d of %d): %s\n%s\n", s.Name, i+1, len(scenarios), lasts,
			strings.Join(strings.Fields(s.About), " "))
		var void *loadtest.Result
		r, err := loadtest.Run(ctx, s, o)
		if err == nil && r.Verdict == loadtest.Void {
			fmt.Fprintf(t.err, "%s: VOID, once more\n  %s\n", s.Name, strings.Join(r.Reasons, "\n  "))
			void = r
			r, err = loadtest.Run(ctx, s, o)
		}
		if err != nil && ctx.Err() != nil {
			return errors.New("interrupted: the proof is not whole")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		proof.Add(r, void)
		err = errors.Join(r.WriteText(t.out), writeJSON(filepath.Join(c.Out, s.Name+".json"), r),
			writeJSON(filepath.Join(c.Out, "proof.json"), &proof)) // so far: an interrupted proof is worth something, too
		if err != nil {
			return err
		}
		fmt.Fprintln(t.out)
	}
	if err := proof.WriteText(t.out); err != nil {
		return err
	}
	if code := proof.ExitCode(); code != 0 {
		return exitError{code: code}
	}
	return nil
}

// others is the proof as it stands without the scenarios that are to be played.
func (c *loadtestProofCommand) others(names []string) (proof loadtest.Proof, err error) {
	if len(c.Scenarios) == 0 {
		return proof, nil
	}
	file := filepath.Join(c.Out, "proof.json")
	switch text, err := os.ReadFile(file); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return proof, err
	default:
		if err := json.Unmarshal(text, &proof); err != nil {
			return proof, fmt.Errorf("%s is no proof that could be added to: %w", file, err)
		}
	}
	proof.Scenarios = slices.DeleteFunc(proof.Scenarios, func(s loadtest.ProofScenario) bool {
		return slices.Contains(names, s.Scenario)
	})
	return proof, nil
}
