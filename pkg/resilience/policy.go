package resilience

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"
)

// Unbounded is the duration of a wait that nothing ends. A zero Timeout is refused by New: whoever wants infinity
// has to write it.
const Unbounded = time.Duration(math.MaxInt64)

// Unlimited is the number of slots, workers or queue places of a thing that has no limit.
const Unlimited = math.MaxInt

// Unbudgeted as Retry.Budget lets every failed attempt be repeated.
const Unbudgeted = math.MaxFloat64

const defaultMaxBody = 1 << 20

// Policy is everything that bounds the calls to one dependency. New and Apply check every field.
type Policy struct {
	// Criticality is the most critical class that requests over this edge may have; a request being served for a
	// less critical caller keeps its caller's class. A Sheddable dependency is an optional one.
	Criticality Criticality
	// Timeout bounds one attempt, from its start to the last byte of the body. Required; Unbounded is infinity.
	Timeout time.Duration
	// ConnectTimeout bounds name look-up and dial together, and then the TLS handshake. 0 means Timeout, or 30 s
	// where that is Unbounded.
	ConnectTimeout time.Duration
	// Slots is how many calls may be in flight at once, 1 or more. Required; Unlimited is no limit.
	Slots int
	// SlotWait is how long a call may wait for a slot, in a line no longer than Slots. 0: turned away at once.
	SlotWait time.Duration
	// SlowAfter is the age from which a call counts as slow for the breaker, finished or still in flight, and from
	// which a caller's own deadline counts as the dependency's timeout. 0 means Timeout; required for a breaker
	// where Timeout is Unbounded.
	SlowAfter time.Duration
	// Reserve is kept back from the caller's remaining time, to answer with after the attempt has failed.
	Reserve time.Duration
	// MaxBody is the most bytes of one response body; a longer one is a failure. 0 means 1 MiB.
	MaxBody int64
	// Retry says how often a failed attempt is repeated. The zero value never does.
	Retry Retry
	// Breaker says when to stop calling. The zero value is no breaker.
	Breaker Breaker
	// ProbeTimeout bounds a half-open probe. 0 means Timeout, or 1 s where that is Unbounded.
	ProbeTimeout time.Duration
	// WalkAway lets Call return at the attempt's end although its function ignores its context. The slot stays
	// taken until the function returns, so the abandoned are never more than Slots.
	WalkAway bool
	// NoFallback makes Call return the error where it would have answered from a fallback.
	NoFallback bool
	// Transport replaces the dependency's own connections. nil: a transport of its own that keeps up to Slots idle
	// connections (100 where unlimited) for 60 s; keep that below the server's idle timeout.
	Transport http.RoundTripper
}

// Retry repeats failed attempts: in one layer only, inside a budget, and never without time left. A request without
// an idempotent method or an Idempotency-Key is never repeated.
type Retry struct {
	// Attempts is the most attempts of one call, the first included. 0 and 1: never repeated.
	Attempts int
	// Budget is how many retries one call earns, in 0..1: 0.1 allows one retry for ten calls. At least 3 and at most
	// max(3, 100 × Budget) are kept for later. Unbudgeted lifts the budget.
	Budget float64
	// Backoff is the longest pause before the first retry, doubled for each further one; the pause is drawn evenly
	// from 0 to it ("full jitter": Brooker, Exponential Backoff and Jitter, AWS 2015). 0: no pause.
	Backoff time.Duration
	// MaxBackoff caps every pause, one asked for by Retry-After included. 0 means Backoff.
	MaxBackoff time.Duration
}

// Breaker stops the calls to an endpoint that keeps timing out or failing, and tries it again after a while. Every
// endpoint has its own: on an aggregate, one failing endpoint would take the healthy ones with it.
type Breaker struct {
	// TimeoutRate opens at this share, in 0..1, of timeouts and slow calls among the calls of the window and the
	// slow ones in flight. 0: no such rule.
	TimeoutRate float64
	// FailureRate opens at this share of calls that did not succeed, of any kind. 0: no such rule.
	FailureRate float64
	// MinRequests is how many calls the window must hold before a rate means something. Where slow calls are in
	// flight, min(MinRequests, Slots) will do: seven hung slots must be able to open it.
	MinRequests int
	// Consecutive opens after so many calls in a row that did not succeed, whenever they were: the rule for an
	// endpoint too quiet for rates. 0: no such rule.
	Consecutive int
	// Window is how long a result counts.
	Window time.Duration
	// Cooldown is how long the breaker stays open before it lets probes through, give or take a tenth, so that the
	// probes of many instances are spread.
	Cooldown time.Duration
	// Probes is how many calls are let through at half-open, and how many must succeed in a row to close. 0 means 1.
	Probes int
	// Mode says what comes of a decision; the zero value acts on it.
	Mode BreakerMode
}

// BreakerMode says whether a breaker acts. The modes other than Acting and Observing need no rules.
type BreakerMode uint8

const (
	// Acting refuses calls while it is open.
	Acting BreakerMode = iota
	// Observing decides and counts, but refuses nothing and cuts no probe short: to try rules before they matter.
	Observing
	// ForcedOpen refuses every call, until another policy is applied.
	ForcedOpen
	// Disabled refuses nothing and decides nothing, and keeps the rules for later.
	Disabled
)

func (b Breaker) enabled() bool { return b != Breaker{} && b.Mode != Disabled }

