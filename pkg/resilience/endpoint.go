package resilience

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Endpoint is one operation of a dependency. A breaker belongs to it.
type Endpoint struct {
	dep  *Dependency
	name string

	mu      sync.Mutex
	breaker *breaker // nil: none
	flight  flight

	outcomes  [len(Outcomes)]atomic.Uint64
	fallbacks atomic.Uint64
	retries   atomic.Uint64
	observed  atomic.Uint64 // calls let through by a breaker that only observes
	abandoned atomic.Int64  // calls walked away from that still run
	hung      atomic.Int64  // fallback functions that still run, and nobody waits for
	durations prometheus.Histogram
	timeouts  sampler

	// What nothing-was-sent looks like, made once: a storm of refusals must not cost memory.
	rejected, shortCircuited, expired *Error
}

func newEndpoint(d *Dependency, name string) *Endpoint {
	refusal := func(o Outcome, err error) *Error {
		return &Error{Dependency: d.name, Endpoint: name, Outcome: o, Err: err}
	}
	return &Endpoint{
		dep: d, name: name,
		durations:      newDurations(d.name, name),
		rejected:       refusal(Rejected, errNoSlot),
		shortCircuited: refusal(ShortCircuited, errOpen),
		expired:        refusal(Expired, errExpired),
	}
}

// Name returns the name of the operation.
func (e *Endpoint) Name() string { return e.name }

// Dependency returns what e is an operation of.
func (e *Endpoint) Dependency() *Dependency { return e.dep }

func (e *Endpoint) apply(old, now *policy) {
	if old != nil && old.Breaker == now.Breaker && old.Slots == now.Slots {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.breaker = nil
	if now.Breaker.enabled() {
		e.breaker = newBreaker(now.Breaker, now.Slots, &e.flight, time.Now())
		e.breaker.settled = e.dep.settled
	}
}

var epoch = time.Now()

// clock is time.Now by the monotonic clock alone, at half its price: to a refusal, the clock is what costs most. What it
// returns is only to be compared; its wall time is off by as much as that has been set since the start.
func clock() time.Time { return epoch.Add(time.Since(epoch)) }

// begin takes all that an attempt needs, or tells why nothing may be sent.
func (e *Endpoint) begin(caller context.Context, p *policy) (*attempt, *Error) {
	if caller.Err() != nil {
		return nil, e.refuse(Expired)
	}
	now := clock()
	latest, bounded := caller.Deadline()
	if bounded {
		latest = latest.Add(-p.Reserve)
		if !now.Before(latest) {
			return nil, e.refuse(Expired)
		}
	}
	if !e.dep.slots.take() {
		if p.SlotWait == 0 || !e.waitForSlot(caller, p, latest) {
			e.mu.Lock()
			e.breaker.look(p.slowAfter(), now)
			e.mu.Unlock()
			return nil, e.refuse(e.whyNoSlot(caller, p, latest))
		}
		if now = clock(); bounded && !now.Before(latest) {
			e.dep.slots.release()
			return nil, e.refuse(Expired)
		}
	}

	var a *attempt // not made before it may be: a refusal costs no memory
	e.mu.Lock()
	e.breaker.look(p.slowAfter(), now)
	ticket, ok := e.breaker.admit(now)
	observing := e.breaker != nil && e.breaker.rules.Mode == Observing
	if !ok && observing {
		e.observed.Add(1)
		ok = true // without a ticket: a breaker that acts would not have heard of it
	}
	if ok {
		now = time.Now()
		a = &attempt{endpoint: e, policy: p, started: now, limit: p.Timeout, ticket: ticket}
		e.flight.add(a)
	}
	e.mu.Unlock()
	if !ok {
		e.dep.slots.release()
		return nil, e.refuse(ShortCircuited)
	}

	a.caller = caller
	if ticket.probe != nil && !observing {
		a.limit = p.probeTimeout()
	}
	if a.limit != Unbounded {
		a.latest = now.Add(a.limit)
	}
	if bounded && (a.latest.IsZero() || latest.Before(a.latest)) {
		a.latest = latest
	}
	// gobreaker has no way out of half-open if a probe never reports.
	switch {
	case ticket.probe == nil:
	case observing:
		a.stopProbe = time.AfterFunc(p.probeTimeout(), func() { e.giveUpProbe(a) }).Stop
	default:
		a.stopProbe = context.AfterFunc(&a.lazy, a.overdue)
	}
	return a, nil
}

// giveUpProbe reports a probe that is late, and leaves its attempt alone.
func (e *Endpoint) giveUpProbe(a *attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.settled {
		e.breaker.report(a.ticket, slow|failed, a.policy.slowAfter(), time.Now())
		a.ticket = ticket{}
	}
}

func (e *Endpoint) waitForSlot(caller context.Context, p *policy, latest time.Time) bool {
	patience := p.SlotWait
	if !latest.IsZero() {
		patience = min(patience, time.Until(latest))
	}
	return e.dep.slots.wait(caller, patience)
}

// whyNoSlot: waiting for a slot is never the dependency's timeout.
func (e *Endpoint) whyNoSlot(caller context.Context, p *policy, latest time.Time) Outcome {
	switch {
	case p.SlotWait == 0:
		return Rejected
	case caller.Err() == context.Canceled:
		return Cancelled
	case !latest.IsZero() && !time.Now().Before(latest):
		return Expired
	default:
		return Rejected
	}
}

func (e *Endpoint) refuse(o Outcome) *Error {
	e.outcomes[o].Add(1)
	switch o {
	case Rejected:
		return e.rejected
	case ShortCircuited:
		return e.shortCircuited
	case Cancelled:
		return &Error{Dependency: e.dep.name, Endpoint: e.name, Outcome: Cancelled, Err: context.Canceled}
	default:
		return e.expired
	}
}

// settle records how an attempt ended, the first time it is called for it.
func (e *Endpoint) settle(a *attempt, o Outcome) {
	now := time.Now()
	elapsed := now.Sub(a.started)
	e.mu.Lock()
	if a.settled {
		e.mu.Unlock()
		return
	}
	a.settled = true
	e.flight.remove(a)
	e.breaker.report(a.ticket, a.verdict(o, elapsed), a.policy.slowAfter(), now)
	e.mu.Unlock()

	e.outcomes[o].Add(1)
	e.durations.Observe(elapsed.Seconds())
	if o == Timeout {
		e.logTimeout(a, elapsed, now)
	}
}

func (e *Endpoint) logTimeout(a *attempt, elapsed time.Duration, now time.Time) {
	stands, ok := e.timeouts.sample(now)
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("dependency", e.dep.name), slog.String("endpoint", e.name),
		slog.Duration("timeout", a.limit), slog.Duration("elapsed", elapsed), slog.Uint64("stands_for", stands),
	}
	if latest, ok := a.caller.Deadline(); ok {
		attrs = append(attrs, slog.Duration("budget_remaining", latest.Sub(now)))
	}
	e.dep.log.LogAttrs(a.caller, slog.LevelWarn, "call timed out", attrs...)
}

