package resilience

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Dependency is one destination for one purpose: its own transport, its own slots, its own retry budget.
// It is a prometheus.Collector: registry.MustRegister(dep).
type Dependency struct {
	name   string
	policy Policy
}

// Option configures what a policy does not: where a dependency logs.
type Option func(*Dependency)

// WithLogger makes the dependency log each timeout to log. The default discards.
func WithLogger(log *slog.Logger) Option { return func(*Dependency) {} }

// New returns a dependency bounded by p. The error names every field of p that breaks a rule.
func New(name string, p Policy, opts ...Option) (*Dependency, error) {
	return &Dependency{name: name, policy: p}, nil
}

func (d *Dependency) Name() string   { return d.name }
func (d *Dependency) Policy() Policy { return d.policy }

// Apply swaps the policy while calls are in flight; a call reads its policy once.
func (d *Dependency) Apply(p Policy) error { d.policy = p; return nil }

// Settle makes the breakers ignore what happens in the next pause.
func (d *Dependency) Settle(pause time.Duration) {}

// Endpoint returns the named operation of d; the same name gives the same endpoint.
func (d *Dependency) Endpoint(name string) *Endpoint { return &Endpoint{dep: d, name: name} }

func (d *Dependency) Describe(ch chan<- *prometheus.Desc) {}
func (d *Dependency) Collect(ch chan<- prometheus.Metric) {}

// Endpoint is one operation of a dependency. A breaker belongs to it.
type Endpoint struct {
	dep  *Dependency
	name string
}

func (e *Endpoint) Name() string            { return e.name }
func (e *Endpoint) Dependency() *Dependency { return e.dep }

// Client returns an HTTP client whose every request is guarded. Inside a Call of the same endpoint a request
// joins that attempt: one slot, one outcome.
func (e *Endpoint) Client() *http.Client { return &http.Client{} }

// Fallback is the answer of a call that could not be made, made of nothing remote.
type Fallback[T any] struct {
	fn func(context.Context, error) (T, error)
}

// FallbackTo answers with v.
func FallbackTo[T any](v T) Fallback[T] {
	return Fallback[T]{func(context.Context, error) (T, error) { return v, nil }}
}

// FallbackFunc answers with what fn returns; if fn fails, the call's own error is kept.
func FallbackFunc[T any](fn func(ctx context.Context, cause error) (T, error)) Fallback[T] {
	return Fallback[T]{fn}
}

// Call runs fn guarded by the policy of e's dependency. At most one fallback.
func Call[T any](ctx context.Context, e *Endpoint, fn func(context.Context) (T, error), fallback ...Fallback[T]) (T, error) {
	v, err := fn(ctx)
	if err != nil && len(fallback) > 0 && !e.dep.policy.NoFallback {
		return fallback[0].fn(ctx, err)
	}
	return v, err
}

// Expected marks an error as an answer of a healthy dependency (a 404, no rows): the caller's business, no failure.
// HTTP responses of 400..499 except 429, seen by a joined client, need no mark.
func Expected(err error) error { return err }

// Outcome is how an attempt ended: exactly one of a closed list.
type Outcome uint8

const (
	Success Outcome = iota
	Failure
	Timeout
	Rejected
	ShortCircuited
	Cancelled
	Expired
	Panicked
)

// Outcomes lists every outcome, in the order of their values.
var Outcomes = [...]Outcome{Success, Failure, Timeout, Rejected, ShortCircuited, Cancelled, Expired, Panicked}

func (o Outcome) String() string {
	return [...]string{"success", "failure", "timeout", "rejected", "short_circuited", "cancelled", "expired", "panicked"}[o]
}

// Error is what a guarded call returns when it did not succeed. It unwraps to the cause.
type Error struct {
	Dependency, Endpoint string
	Outcome              Outcome
	Err                  error
}

func (e *Error) Error() string { return e.Dependency + "/" + e.Endpoint + ": " + e.Outcome.String() }
func (e *Error) Unwrap() error { return e.Err }

// OutcomeOf tells how the call that returned err ended; nil is Success, a foreign error Failure.
func OutcomeOf(err error) Outcome { return Success }

// DependencySnapshot is what a dependency is doing now.
type DependencySnapshot struct {
	Name                    string
	Slots, InUse, HighWater int
	OldestCall              time.Duration
	Endpoints               []EndpointSnapshot
}

// EndpointSnapshot is what an endpoint has done since the start.
type EndpointSnapshot struct {
	Name      string
	Breaker   string            // closed, half-open, open, none
	OpensAt   time.Time         // when an open breaker lets probes through; zero unless open
	Outcomes  map[string]uint64 // keyed by Outcome.String
	Fallbacks uint64
	Retries   uint64
	// Durations are the cumulative bucket counts of finished attempts, keyed by upper bound in seconds.
	Durations map[float64]uint64
}

func (d *Dependency) Snapshot() DependencySnapshot { return DependencySnapshot{Name: d.name} }

// Mark resets the high-water mark to what is in use now.
func (d *Dependency) Mark() {}
