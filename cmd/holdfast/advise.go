package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// adviseCommand watches the calls of running services and says which of their limits do not fit them.
type adviseCommand struct {
	Services []string      `arg:"" optional:"" enum:"${services}" help:"Whose calls to watch: ${services}. Default: all."`
	Over     time.Duration `default:"2m" help:"How long to watch, 5s to 1h. Ctrl-C ends it early."`
	targetFlag
}

func (c *adviseCommand) Run(ctx context.Context, t terminal) error {
	if c.Over < 5*time.Second || c.Over > time.Hour {
		return fmt.Errorf("--over=%v: must be 5s to 1h", c.Over)
	}
	at, err := c.addresses(ctx)
	if err != nil {
		return err
	}
	read := func(service string) (r reading, err error) {
		err = at.ask(ctx, http.MethodGet, service, "/admin/state", nil, &r)
		return r, err
	}
	watches, err := c.begin(read)
	if err != nil && ctx.Err() == nil {
		return err
	}
	p := newWatchProgress(t.err, c.Over)
	err = follow(ctx, c.Over, func(elapsed time.Duration) error {
		for _, w := range watches {
			r, err := read(w.service)
			if err != nil {
				return err
			}
			if err := w.add(r); err != nil {
				return err
			}
		}
		p.renew(elapsed, watches)
		return nil
	})
	p.end()
	if err != nil {
		return err
	}
	if watches == nil || watches[len(watches)-1].span() == 0 { // the last to be read
		return errors.New("interrupted before anything was seen")
	}
	return printAdvice(t.out, watches)
}

// begin reads the services that were asked for, in the order of their declarations, and watches those that call
// somebody.
func (c *adviseCommand) begin(read func(service string) (reading, error)) ([]*watch, error) {
	var watches []*watch
	for _, d := range declarations {
		if len(c.Services) > 0 && !slices.Contains(c.Services, d.service) {
			continue
		}
		r, err := read(d.service)
		if err != nil {
			return nil, err
		}
		w, err := newWatch(d, r)
		if err != nil {
			return nil, err
		}
		if len(w.deps) > 0 {
			watches = append(watches, w)
		}
	}
	if watches == nil {
		return nil, fmt.Errorf("nothing to advise: no calls are made by %s", strings.Join(c.Services, " and "))
	}
	return watches, nil
}

// printAdvice tells what the watches have seen, and why a limit should change or cannot be judged.
func printAdvice(w io.Writer, watches []*watch) error {
	rows := [][]string{{"edge", "endpoint", "calls", "peak/s", "p50 / p99 / p99.9 at most", "timeout", "slots (in use)"}}
	var whys [][]string
	for _, watch := range watches {
		for i := range watch.deps {
			d := &watch.deps[i]
			edge := edgeName(watch.service, d.edge)
			slots, whySlots := slotsCell(d)
			for j := range d.endpoints {
				e := &d.endpoints[j]
				timeout, why := timeoutCell(d, e)
				if why != "" {
					whys = append(whys, []string{edge, e.name, "timeout", why})
				}
				rows = append(rows, []string{
					edge, e.name, fmt.Sprint(e.outcomes.calls()), rate(e.peak), percentiles(d, e), timeout, slots,
				})
				slots = "shared"
			}
			if whySlots != "" {
				whys = append(whys, []string{edge, "", "slots", whySlots})
			}
		}
	}
	if err := printTable(w, rows); err != nil {
		return err
	}
	if whys != nil {
		fmt.Fprintln(w)
		if err := printTable(w, whys); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\nSeen in %s. Narrow a limit by what the busiest minutes say, not by quiet ones.\n",
		watches[len(watches)-1].span().Round(time.Second))
	return err
}

// timeoutCell is the timeout in force, and the one suggested: "250 ms → 150 ms".
func timeoutCell(d *seenDependency, e *seenEndpoint) (cell, why string) {
	cell = "none"
	if d.timeout != 0 {
		cell = span(d.timeout)
	}
	to, why := d.adviseTimeout(e)
	if to != 0 {
		cell += " → " + span(to)
	}
	return cell, why
}

// slotsCell is the slots in force, how many were in use at most, and how many are suggested: "20 (5) → 7".
func slotsCell(d *seenDependency) (cell, why string) {
	cell = "none"
	if d.slots != 0 {
		cell = fmt.Sprint(d.slots)
	}
	cell += fmt.Sprintf(" (%d)", d.inUse)
	to, why := d.adviseSlots()
	if to != 0 {
		cell += fmt.Sprintf(" → %d", to)
	}
	return cell, why
}

// percentiles are those that enough calls were seen for.
func percentiles(d *seenDependency, e *seenEndpoint) string {
	var cells []string
	for _, p := range []struct {
		q     float64
		calls uint64
	}{{0.5, 1}, {0.99, callsForP99}, {0.999, callsForP999}} {
		cell := "–"
		if e.durations.Count() >= p.calls {
			cell = span(d.atMost(e.durations, p.q))
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " / ")
}

// rate writes calls a second as people do: 40, 0.2.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return fmt.Sprintf("%g", math.Round(perSecond*10)/10)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// watchProgress tells a person how far a watch is: on a terminal every beat, elsewhere every half minute.
type watchProgress struct {
	w    io.Writer
	live bool
	over time.Duration
	next time.Duration
}

// clearLine takes away the live line.
const clearLine = "\r\x1b[K"

func newWatchProgress(w io.Writer, over time.Duration) *watchProgress {
	file, ok := w.(*os.File)
	p := &watchProgress{w: w, live: ok && term.IsTerminal(int(file.Fd())), over: over, next: 30 * time.Second}
	fmt.Fprintf(w, "watching for %s; Ctrl-C ends it early and advises from what was seen\n", over)
	return p
}

func (p *watchProgress) renew(elapsed time.Duration, watches []*watch) {
	if !p.live && elapsed < p.next {
		return
	}
	p.next = elapsed + 30*time.Second
	var calls uint64
	for _, w := range watches {
		calls += w.calls()
	}
	line := fmt.Sprintf("%s of %s: %d calls seen", elapsed.Round(time.Second), p.over, calls)
	if p.live {
		fmt.Fprint(p.w, clearLine+line)
	} else {
		fmt.Fprintln(p.w, line)
	}
}

func (p *watchProgress) end() {
	if p.live {
		fmt.Fprint(p.w, clearLine)
	}
}
