package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
	"example.com/holdfast/services/catalogue"
	"example.com/holdfast/services/checkout"
	"example.com/holdfast/services/currency"
	"example.com/holdfast/services/gateway"
	"example.com/holdfast/services/recommendations"
)

// budgetsCommand prints what the services declare in their dependencies.go.
type budgetsCommand struct {
	Markdown bool `help:"Print the calls alone, as the table of the README."`
}

// declaration is what one service says about its calls.
type declaration struct {
	service string
	edges   []defence.Edge
	routes  []defence.Route
}

// declarations are in the order in which a request walks through the house.
var declarations = []declaration{
	{"gateway", gateway.Dependencies, gateway.Routes},
	{"catalogue", catalogue.Dependencies, catalogue.Routes},
	{"checkout", checkout.Dependencies, checkout.Routes},
	{"recommendations", recommendations.Dependencies, recommendations.Routes},
	{"currency", currency.Dependencies, currency.Routes},
}

func (c *budgetsCommand) Run(t terminal) error {
	if c.Markdown {
		return printMarkdown(t.out, edgeRows())
	}
	if err := printTable(t.out, edgeRows()); err != nil {
		return err
	}
	fmt.Fprintln(t.out)
	return printTable(t.out, routeRows())
}

// edgeRows is the table of the calls, its header first.
func edgeRows() [][]string {
	rows := [][]string{{"edge", "criticality", "timeout / connect", "slots", "retry", "when it cannot answer"}}
	for _, d := range declarations {
		for _, e := range d.edges {
			rows = append(rows, []string{
				edgeName(d.service, e), criticality(e.Policy.Criticality),
				waits(e.Policy.Timeout, e.Policy.ConnectTimeout),
				fmt.Sprint(e.Policy.Slots), retries(e), e.Fallback,
			})
		}
	}
	return rows
}

// routeRows is the table of what each route may spend, and what its calls can take of it.
func routeRows() [][]string {
	rows := [][]string{{"service", "route", "budget", "its calls at worst"}}
	for _, d := range declarations {
		for _, r := range d.routes {
			worst := "none"
			if len(r.Steps) > 0 {
				worst = span(r.Worst())
			}
			rows = append(rows, []string{d.service, r.Name, span(r.Budget), worst})
		}
	}
	return rows
}

// edgeName says who calls whom, and for what where one service is called for several purposes.
func edgeName(from string, e defence.Edge) string {
	name := from + " → " + e.To
	if purpose := strings.TrimPrefix(e.Dependency, e.To+"-"); purpose != e.Dependency {
		name += ", " + purpose
	}
	if e.Background {
		name += " (background)"
	}
	return name
}

func criticality(c resilience.Criticality) string {
	return map[resilience.Criticality]string{
		resilience.Critical: "critical", resilience.Default: "default", resilience.Sheddable: "sheddable",
	}[c]
}

// waits is one attempt's timeout and the part of it that connecting may take: "450 / 100 ms", "2.5 s / 100 ms".
func waits(timeout, connect time.Duration) string {
	number, unit, _ := strings.Cut(span(timeout), " ")
	if strings.HasSuffix(span(connect), " "+unit) {
		return number + " / " + span(connect)
	}
	return number + " " + unit + " / " + span(connect)
}

func retries(e defence.Edge) string {
	r := e.Policy.Retry
	switch {
	case e.Background && r.Attempts <= 1:
		return "next round"
	case r.Attempts <= 1:
		return "never"
	}
	words := "once"
	if r.Attempts > 2 {
		words = fmt.Sprintf("%d times", r.Attempts-1)
	}
	words += fmt.Sprintf(", budget %g %%", r.Budget*100)
	if r.Backoff > 0 {
		words += ", back-off ≤ " + span(r.Backoff)
	}
	return words
}

// span writes a duration as people do: 450 ms, 2.5 s.
func span(d time.Duration) string {
	switch {
	case d == resilience.Unbounded:
		return "without end"
	case d < time.Second:
		return fmt.Sprintf("%g ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%g s", d.Seconds())
	}
}
