package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/service"
)

// seenDependency is what a watch has seen of one dependency, and what bounds it.
type seenDependency struct {
	edge      defence.Edge
	ceiling   time.Duration // the longest timeout that its routes have room for
	inner     time.Duration // what the callee's own calls take at worst, before it answers without them
	timeout   time.Duration // in force; 0: none
	slots     int           // in force; 0: no limit
	inUse     int           // slots in use at most
	peak      float64       // attempts in the busiest second, those that were not sent included
	oldest    time.Duration // the age of the oldest call in flight when the watch ended
	endpoints []seenEndpoint
}

// seenEndpoint is what a watch has seen of one endpoint.
type seenEndpoint struct {
	name      string
	outcomes  outcomes
	durations service.Histogram
	earlier   service.Histogram // from the start of the service until the watch began
	peak      float64
	tripped   bool // its breaker was open or half-open
}

// together adds up the endpoints of a dependency, as its slots see them.
func (d *seenDependency) together() *seenEndpoint {
	all := &seenEndpoint{outcomes: outcomes{}}
	for _, e := range d.endpoints {
		for name, count := range e.outcomes {
			all.outcomes[name] += count
		}
		all.durations, all.earlier = all.durations.Plus(e.durations), all.earlier.Plus(e.earlier)
	}
	return all
}

// sickness says what was wrong with an endpoint, so that nothing is to be sized by what it did; empty: nothing.
func (d *seenDependency) sickness(e *seenEndpoint) string {
	if e.tripped || e.outcomes["short_circuited"] > 0 {
		return "its breaker was not closed"
	}
	sent := e.durations.Count()
	if wrong := sent - min(sent, e.outcomes["success"]); wrong*100 > sent {
		return fmt.Sprintf("%.1f %% of the attempts did not succeed (%s)", 100*float64(wrong)/float64(sent),
			e.outcomes.told("failure", "timeout", "cancelled", "panicked"))
	}
	if d.oldest > max(d.ceiling, d.atMost(e.durations, 1)) {
		return fmt.Sprintf("a call has been in flight for %s, longer than any that ended",
			span(d.oldest.Round(time.Millisecond)))
	}
	return ""
}

// andInner names that part of a limit which no healthy latency shows.
func (d *seenDependency) andInner() string {
	if d.inner == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s for %s's own calls", span(d.inner), d.edge.To)
}

// atMost reads a percentile as the upper bound of its bucket, or as the timeout in force, which nothing outlasts.
func (d *seenDependency) atMost(h service.Histogram, q float64) time.Duration {
	_, upper := h.Between(q)
	if d.timeout != 0 {
		return min(d.timeout, milliseconds(upper))
	}
	return milliseconds(upper)
}

// atLeast reads a percentile as the lower bound of its bucket.
func atLeast(h service.Histogram, q float64) time.Duration {
	lower, _ := h.Between(q)
	return milliseconds(lower)
}

// bucketOf says into which bucket a duration falls. Those that fall into the same one a histogram cannot tell apart.
func bucketOf(h service.Histogram, d time.Duration) int {
	i, _ := slices.BinarySearchFunc(h, d, func(b service.Bucket, d time.Duration) int {
		return cmp.Compare(milliseconds(b.UpToMS), d)
	})
	return i
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// outcomes are counts by outcome.
type outcomes map[string]uint64

// calls is how many attempts there were, those that were not sent included.
func (o outcomes) calls() (n uint64) {
	for _, count := range o {
		n += count
	}
	return n
}

// since returns the counts that were added to earlier.
func (o outcomes) since(earlier outcomes) outcomes {
	added := make(outcomes, len(o))
	for name, n := range o {
		added[name] = n - earlier[name]
	}
	return added
}

// told lists those of the outcomes that there were: "12 timeout, 3 failure".
func (o outcomes) told(names ...string) string {
	var words []string
	for _, name := range names {
		if n := o[name]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(words, ", ")
}
