// Command bench measures what a guarded call costs beside what people use today: each row in turn, ten rounds, so
// that a slow moment of the machine falls on all of them; medians are printed, with the ratio to failsafe-go's row
// of the same kind.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
)

// row is one thing measured. Rows of a kind do the same with different means.
type row struct {
	kind, means string
	run         func(b *testing.B)
}

func (r row) name() string { return r.kind + "/" + r.means }

// result is a row's medians, as out/bench.json has them.
type result struct {
	Name   string  `json:"name"`
	NS     float64 `json:"ns"`
	Allocs int64   `json:"allocs"`
	Ratio  float64 `json:"ratio"` // of NS to the reference row of the same kind; 0: there is none
}

func main() {
	rounds := flag.Int("rounds", 10, "how often each row is measured")
	out := flag.String("json", "", "write the medians to this `file`")
	testing.Init() // after our flags, or -help would show both lists mixed
	flag.Parse()
	if err := flag.Set("test.benchtime", "100ms"); err != nil {
		fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	rows, err := allRows(ctx)
	if err != nil {
		fatal(err)
	}
	results := measure(rows, *rounds)
	print(results)
	if *out != "" {
		if err := write(*out, results); err != nil {
			fatal(err)
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
}

func measure(rows []row, rounds int) []result {
	times := make([][]float64, len(rows))
	allocs := make([][]int64, len(rows))
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		for i, r := range rows {
			m := testing.Benchmark(r.run)
			times[i] = append(times[i], float64(m.T.Nanoseconds())/float64(m.N))
			allocs[i] = append(allocs[i], m.AllocsPerOp())
		}
	}
	results := make([]result, len(rows))
	reference := map[string]float64{}
	for i, r := range rows {
		results[i] = result{Name: r.name(), NS: median(times[i]), Allocs: median(allocs[i])}
		if r.means == "failsafe-go" || r.means == "bare" && reference[r.kind] == 0 {
			reference[r.kind] = results[i].NS
		}
	}
	for i, r := range rows {
		if ns := reference[r.kind]; ns > 0 {
			results[i].Ratio = results[i].NS / ns
		}
	}
	return results
}

func median[T int64 | float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func print(results []result) {
	fmt.Printf("%s %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "row\tns\tallocs\tratio\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.0f\t%d\t%.2f\t\n", r.Name, r.NS, r.Allocs, r.Ratio)
	}
	w.Flush()
}

func write(file string, results []result) error {
	doc, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(doc, '\n'), 0o644)
}
