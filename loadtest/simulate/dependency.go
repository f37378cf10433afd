package simulate

import (
	"math/rand/v2"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// dependency is one edge of one instance of a service: its slots, its retry budget, and a breaker for each endpoint.
type dependency struct {
	clock    *clock
	chance   *rand.Rand
	edge     defence.Edge
	policy   resilience.Policy
	to       *fleet
	heedless bool  // its client ignores timeouts and its caller's departure
	pool     *pool // of the client that it shares; nil: none
	inUse    int   // slots
	tokens   float64
	breakers map[string]*breaker // by endpoint

	outcomes map[resilience.Outcome]int64
	retries  int64
	changes  map[string][]change // of the breakers, by endpoint
}

type change struct {
	at    time.Duration
	state string
}

// retryFloor is what a retry budget holds at first, and at least may hold.
const retryFloor = 3

func (d *dependency) apply(p resilience.Policy, pool *pool) {
	if p.Retry.Budget != d.policy.Retry.Budget {
		d.tokens = retryFloor
	}
	for _, endpoint := range d.edge.Endpoints {
		if old, ok := d.breakers[endpoint]; ok && d.policy.Breaker == p.Breaker && d.policy.Slots == p.Slots {
			d.breakers[endpoint] = old
			continue
		}
		told := func(state string) { d.changes[endpoint] = append(d.changes[endpoint], change{d.clock.now, state}) }
		d.breakers[endpoint] = newBreaker(d.clock, d.chance, p.Breaker, p.Slots, told)
	}
	d.policy, d.pool = p, pool
}

// settle makes the breakers look away until an instant.
func (d *dependency) settle(until time.Duration) {
	for _, b := range d.breakers {
		if b != nil {
			b.settled = until
		}
	}
}

func (d *dependency) slowAfter() time.Duration {
	if d.policy.SlowAfter > 0 {
		return d.policy.SlowAfter
	}
	return d.policy.Timeout
}

// call is one call over an edge, until it is answered for good.
type call struct {
	*dependency
	endpoint string
	caller   *scope
	ask      ask // as the callee is to get it
	policy   resilience.Policy
	try      int
	then     func(reply, resilience.Outcome)
}

// call asks what the edge leads to; then is told the answer, or with what outcome there was none.
func (d *dependency) call(endpoint string, caller *scope, a ask, then func(reply, resilience.Outcome)) {
	c := &call{dependency: d, endpoint: endpoint, caller: caller, policy: d.policy, then: then}
	a.class = lower(a.class, d.policy.Criticality)
	c.ask = a
	c.ask.retried = a.retried || d.policy.Retry.Attempts > 1
	if b := d.policy.Retry.Budget; d.policy.Retry.Attempts > 1 && b != resilience.Unbudgeted {
		d.tokens = min(d.tokens+b, max(retryFloor, 100*b))
	}
	c.attempt(a.retried)
}

// lower is the less critical of two classes.
func lower(a, b resilience.Criticality) resilience.Criticality {
	if rank(a) > rank(b) {
		return a
	}
	return b
}

// attempt is one try of a call.
type attempt struct {
	call    *call
	scope   *scope
	ticket  ticket
	began   time.Duration
	limit   time.Duration
	settled bool // to the breaker
	slow    bool // in flight for longer than SlowAfter; the breaker's own
	placed  bool // in the shared pool
	leaving bool // nobody waits for it any more
}

// attempt makes one, and another where the policy allows it. outer: a hop further out retries.
func (c *call) attempt(outer bool) {
	c.try++
	c.begin(func(r reply, o resilience.Outcome) {
		if pause, again := c.again(o, outer); again {
			c.caller.wait(pause, func() {
				if c.caller.over {
					c.then(r, o)
					return
				}
				c.retries++
				c.attempt(outer)
			})
			return
		}
		c.then(r, o)
	})
}

// again tells whether to try again, and after which pause.
func (c *call) again(o resilience.Outcome, outer bool) (time.Duration, bool) {
	retry := c.policy.Retry
	if c.try >= retry.Attempts || o != resilience.Failure && o != resilience.Timeout {
		return 0, false
	}
	budgeted := retry.Budget != resilience.Unbudgeted
	if outer && budgeted || c.caller.over {
		return 0, false
	}
	longest := retry.Backoff << (c.try - 1)
	longest = min(longest, max(retry.MaxBackoff, retry.Backoff))
	if c.caller.deadline != never && c.caller.deadline-c.clock.now-c.policy.Reserve <= longest {
		return 0, false
	}
	if budgeted {
		if c.tokens < 1-1e-9 {
			return 0, false
		}
		c.tokens--
	}
	if longest == 0 {
		return 0, true
	}
	return time.Duration(c.chance.Int64N(int64(longest))), true
}

// begin takes all that an attempt needs, or tells why nothing is sent.
func (c *call) begin(then func(reply, resilience.Outcome)) {
	refuse := func(o resilience.Outcome) {
		c.outcomes[o]++
		then(reply{status: refused}, o)
	}
	latest := c.caller.deadline
	if latest != never {
		latest -= c.policy.Reserve
	}
	if c.caller.over || latest <= c.clock.now {
		refuse(resilience.Expired)
		return
	}
	b := c.breakers[c.endpoint]
	b.look(c.slowAfter())
	if c.inUse >= c.policy.Slots {
		refuse(resilience.Rejected)
		return
	}
	t, ok := b.admit()
	if !ok {
		refuse(resilience.ShortCircuited)
		return
	}
	c.inUse++
	a := &attempt{call: c, ticket: t, began: c.clock.now, limit: c.policy.Timeout}
	b.begun(a)
	if t.probe {
		a.limit = c.probeTimeout()
	}
	if a.limit != resilience.Unbounded {
		latest = min(latest, c.clock.now+a.limit)
	}
	a.scope = c.caller.within(latest)
	a.send(then)
}

func (c *call) probeTimeout() time.Duration {
	switch {
	case c.policy.ProbeTimeout > 0:
		return c.policy.ProbeTimeout
	case c.policy.Timeout == resilience.Unbounded:
		return time.Second
	}
	return c.policy.Timeout
}

// send asks, through the shared pool where there is one. The connection ends with the attempt, unless the client heeds
// neither.
func (a *attempt) send(then func(reply, resilience.Outcome)) {
	c := a.call
	connection := a.scope
	if c.heedless {
		connection = c.clock.scope(never)
	}
	pool := c.pool
	back := func(r reply) {
		if a.placed {
			a.placed = false
			pool.leave()
		}
		c.inUse--
		if connection != a.scope {
			connection.close()
		}
		if !a.leaving {
			a.leaving = true
			a.finish(r, then)
		}
	}
	asked := func() {
		a.placed = pool != nil
		a.ask(connection, back)
	}
	if pool == nil {
		asked()
	} else {
		pool.enter(connection, asked, func() { back(reply{status: broken}) })
	}
	if c.policy.WalkAway && !a.leaving {
		a.scope.watch(func() {
			if !a.leaving {
				a.leaving = true
				a.finish(reply{status: broken}, then)
			}
		})
	} else if !a.leaving && a.ticket.probe {
		a.scope.watch(func() { a.settle(a.outcome(reply{status: broken})) })
	}
}

// ask has the callee asked, and the answer or the end of the connection told.
func (a *attempt) ask(connection *scope, back func(reply)) {
	heard := false
	hear := func(r reply) {
		if !heard {
			heard = true
			back(r)
		}
	}
	latest := a.call.ask
	latest.deadline = a.scope.deadline
	a.call.to.serve(connection, latest, hear)
	connection.watch(func() { hear(reply{status: broken}) })
}

func (a *attempt) finish(r reply, then func(reply, resilience.Outcome)) {
	o := a.outcome(r)
	a.settle(o)
	a.scope.close()
	then(r, o)
}

// outcome is how the attempt ended: who ended it decides, not what came back.
func (a *attempt) outcome(r reply) resilience.Outcome {
	switch {
	case r.status == served || r.status == conflict:
		return resilience.Success
	case a.scope.over && a.scope.expired:
		return resilience.Timeout
	case a.scope.over:
		return resilience.Cancelled
	}
	return resilience.Failure
}

// settle tells the breaker and the count, once.
func (a *attempt) settle(o resilience.Outcome) {
	if a.settled {
		return
	}
	a.settled = true
	c := a.call
	a.ticket.breaker.ended(a)
	v := verdict{slow: c.clock.now-a.began >= min(c.slowAfter(), a.limit)}
	switch {
	case o == resilience.Success:
	case o == resilience.Failure, o == resilience.Timeout && v.slow:
		v.failed = true
	default:
		v = verdict{neutral: true}
	}
	c.outcomes[o]++
	c.breakers[c.endpoint].report(a.ticket, v, c.slowAfter())
}
