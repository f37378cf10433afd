package service

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/fault"
	"example.com/holdfast/pkg/resilience"
)

// State is what GET /admin/state tells. Counts grow from the start of the process; a limit of 0 is no limit.
type State struct {
	Service      string            `json:"service"`
	At           time.Time         `json:"at"` // when this was read, so that a mean can be taken between two reads
	Workers      WorkersState      `json:"workers"`
	Process      ProcessState      `json:"process"`
	Dependencies []DependencyState `json:"dependencies"`
	Defences     defence.Set       `json:"defences"`
	Faults       []fault.Fault     `json:"faults"`
}

// WorkersState tells of the requests in progress.
type WorkersState struct {
	Limit       int        `json:"limit"`
	InUse       int        `json:"in_use"`
	HighWater   int        `json:"high_water"`   // since the last mark
	SaturatedAt *time.Time `json:"saturated_at"` // first instant since the last mark at which all were in use; null: never
	Queue       int        `json:"queue"`
	BusySeconds float64    `json:"busy_seconds"` // the integral of in_use over time
	Shed        uint64     `json:"shed"`
	Begun       uint64     `json:"begun"`      // requests that were given a worker …
	BegunLate   uint64     `json:"begun_late"` // … when nobody waited for them any more
}

// ProcessState tells of the process. Where the system is not Linux, what the kernel does not tell is 0.
type ProcessState struct {
	Goroutines int     `json:"goroutines"`
	FDs        int     `json:"fds"`
	FDsLimit   uint64  `json:"fds_limit"`
	RSSBytes   int64   `json:"rss_bytes"`
	HeapBytes  int64   `json:"heap_bytes"` // that the last collection found in use
	CPUSeconds float64 `json:"cpu_seconds"`
}

// Plus is what two processes take together.
func (p ProcessState) Plus(o ProcessState) ProcessState {
	return ProcessState{
		Goroutines: p.Goroutines + o.Goroutines, FDs: p.FDs + o.FDs, FDsLimit: p.FDsLimit + o.FDsLimit,
		RSSBytes: p.RSSBytes + o.RSSBytes, HeapBytes: p.HeapBytes + o.HeapBytes, CPUSeconds: p.CPUSeconds + o.CPUSeconds,
	}
}

// liveHeap is what the last collection found in use.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// DependencyState tells of the calls to one dependency.
type DependencyState struct {
	Name         string          `json:"name"`
	TimeoutMS    float64         `json:"timeout_ms"` // of one attempt; 0: none
	Slots        int             `json:"slots"`
	InUse        int             `json:"in_use"`
	HighWater    int             `json:"high_water"` // since the last mark
	OldestCallMS float64         `json:"oldest_call_ms"`
	Endpoints    []EndpointState `json:"endpoints"`
}

// EndpointState tells of the calls to one operation. The percentiles are of attempts that ended in the last 10 to 20
// seconds, read from histogram buckets; 0 where there were none.
type EndpointState struct {
	Name      string            `json:"name"`
	Breaker   string            `json:"breaker"`
	OpensAt   *time.Time        `json:"opens_at"` // when an open breaker lets probes through, else null
	Outcomes  map[string]uint64 `json:"outcomes"`
	Fallbacks uint64            `json:"fallbacks"`
	Retries   uint64            `json:"retries"`
	P50MS     float64           `json:"p50_ms"`
	P99MS     float64           `json:"p99_ms"`
	Durations Histogram         `json:"durations"` // of all attempts since the start
}

// state reads everything.
func (c *Chassis) state() State {
	a := c.board.Admission().Snapshot()
	begun, late := c.board.Begun()
	s := State{
		Service: c.name,
		At:      time.Now(),
		Workers: WorkersState{
			Limit: limit(a.Limit), InUse: a.InUse, HighWater: a.HighWater, SaturatedAt: instant(a.SaturatedAt),
			Queue: a.Queue, BusySeconds: a.Busy.Seconds(), Shed: a.Shed, Begun: begun, BegunLate: late,
		},
		Process:      readProcess(),
		Dependencies: []DependencyState{},
		Defences:     c.board.Get(),
		Faults:       c.faults.List(),
	}
	for _, dep := range c.board.Dependencies() {
		d := dep.Snapshot()
		state := DependencyState{
			Name: d.Name, TimeoutMS: timeoutMS(dep.Policy().Timeout), Slots: limit(d.Slots), InUse: d.InUse,
			HighWater: d.HighWater, OldestCallMS: milliseconds(d.OldestCall), Endpoints: []EndpointState{},
		}
		for _, e := range d.Endpoints {
			durations := newHistogram(e.Durations)
			recent := c.window.since(d.Name, e.Name, durations)
			state.Endpoints = append(state.Endpoints, EndpointState{
				Name: e.Name, Breaker: e.Breaker, OpensAt: instant(e.OpensAt), Outcomes: e.Outcomes,
				Fallbacks: e.Fallbacks, Retries: e.Retries,
				P50MS: recent.Quantile(0.50), P99MS: recent.Quantile(0.99), Durations: durations,
			})
		}
		s.Dependencies = append(s.Dependencies, state)
	}
	return s
}

// limit tells Unlimited as 0: a number that every reader of JSON can hold.
func limit(n int) int {
	if n == resilience.Unlimited {
		return 0
	}
	return n
}

// timeoutMS tells Unbounded as 0, for the same reason.
func timeoutMS(d time.Duration) float64 {
	if d == resilience.Unbounded {
		return 0
	}
	return milliseconds(d)
}

// instant tells the zero time as null.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rotation is how often the window of the percentiles moves on.
const rotation = 10 * time.Second

// window remembers the histograms as they were at the last two rotations; what has been added since the older one
// is the last 10 to 20 seconds.
type window struct {
	mu          sync.Mutex
	older, last map[endpointName]Histogram
}

type endpointName struct{ dependency, endpoint string }

func newWindow() *window { return new(window) }

// watch rotates the window and tells what the sampler of warnings has counted, until ctx ends. It returns nil.
func (c *Chassis) watch(ctx context.Context) error {
	tick := time.NewTicker(rotation)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.window.rotate(c.board.Dependencies())
			c.warnings.flush(ctx)
		case <-ctx.Done():
			c.warnings.flush(ctx)
			return nil
		}
	}
}

func (w *window) rotate(deps []*resilience.Dependency) {
	now := make(map[endpointName]Histogram)
	for _, dep := range deps {
		d := dep.Snapshot()
		for _, e := range d.Endpoints {
			now[endpointName{d.Name, e.Name}] = newHistogram(e.Durations)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.older, w.last = w.last, now
}

// since returns the histogram of the window: durations less what they were when it began.
func (w *window) since(dependency, endpoint string, durations Histogram) Histogram {
	w.mu.Lock()
	defer w.mu.Unlock()
	return durations.Since(w.older[endpointName{dependency, endpoint}])
}
