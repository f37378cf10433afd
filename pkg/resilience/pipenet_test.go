package resilience

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A network in memory, so that real servers and clients work in fake time. The package is copied out of its module, so
// its tests bring their own.

// pipe is a listener whose connections are pipes.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipe() *pipe { return &pipe{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: ctx.Err()}
	}
}

// serve starts a server in the bubble and returns a transport to it; both end with the test.
func serve(t *testing.T, h http.HandlerFunc) *http.Transport {
	t.Helper()
	l := newPipe()
	var running sync.WaitGroup // the server and its connections
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			running.Add(1)
		case http.StateClosed, http.StateHijacked:
			running.Done()
		}
	}}
	running.Go(func() { server.Serve(l) })
	transport := &http.Transport{DialContext: l.dial, MaxIdleConnsPerHost: 1000}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		running.Wait()
	})
	return transport
}

// bubble runs a test in fake time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// steady is a policy without a breaker.
func steady() Policy { return Policy{Timeout: time.Second, Slots: 100} }

// guarded by every rule: the breaker opens at half of four or more.
func breaking() Policy {
	return Policy{Timeout: time.Second, Slots: 100, Breaker: Breaker{
		TimeoutRate: 0.5, FailureRate: 0.5, MinRequests: 4, Window: 10 * time.Second, Cooldown: 5 * time.Second,
	}}
}

// endpoint returns the one endpoint of a new dependency.
func endpoint(t testing.TB, p Policy, opts ...Option) *Endpoint {
	t.Helper()
	d, err := New("dep", p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return d.Endpoint("op")
}

// The functions that a test calls.

func ok(context.Context) (int, error)   { return 1, nil }
func fail(context.Context) (int, error) { return 0, io.ErrUnexpectedEOF }

// hang waits until its context ends, as a good function does.
func hang(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// take answers after d.
func take(d time.Duration) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		select {
		case <-time.After(d):
			return 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func times[T any](n int, f func() T) (last T) {
	for range n {
		last = f()
	}
	return last
}

// call makes one call and returns its outcome.
func call(ctx context.Context, e *Endpoint, fn func(context.Context) (int, error)) Outcome {
	_, err := Call(ctx, e, fn)
	return OutcomeOf(err)
}

func get(ctx context.Context, e *Endpoint) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://dep/", nil)
	if err != nil {
		return nil, err
	}
	return e.Client().Do(r)
}

// fetch gets the whole of a body, as a call of its own.
func fetch(ctx context.Context, e *Endpoint) (string, error) {
	resp, err := get(ctx, e)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// goroutines returns how many there are. In the middle of a collection the runtime counts the dead ones too, so one is
// brought to its end first.
func goroutines() int {
	runtime.GC()
	return runtime.NumGoroutine()
}

// state is what a test asks of an endpoint.
func state(e *Endpoint) EndpointSnapshot {
	for _, s := range e.dep.Snapshot().Endpoints {
		if s.Name == e.name {
			return s
		}
	}
	panic("no such endpoint")
}

func wantBreaker(t *testing.T, e *Endpoint, want string) {
	t.Helper()
	if got := state(e).Breaker; got != want {
		t.Errorf("breaker is %s, want %s", got, want)
	}
}

func wantInUse(t *testing.T, e *Endpoint, want int) {
	t.Helper()
	if got := e.dep.Snapshot().InUse; got != want {
		t.Errorf("%d slots in use, want %d", got, want)
	}
}

// wantOutcomes compares those counts that are given, and that the others are 0.
func wantOutcomes(t *testing.T, e *Endpoint, want map[Outcome]int) {
	t.Helper()
	for _, o := range Outcomes {
		if got := int(state(e).Outcomes[o.String()]); got != want[o] {
			t.Errorf("%s: %d, want %d", o, got, want[o])
		}
	}
}

func wantOutcome(t *testing.T, err error, want Outcome) {
	t.Helper()
	if got := OutcomeOf(err); got != want {
		t.Errorf("outcome %s, want %s (%v)", got, want, err)
	}
}

// wantTook checks a duration of fake time.
func wantTook(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}
