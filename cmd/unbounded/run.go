package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"example.com/holdfast/lint/unbounded"
)

const usage = `unbounded fails a build on calls that nothing bounds.

    unbounded [flags] [packages]                    ./... unless said otherwise
    go vet -vettool=$(which unbounded) [packages]   the same within go vet

Exit code 0: nothing found (with -json, -fix and -update: it ran); 1: findings, or a package that does not build; 2: a
command line that makes no sense.

`

// The exit codes are go vet's.
const (
	exitFound = 1
	exitUsage = 2
)

// command is what a command line asks for.
type command struct {
	handOn   []string // flags for go vet
	packages []string
	rules    []string // empty: all
	json     bool
	fix      bool
	baseline string
	update   bool
}

// run parses args, runs go vet with this program as its tool, and tells what that found.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintf(stderr, "unbounded: %v\nTry: unbounded -help\n", err)
		return exitUsage
	}
	code, err := c.run(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "unbounded: %v\n", err)
		return exitFound
	}
	return code
}

func parse(args []string, stderr io.Writer) (*command, error) {
	c := &command{}
	flags := flag.NewFlagSet("unbounded", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run tells of what is wrong
	flags.BoolVar(&c.json, "json", false, "print the findings as a JSON array on standard output, and exit with 0")
	flags.BoolVar(&c.fix, "fix", false, "apply the fixes, which are those that need no number to be invented")
	flags.StringVar(&c.baseline, "baseline", "", "a `file` of findings that do not count; see -update")
	flags.BoolVar(&c.update, "update", false, "write what is found now to the baseline")
	flags.String("tags", "", "build `tags`, as for go build")
	unbounded.Analyzer.Flags.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
	flags.Usage = func() {}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		fmt.Fprintf(stderr, "\n%s\n", unbounded.Analyzer.Doc)
		return nil, err
	case err != nil:
		return nil, err
	case c.update && c.baseline == "":
		return nil, errors.New("-update needs -baseline, the file to write")
	case c.fix && (c.json || c.baseline != ""):
		return nil, errors.New("-fix prints no findings: it goes with neither -json nor -baseline")
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "rules":
			c.rules = strings.Split(f.Value.String(), ",")
			if !c.fix {
				return // left out here: another flag, and go vet would look at every dependency again
			}
			fallthrough
		case "tests", "generated", "tags":
			c.handOn = append(c.handOn, "-"+f.Name+"="+f.Value.String())
		}
	})
	if c.packages = flags.Args(); len(c.packages) == 0 {
		c.packages = []string{"./..."}
	}
	return c, nil
}

// run runs go vet and tells what it found.
func (c *command) run(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	args := append([]string{"vet", "-vettool=" + self}, c.handOn...)
	if c.fix {
		return goVet(ctx, append(append(args, "-fix"), c.packages...), stdout, stderr)
	}
	var out bytes.Buffer
	code, err := goVet(ctx, append(append(args, "-json"), c.packages...), &out, stderr)
	if err != nil {
		return 0, err
	}
	found, err := readFindings(&out, dir)
	if err != nil {
		return 0, err
	}
	found = slices.DeleteFunc(found, func(f finding) bool {
		return len(c.rules) > 0 && !slices.Contains(c.rules, f.Rule)
	})
	if c.update {
		if code != 0 {
			return code, errors.New("the baseline is as it was, for not everything could be looked at")
		}
		return 0, writeBaseline(c.baseline, dir, found)
	}
	if c.baseline != "" {
		var gone int
		if found, gone, err = compareBaseline(c.baseline, dir, found); err != nil {
			return 0, err
		}
		if gone > 0 {
			fmt.Fprintf(stderr, "unbounded: %s\n", tellGone(gone, c.baseline))
		}
	}
	if c.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return code, encoder.Encode(append([]finding{}, found...)) // none is [], not null
	}
	for _, f := range found {
		fmt.Fprintln(stderr, f)
		code = max(code, exitFound)
	}
	return code, nil
}

func tellGone(n int, baseline string) string {
	if n == 1 {
		return fmt.Sprintf("1 finding of %s is gone: -update takes it out, so that it does not come back", baseline)
	}
	return fmt.Sprintf("%d findings of %s are gone: -update takes them out, so that none comes back", n, baseline)
}

// goVet runs the go command and returns its exit code; an error, if it did not run.
func goVet(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}
