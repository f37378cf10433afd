package resilience

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// durationBuckets span a millisecond to two minutes: what hangs must be told from what is slow.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .15, .25, .35, .5, .75, 1, 1.5, 2.5, 5, 10, 30, 60, 120}

const durationHelp = "How long attempts that were sent took, from start to the last byte, whatever their outcome."

func newDurations(dependency, endpoint string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "resilience_call_duration_seconds", Help: durationHelp, Buckets: durationBuckets,
		ConstLabels: prometheus.Labels{"dependency": dependency, "endpoint": endpoint},
	})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("resilience_"+name, help, labels, nil)
}

// Labels are only ever the names of declared dependencies and endpoints, and the closed list of outcomes.
var (
	callsDesc = desc("calls_total", "Attempts by outcome, those that were not sent included.",
		"dependency", "endpoint", "outcome")
	slotsDesc      = desc("slots", "Calls that may be in flight at once; +Inf where unlimited.", "dependency")
	slotsInUseDesc = desc("slots_in_use", "Calls that hold a slot.", "dependency")
	timeoutDesc    = desc("timeout_seconds", "The timeout of one attempt; +Inf where unbounded.", "dependency")
	oldestDesc     = desc("oldest_call_age_seconds", "Age of the oldest attempt in flight.", "dependency", "endpoint")
	breakerDesc    = desc("breaker_state", "0 closed, 1 half-open, 2 open.", "dependency", "endpoint")
	observedDesc   = desc("breaker_observed_total",
		"Calls that an observing breaker let through and an acting one would have refused.", "dependency", "endpoint")
	fallbacksDesc = desc("fallbacks_total", "Calls answered by a fallback.", "dependency", "endpoint")
	retriesDesc   = desc("retries_total", "Attempts beyond a call's first.", "dependency", "endpoint")
	budgetDesc    = desc("retry_budget_tokens", "Retries that may be made now.", "dependency")
	abandonedDesc = desc("abandoned_calls", "Functions walked away from that still run, and hold a slot.",
		"dependency", "endpoint")
)

// Describe implements prometheus.Collector. Dependencies share their metrics' names, so that one process can register
// many; what tells them apart is the label, and a collector that describes nothing may do so.
func (d *Dependency) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It moves no state.
func (d *Dependency) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	count := func(desc *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), labels...)
	}
	limit, inUse, _ := d.slots.read()
	gauge(slotsDesc, limitValue(limit), d.name)
	gauge(slotsInUseDesc, float64(inUse), d.name)
	gauge(timeoutDesc, timeoutValue(d.Policy().Timeout), d.name)
	gauge(budgetDesc, d.budget.read(), d.name)
	for _, e := range d.sorted() {
		s := e.snapshot()
		for _, o := range Outcomes {
			count(callsDesc, s.Outcomes[o.String()], d.name, e.name, o.String())
		}
		gauge(oldestDesc, s.OldestCall.Seconds(), d.name, e.name)
		gauge(breakerDesc, map[string]float64{"half-open": 1, "open": 2}[s.Breaker], d.name, e.name)
		count(observedDesc, s.Observed, d.name, e.name)
		count(fallbacksDesc, s.Fallbacks, d.name, e.name)
		count(retriesDesc, s.Retries, d.name, e.name)
		gauge(abandonedDesc, float64(e.abandoned.Load()), d.name, e.name)
		ch <- e.durations
	}
}

func timeoutValue(timeout time.Duration) float64 {
	if timeout == Unbounded {
		return math.Inf(1)
	}
	return timeout.Seconds()
}

func (d *Dependency) sorted() []*Endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*Endpoint
	for _, name := range slices.Sorted(maps.Keys(d.endpoints)) {
		all = append(all, d.endpoints[name])
	}
	return all
}

// DependencySnapshot is what a dependency is doing now.
type DependencySnapshot struct {
	Name       string
	Slots      int // Unlimited where there is no limit
	InUse      int
	HighWater  int           // the most slots in use since the last Mark
	OldestCall time.Duration // the age of the oldest attempt in flight
	Endpoints  []EndpointSnapshot
}

// EndpointSnapshot is what an endpoint has done since the start, and is doing now.
type EndpointSnapshot struct {
	Name       string
	Breaker    string            // closed, half-open, open; none
	OpensAt    time.Time         // when an open breaker lets probes through; zero unless it is open
	OldestCall time.Duration     // the age of the oldest attempt in flight
	Outcomes   map[string]uint64 // by Outcome.String
	Fallbacks  uint64
	Retries    uint64
	Observed   uint64 // calls that an acting breaker would have refused, and an observing one let through
	// Durations are the cumulative counts of attempts by upper bound in seconds, as a Prometheus histogram has them.
	Durations map[float64]uint64
}

// Snapshot returns what the dependency is doing now.
func (d *Dependency) Snapshot() DependencySnapshot {
	s := DependencySnapshot{Name: d.name}
	s.Slots, s.InUse, s.HighWater = d.slots.read()
	for _, e := range d.sorted() {
		es := e.snapshot()
		s.OldestCall = max(s.OldestCall, es.OldestCall)
		s.Endpoints = append(s.Endpoints, es)
	}
	return s
}

// Mark resets the high-water mark to what is in use now.
func (d *Dependency) Mark() { d.slots.mark() }

func (e *Endpoint) snapshot() EndpointSnapshot {
	s := EndpointSnapshot{
		Name:      e.name,
		Outcomes:  make(map[string]uint64, len(Outcomes)),
		Fallbacks: e.fallbacks.Load(),
		Retries:   e.retries.Load(),
		Observed:  e.observed.Load(),
		Durations: buckets(e.durations),
	}
	for _, o := range Outcomes {
		s.Outcomes[o.String()] = e.outcomes[o].Load()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.Breaker, s.OpensAt = e.breaker.read()
	s.OldestCall = e.flight.oldestAge(time.Now())
	return s
}

func buckets(h prometheus.Histogram) map[float64]uint64 {
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		return nil // a histogram without labels to check cannot fail
	}
	counts := make(map[float64]uint64, len(durationBuckets))
	for _, b := range m.GetHistogram().GetBucket() {
		counts[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	return counts
}
