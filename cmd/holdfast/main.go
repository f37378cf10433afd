// Command holdfast is the whole shop in one binary: the five services, the load that tries to break them, and
// the switches and faults in between.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // whoever asks a second time is not kept waiting
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes, the same for every command.
const (
	exitMissed = 1 // it ran, and the answer is no: a bar was missed, a service is not healthy
	exitCannot = 2 // it could not run: bad arguments, a port taken, a shop that does not answer
	exitVoid   = 3 // it ran, and proves nothing: not sent, or an act did not collapse as it must
)

type cli struct {
	Up       upCommand       `cmd:"" help:"Open the whole shop: five processes on this machine, until Ctrl-C."`
	Serve    serveCommand    `cmd:"" help:"Run one service."`
	Balance  balanceCommand  `cmd:"" help:"Stand in for a Kubernetes Service: hand each request to the next replica of a service that is ready."`
	Defences defencesCommand `cmd:"" help:"Show the defences of a running shop, or switch them."`
	Fault    faultCommand    `cmd:"" help:"Hold or refuse a service's requests on purpose."`
	Loadtest loadtestCommand `cmd:"" help:"Break the shop under load and judge what is left of it."`
	Predict  predictCommand  `cmd:"" help:"Say from a few numbers what a slow dependency will do."`
	Simulate simulateCommand `cmd:"" help:"Play a scenario in a second, without a shop: a model of its workers, slots, timeouts and people."`
	Budgets  budgetsCommand  `cmd:"" help:"Print every call between the services, and what bounds it."`
	Advise   adviseCommand   `cmd:"" help:"Watch the calls of a running shop and say which timeouts and slots do not fit them."`
	Health   healthCommand   `cmd:"" help:"Exit 0 when a URL answers 200 within a second."`
}

const description = `A bookshop of five small services that keeps selling while one of them hangs.

    holdfast up                                   open the shop: http://127.0.0.1:8080
    holdfast fault set recommendations hold=90s   let one service hang …
    holdfast defences set none                    … and the shop without its defences with it
    holdfast defences set all                     get it back, the service still hanging
    holdfast loadtest run ninety-seconds          all of that under load, measured and judged`

// run parses args, runs the command that they name and returns the code to exit with.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	type exited int // what kong's own exits (--help) become, so that only main ends the process
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("holdfast"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Vars{"services": serviceNames()},
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(terminal{stdout, stderr}),
	)
	if err != nil {
		panic(err) // the struct above does not make a command line: a mistake of ours
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "holdfast: %v\n%s\n", err, hint(err))
		return exitCannot
	}
	err = parsed.Run()
	if err == nil {
		return 0
	}
	if verdict, ok := errors.AsType[exitError](err); ok {
		code, err = verdict.code, verdict.err
	} else {
		code = exitCannot
	}
	if err != nil {
		fmt.Fprintf(stderr, "holdfast: %v\n", err)
	}
	return code
}

// hint says where to read on after a command line that made no sense.
func hint(err error) string {
	path := "holdfast"
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil {
		if node := e.Context.Selected(); node != nil {
			path = node.FullPath()
		}
	}
	return "Try: " + path + " --help"
}

// terminal is where a command prints: answers to out, everything else to err.
type terminal struct{ out, err io.Writer }

// exitError ends the program with a code of its own. A nil err says nothing more: the command has told it all.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }
