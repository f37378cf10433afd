// Command unbounded fails a build on calls that nothing bounds; package lint/unbounded has the rules. It is a tool of
// go vet and, for what go vet does not know (a baseline), a command of its own that runs go vet with itself:
//
//	go vet -vettool=$(which unbounded) ./...
//	unbounded -baseline .unbounded ./...
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/tools/go/analysis/unitchecker"

	"example.com/holdfast/lint/unbounded"
)

func main() {
	if asked := os.Args[1:]; isVet(asked) {
		unbounded.Analyzer.Flags.VisitAll(func(f *flag.Flag) { flag.Var(f.Value, f.Name, f.Usage) })
		unitchecker.Main(unbounded.Analyzer)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// isVet tells the command lines by which go vet speaks to its tool.
func isVet(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(last, ".cfg")
}
