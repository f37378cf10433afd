package defence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// SettleAfter is how long breakers look away after calls have been bounded anew: everyone reconnects at once. With
// 2 s, a full gateway on two processors still tripped some in one run of two.
const SettleAfter = 3 * time.Second

// Switchboard holds the switches of one service, and everything that they switch.
type Switchboard struct {
	env       Environment
	log       *slog.Logger
	admission *resilience.Admission
	deadline  *resilience.Deadline
	on        atomic.Pointer[era]

	switching sync.Mutex // held by Set, which may take a second

	mu    sync.Mutex // held for what follows
	edges []Edge
	deps  []*resilience.Dependency
	// One shared transport for each way of dialling, made when first needed and kept: a client that is rebuilt
	// with each switch would leave its connections behind.
	shared map[time.Duration]http.RoundTripper
	// Of a client that ignores timeouts, one for each dependency, made and kept likewise.
	own map[string]*http.Transport

	begun, begunLate atomic.Uint64 // requests that got a worker; and those of them that nobody waited for any more
}

// era is a while in which the switches stand as they do, with the requests that began without bounds, in it or before.
type era struct {
	Set
	unbounded *unbounded
}

// New returns a switchboard with the switches as given.
func New(initial Set, env Environment, log *slog.Logger) (*Switchboard, error) {
	s := &Switchboard{
		env:      env,
		log:      log,
		deadline: &resilience.Deadline{Trust: true}, // of all services but the edge
		shared:   map[time.Duration]http.RoundTripper{},
		own:      map[string]*http.Transport{},
	}
	var err error
	if s.admission, err = resilience.NewAdmission(s.env.Admission(initial)); err != nil {
		return nil, err
	}
	s.on.Store(&era{initial, new(unbounded)})
	return s, nil
}

// Open declares an edge and returns its dependency, bounded as the switches say.
func (s *Switchboard) Open(e Edge) (*resilience.Dependency, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.env.Tuning.Edge(e)
	// Declared as if every defence were on: a policy that is wrong only then must not wait for the switch.
	if _, err := resilience.New(e.Dependency, e.Policy); err != nil {
		return nil, err
	}
	for _, other := range s.edges {
		if other.Dependency == e.Dependency {
			return nil, fmt.Errorf("dependency %q is declared twice", e.Dependency)
		}
	}
	dep, err := resilience.New(e.Dependency, s.policy(e, s.Get()), resilience.WithLogger(s.log))
	if err != nil {
		return nil, err
	}
	for _, name := range e.Endpoints {
		dep.Endpoint(name)
	}
	s.edges, s.deps = append(s.edges, e), append(s.deps, dep)
	return dep, nil
}

// Edges returns the declared edges, in the order in which they were opened.
func (s *Switchboard) Edges() []Edge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Edge(nil), s.edges...)
}

// Dependencies returns the opened dependencies, in the same order.
func (s *Switchboard) Dependencies() []*resilience.Dependency {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*resilience.Dependency(nil), s.deps...)
}

// Admission returns what hands out the service's workers.
func (s *Switchboard) Admission() *resilience.Admission { return s.admission }

// Deadline returns what reads the travelling headers.
func (s *Switchboard) Deadline() *resilience.Deadline { return s.deadline }

// Get returns the switches in force.
func (s *Switchboard) Get() Set { return s.on.Load().Set }

// Set changes the switches: policies at once. Switching timeouts or deadlines on also ends the requests that began
// without them, in work or in line, as a restart would, and returns when they have been told: 5 ms for 50 of them.
//
// In a shop, switch callers before their callees: otherwise the ends of a callee's requests come back as failures to a
// caller that makes the best of each, and has thousands of them.
func (s *Switchboard) Set(to Set) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	was := s.on.Load()
	if was.Set == to {
		return nil
	}
	bounds := to.Timeouts && !was.Timeouts || to.Deadlines && !was.Deadlines
	is := &era{to, was.unbounded}
	if bounds {
		is.unbounded = new(unbounded)
	}
	err := s.apply(is)
	s.log.Info("defences switched", "from", was.Set.String(), "to", to.String())
	if bounds {
		was.unbounded.end()
		for _, dep := range s.Dependencies() {
			dep.Settle(SettleAfter) // from now on
		}
	}
	return err
}

// apply makes everything what it is in an era. Breakers look away while the one before is being ended.
func (s *Switchboard) apply(is *era) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.admission.Apply(s.env.Admission(is.Set))}
	for i, dep := range s.deps {
		errs = append(errs, dep.Apply(s.policy(s.edges[i], is.Set)))
		if is.unbounded != s.on.Load().unbounded {
			dep.Settle(time.Minute)
		}
	}
	s.on.Store(is)
	return errors.Join(errs...)
}

// Within bounds a route: its deadline, or the detached context of ordinary code, and then a worker.
func (s *Switchboard) Within(budget time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return s.deadline.Within(budget)(s.detach(s.admission.Middleware(s.count(next))))
	}
}

// detach gives a request the context that it has without deadlines: one that neither its deadline nor its caller's
// departure ends. A request that begins unbounded ends when bounds are switched on.
func (s *Switchboard) detach(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		on := s.on.Load()
		if on.Deadlines && on.Timeouts {
			next.ServeHTTP(w, r)
			return
		}
		ctx := context.WithValue(r.Context(), waitedFor{}, r.Context())
		if !on.Deadlines {
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer on.unbounded.add(cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// waitedFor is the key of the context that tells whether anybody waits for a detached request.
type waitedFor struct{}

// count notes the requests that are begun, and which of them are work for nobody: the time is over, or the caller has
// left, while they stood in line.
func (s *Switchboard) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, detached := r.Context().Value(waitedFor{}).(context.Context)
		if !detached {
			ctx = r.Context()
		}
		s.begun.Add(1)
		if ctx.Err() != nil {
			s.begunLate.Add(1)
		}
		next.ServeHTTP(w, r)
	})
}

// Begun tells how many requests were given a worker, and for how many of them nobody waited any more.
func (s *Switchboard) Begun() (all, late uint64) { return s.begun.Load(), s.begunLate.Load() }

// policy is what the environment makes of an edge's policy, with the client that it asks for.
func (s *Switchboard) policy(e Edge, on Set) resilience.Policy {
	p := s.env.Policy(e, on)
	if !on.Bulkheads {
		p.Transport = s.sharedBy(on)
	}
	if s.env.ClientIgnoresTimeouts {
		if p.Transport == nil {
			p.Transport = s.ownOf(e)
		}
		p.Transport = heedless{p.Transport}
	}
	return p
}

// ownOf returns a dependency's own transport under a client that ignores timeouts, the one to connect too.
func (s *Switchboard) ownOf(e Edge) http.RoundTripper {
	t, ok := s.own[e.Dependency]
	if !ok {
		t = ordinaryTransport(e.Policy.Slots, naiveConnectTimeout)
		t.MaxIdleConns = 0 // the slots bound them
		s.own[e.Dependency] = t
	}
	return t
}

func (s *Switchboard) sharedBy(on Set) http.RoundTripper {
	connect := naiveConnectTimeout
	if on.Timeouts && !s.env.ClientIgnoresTimeouts {
		connect = sharedConnectTimeout
	}
	t, ok := s.shared[connect]
	if !ok {
		t = sharedTransport(s.env.SharedClientIdle, s.env.SharedClientPool, connect)
		s.shared[connect] = t
	}
	return t
}

// sharedConnectTimeout is the one connect timeout that a shared client can have: the longest of the edges'.
const sharedConnectTimeout = 100 * time.Millisecond
