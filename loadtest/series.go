package loadtest

import (
	"slices"
	"time"
)

// Series is an act as it went by, for whoever draws it. Seconds count from the first arrival.
type Series struct {
	Classes  map[string]ClassSeries   `json:"classes"`
	Services map[string]ServiceSeries `json:"services"`
	Idle     []float64                `json:"idle"` // the machine's, as a share of all its processors, second by second
}

// ClassSeries is what became of the people of a class, by the second in which they meant to come.
type ClassSeries struct {
	Asked    []int     `json:"asked"`
	Good     []int     `json:"good"`
	Fallback []int     `json:"fallback"`
	P50      []float64 `json:"p50_ms"` // 0 where nobody was sent
	P99      []float64 `json:"p99_ms"`
}

// ServiceSeries is what was seen of a service, look by look. A look at which it did not answer is missing.
type ServiceSeries struct {
	Limit        int                         `json:"limit"` // of its workers; 0: none
	At           []float64                   `json:"at_s"`
	Workers      []int                       `json:"workers"` // in use
	Queue        []int                       `json:"queue"`
	CPU          []float64                   `json:"cpu"` // cores kept busy since the look before
	Goroutines   []int                       `json:"goroutines"`
	FDs          []int                       `json:"fds"`
	RSS          []int64                     `json:"rss_bytes"`
	Probe        []float64                   `json:"probe_ms"`
	Dependencies map[string]DependencySeries `json:"dependencies"`
}

// DependencySeries is what was seen of the calls to a dependency, at the looks of its caller.
type DependencySeries struct {
	Slots    int                      `json:"slots"`
	InUse    []int                    `json:"in_use"`
	Outcomes map[string][]int64       `json:"outcomes"` // attempts that ended since the look before
	Retries  []int64                  `json:"retries"`
	Breakers map[string][]StateChange `json:"breakers"` // by endpoint, the state at the first look first
}

// StateChange is a breaker's state from a second on.
type StateChange struct {
	At    float64 `json:"at_s"`
	State string  `json:"state"`
}

// series tells how the act went by.
func (p *act) series() Series {
	length := p.phases[len(p.phases)-1].to
	s := Series{Classes: map[string]ClassSeries{}, Services: map[string]ServiceSeries{}, Idle: []float64{}}
	for i, name := range p.sender.names {
		c := ClassSeries{}
		for from := time.Duration(0); from < length; from += time.Second {
			n := p.tally.window([]int{i}, from, from+time.Second)
			c.Asked, c.Good, c.Fallback = append(c.Asked, n.Asked), append(c.Good, n.Good), append(c.Fallback, n.Fallback)
			p50, p99 := p.tally.seconds(from, from+time.Second, i)
			c.P50, c.P99 = append(c.P50, round(p50, 1)), append(c.P99, round(p99, 1))
		}
		s.Classes[name] = c
	}
	for _, service := range Services {
		seen := p.watch.between(service, p.tally.start, p.tally.start.Add(length))
		s.Services[service] = serviceSeries(living(seen), p.tally.start)
	}
	for _, m := range p.watch.machinesBetween(p.tally.start, p.tally.start.Add(length)) {
		if m.known && m.total > 0 {
			s.Idle = append(s.Idle, round(m.idle/m.total, 3))
		}
	}
	return s
}

func serviceSeries(looks []sample, start time.Time) ServiceSeries {
	n := len(looks)
	r := ServiceSeries{
		At: make([]float64, 0, n), Workers: make([]int, 0, n), Queue: make([]int, 0, n), CPU: make([]float64, 0, n),
		Goroutines: make([]int, 0, n), FDs: make([]int, 0, n), RSS: make([]int64, 0, n), Probe: make([]float64, 0, n),
		Dependencies: map[string]DependencySeries{},
	}
	for i, look := range looks {
		before := looks[max(i-1, 0)]
		process := look.state.Process
		cpu := 0.0
		if elapsed := look.at.Sub(before.at).Seconds(); elapsed > 0 {
			// A process that was restarted meanwhile counts from nothing.
			cpu = max(process.CPUSeconds-before.state.Process.CPUSeconds, 0) / elapsed
		}
		r.Limit = look.state.Workers.Limit
		r.At = append(r.At, round(look.at.Sub(start).Seconds(), 2))
		r.Workers = append(r.Workers, look.state.Workers.InUse)
		r.Queue = append(r.Queue, look.state.Workers.Queue)
		r.CPU = append(r.CPU, round(cpu, 3))
		r.Goroutines = append(r.Goroutines, process.Goroutines)
		r.FDs = append(r.FDs, process.FDs)
		r.RSS = append(r.RSS, process.RSSBytes)
		r.Probe = append(r.Probe, round(1000*look.probe.Seconds(), 1))
		for _, d := range look.state.Dependencies {
			r.Dependencies[d.Name] = r.Dependencies[d.Name].with(d, look, before, i, r.At[i])
		}
	}
	return r
}

// with adds what the i-th look, at a second, has shown of the dependency.
func (s DependencySeries) with(d DependencyState, look, before sample, i int, at float64) DependencySeries {
	if s.Outcomes == nil {
		s.Outcomes, s.Breakers = map[string][]int64{}, map[string][]StateChange{}
	}
	s.Slots = d.Slots
	s.InUse = append(s.InUse, d.InUse)
	more := look.calls[d.Name].since(before.calls[d.Name])
	s.Retries = append(s.Retries, max(more.Retries, 0))
	for outcome, n := range more.Outcomes {
		if n > 0 {
			s.Outcomes[outcome] = append(filled(s.Outcomes[outcome], i), n)
		}
	}
	for outcome := range s.Outcomes {
		s.Outcomes[outcome] = filled(s.Outcomes[outcome], i+1)
	}
	for _, e := range d.Endpoints {
		changes := s.Breakers[e.Name]
		if n := len(changes); n == 0 || changes[n-1].State != e.Breaker {
			s.Breakers[e.Name] = append(changes, StateChange{At: at, State: e.Breaker})
		}
	}
	return s
}

// filled returns the counts with nothing for each of the first n looks that have none.
func filled(counts []int64, n int) []int64 {
	return append(counts, slices.Repeat([]int64{0}, max(n-len(counts), 0))...)
}
