// Command shapes prints, for each shape of call in the analyzer's testdata, what unbounded and other linters say of it:
// a table in Markdown. The shapes that nothing bounds should all be found, the others not.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	golangci := flag.String("golangci-lint", "golangci-lint", "the `program` that brings the other linters")
	testdata := flag.String("testdata", "lint/unbounded/testdata", "the `folder` of the module with the shapes")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *testdata, *golangci); err != nil {
		fmt.Fprintln(os.Stderr, "shapes:", err)
		os.Exit(1)
	}
}

// others are the linters beside unbounded: go vet by itself, the rest out of golangci-lint.
var others = []string{"go vet", "staticcheck", "noctx", "bodyclose", "gosec", "contextcheck"}

func run(ctx context.Context, out io.Writer, testdata, golangci string) error {
	said, err := judge(testdata)
	if err != nil {
		return err
	}
	vet, err := goVet(ctx, testdata)
	if err != nil {
		return err
	}
	rest, err := golangciLint(ctx, testdata, golangci)
	if err != nil {
		return err
	}
	said = slices.Concat(said, vet, rest)
	for _, part := range []struct{ folder, title string }{
		{"unbounded", "nothing bounds"},
		{"bounded", "something bounds"},
	} {
		shapes, err := readShapes(testdata, part.folder)
		if err != nil {
			return err
		}
		if err := printTable(out, part.title, shapes, said); err != nil {
			return err
		}
	}
	return nil
}

// remark is what a linter says of a line.
type remark struct {
	linter string
	rule   string
	file   string // from its folder on: unbounded/unbounded.go
	line   int
}

// by tells for one shape which rules a linter names, without repetition.
func (s shape) by(linter string, said []remark) (rules []string) {
	for _, r := range said {
		if r.linter == linter && r.file == s.file && s.from <= r.line && r.line < s.to && !slices.Contains(rules, r.rule) {
			rules = append(rules, r.rule)
		}
	}
	return rules
}

func printTable(out io.Writer, title string, shapes []shape, said []remark) error {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s | unbounded | %s |\n|---|---|%s\n",
		title, strings.Join(others, " | "), strings.Repeat(":-:|", len(others)))
	sums := make([]int, len(others)+1)
	for _, s := range shapes {
		cells := []string{"`" + s.title + "`", strings.Join(s.by("unbounded", said), ", ")}
		if cells[1] != "" {
			sums[0]++
		}
		for i, linter := range others {
			cell := ""
			if len(s.by(linter, said)) > 0 {
				cell = "●"
				sums[i+1]++
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintf(&text, "| **spoken of, of %d** |", len(shapes))
	for _, n := range sums {
		fmt.Fprintf(&text, " **%d** |", n)
	}
	_, err := fmt.Fprintf(out, "%s\n\n", text.String())
	return err
}
