package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"example.com/holdfast/loadtest"
)

// commandWait is how long a command that hurts or heals a shop may take.
const commandWait = time.Minute

// targetShop is a shop that is open already, for a load test.
type targetShop struct {
	flag targetFlag
	terminal
	composed *composed // nil: it is not in containers
}

// open finds the shop. It cannot give it the environment that a scenario asks for, and says so.
func (s *targetShop) open(ctx context.Context, env loadtest.Environment) (loadtest.Shop, error) {
	for _, service := range slices.Sorted(maps.Keys(env)) {
		for _, name := range slices.Sorted(maps.Keys(env[service])) {
			if name != "DEFENCES" { // which are switched
				fmt.Fprintf(s.err, "the scenario wants %s=%s at %s: a shop that is open keeps what it was started with\n",
					name, env[service][name], service)
			}
		}
	}
	if s.flag.Target != "compose" {
		return s.flag.addresses(ctx)
	}
	shop, err := openComposed(ctx)
	if err != nil {
		return nil, err
	}
	s.composed = shop
	return shop, nil
}

// command returns a function that runs a command line in a shell and then looks where the shop is now.
func (s *targetShop) command(line string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, commandWait)
		defer cancel()
		fmt.Fprintf(s.err, "$ %s\n", line)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.WaitDelay = time.Second // for what it leaves behind in the background
		said, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(said)))
		}
		if s.composed != nil {
			_ = s.composed.look(ctx) // a service that is gone for the moment: all are where they were
		}
		return nil
	}
}
