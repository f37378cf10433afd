package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/holdfast/internal/defence"
)

// upCommand opens the whole shop and keeps it open until it is told to close.
type upCommand struct {
	FreePorts bool     `help:"Listen on ports that the system chooses, instead of 8080-8084 and 9080-9084."`
	Addresses string   `placeholder:"FILE" help:"Write where every service listens to FILE, for the --target of other commands."`
	Defences  string   `placeholder:"EXPR" help:"The defences to start with, as all, none or all,-bulkheads. Default: all."`
	Set       []string `sep:"none" placeholder:"SERVICE:VAR=VALUE" help:"Give one service (or all) a variable of its environment, as catalogue:WORKERS=50. REPLICAS=3 (2 to 5) makes of it as many processes behind a balancer. May be repeated."`
	logsFlag
}

func (c *upCommand) Run(ctx context.Context, t terminal) error {
	env, err := parseEnvironment(c.Set)
	if err != nil {
		return err
	}
	inherited := os.Environ()
	if c.Defences != "" {
		if _, err := defence.Parse(c.Defences, defence.All); err != nil {
			return err
		}
		inherited = append(inherited, "DEFENCES="+c.Defences)
	}
	sink, closeLogs, err := c.open(prefixLogs(t.err))
	if err != nil {
		return err
	}
	defer func() { _ = closeLogs() }()

	shop, err := launcher{environ: inherited, freePorts: c.FreePorts, log: sink}.open(ctx, env)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		if strings.Contains(err.Error(), "address already in use") {
			err = fmt.Errorf("%w\nIs a shop open already? 'holdfast up --free-ports' opens another beside it", err)
		}
		return err
	}
	if err := c.announce(t, shop.addresses); err != nil {
		return errors.Join(err, closeShop(ctx, shop))
	}
	select {
	case <-ctx.Done():
	case p := <-shop.died:
		err := fmt.Errorf("%s ended by itself: %s\nThe rest of the shop was closed", p.name, p.obituary())
		return errors.Join(err, closeShop(ctx, shop))
	}
	fmt.Fprintln(t.err, "closing the shop")
	return closeShop(ctx, shop)
}

func (c *upCommand) announce(t terminal, at addresses) error {
	if c.Addresses != "" {
		if err := at.write(c.Addresses); err != nil {
			return fmt.Errorf("write the addresses: %w", err)
		}
	}
	if err := printTable(t.out, at.rows()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "\nThe shop is open at %s; Ctrl-C closes it.\n", at.Public("gateway"))
	return err
}