// validate tells every broken rule at once.
func (p *Policy) validate(name string) error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("dependency %q: %s is %v: %s", name, field, value, rule))
	}
	duration := func(field string, d time.Duration) {
		if d < 0 {
			bad(field, d, "must not be negative")
		}
	}
	within := func(field string, d time.Duration) {
		duration(field, d)
		if p.Timeout > 0 && d > p.Timeout {
			bad(field, d, fmt.Sprintf("must not exceed Timeout (%v)", p.Timeout))
		}
	}
	if name == "" {
		bad("name", `""`, "must not be empty")
	}
	if p.Criticality > Sheddable {
		bad("Criticality", uint8(p.Criticality), "must be Critical, Default or Sheddable")
	}
	if p.Timeout <= 0 {
		bad("Timeout", p.Timeout, "must be positive; write Unbounded if you mean infinity")
	}
	within("ConnectTimeout", p.ConnectTimeout)
	if p.Slots < 1 {
		bad("Slots", p.Slots, "must be at least 1; write Unlimited if you mean no limit")
	}
	duration("SlotWait", p.SlotWait)
	within("SlowAfter", p.SlowAfter)
	duration("Reserve", p.Reserve)
	if p.MaxBody < 0 {
		bad("MaxBody", p.MaxBody, "must not be negative")
	}
	within("ProbeTimeout", p.ProbeTimeout)
	p.Retry.validate(bad)
	p.Breaker.validate(p, bad)
	return errors.Join(errs...)
}

func (r Retry) validate(bad func(field string, value any, rule string)) {
	if r.Attempts < 0 {
		bad("Retry.Attempts", r.Attempts, "must not be negative")
	}
	if r.Attempts > 1 && r.Budget == 0 {
		bad("Retry.Budget", r.Budget, "must be given with Attempts above 1; write Unbudgeted if you mean no budget")
	}
	if r.Budget != Unbudgeted && !(r.Budget >= 0 && r.Budget <= 1) {
		bad("Retry.Budget", r.Budget, "must be in 0..1")
	}
	if r.Backoff < 0 {
		bad("Retry.Backoff", r.Backoff, "must not be negative")
	}
	if r.MaxBackoff < 0 || r.MaxBackoff != 0 && r.MaxBackoff < r.Backoff {
		bad("Retry.MaxBackoff", r.MaxBackoff, fmt.Sprintf("must be 0 or at least Backoff (%v)", r.Backoff))
	}
}

func (b Breaker) validate(p *Policy, bad func(field string, value any, rule string)) {
	if b.Mode > Disabled {
		bad("Breaker.Mode", uint8(b.Mode), "must be Acting, Observing, ForcedOpen or Disabled")
	}
	if b == (Breaker{Mode: b.Mode}) && b.Mode != Observing {
		return // no rules, and none needed
	}
	rate := func(field string, r float64) {
		switch {
		case !(r >= 0 && r <= 1):
			bad(field, r, "must be in 0..1")
		case r > 0 && r*float64(b.MinRequests) < 2:
			bad(field, r, fmt.Sprintf("times MinRequests (%d) must be at least 2: one hiccup must not open a breaker", b.MinRequests))
		}
	}
	rate("Breaker.TimeoutRate", b.TimeoutRate)
	rate("Breaker.FailureRate", b.FailureRate)
	if b.TimeoutRate == 0 && b.FailureRate == 0 && b.Consecutive == 0 {
		bad("Breaker", "without a rule", "needs TimeoutRate, FailureRate or Consecutive")
	}
	if b.MinRequests < 0 {
		bad("Breaker.MinRequests", b.MinRequests, "must not be negative")
	}
	if b.Consecutive < 0 || b.Consecutive == 1 {
		bad("Breaker.Consecutive", b.Consecutive, "must be 0 or at least 2: one hiccup must not open a breaker")
	}
	slow := p.slowAfter()
	if slow == Unbounded {
		bad("SlowAfter", p.SlowAfter, "must be given for a breaker where Timeout is Unbounded")
	} else if b.Window <= 0 || b.Window/2 < slow {
		bad("Breaker.Window", b.Window, fmt.Sprintf("must be at least twice SlowAfter (%v), or results are dropped unseen", slow))
	}
	if p.probeTimeout() == Unbounded {
		bad("ProbeTimeout", p.ProbeTimeout, "must not be Unbounded: a breaker waits for its probe")
	}
	if b.Cooldown <= 0 {
		bad("Breaker.Cooldown", b.Cooldown, "must be positive")
	}
	if b.Probes < 0 || b.Probes > 1000 {
		bad("Breaker.Probes", b.Probes, "must be in 0..1000")
	}
}

func (p *Policy) slowAfter() time.Duration {
	if p.SlowAfter == 0 {
		return p.Timeout
	}
	return p.SlowAfter
}

func (p *Policy) connectTimeout() time.Duration {
	switch {
	case p.ConnectTimeout != 0:
		return p.ConnectTimeout
	case p.Timeout == Unbounded:
		return 30 * time.Second
	default:
		return p.Timeout
	}
}

func (p *Policy) probeTimeout() time.Duration {
	switch {
	case p.ProbeTimeout != 0:
		return p.ProbeTimeout
	case p.Timeout == Unbounded:
		return time.Second
	default:
		return p.Timeout
	}
}

func (p *Policy) maxBody() int64 {
	if p.MaxBody == 0 {
		return defaultMaxBody
	}
	return p.MaxBody
}
