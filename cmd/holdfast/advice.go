package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// How many calls a percentile needs before it means anything: one of them lies beyond it.
const (
	callsForP99  = 100
	callsForP999 = 1000
)

// ceiling returns the longest timeout of an edge that every route over it has room for: what the budget leaves beside
// the reserve and the route's other steps, shared by the attempts. Nobody waits for an edge that is on no route: its
// declared timeout is all that it may take.
func ceiling(routes []defence.Route, e defence.Edge) time.Duration {
	attempts := time.Duration(max(1, e.Policy.Retry.Attempts))
	alone := defence.Route{Steps: [][]defence.Edge{{e}}}
	pauses := alone.Worst() - attempts*e.Policy.Timeout
	tightest := resilience.Unbounded
	for _, r := range routes {
		step := slices.IndexFunc(r.Steps, func(step []defence.Edge) bool {
			return slices.ContainsFunc(step, func(other defence.Edge) bool { return other.Dependency == e.Dependency })
		})
		if step < 0 {
			continue
		}
		var reserve time.Duration
		for _, other := range slices.Concat(r.Steps...) {
			reserve = max(reserve, other.Policy.Reserve)
		}
		others := defence.Route{Steps: slices.Delete(slices.Clone(r.Steps), step, step+1)}
		tightest = min(tightest, (r.Budget-reserve-others.Worst()-pauses)/attempts)
	}
	if tightest == resilience.Unbounded {
		return e.Policy.Timeout
	}
	return tightest
}

// worst returns the longest that the calls of any route take.
func worst(routes []defence.Route) (longest time.Duration) {
	for _, r := range routes {
		longest = max(longest, r.Worst())
	}
	return longest
}

// adviseTimeout suggests a shorter timeout for an endpoint, or one where there is none. It never suggests a longer one:
// how long the calls that were cut off would have taken, no histogram knows. 0: no change; why then says what speaks
// against one, and is empty where nothing does.
func (d *seenDependency) adviseTimeout(e *seenEndpoint) (to time.Duration, why string) {
	if sick := d.sickness(e); sick != "" {
		return 0, "withheld: " + sick
	}
	switch n := e.durations.Count(); {
	case n == 0:
		return 0, ""
	case n < callsForP999:
		return 0, fmt.Sprintf("too few calls to tell p99.9: %d seen, %d needed", n, callsForP999)
	case (e.outcomes["timeout"]+e.outcomes["cancelled"])*callsForP999 > n:
		why := fmt.Sprintf("withheld: more than one call in %d was cut short (%s), so p99.9 cannot be seen; "+
			"the path leaves %s", callsForP999, e.outcomes.told("timeout", "cancelled"), span(d.ceiling))
		if 0 < d.timeout && d.timeout < d.ceiling {
			why += ": if the callee is healthy, lengthen the timeout within that, and look again"
		}
		return 0, why
	}
	p50, p99, p999 := d.atMost(e.durations, 0.5), d.atMost(e.durations, 0.99), d.atMost(e.durations, 0.999)
	above := atLeast(e.durations, 0.999)
	if above < d.ceiling && d.ceiling < p999 {
		return 0, fmt.Sprintf("withheld: p99.9 is between %s and %s, the path leaves %s: whether the call belongs on it "+
			"cannot be told", span(above), span(p999), span(d.ceiling))
	}
	to, err := resilience.TimeoutFrom(d.ceiling, p50, p99, p999)
	if errors.Is(err, resilience.ErrNoRoom) {
		return 0, fmt.Sprintf("the path leaves %s, p99.9 is above %s: %v. Take it off, make it faster, or give the path "+
			"more time", span(d.ceiling), span(above), resilience.ErrNoRoom)
	}
	if err != nil {
		return 0, "withheld: " + err.Error()
	}
	// Shorter, and a callee that makes do without a callee of its own would be cut off before it has done so.
	to = min(d.ceiling, max(to+d.inner, d.edge.Policy.ConnectTimeout))
	if d.timeout != 0 && bucketOf(e.durations, to) >= bucketOf(e.durations, d.timeout) {
		return 0, ""
	}
	why = fmt.Sprintf("p99.9 at most %s%s, the path leaves %s", span(p999), d.andInner(), span(d.ceiling))
	switch {
	case d.timeout == 0:
		why = "none in force: " + why
	case e.outcomes["timeout"] == 0:
		why = "never met, so too wide: " + why
	}
	if to == d.edge.Policy.ConnectTimeout {
		why += "; ConnectTimeout is part of it"
	}
	if len(d.endpoints) > 1 {
		why += "; the longest of its endpoints counts"
	}
	return to, why
}

// adviseSlots suggests how many slots a dependency needs; 0 and why as adviseTimeout has them.
func (d *seenDependency) adviseSlots() (to int, why string) {
	all := d.together()
	rejected := all.outcomes["rejected"]
	for i := range d.endpoints {
		if d.sickness(&d.endpoints[i]) == "" {
			continue
		}
		if rejected == 0 {
			return 0, "" // the endpoint's own line says it
		}
		return 0, fmt.Sprintf("withheld: %d of %d calls were turned away while %s was not healthy: more slots would be "+
			"more workers that wait", rejected, all.outcomes.calls(), d.endpoints[i].name)
	}
	if all.durations.Count() < callsForP99 {
		return 0, "" // as each endpoint's own line says
	}
	p99 := d.atMost(all.durations, 0.99)
	need, err := resilience.SlotsFor(d.peak, p99+d.inner)
	if err != nil {
		return 0, "withheld: " + err.Error()
	}
	load := fmt.Sprintf("%s/s of p99 at most %s%s make %d", rate(d.peak), span(p99), d.andInner(), need)
	switch {
	case d.slots == 0:
		return max(need, d.inUse), "no limit in force: " + load
	case rejected*callsForP99 > all.outcomes.calls():
		return d.moreSlots(all, need, load)
	case rejected == 0 && 2*max(need, d.inUse) < d.slots:
		return max(need, d.inUse), fmt.Sprintf("never met, so too wide: at most %d seen in use; %s", d.inUse, load)
	}
	return 0, ""
}

// moreSlots answers rejections. What is in flight is rate × latency, so more slots are the answer only where calls take
// no longer than they did before, and it is the rate that has grown.
func (d *seenDependency) moreSlots(all *seenEndpoint, need int, load string) (to int, why string) {
	turnedAway := fmt.Sprintf("%d of %d calls were turned away", all.outcomes["rejected"], all.outcomes.calls())
	before, now := d.atMost(all.earlier, 0.99), d.atMost(all.durations, 0.99)
	switch {
	case need <= d.slots:
		return 0, fmt.Sprintf("withheld: %s, though %s: find out what held the slots", turnedAway, load)
	case all.earlier.Count() < callsForP99:
		return 0, fmt.Sprintf("withheld: %s, and too little was seen before to tell whether it is the rate or the latency "+
			"that has grown", turnedAway)
	case now > before:
		return 0, fmt.Sprintf("withheld: %s while p99 went from %s to %s: the latency took the slots, and more of them "+
			"would be more workers that wait", turnedAway, span(before), span(now))
	}
	return need, fmt.Sprintf("%s, and p99 is what it was, so the rate has grown: %s", turnedAway, load)
}
