package fault

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Injector holds the faults of one service, at most one of each kind. Its zero value is not usable; see New.
type Injector struct {
	log *slog.Logger

	strikes atomic.Pointer[[]*strike] // in force; replaced, never changed, so that requests read it without a lock
	changed chan struct{}             // tells Run that strikes has changed

	listener atomic.Pointer[Listener]

	mu     sync.Mutex // serialises Set, Clear and what they do to the listener; no request takes it
	server *http.Server
}

// New returns an Injector without faults.
func New(log *slog.Logger) *Injector {
	in := &Injector{log: log, changed: make(chan struct{}, 1)}
	in.strikes.Store(new([]*strike))
	return in
}

// Set puts f in force, in place of the one of its kind, which ends as if cleared. f comes from Parse.
func (in *Injector) Set(f Fault) {
	i := slices.IndexFunc(kinds, byName(f.Kind))
	if i < 0 {
		panic("fault: " + f.Kind + " does not come from Parse")
	}
	f.Since = time.Now()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.replace(f.Kind, &strike{Fault: f, kind: kinds[i], over: make(chan struct{})})
}

// Clear ends the fault of that kind, or with "" all of them. What is held goes on at once.
func (in *Injector) Clear(kind string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.replace(kind, nil)
}

// replace swaps the faults of a kind ("": all) for s, and brings the listener in line. The caller holds mu.
func (in *Injector) replace(kind string, s *strike) {
	var kept, ended []*strike
	for _, old := range *in.strikes.Load() {
		if kind == "" || old.Kind == kind {
			ended = append(ended, old)
		} else {
			kept = append(kept, old)
		}
	}
	if s != nil {
		kept = append(kept, s)
		order := func(s *strike) int { return slices.IndexFunc(kinds, byName(s.Kind)) }
		slices.SortFunc(kept, func(a, b *strike) int { return order(a) - order(b) })
	}
	in.strikes.Store(&kept)
	for _, old := range ended {
		close(old.over)
	}
	in.align()
	select {
	case in.changed <- struct{}{}:
	default: // told already
	}
}

// List returns the faults in force.
func (in *Injector) List() []Fault {
	list := []Fault{}
	for _, s := range *in.strikes.Load() {
		list = append(list, s.Fault)
	}
	return list
}

// Middleware puts the faults in front of next. The body of a request must have been read before (and replaced by a
// replay), for net/http does not tell that a caller has left while a body is unread.
func (in *Injector) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.pass(*in.strikes.Load(), next, w, r)
	})
}

// pass takes a request through the strikes, then to next.
func (in *Injector) pass(strikes []*strike, next http.Handler, w http.ResponseWriter, r *http.Request) {
	for i, s := range strikes {
		if s.hits(time.Now()) {
			s.kind.strike(in, s, w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				in.pass(strikes[i+1:], next, w, r)
			}))
			return
		}
	}
	next.ServeHTTP(w, r)
}

// Guard tells the Injector which server's idle connections a refusal closes. Call it before the server serves.
func (in *Injector) Guard(s *http.Server) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.server = s
}

// Listen opens the address for the service that the Injector stands before. One listener an Injector.
func (in *Injector) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.listener.Store(l)
	in.align()
	return l, nil
}

// Run moves the listener with the square wave until ctx ends. It returns nil.
func (in *Injector) Run(ctx context.Context) error {
	for {
		in.mu.Lock()
		next := in.align()
		in.mu.Unlock()
		var timer <-chan time.Time
		if next > 0 {
			timer = time.After(next)
		}
		select {
		case <-timer:
		case <-in.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// retryOpen is how long to wait after a port could not be had back.
const retryOpen = 100 * time.Millisecond

// align opens or closes the listener as the faults want it now, and returns when to look again; 0 is when they change.
// The caller holds mu.
func (in *Injector) align() (next time.Duration) {
	l := in.listener.Load()
	if l == nil {
		return 0
	}
	want, next := refusing(*in.strikes.Load(), time.Now())
	switch {
	case want && l.shut():
		if in.server != nil {
			in.server.SetKeepAlivesEnabled(false) // closes the idle connections, and the others after their answer
		}
	case !want:
		opened, err := l.reopen()
		if err != nil {
			in.log.Error("cannot listen again after a fault", "address", l.Addr().String(), "error", err)
			return retryOpen
		}
		if opened && in.server != nil {
			in.server.SetKeepAlivesEnabled(true)
		}
	}
	return next
}
