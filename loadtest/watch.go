package loadtest

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	watchEvery   = 500 * time.Millisecond
	probeTimeout = time.Second // what an orchestrator allows a probe at most
)

// watch looks at every service twice a second, from outside: its state, and how long its readiness probe takes.
type watch struct {
	admin *admin

	mu       sync.Mutex
	samples  map[string][]sample // by service, in the order of time
	machines []machineAt         // second by second
}

// machineAt is what became of the processors in the second that ended at an instant.
type machineAt struct {
	machine
	at time.Time
}

// sample is one look at one service.
type sample struct {
	at    time.Time
	state State            // without what became of the calls
	calls map[string]Calls // that, by dependency
	dead  bool             // its admin listener did not answer

	probe  time.Duration // how long /readyz took, at most probeTimeout
	failed bool          // it did not answer, or said that the service is not ready
}

func newWatch(a *admin) *watch { return &watch{admin: a, samples: map[string][]sample{}} }

// run looks until ctx ends; the channel closes when the last look is over.
func (w *watch) run(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		wg.Go(func() { w.followMachine(ctx) })
		w.admin.each(func(service string) { w.follow(ctx, service) })
		wg.Wait()
	}()
	return done
}

func (w *watch) followMachine(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := readMachine()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := readMachine()
		w.mu.Lock()
		w.machines = append(w.machines, machineAt{now.since(before), time.Now()})
		w.mu.Unlock()
		before = now
	}
}

func (w *watch) follow(ctx context.Context, service string) {
	// A prober of its own, so that a probe that hangs delays nothing but itself.
	prober := &http.Transport{MaxConnsPerHost: 2, IdleConnTimeout: 10 * time.Second}
	defer prober.CloseIdleConnections()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := w.look(ctx, service, prober)
		if ctx.Err() != nil {
			return // the look was cut short and says nothing
		}
		w.mu.Lock()
		w.samples[service] = append(w.samples[service], s)
		w.mu.Unlock()
	}
}

func (w *watch) look(ctx context.Context, service string, prober http.RoundTripper) sample {
	s := sample{at: time.Now()}
	s.probe, s.failed = probe(ctx, w.admin.shop.Admin(service)+"/readyz", prober)
	state, err := w.admin.state(ctx, service)
	s.dead = err != nil
	s.calls = make(map[string]Calls, len(state.Dependencies))
	for _, d := range state.Dependencies {
		s.calls[d.Name], _ = state.calls(d.Name)
		for i := range d.Endpoints {
			d.Endpoints[i].Outcomes = nil // a long run must stay small; the runner reads them where a phase ends
		}
	}
	s.state = state
	if !s.dead {
		s.at = state.at
	}
	return s
}

func probe(ctx context.Context, address string, prober http.RoundTripper) (took time.Duration, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return probeTimeout, true
	}
	began := time.Now()
	res, err := prober.RoundTrip(req)
	if err != nil {
		return min(time.Since(began), probeTimeout), true
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	return min(time.Since(began), probeTimeout), err != nil || res.StatusCode != http.StatusOK
}

// between returns the samples of a service in [from, to).
func (w *watch) between(service string, from, to time.Time) []sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var in []sample
	for _, s := range w.samples[service] {
		if !s.at.Before(from) && s.at.Before(to) {
			in = append(in, s)
		}
	}
	return in
}

// machinesBetween returns what became of the processors in each second that ended in (from, to].
func (w *watch) machinesBetween(from, to time.Time) []machineAt {
	w.mu.Lock()
	defer w.mu.Unlock()
	var in []machineAt
	for _, m := range w.machines {
		if m.at.After(from) && !m.at.After(to) {
			in = append(in, m)
		}
	}
	return in
}

// last returns the latest sample of a service.
func (w *watch) last(service string) (sample, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.samples[service]
	if len(all) == 0 {
		return sample{}, false
	}
	return all[len(all)-1], true
}

// processorUse is the mean number of cores that a service kept busy over the samples: 1 is one whole core.
func processorUse(samples []sample) (cores float64, ok bool) {
	alive := living(samples)
	if len(alive) < 2 {
		return 0, false
	}
	first, last := alive[0], alive[len(alive)-1]
	elapsed := last.at.Sub(first.at).Seconds()
	return (last.state.Process.CPUSeconds - first.state.Process.CPUSeconds) / elapsed, elapsed > 0
}

func living(samples []sample) []sample {
	var alive []sample
	for _, s := range samples {
		if !s.dead {
			alive = append(alive, s)
		}
	}
	return alive
}
