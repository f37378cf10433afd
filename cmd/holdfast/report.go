package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/holdfast/loadtest"
	tell "example.com/holdfast/loadtest/report"
)

type loadtestReportCommand struct {
	Dir      string `arg:"" help:"Where the results are: every *.json that 'loadtest proof', 'run --json' and 'ablate --json' wrote."`
	HTML     string `name:"html" placeholder:"FILE" help:"The page: one file that needs no network. Default: report.html in DIR."`
	Markdown string `placeholder:"FILE" help:"The tables for a README. Default: report.md in DIR."`
}

type loadtestPictureCommand struct {
	Result string `arg:"" help:"What 'loadtest run --json' wrote."`
	Dir    string `arg:"" help:"Where to write SCENARIO-light.svg and SCENARIO-dark.svg."`
}

// Run writes the report and prints it as one line. What the runs came to is their commands' to exit with: a report of
// a missed bar is a report.
func (c *loadtestReportCommand) Run(ctx context.Context, t terminal) error {
	r, err := tell.Read(c.Dir)
	if err != nil {
		return err
	}
	if err := addSimulations(ctx, r); err != nil {
		return err
	}
	page := cmp.Or(c.HTML, filepath.Join(c.Dir, "report.html"))
	if err := writeFile(page, r.WriteHTML); err != nil {
		return err
	}
	tables := cmp.Or(c.Markdown, filepath.Join(c.Dir, "report.md"))
	if err := writeFile(tables, r.WriteMarkdown); err != nil {
		return err
	}
	fmt.Fprintln(t.out, r.Summary())
	fmt.Fprintf(t.err, "%s and %s tell the rest\n", page, tables)
	return nil
}

func (c *loadtestPictureCommand) Run() error {
	r, err := tell.ReadFile(c.Result)
	if err != nil {
		return err
	}
	light, dark := r.Picture()
	for shade, picture := range map[string]string{"light": light, "dark": dark} {
		file := filepath.Join(c.Dir, filepath.Base(r.Results[0].Scenario)+"-"+shade+".svg")
		err := writeFile(file, func(w io.Writer) error {
			_, err := io.WriteString(w, picture)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeRun writes the page of one run.
func writeRun(file string, found *loadtest.Result, of *loadtest.Scenario) error {
	r := tell.Report{
		Results: []*loadtest.Result{found}, Scenarios: map[string]*loadtest.Scenario{found.Scenario: of},
	}
	return writeFile(file, r.WriteHTML)
}

// writeFile makes a file whole or not at all.
func writeFile(file string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
