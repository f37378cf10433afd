package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Client returns an HTTP client whose every request is guarded. Inside a Call of the same endpoint a request joins
// that attempt: one slot, one outcome, so that a body which does not decode counts as a failure. Alone, a request is
// a call of its own, and lasts until its body is read to the end or closed, or the attempt's time is over.
//
// Redirects are not followed: a dependency is one destination.
func (e *Endpoint) Client() *http.Client {
	//unbounded:allow clienttimeout "the policy bounds each request, unless it is Unbounded by name"
	return &http.Client{
		Transport:     guarded{e},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type guarded struct{ endpoint *Endpoint }

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if a := attemptFrom(r.Context()); a != nil && a.endpoint == g.endpoint && a.bounds(r.Context()) {
		return a.join(r)
	}
	return g.endpoint.alone(r)
}

// CloseIdleConnections makes the method of that name of http.Client reach the connections of the dependency.
func (g guarded) CloseIdleConnections() {
	if t, ok := g.endpoint.dep.policy.Load().transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// bounds reports whether ctx ends with the attempt at the latest. A context that was detached from it, or kept for
// afterwards, still carries the attempt, but nothing would end its requests.
func (a *attempt) bounds(ctx context.Context) bool {
	latest, bounded := a.Deadline()
	own, ok := ctx.Deadline()
	return a.Err() == nil && ctx.Done() != nil && (!bounded || ok && !own.After(latest))
}

// join sends a request as part of an attempt that a Call has begun.
func (a *attempt) join(r *http.Request) (*http.Response, error) {
	if !idempotent(r) {
		a.final.Store(true)
	}
	resp, err := a.send(r, r.Context())
	if err != nil {
		return nil, err
	}
	resp.Body = &body{rc: resp.Body, left: a.policy.maxBody()}
	return resp, nil
}

// alone makes a call of one request.
func (e *Endpoint) alone(r *http.Request) (*http.Response, error) {
	p := e.dep.policy.Load()
	ctx := r.Context()
	e.dep.budget.earn(p)
	for try := 1; ; try++ {
		resp, failed := e.single(ctx, p, r)
		if failed == nil {
			return resp, nil
		}
		var pause time.Duration
		ok := replayable(r)
		if ok {
			pause, ok = e.mayRetry(ctx, p, try, failed)
		}
		if !ok && resp != nil {
			return resp, nil // an answer, though a failure: the caller may want to read it
		}
		if resp != nil {
			_ = resp.Body.Close() // before the pause, which holds no slot
		}
		if !ok || !e.pause(ctx, pause) {
			return nil, failed
		}
		var err error
		if r, err = rewind(r); err != nil {
			return nil, failed
		}
	}
}

// replayable tells whether a request may be sent twice and its body is there for it.
func replayable(r *http.Request) bool {
	return idempotent(r) && (r.Body == nil || r.Body == http.NoBody || r.GetBody != nil)
}

// rewind returns r with its body to be sent anew.
func rewind(r *http.Request) (*http.Request, error) {
	if r.GetBody == nil {
		return r, nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	again := r.WithContext(r.Context())
	again.Body = body
	return again, nil
}

// single makes one attempt of one request. A failed status comes back as an *Error beside the response, which is
// still to be read or closed.
func (e *Endpoint) single(ctx context.Context, p *policy, r *http.Request) (*http.Response, *Error) {
	a, failed := e.begin(ctx, p)
	if failed != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, failed
	}
	resp, err := a.send(r, a)
	if err != nil {
		_, failed = a.finish(err)
		a.release()
		return nil, failed
	}
	// The slot comes back at the deadline even if nobody reads or closes the body.
	a.stop = context.AfterFunc(&a.lazy, func() {
		a.overdue()
		a.release()
	})
	resp.Body = &body{rc: resp.Body, left: p.maxBody(), attempt: a}
	if failedStatus(resp.StatusCode) {
		return resp, a.failure(Failure, fmt.Errorf("status %d", resp.StatusCode))
	}
	return resp, nil
}

// send decorates a copy of the request and notes the answer's status.
func (a *attempt) send(r *http.Request, ctx context.Context) (*http.Response, error) {
	r = r.WithContext(ctx)
	r.Header = maps.Clone(r.Header)
	if r.Header == nil {
		r.Header = http.Header{}
	}
	now := time.Now()
	if latest, ok := a.Deadline(); ok {
		r.Header[DeadlineHeader] = []string{formatDeadline(now, latest)}
	}
	request := requestFrom(a.caller)
	r.Header[CriticalityHeader] = []string{a.policy.Criticality.lower(request).String()}
	if request.retried || a.policy.Retry.Attempts > 1 {
		r.Header[RetryHeader] = []string{"outer"}
	}
	a.status.Store(0)
	a.cut.Store(false)
	resp, err := a.policy.transport.RoundTrip(r)
	if err != nil {
		ne, ok := errors.AsType[net.Error](err)
		a.cut.Store(ok && ne.Timeout() && ctx.Err() == nil)
		return nil, err
	}
	a.status.Store(int32(resp.StatusCode))
	a.retryAfter.Store(int64(parseRetryAfter(resp.Header.Get("Retry-After"), now)))
	return resp, nil
}

var errBodyTooLarge = errors.New("body larger than MaxBody")

// Of an unread body so much is read at Close, for so long, to keep its connection.
const (
	drainLimit = 4 << 10
	drainTime  = 5 * time.Millisecond
)

// body bounds a response body in bytes, and ends the attempt that it belongs to, if it stands alone. It may be closed
// while it is read.
type body struct {
	rc      io.ReadCloser
	attempt *attempt    // nil: a joined one, which the Call ends
	ended   atomic.Bool // by the reader or by Close, whoever is first
	reading atomic.Bool

	// The reader's alone.
	left int64 // negative: too much was sent
	over error // nil until the end, then what Read returns
}

func (b *body) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	// One byte more than allowed tells a body of just the size from one that goes on.
	if int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	b.reading.Store(true)
	n, err := b.rc.Read(p)
	b.reading.Store(false)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, errBodyTooLarge
	}
	if err != nil {
		b.over = b.end(err)
	}
	return n, b.over
}

// Close ends the call as the caller wants it: what it has read was enough.
func (b *body) Close() error {
	if b.ended.CompareAndSwap(false, true) {
		if !b.reading.Load() { // else Close is to end the read, not to wait for it
			hurry := time.AfterFunc(drainTime, func() { _ = b.rc.Close() })
			_, _ = io.CopyN(io.Discard, b.rc, drainLimit)
			hurry.Stop()
		}
		_ = b.finish(nil)
	}
	return b.rc.Close()
}

// end ends the call because its reader met err, and returns what the reader is told.
func (b *body) end(err error) error {
	if !b.ended.CompareAndSwap(false, true) {
		return err
	}
	if err == io.EOF {
		_ = b.finish(nil)
		return err
	}
	if failed := b.finish(err); failed != nil {
		return failed
	}
	return err
}

func (b *body) finish(err error) *Error {
	if b.attempt == nil {
		return nil
	}
	_, failed := b.attempt.finish(err)
	b.attempt.release()
	return failed
}
