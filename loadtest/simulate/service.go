package simulate

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// handling is what a request costs a processor at each service, its way there and back and its sender's share included:
// two processors that are 46 % busy with 440 requests/s (ninety-seconds, act down) at 2.2 services each.
const handling = 950 * time.Microsecond

// ask is a request on its way.
type ask struct {
	route    string
	class    resilience.Criticality
	deadline time.Duration // that travels with it
	retried  bool          // a hop further out retries

	abroad bool // prices in another currency
	inline bool // the carousel is on the page
	offers bool // and so is the header of offers
	key    int  // which of the pages or the books
}

// copied is what a copy is kept of.
type copied struct {
	route  string
	abroad bool
	key    int
}

// status is what an answer says at its top.
type status uint8

const (
	served   status = iota
	conflict        // an order costs something else now
	refused         // or failed: a 5xx
	broken          // no answer: the connection is gone
)

type reply struct {
	status status
	lacks  lack
}

// instance is one process of a service.
type instance struct {
	clock     *clock
	machine   *machine
	settings  settings
	on        defence.Set
	routes    map[string]boundRoute
	admission *admission
	calls     map[string]*dependency
	pool      *pool
	faults    []*strike
	copies    map[copied]bool
	inside    []*task // some are done
	done      int     // of them
	callees   []*fleet
	leaving   bool // it is not ready any more
	closed    bool // nor does it take anybody in
}

// boundRoute is a route with the budget that the service declares for it.
type boundRoute struct {
	*route
	budget time.Duration
}

// task is a request in a service.
type task struct {
	*instance
	route   boundRoute
	ask     ask
	scope   *scope
	bounded bool // by a deadline and by timeouts
	worker  bool // it has one
	ended   bool
	open    int // calls that have not come back
	calling *scope
	reply   reply
	answer  func(reply)
}

// serve answers a request that comes over a connection, or never.
func (i *instance) serve(connection *scope, a ask, answer func(reply)) {
	if i.closed {
		answer(reply{status: broken})
		return
	}
	i.struck(connection, answer, func() { i.begin(connection, a, answer) })
}

func (i *instance) begin(connection *scope, a ask, answer func(reply)) {
	if i.closed {
		answer(reply{status: broken})
		return
	}
	t := &task{instance: i, route: i.routes[a.route], ask: a, answer: answer}
	t.bounded = i.on.Deadlines && i.on.Timeouts
	if i.on.Deadlines {
		t.scope = connection.within(min(a.deadline, i.clock.now+t.route.budget))
	} else {
		t.scope = i.clock.scope(never) // nothing ends it but its work
	}
	i.enter(t)
	i.admission.acquire(t.scope, a.class, func(admitted bool) {
		if t.worker = admitted; !admitted || t.ended {
			t.end(reply{status: refused})
			return
		}
		i.machine.use(handling, func() { t.scope.wait(i.settings.ownWork, t.work) })
	})
}

// enter notes t among those inside, and forgets those that are done now and then.
func (i *instance) enter(t *task) {
	if len(i.inside) > 64 && 2*i.done > len(i.inside) {
		live := i.inside[:0]
		for _, other := range i.inside {
			if !other.ended {
				live = append(live, other)
			}
		}
		clear(i.inside[len(live):])
		i.inside, i.done = live, 0
	}
	i.inside = append(i.inside, t)
}

// work makes the calls that the route needs, all at once.
func (t *task) work() {
	if t.ended {
		return
	}
	if t.scope.over {
		t.end(reply{status: refused})
		return
	}
	t.calling = t.scope.within(never)
	t.open = 1 // for the loop itself
	for n := range t.route.needs {
		if need := &t.route.needs[n]; need.when(t.ask) {
			t.open++
			d := t.calls[need.dependency]
			a := t.ask
			a.route = need.route
			d.call(need.endpoint, t.calling, a, func(r reply, o resilience.Outcome) { t.heard(need, d, r, o) })
		}
	}
	t.heardAll()
}

// heard takes in what became of a call. Where it was needed and failed, the others are called off.
func (t *task) heard(n *need, d *dependency, r reply, o resilience.Outcome) {
	key := copied{n.route, t.ask.abroad, t.ask.key}
	fallback := n.without != 0 && !d.policy.NoFallback && (!t.calling.over || t.calling.expired)
	switch {
	case o == resilience.Success:
		t.reply.lacks |= r.lacks
		t.reply.status = max(t.reply.status, r.status)
		if n.without == lacksCopy {
			t.copies[key] = true
		}
	case !fallback || n.without == lacksCopy && !t.copies[key]:
		t.reply.status = refused
		t.calling.end(false)
	case n.without == lacksRate:
		t.reply.status = max(t.reply.status, conflict)
	default:
		t.reply.lacks |= n.without
	}
	t.heardAll()
}

func (t *task) heardAll() {
	if t.open--; t.open == 0 && !t.ended {
		t.end(t.reply)
	}
}

// end gives the worker back and answers.
func (t *task) end(r reply) {
	if t.ended {
		return
	}
	t.ended = true
	t.done++
	t.scope.close()
	if t.calling != nil {
		t.calling.close()
	}
	if t.worker {
		t.admission.release()
	}
	t.answer(r)
}

// apply switches the defences, and ends the requests that began without bounds where there are bounds now: the newest
// first.
func (i *instance) apply(on defence.Set, env defence.Environment) {
	bounds := on.Timeouts && !i.on.Timeouts || on.Deadlines && !i.on.Deadlines
	i.on = on
	i.admission.apply(env.Admission(on))
	for _, d := range i.calls { // in any order: none knows of another
		shared := i.pool
		if on.Bulkheads {
			shared = nil
		}
		d.apply(env.Policy(d.edge, on), shared)
		if bounds {
			d.settle(i.clock.now + defence.SettleAfter)
		}
	}
	if !bounds {
		return
	}
	for n := len(i.inside) - 1; n >= 0; n-- {
		if t := i.inside[n]; !t.ended && !t.bounded {
			t.scope.end(false)
		}
	}
}

// stop ends what is still under way in a process that takes nobody in any more, those in line first.
func (i *instance) stop() {
	for n := len(i.inside) - 1; n >= 0; n-- {
		if t := i.inside[n]; !t.ended {
			t.scope.end(false)
		}
	}
}
