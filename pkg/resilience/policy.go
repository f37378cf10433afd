package resilience

import (
	"math"
	"net/http"
	"time"
)

// Unbounded is the duration of a wait that nothing ends. A zero Timeout is refused by New: whoever wants
// infinity has to write it.
const Unbounded = time.Duration(math.MaxInt64)

// Unlimited is the number of slots, workers or queue places of a thing that has no limit.
const Unlimited = math.MaxInt

// Criticality ranks a request for the moment when not all can be served: overload refuses from the bottom.
type Criticality uint8

// The three classes, from the one refused last to the one refused first. The zero value is Default.
const (
	Default Criticality = iota
	Critical
	Sheddable
)

// Policy is everything that bounds the calls to one dependency. Every field is validated by New and Apply.
type Policy struct {
	// Criticality is sent with each request. A Sheddable dependency is an optional one: the capacity ledger
	// allows it less.
	Criticality Criticality
	// Timeout bounds one attempt, from its start to the last byte of the body. Required; Unbounded is infinity.
	Timeout time.Duration
	// ConnectTimeout bounds name look-up, dial and TLS handshake. 0 means Timeout.
	ConnectTimeout time.Duration
	// Slots is how many calls may be in flight at once. Required; Unlimited is no limit.
	Slots int
	// SlotWait is how long a call may wait for a slot. 0: it is turned away at once.
	SlotWait time.Duration
	// SlowAfter is the age from which a call counts against the breaker, in flight or finished. 0 means Timeout;
	// required when Timeout is Unbounded and there is a breaker.
	SlowAfter time.Duration
	// Reserve is kept back from the caller's remaining time, to answer with after the attempt has failed.
	Reserve time.Duration
	// MaxBody is the most bytes of one response that may be read. 0 means 1 MiB.
	MaxBody int64
	// Retry says how often a failed attempt is repeated. The zero value never does.
	Retry Retry
	// Breaker says when to stop calling. The zero value is no breaker.
	Breaker Breaker
	// ProbeTimeout bounds a half-open probe. 0 means the smaller of Timeout and 1 s.
	ProbeTimeout time.Duration
	// WalkAway lets Call return at the attempt's end although the function is still running. The slot stays
	// taken until it returns.
	WalkAway bool
	// NoFallback makes Call return the error where it would have answered from a fallback.
	NoFallback bool
	// Transport replaces the dependency's own connections. nil: own transport, Slots idle connections a host.
	Transport http.RoundTripper
}

// Retry repeats failed attempts in one layer, inside a budget.
type Retry struct {
	// Attempts is the most attempts of one call, the first included. 0 and 1: never repeated.
	Attempts int
	// Budget is how many retries a call earns for its dependency, in 0..1: 0.1 allows one retry in ten calls.
	// Unbudgeted lifts the budget.
	Budget float64
	// Backoff is the longest pause before the first retry, doubled for each further one; the pause is drawn
	// evenly from 0 to it (full jitter). 0: no pause.
	Backoff time.Duration
	// MaxBackoff caps every pause, one asked for by Retry-After included. 0 means Backoff.
	MaxBackoff time.Duration
}

// Unbudgeted as Retry.Budget is a retry without a budget.
const Unbudgeted = math.MaxFloat64

// Breaker stops calls to an endpoint that keeps timing out or failing. One belongs to each endpoint.
type Breaker struct {
	// TimeoutRate opens at this share of timeouts and slow calls among the calls of the window, in 0..1. 0: no such rule.
	TimeoutRate float64
	// FailureRate opens at this share of unsuccessful calls of any kind. 0: no such rule.
	FailureRate float64
	// MinRequests is how many calls the window must hold before a rate means something.
	MinRequests int
	// Window is how long a result counts.
	Window time.Duration
	// Cooldown is how long the breaker stays open before it lets probes through, give or take a tenth (jitter).
	Cooldown time.Duration
	// Probes is how many calls may be tried at half-open, and how many must succeed to close. 0 means 1.
	Probes int
}
