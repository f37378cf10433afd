package resilience

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Dependency is one destination for one purpose: its own transport, its own slots, its own retry budget. Endpoints
// of it share these; each has a breaker of its own. It is a prometheus.Collector: register it.
type Dependency struct {
	name   string
	log    *slog.Logger
	slots  slots
	budget retryBudget
	policy atomic.Pointer[policy]

	mu        sync.Mutex // held by Apply, and for what follows
	endpoints map[string]*Endpoint
	settled   time.Time // until when breakers look away, those made meanwhile too
}

// policy is a Policy in force, with what was made from it. It never changes.
type policy struct {
	Policy
	transport http.RoundTripper
}

// Option gives a dependency what its policy does not.
type Option func(*Dependency)

// WithLogger makes the dependency log its timeouts, at most one line a second for each endpoint. The line is given
// the call's context, so that the handler can add a request id. Without it nothing is logged.
func WithLogger(log *slog.Logger) Option { return func(d *Dependency) { d.log = log } }

// New returns a dependency bounded by p. Its error tells every field of p that breaks a rule, with the rule.
func New(name string, p Policy, opts ...Option) (*Dependency, error) {
	d := &Dependency{name: name, log: slog.New(slog.DiscardHandler), endpoints: map[string]*Endpoint{}}
	for _, opt := range opts {
		opt(d)
	}
	if err := d.Apply(p); err != nil {
		return nil, err
	}
	return d, nil
}

// Name returns the name given to New.
func (d *Dependency) Name() string { return d.name }

// Policy returns the policy in force.
func (d *Dependency) Policy() Policy { return d.policy.Load().Policy }

// Apply swaps the policy while calls are in flight: each call reads its policy once. Breakers start anew, closed,
// where their rules changed. An invalid policy changes nothing.
func (d *Dependency) Apply(p Policy) error {
	if err := p.validate(d.name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.policy.Load()
	now := &policy{Policy: p, transport: p.Transport}
	if p.Transport == nil {
		if old != nil && old.Transport == nil && old.connectTimeout() == p.connectTimeout() && old.Slots == p.Slots {
			now.transport = old.transport
		} else {
			now.transport = newTransport(p)
		}
	}
	d.slots.resize(p.Slots)
	d.budget.apply(p.Retry)
	d.policy.Store(now)
	for _, e := range d.endpoints {
		e.apply(old, now)
	}
	if t, ok := oldTransport(old); ok && old.transport != now.transport {
		t.CloseIdleConnections()
	}
	return nil
}

// oldTransport returns the dependency's own transport under a former policy, if it had one.
func oldTransport(old *policy) (*http.Transport, bool) {
	if old == nil || old.Transport != nil {
		return nil, false
	}
	t, ok := old.transport.(*http.Transport)
	return t, ok
}

func newTransport(p Policy) *http.Transport {
	idle := p.Slots
	if idle == Unlimited {
		idle = 100
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		// A dial outlives the request that asked for it, so the context alone does not bound it.
		DialContext:            (&net.Dialer{Timeout: p.connectTimeout()}).DialContext,
		TLSHandshakeTimeout:    p.connectTimeout(),
		MaxIdleConns:           0, // no limit but the next
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// Settle makes the breakers ignore results for a while: after a change that makes everybody reconnect at once.
func (d *Dependency) Settle(pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = time.Now().Add(pause)
	for _, e := range d.endpoints {
		e.mu.Lock()
		if e.breaker != nil {
			e.breaker.settled = d.settled
		}
		e.mu.Unlock()
	}
}

// Endpoint returns the named operation of d; the same name always gives the same endpoint. Endpoints are declared,
// not derived from paths: each costs its metrics.
func (d *Dependency) Endpoint(name string) *Endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.endpoints[name]
	if !ok {
		e = newEndpoint(d, name)
		e.apply(nil, d.policy.Load())
		d.endpoints[name] = e
	}
	return e
}
