package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// faultCommand does things to a service on purpose.
type faultCommand struct {
	Set   faultSetCommand   `cmd:"" help:"Hold a service's answers, or refuse its connections."`
	List  faultListCommand  `cmd:"" help:"Show the faults in force."`
	Clear faultClearCommand `cmd:"" help:"End the faults of one service, or of all. What is held is let go at once."`
}

type faultSetCommand struct {
	Service string   `arg:"" enum:"${services}" help:"The service to hurt: ${services}."`
	Fault   []string `arg:"" help:"What to do: hold=90s (answer rightly, but only then) or refuse; for some requests only: share=0.1 seed=7; in a square wave: every=10s for=5s. A service may have one hold and one refuse at a time; a new one replaces the old one of its kind, 'holdfast fault clear' ends all."`
	targetFlag
}

type faultListCommand struct{ targetFlag }

type faultClearCommand struct {
	Service string `arg:"" optional:"" enum:"${services},all" default:"all" help:"One service only: ${services}."`
	targetFlag
}

func (c *faultSetCommand) Run(ctx context.Context, t terminal) error {
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	body := map[string]string{"fault": strings.Join(c.Fault, " ")}
	if err := at.ask(ctx, http.MethodPost, c.Service, "/admin/faults", body, nil); err != nil {
		return err
	}
	return listFaults(ctx, t, at, c.Service)
}

func (c *faultListCommand) Run(ctx context.Context, t terminal) error {
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	for _, s := range services {
		if err := listFaults(ctx, t, at, s.name); err != nil {
			return err
		}
	}
	return nil
}

func (c *faultClearCommand) Run(ctx context.Context, t terminal) error {
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	for _, s := range (serviceFlag{c.Service}).services() {
		if err := at.ask(ctx, http.MethodDelete, s.name, "/admin/faults", nil, nil); err != nil {
			return err
		}
		if err := listFaults(ctx, t, at, s.name); err != nil {
			return err
		}
	}
	return nil
}

// listFaults prints the faults of one service, as `holdfast fault set` takes them.
func listFaults(ctx context.Context, t terminal, at addresses, service string) error {
	var answer struct {
		Faults []faultInForce `json:"faults"`
	}
	if err := at.ask(ctx, http.MethodGet, service, "/admin/faults", nil, &answer); err != nil {
		return err
	}
	words := make([]string, 0, len(answer.Faults))
	for _, f := range answer.Faults {
		words = append(words, f.String())
	}
	if len(words) == 0 {
		words = []string{"no fault"}
	}
	_, err := fmt.Fprintf(t.out, "%-15s   %s\n", service, strings.Join(words, "; "))
	return err
}

// faultInForce is what the admin API tells of a fault. A duration is text, empty for none.
type faultInForce struct {
	Kind  string  `json:"kind"`
	Hold  string  `json:"hold"`
	Share float64 `json:"share"`
	Seed  uint64  `json:"seed"`
	Every string  `json:"every"`
	For   string  `json:"for"`
}

func (f faultInForce) String() string {
	words := f.Kind
	if f.Hold != "" {
		words += "=" + f.Hold
	}
	if f.Share != 1 {
		words += fmt.Sprintf(" share=%g", f.Share)
	}
	if f.Seed != 1 {
		words += fmt.Sprintf(" seed=%d", f.Seed)
	}
	if f.Every != "" {
		words += " every=" + f.Every + " for=" + f.For
	}
	return words
}
