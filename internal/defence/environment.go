package defence

import (
	"time"

	"example.com/holdfast/pkg/resilience"
)

// Environment is what is no defence: the size of things, and the shape of ordinary code's client.
type Environment struct {
	Workers          int    // 0: unlimited, as plain Go
	SharedClientPool int    // calls in all through the shared client when bulkheads are off; 0: no limit
	SharedClientIdle int    // idle connections a host that it keeps
	NaiveAttempts    [2]int // of the page and of the client library, one loop in the other, when retry_budget is off

	ClientIgnoresTimeouts bool // an upgraded client library: calls outlive their timeout and their caller
	WalkAway              bool // callers leave at the timeout what ignores it; its slot stays taken: Policy.WalkAway

	NoQueue bool   // with shedding: nobody waits for a worker
	Tuning  Tuning // limits other than those declared
}

// What shedding does with those for whom no worker is free: a line as long as there are workers, in which nobody
// waits longer than a page can spare.
const (
	queueMaxWait    = 100 * time.Millisecond
	queueTargetWait = 10 * time.Millisecond
)

// Admission is how a service of this environment hands its workers out.
func (env Environment) Admission(on Set) resilience.AdmissionPolicy {
	p := resilience.AdmissionPolicy{Workers: env.Workers, Queue: resilience.Unlimited, MaxWait: resilience.Unbounded}
	if p.Workers == 0 {
		p.Workers = resilience.Unlimited
	}
	if on.Shedding {
		p.Queue, p.MaxWait, p.TargetWait = p.Workers, queueMaxWait, queueTargetWait
		if env.NoQueue {
			p.Queue = 0
		}
	}
	return p
}

// Policy is what becomes of an edge's policy where defences are off, which is what ordinary code does: all of it but
// the client, which is the switchboard's. Of e it is given the declared limits, tuned or not.
func (env Environment) Policy(e Edge, on Set) resilience.Policy {
	p := e.Policy
	if !on.Timeouts {
		if p.SlowAfter == 0 {
			p.SlowAfter = p.Timeout
		}
		if p.ProbeTimeout == 0 {
			p.ProbeTimeout = p.Timeout
		}
		p.Timeout, p.ConnectTimeout = resilience.Unbounded, naiveConnectTimeout
	}
	if !on.Bulkheads {
		p.Slots, p.SlotWait = resilience.Unlimited, 0
	}
	if !on.Breakers {
		p.Breaker = resilience.Breaker{}
	}
	if !on.RetryBudget {
		p.Retry = env.naiveRetry(e)
	}
	p.NoFallback = !on.Fallbacks
	p.WalkAway = p.WalkAway || env.WalkAway
	return p
}

// naiveRetry is two loops, one in the other, that repeat whatever fails and know nothing of each other: what they come
// to is one loop of the product.
func (env Environment) naiveRetry(e Edge) resilience.Retry {
	attempts := max(1, env.NaiveAttempts[0]) * max(1, env.NaiveAttempts[1])
	if !e.Leaf || attempts == 1 {
		return resilience.Retry{}
	}
	return resilience.Retry{Attempts: attempts, Budget: resilience.Unbudgeted}
}
