package simulate

import (
	"maps"
	"math"
	"slices"
	"time"

	"example.com/holdfast/loadtest"
)

// lookAt is how often a run looks at the shop.
const lookAt = 500 * time.Millisecond

// record is what is noted of an act while it is played.
type record struct {
	scenario  *loadtest.Scenario
	act       *loadtest.Act
	shop      *shop
	classes   []*class
	phase     int           // the one that is being played; -1: none yet
	from      time.Duration // when it began
	highWater []map[string]int
	saturated []map[string]time.Duration // by phase, from its beginning
	series    map[string]loadtest.ServiceSeries
}

func newRecord(s *loadtest.Scenario, a *loadtest.Act, sh *shop, seed uint64) *record {
	r := &record{scenario: s, act: a, shop: sh, phase: -1, series: map[string]loadtest.ServiceSeries{}}
	for i, name := range slices.Sorted(maps.Keys(s.Classes)) {
		r.classes = append(r.classes, newClass(name, s.Classes[name], seed, uint64(i)+1))
	}
	return r
}

func (r *record) class(name string) *class {
	return r.classes[slices.IndexFunc(r.classes, func(k *class) bool { return k.name == name })]
}

// advance plays to an instant through all phases that begin or end before it.
func (r *record) advance(to time.Duration) error {
	for r.phase < len(r.act.Phases) {
		ends := time.Duration(0)
		if r.phase >= 0 {
			ends = r.from + time.Duration(r.act.Phases[r.phase].For)
		}
		if ends > to {
			return nil
		}
		r.shop.clock.runTo(ends)
		r.close()
		r.phase++
		r.from = ends
		if r.phase == len(r.act.Phases) {
			return nil
		}
		for _, i := range r.instances() {
			i.admission.mark()
		}
		if err := r.shop.begin(r.act.Phases[r.phase]); err != nil {
			return err
		}
		if r.phase == 0 {
			r.look()
		}
	}
	return nil
}

func (r *record) instances() (all []*instance) {
	for _, name := range loadtest.Services {
		all = append(all, r.shop.fleets[name].instances...)
	}
	return all
}

// close notes the marks of the phase that ends.
func (r *record) close() {
	if r.phase < 0 {
		return
	}
	high, full := map[string]int{}, map[string]time.Duration{}
	for _, name := range loadtest.Services {
		first := r.shop.fleets[name].instances[0] // a run looks at the first of several, too
		high[name] = first.admission.highWater
		if at := first.admission.saturated; at != never {
			full[name] = max(at-r.from, 0)
		}
	}
	r.highWater, r.saturated = append(r.highWater, high), append(r.saturated, full)
}

// look notes what is seen of the services now, and from now on.
func (r *record) look() {
	for _, name := range loadtest.Services {
		i := r.shop.fleets[name].instances[0]
		if i.closed {
			continue
		}
		s := r.series[name]
		s.Limit = i.settings.Workers
		s.At = append(s.At, seconds(r.shop.clock.now))
		s.Workers = append(s.Workers, i.admission.inUse)
		s.Queue = append(s.Queue, i.admission.waiting)
		if s.Dependencies == nil {
			s.Dependencies = map[string]loadtest.DependencySeries{}
		}
		for _, dep := range i.inOrder() {
			s.Dependencies[dep] = lookAtCalls(s.Dependencies[dep], i.calls[dep], s.At)
		}
		r.series[name] = s
	}
	r.shop.clock.after(lookAt, r.look)
}

// lookAtCalls adds the latest look at a dependency.
func lookAtCalls(s loadtest.DependencySeries, d *dependency, looks []float64) loadtest.DependencySeries {
	n := len(looks) - 1
	if s.Outcomes == nil {
		s.Outcomes, s.Breakers = map[string][]int64{}, map[string][]loadtest.StateChange{}
	}
	s.Slots = 0
	if d.policy.Slots < math.MaxInt {
		s.Slots = d.policy.Slots
	}
	s.InUse = append(s.InUse, d.inUse)
	s.Retries = append(s.Retries, d.retries)
	d.retries = 0
	for outcome, count := range d.outcomes {
		was := s.Outcomes[outcome.String()]
		s.Outcomes[outcome.String()] = append(append(was, make([]int64, n-len(was))...), count)
	}
	clear(d.outcomes)
	for outcome, was := range s.Outcomes {
		s.Outcomes[outcome] = append(was, make([]int64, n+1-len(was))...)
	}
	for endpoint, b := range d.breakers {
		if b != nil && len(s.Breakers[endpoint]) == 0 {
			s.Breakers[endpoint] = []loadtest.StateChange{{At: looks[n], State: "closed"}}
		}
		for _, c := range d.changes[endpoint] {
			s.Breakers[endpoint] = append(s.Breakers[endpoint], loadtest.StateChange{At: seconds(c.at), State: c.state})
		}
	}
	clear(d.changes)
	return s
}
