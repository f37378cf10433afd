package main

import (
	"maps"
	"strings"
	"testing"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

const ms = time.Millisecond

// TestCeilingHoldsWhatIsDeclared proves that no declared timeout is above what its routes have room for, and that the
// reserve, the pauses, the attempts and the other steps are taken off.
func TestCeilingHoldsWhatIsDeclared(t *testing.T) {
	for _, d := range declarations {
		for _, e := range d.edges {
			if top := ceiling(d.routes, e); top < e.Policy.Timeout {
				t.Errorf("%s: declared %v, ceiling %v", edgeName(d.service, e), e.Policy.Timeout, top)
			}
		}
	}

	edge := func(name string, timeout time.Duration, attempts int) defence.Edge {
		return defence.Edge{Dependency: name, Policy: resilience.Policy{
			Timeout: timeout, Reserve: 50 * ms, Retry: resilience.Retry{Attempts: attempts, Backoff: 20 * ms},
		}}
	}
	once, twice, beside := edge("once", 100*ms, 0), edge("twice", 100*ms, 2), edge("beside", 300*ms, 0)
	routes := []defence.Route{
		{Budget: 2000 * ms, Steps: [][]defence.Edge{{once}}},
		{Budget: 1000 * ms, Steps: [][]defence.Edge{{once, beside}, {twice}}},
		{Budget: 100 * ms}, // calls nobody
	}
	for _, tt := range []struct {
		e    defence.Edge
		want time.Duration
	}{
		{once, (1000 - 50 - (2*100 + 20)) * ms},              // the tightest route; the second step goes before
		{twice, (1000 - 50 - 300 - 20) / 2 * ms},             // of calls side by side the longest counts
		{edge("nobody waits for it", 5000*ms, 0), 5000 * ms}, // on no route
	} {
		if got := ceiling(routes, tt.e); got != tt.want {
			t.Errorf("%s: ceiling %v, want %v", tt.e.Dependency, got, tt.want)
		}
	}
}

// took is a histogram of attempts by how many of them fell into each of the buckets up to 10, 50, 100, 150, 250, 350,
// 500 and 1,000 ms.
func took(counts ...uint64) service.Histogram {
	h := service.Histogram{
		{UpToMS: 10}, {UpToMS: 50}, {UpToMS: 100}, {UpToMS: 150}, {UpToMS: 250}, {UpToMS: 350}, {UpToMS: 500}, {UpToMS: 1000},
	}
	var sum uint64
	for i := range h {
		if i < len(counts) {
			sum += counts[i]
		}
		h[i].Count = sum
	}
	return h
}

// leaf is a dependency as the catalogue has one in recommendations, watched while 40 calls a second came.
func leaf(h service.Histogram, others outcomes) *seenDependency {
	o := outcomes{"success": h.Count()}
	for name, n := range others {
		if name == "timeout" || name == "failure" || name == "cancelled" {
			o["success"] -= n
		}
	}
	maps.Copy(o, others)
	return &seenDependency{
		edge:    defence.Edge{To: "recommendations", Policy: resilience.Policy{ConnectTimeout: 50 * ms}},
		ceiling: 350 * ms, timeout: 250 * ms, slots: 20, inUse: 4, peak: 40,
		endpoints: []seenEndpoint{{name: "related", outcomes: o, durations: h, earlier: h}},
	}
}

func TestAdviseTimeout(t *testing.T) {
	tests := []struct {
		name   string
		h      service.Histogram
		others outcomes
		is     func(*seenDependency)
		want   time.Duration
		why    string // a part of it; empty: nothing is said
	}{
		{"too wide", took(0, 2000, 2960, 40), nil, nil, 150 * ms,
			"never met, so too wide: p99.9 at most 150 ms, the path leaves 350 ms"},
		{"not finer than a bucket", took(0, 2000, 2000, 900, 99), nil, nil, 0, ""},
		{"not below what connecting may take", took(5000), nil, nil, 50 * ms, "ConnectTimeout is part of it"},
		{"never longer", took(0, 0, 0, 0, 5000), nil, nil, 0, ""},
		{"a callee that falls back itself", took(5000), nil,
			func(d *seenDependency) { d.inner, d.timeout, d.ceiling = 200*ms, 450*ms, 450*ms }, 215 * ms,
			"200 ms for recommendations's own calls"},
		{"some met it", took(0, 4990, 0, 0, 4), outcomes{"timeout": 4}, nil, 75 * ms, "p99.9 at most 50 ms"},
		{"none in force", took(0, 2000, 2960, 40), nil, func(d *seenDependency) { d.timeout = 0 }, 150 * ms,
			"none in force"},
		{"what is in flight is no older than it may be", took(5000), nil,
			func(d *seenDependency) { d.oldest = 350 * ms }, 50 * ms, "too wide"},
		{"nothing outlasts the timeout in force", took(0, 0, 0, 0, 5000), nil,
			func(d *seenDependency) { d.timeout, d.ceiling = 200*ms, 200*ms }, 0, ""},
		{"one of several endpoints", took(5000), nil,
			func(d *seenDependency) { d.endpoints = append(d.endpoints, d.endpoints[0]) }, 50 * ms,
			"the longest of its endpoints counts"},

		{"nothing seen", took(), nil, nil, 0, ""},
		{"too few", took(999), nil, nil, 0, "too few calls to tell p99.9: 999 seen, 1000 needed"},
		{"cut short", took(4980, 0, 0, 0, 20), outcomes{"timeout": 20}, nil, 0,
			"more than one call in 1000 was cut short (20 timeout), so p99.9 cannot be seen; " +
				"the path leaves 350 ms: if the callee is healthy, lengthen"},
		{"cut short by a timeout that is the ceiling", took(4980, 0, 0, 0, 20), outcomes{"timeout": 20},
			func(d *seenDependency) { d.ceiling = d.timeout }, 0, "the path leaves 250 ms"},
		{"the path is too short", took(0, 0, 0, 0, 0, 0, 0, 5000), nil,
			func(d *seenDependency) { d.timeout = 0 }, 0,
			"the path leaves 350 ms, p99.9 is above 500 ms: the call does not belong on this path"},
		{"nobody can tell", took(0, 0, 0, 0, 0, 0, 5000), nil,
			func(d *seenDependency) { d.timeout, d.ceiling = 0, 450*ms }, 0,
			"p99.9 is between 350 ms and 500 ms, the path leaves 450 ms"},

		{"sick: timeouts", took(4940, 0, 0, 0, 60), outcomes{"timeout": 55, "failure": 5}, nil, 0,
			"withheld: 1.2 % of the attempts did not succeed (5 failure, 55 timeout)"},
		{"one in a hundred is not sick", took(4950, 50), outcomes{"failure": 50}, nil, 50 * ms, "too wide"},
		{"sick: breaker", took(5000), nil, func(d *seenDependency) { d.endpoints[0].tripped = true }, 0,
			"withheld: its breaker was not closed"},
		{"sick: breaker between two readings", took(5000), outcomes{"short_circuited": 1}, nil, 0,
			"withheld: its breaker was not closed"},
		{"sick: all that ended was healthy", took(5000), nil,
			func(d *seenDependency) { d.timeout, d.oldest = 0, 34*time.Second }, 0,
			"withheld: a call has been in flight for 34 s"},
		{"sick: nothing ended", took(), nil,
			func(d *seenDependency) { d.timeout, d.oldest = 0, 34*time.Second }, 0,
			"withheld: a call has been in flight for 34 s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := leaf(tt.h, tt.others)
			if tt.is != nil {
				tt.is(d)
			}
			got, why := d.adviseTimeout(&d.endpoints[0])
			if got != tt.want || !strings.Contains(why, tt.why) || tt.why == "" && why != "" {
				t.Errorf("advised %v: %q\nwant %v: %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func TestAdviseSlots(t *testing.T) {
	healthy, slower := took(0, 0, 5000), took(0, 0, 0, 0, 5000)
	tests := []struct {
		name   string
		h      service.Histogram
		others outcomes
		is     func(*seenDependency)
		want   int
		why    string
	}{
		{"too wide", healthy, nil, nil, 7,
			"never met, so too wide: at most 4 seen in use; 40/s of p99 at most 100 ms make 7"},
		{"not below what was in use", healthy, nil, func(d *seenDependency) { d.inUse = 9 }, 9, "at most 9 seen in use"},
		{"half of them in use", healthy, nil, func(d *seenDependency) { d.inUse = 10 }, 0, ""},
		{"a callee that falls back itself", healthy, nil,
			func(d *seenDependency) { d.inner, d.slots = 200*ms, 60 }, 18,
			"and 200 ms for recommendations's own calls make 18"},
		{"no limit", healthy, nil, func(d *seenDependency) { d.slots = 0 }, 7, "no limit in force"},
		{"no more than slots turn away on a good day", healthy, outcomes{"rejected": 50}, nil, 0, ""},
		{"nothing seen", took(), nil, nil, 0, ""},

		{"the rate has grown", healthy, outcomes{"rejected": 100}, func(d *seenDependency) { d.peak = 400 }, 50,
			"100 of 5100 calls were turned away, and p99 is what it was, so the rate has grown"},
		{"the latency has grown", slower, outcomes{"rejected": 100},
			func(d *seenDependency) { d.peak, d.endpoints[0].earlier = 200, healthy }, 0,
			"withheld: 100 of 5100 calls were turned away while p99 went from 100 ms to 250 ms: the latency took the slots"},
		{"nothing to compare with", healthy, outcomes{"rejected": 100},
			func(d *seenDependency) { d.peak, d.endpoints[0].earlier = 400, took(99) }, 0,
			"withheld: 100 of 5100 calls were turned away, and too little"},
		{"something held them", healthy, outcomes{"rejected": 100}, nil, 0,
			"withheld: 100 of 5100 calls were turned away, though 40/s"},
		{"turned away while sick", healthy, outcomes{"rejected": 4000, "timeout": 600},
			func(d *seenDependency) { d.peak = 400 }, 0,
			"withheld: 4000 of 9000 calls were turned away while related was not healthy: more slots would be more workers"},
		{"sick", healthy, outcomes{"timeout": 600}, func(d *seenDependency) { d.slots = 200 }, 0, ""},
		{"a rate that nobody has", healthy, nil, func(d *seenDependency) { d.peak = 0 }, 0, "withheld: peak rate is 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := leaf(tt.h, tt.others)
			if tt.is != nil {
				tt.is(d)
			}
			got, why := d.adviseSlots()
			if got != tt.want || !strings.Contains(why, tt.why) || tt.why == "" && why != "" {
				t.Errorf("advised %d: %q\nwant %d: %q", got, why, tt.want, tt.why)
			}
		})
	}
}

// Slots belong to the dependency: what its endpoints do adds up.
func TestAdviseSlotsForAllEndpoints(t *testing.T) {
	d := leaf(took(0, 0, 60), nil)
	d.endpoints = append(d.endpoints, leaf(took(0, 60), nil).endpoints[0])
	if got, why := d.adviseSlots(); got != 7 || !strings.Contains(why, "p99 at most 100 ms") {
		t.Errorf("advised %d: %s", got, why)
	}
	d.endpoints[1].tripped = true
	if got, why := d.adviseSlots(); got != 0 {
		t.Errorf("with one of them sick advised %d: %s", got, why)
	}
}
