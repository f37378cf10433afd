package simulate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/loadtest"
	"example.com/holdfast/pkg/resilience"
)

// What the balancer before the replicas of a service does, as `holdfast balance`: how often it looks whether they are
// ready, how long it waits for an answer, and how many looks in a row without one leave a replica out.
const (
	lookEvery   = 500 * time.Millisecond
	lookTimeout = time.Second
	failedLooks = 2
)

// How a process restarts in the shop of a load test: of several replicas it is ready no more and still takes requests
// for drainDelay; what is under way then gets drainTimeout, and 503 at its end; and a new process starts.
const (
	drainDelay   = 2 * time.Second
	drainTimeout = 2 * time.Second
	drainLook    = 10 * time.Millisecond
	startTakes   = 300 * time.Millisecond
)

// processors are those of the machine that the load tests are made for.
const processors = 2

// fleet is a service: its instances, behind a balancer where there are several.
type fleet struct {
	clock     *clock
	name      string
	instances []*instance
	out       []int // by instance: looks in a row that found it not ready
	turn      int
	came      func() // told of each request; nil: nobody is
}

// serve hands a request to the next instance that is ready.
func (f *fleet) serve(connection *scope, a ask, answer func(reply)) {
	if f.came != nil {
		f.came()
	}
	if len(f.instances) == 1 {
		f.instances[0].serve(connection, a, answer)
		return
	}
	for range f.instances {
		n := f.turn % len(f.instances)
		f.turn++
		if f.out[n] < failedLooks {
			f.instances[n].serve(connection, a, answer)
			return
		}
	}
	answer(reply{status: refused})
}

// watch looks at an instance now and from now on.
func (f *fleet) watch(n int) {
	began, within := f.clock.now, f.clock.scope(f.clock.now+lookTimeout)
	f.instances[n].ready(within, func(ready bool) {
		within.close()
		f.out[n]++
		if ready {
			f.out[n] = 0
		}
		// A ticker that has been missed is made up for at once.
		f.clock.after(max(lookEvery-(f.clock.now-began), 0), func() { f.watch(n) })
	})
}

// ready tells whether the instance wants requests: by itself, or by asking its dependencies.
func (i *instance) ready(within *scope, then func(bool)) {
	if i.leaving {
		then(false)
		return
	}
	open, all := 1, true
	heard := func(yes bool) {
		all = all && yes
		if open--; open == 0 {
			then(all)
		}
	}
	if !i.on.IsolatedProbes {
		open++
		i.admission.acquire(within, resilience.Default, func(admitted bool) {
			if admitted {
				i.admission.release()
			}
			heard(admitted)
		})
	}
	if !i.on.ShallowReadiness {
		for _, to := range i.callees {
			open++
			told := false
			tell := func(yes bool) {
				if !told {
					told = true
					heard(yes)
				}
			}
			to.serve(within, ask{route: health.name, deadline: never}, func(r reply) { tell(r.status == served) })
			within.watch(func() { tell(false) })
		}
	}
	heard(true)
}

// shop is the whole house, as an act opens it.
type shop struct {
	clock   *clock
	machine *machine
	chance  *rand.Rand
	seed    uint64
	house   Shop
	fleets  map[string]*fleet
	on      defence.Set
}

// open opens a shop in which the defences are on that are given.
func open(c *clock, house Shop, env loadtest.Environment, on defence.Set, seed uint64) (*shop, error) {
	s := &shop{clock: c, machine: &machine{c, make([]time.Duration, processors)}, chance: rand.New(rand.NewPCG(seed, 0)), seed: seed, house: house, fleets: map[string]*fleet{}, on: on}
	for _, name := range loadtest.Services { // callees first
		settings, err := settingsOf(name, env)
		if err != nil {
			return nil, err
		}
		f := &fleet{clock: c, name: name, out: make([]int, settings.replicas)}
		s.fleets[name] = f
		for range settings.replicas {
			f.instances = append(f.instances, s.instance(name, settings))
		}
		if settings.replicas > 1 {
			for n := range f.instances {
				f.watch(n)
			}
		}
	}
	return s, nil
}

// instance starts a process of a service.
func (s *shop) instance(name string, settings settings) *instance {
	i := &instance{
		clock: s.clock, machine: s.machine, settings: settings, on: s.on, routes: map[string]boundRoute{},
		admission: &admission{clock: s.clock, policy: settings.Admission(s.on), saturated: never, late: never},
		calls:     map[string]*dependency{}, copies: map[copied]bool{},
	}
	i.routes[health.name] = boundRoute{&health, time.Second}
	for n := range routes {
		if r := &routes[n]; r.service == name {
			i.routes[r.name] = boundRoute{r, s.house.budget(name, r.name)}
		}
	}
	if settings.SharedClientPool > 0 {
		i.pool = &pool{free: settings.SharedClientPool}
	}
	asked := map[string]bool{}
	for _, e := range s.house[name].Edges {
		to := s.fleets[e.To]
		if to == nil || e.Background {
			continue // a database, which the shop of a load test has not
		}
		d := &dependency{
			clock: s.clock, chance: s.chance, edge: settings.Tuning.Edge(e), to: to, tokens: retryFloor,
			heedless: settings.ClientIgnoresTimeouts, breakers: map[string]*breaker{},
			outcomes: map[resilience.Outcome]int64{}, changes: map[string][]change{},
		}
		i.calls[e.Dependency] = d
		if !asked[e.To] {
			asked[e.To] = true
			i.callees = append(i.callees, to)
		}
	}
	i.apply(s.on, settings.Environment)
	return i
}

// set switches the defences, callees first.
func (s *shop) set(on defence.Set) {
	s.on = on
	for _, name := range loadtest.Services {
		for _, i := range s.fleets[name].instances {
			i.apply(on, i.settings.Environment)
		}
	}
}

// restart ends the processes of a service and starts new ones, one after the other, from the n-th on.
func (s *shop) restart(name string, n int) {
	f := s.fleets[name]
	if n == len(f.instances) {
		return
	}
	old := f.instances[n]
	old.leaving = true
	delay := drainDelay
	if len(f.instances) == 1 {
		delay = 0 // nobody else is there to serve
	}
	s.clock.after(delay, func() {
		old.closed = true
		s.drain(old, s.clock.now+drainTimeout, func() {
			next := s.instance(name, old.settings)
			next.faults = old.faults
			f.instances[n] = next
			s.restart(name, n+1)
		})
	})
}

// drain waits for what is under way in a process, and ends it; then starts the next.
func (s *shop) drain(old *instance, until time.Duration, then func()) {
	if len(old.inside) > old.done && s.clock.now < until {
		s.clock.after(drainLook, func() { s.drain(old, until, then) })
		return
	}
	old.stop()
	s.clock.after(startTakes, then)
}

// inOrder are the dependencies of an instance, by name.
func (i *instance) inOrder() []string { return slices.Sorted(maps.Keys(i.calls)) }
