package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/service"
)

// reading is what a watch reads of a service's GET /admin/state.
type reading struct {
	At           time.Time                 `json:"at"`
	Dependencies []service.DependencyState `json:"dependencies"`
}

// beat is how often a watch reads.
const beat = time.Second

// watch follows the calls of one service from reading to reading.
type watch struct {
	service     string
	first, last reading
	paced       reading // since which the rate is taken
	deps        []seenDependency
}

// newWatch begins with a first reading.
func newWatch(from declaration, r reading) (*watch, error) {
	w := &watch{service: from.service, first: r, last: r, paced: r}
	for _, d := range r.Dependencies {
		i := slices.IndexFunc(from.edges, func(e defence.Edge) bool { return e.Dependency == d.Name })
		if i < 0 {
			return nil, fmt.Errorf("%s calls %s, which is not declared here: is it of another version than this command?",
				from.service, d.Name)
		}
		seen := seenDependency{
			edge: from.edges[i], ceiling: ceiling(from.routes, from.edges[i]),
			timeout: milliseconds(d.TimeoutMS), slots: d.Slots,
		}
		if to := slices.IndexFunc(declarations, func(d declaration) bool { return d.service == seen.edge.To }); to >= 0 {
			seen.inner = worst(declarations[to].routes)
		}
		for _, e := range d.Endpoints {
			seen.endpoints = append(seen.endpoints, seenEndpoint{name: e.Name, earlier: e.Durations})
		}
		w.deps = append(w.deps, seen)
	}
	return w, w.add(r)
}

// add takes in the next reading.
func (w *watch) add(r reading) error {
	if err := w.follows(r); err != nil {
		return err
	}
	// Two readings that a stall has brought close together do not make a rate.
	elapsed := r.At.Sub(w.paced.At)
	paced := elapsed >= beat/2
	for i, now := range r.Dependencies {
		d := &w.deps[i]
		d.inUse = max(d.inUse, now.InUse)
		if now.HighWater != w.last.Dependencies[i].HighWater { // reached since, or since a mark in between
			d.inUse = max(d.inUse, now.HighWater)
		}
		d.oldest = milliseconds(now.OldestCallMS)
		perSecond := 0.0
		for j, e := range now.Endpoints {
			seen := &d.endpoints[j]
			seen.tripped = seen.tripped || e.Breaker == "open" || e.Breaker == "half-open"
			seen.outcomes = outcomes(e.Outcomes).since(w.first.Dependencies[i].Endpoints[j].Outcomes)
			seen.durations = e.Durations.Since(seen.earlier)
			if paced {
				calls := outcomes(e.Outcomes).since(w.paced.Dependencies[i].Endpoints[j].Outcomes).calls()
				seen.peak = max(seen.peak, float64(calls)/elapsed.Seconds())
				perSecond += float64(calls) / elapsed.Seconds()
			}
		}
		d.peak = max(d.peak, perSecond)
	}
	if w.last = r; paced {
		w.paced = r
	}
	return nil
}

// span is how long the watch has lasted.
func (w *watch) span() time.Duration { return w.last.At.Sub(w.first.At) }

// calls is how many attempts it has seen.
func (w *watch) calls() (n uint64) {
	for _, d := range w.deps {
		n += d.together().outcomes.calls()
	}
	return n
}

// follows reports a reading that is not of the same process, or not of the same limits, as the one before.
func (w *watch) follows(r reading) error {
	same := slices.EqualFunc(w.last.Dependencies, r.Dependencies, func(before, now service.DependencyState) bool {
		return before.Name == now.Name && slices.EqualFunc(before.Endpoints, now.Endpoints, goesOn)
	})
	if !same {
		return fmt.Errorf("%s was restarted while it was watched: watch it again", w.service)
	}
	for i, now := range r.Dependencies {
		if before := w.last.Dependencies[i]; now.TimeoutMS != before.TimeoutMS || now.Slots != before.Slots {
			return fmt.Errorf("the limits of %s in %s were changed while they were watched: watch them again",
				now.Name, w.service)
		}
	}
	return nil
}

// goesOn tells whether counts have only grown.
func goesOn(before, now service.EndpointState) bool {
	return before.Name == now.Name && len(before.Durations) == len(now.Durations) &&
		before.Durations.Count() <= now.Durations.Count() &&
		outcomes(before.Outcomes).calls() <= outcomes(now.Outcomes).calls()
}

// follow reads every beat until over has passed or ctx ends, and returns the error of a reading that failed before.
func follow(ctx context.Context, over time.Duration, read func(elapsed time.Duration) error) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < over; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := read(time.Since(began)); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
