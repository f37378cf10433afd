package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"example.com/holdfast/lint/unbounded"
)

const patterns = "./shapes/..."

// judge is what unbounded says.
func judge(testdata string) ([]remark, error) {
	config := &packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: testdata}
	loaded, err := packages.Load(config, patterns)
	if err != nil {
		return nil, err
	}
	if n := packages.PrintErrors(loaded); n > 0 {
		return nil, fmt.Errorf("%d errors in %s", n, testdata)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{unbounded.Analyzer}, loaded, nil)
	if err != nil {
		return nil, err
	}
	var said []remark
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, action.Err
		}
		for _, d := range action.Diagnostics {
			at := action.Package.Fset.Position(d.Pos)
			said = append(said, remark{"unbounded", d.Category, lastTwo(at.Filename), at.Line})
		}
	}
	return said, nil
}

func goVet(ctx context.Context, testdata string) ([]remark, error) {
	out, err := output(ctx, testdata, "go", "vet", "-json", patterns)
	if err != nil {
		return nil, err
	}
	var said []remark
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var found map[string]map[string][]struct{ Posn string }
		if err := dec.Decode(&found); errors.Is(err, io.EOF) {
			return said, nil
		} else if err != nil {
			return nil, fmt.Errorf("go vet: %w", err)
		}
		for _, analyzers := range found {
			for analyzer, diagnostics := range analyzers {
				for _, d := range diagnostics {
					parts := strings.Split(d.Posn, ":") // file:line:column
					line, err := strconv.Atoi(parts[max(0, len(parts)-2)])
					if err != nil {
						return nil, fmt.Errorf("go vet: position %q", d.Posn)
					}
					said = append(said, remark{"go vet", analyzer, lastTwo(strings.Join(parts[:len(parts)-2], ":")), line})
				}
			}
		}
	}
}

func golangciLint(ctx context.Context, testdata, program string) ([]remark, error) {
	program, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	if program, err = filepath.Abs(program); err != nil { // it runs in another folder
		return nil, err
	}
	args := []string{"run", "--no-config", "--default=none", "--issues-exit-code=0", "--show-stats=false",
		"--max-issues-per-linter=0", "--max-same-issues=0", "--uniq-by-line=false", "--output.json.path=stdout"}
	for _, linter := range others[1:] {
		args = append(args, "--enable="+linter)
	}
	out, err := output(ctx, testdata, program, append(args, patterns)...)
	if err != nil {
		return nil, err
	}
	var found struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct {
				Filename string
				Line     int
			}
		}
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	var said []remark
	for _, i := range found.Issues {
		said = append(said, remark{i.FromLinter, i.Text, lastTwo(i.Pos.Filename), i.Pos.Line})
	}
	return said, nil
}

// output is what a program prints when it ends well.
func output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w\n%s%s", program, err, out, exit.Stderr)
	}
	return out, err
}

func lastTwo(path string) string {
	return filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)))
}