// sampler lets one line a second through, and knows how many it stands for.
type sampler struct {
	mu     sync.Mutex
	next   time.Time
	missed uint64
}

func (s *sampler) sample(now time.Time) (standsFor uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.missed++
		return 0, false
	}
	standsFor, s.missed, s.next = s.missed+1, 0, now.Add(time.Second)
	return standsFor, true
}

// flight lists the attempts in flight by age, and knows how many of them are slow without counting them anew.
type flight struct {
	oldest, newest *attempt
	young          *attempt // the oldest one not known to be slow
	slowCount      int
}

func (f *flight) add(a *attempt) {
	a.older = f.newest
	if f.newest == nil {
		f.oldest = a
	} else {
		f.newest.newer = a
	}
	f.newest = a
	if f.young == nil {
		f.young = a
	}
}

func (f *flight) remove(a *attempt) {
	if f.young == a {
		f.young = a.newer
	}
	if a.slow {
		f.slowCount--
	}
	if a.older == nil {
		f.oldest = a.newer
	} else {
		a.older.newer = a.newer
	}
	if a.newer == nil {
		f.newest = a.older
	} else {
		a.newer.older = a.older
	}
	a.older, a.newer = nil, nil
}

// slow returns how many attempts have been in flight for at least after.
func (f *flight) slow(now time.Time, after time.Duration) int {
	for f.young != nil && now.Sub(f.young.started) >= after {
		f.young.slow = true
		f.slowCount++
		f.young = f.young.newer
	}
	return f.slowCount
}

// forget leaves out of slow whatever is in flight now.
func (f *flight) forget() {
	for a := f.oldest; a != nil; a = a.newer {
		a.slow = false
	}
	f.young, f.slowCount = nil, 0
}

func (f *flight) oldestAge(now time.Time) time.Duration {
	if f.oldest == nil {
		return 0
	}
	return now.Sub(f.oldest.started)
}
