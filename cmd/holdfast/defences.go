package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/holdfast/internal/defence"
)

// defencesCommand shows and switches the defences of a running shop.
type defencesCommand struct {
	Get defencesGetCommand `cmd:"" help:"Show which defences are on, service by service."`
	Set defencesSetCommand `cmd:"" help:"Switch defences, from the gateway inwards."`
}

type defencesGetCommand struct {
	serviceFlag
	targetFlag
}

type defencesSetCommand struct {
	Expr string `arg:"" help:"all, none, a change as bulkheads=off, or a list: all,-bulkheads or none,+fallbacks."`
	serviceFlag
	targetFlag
}

// serviceFlag limits a command to one service.
type serviceFlag struct {
	Service string `enum:"${services},all" default:"all" help:"One service only: ${services}. Default: all."`
}

func (f serviceFlag) services() []standing {
	if f.Service == "all" {
		return services
	}
	return []standing{find(f.Service)}
}

func (c *defencesGetCommand) Run(ctx context.Context, t terminal) error {
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	asked := c.services()
	sets := make([]defence.Set, len(asked))
	for i, s := range asked {
		if err := at.ask(ctx, http.MethodGet, s.name, "/admin/defences", nil, &sets[i]); err != nil {
			return err
		}
	}
	return printTable(t.out, defenceRows(asked, sets))
}

func (c *defencesSetCommand) Run(ctx context.Context, t terminal) error {
	if _, err := defence.Parse(c.Expr, defence.All); err != nil {
		return err
	}
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	// Callers before their callees: a switch that bounds calls ends the stuck ones, thousands of them, and a callee's
	// would come back as failures to a caller that is still without defences and makes the best of each.
	for _, s := range slices.Backward(c.services()) {
		var before, after defence.Set
		if err := at.ask(ctx, http.MethodGet, s.name, "/admin/defences", nil, &before); err != nil {
			return err
		}
		change := map[string]string{"set": c.Expr}
		if err := at.ask(ctx, http.MethodPost, s.name, "/admin/defences", change, &after); err != nil {
			return err
		}
		// At once, so that what was switched is told even when the next service does not answer.
		fmt.Fprintf(t.out, "%-15s   %s\n", s.name, changed(before, after))
	}
	return nil
}

// changed tells what differs, as "timeouts off, bulkheads off".
func changed(before, after defence.Set) string {
	var words []string
	for _, name := range defence.Names {
		if after.On(name) != before.On(name) {
			words = append(words, name+" "+onOff(after.On(name)))
		}
	}
	if len(words) == 0 {
		return "as it was"
	}
	return strings.Join(words, ", ")
}

func defenceRows(of []standing, sets []defence.Set) [][]string {
	header := []string{"defence"}
	for _, s := range of {
		header = append(header, s.name)
	}
	rows := [][]string{header}
	for _, name := range defence.Names {
		row := []string{name}
		for _, set := range sets {
			row = append(row, onOff(set.On(name)))
		}
		rows = append(rows, row)
	}
	return rows
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
