package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Client returns an HTTP client whose every request is guarded. Inside a Call of the same endpoint a request joins
// that attempt: one slot, one outcome, so that a body which does not decode counts as a failure. Alone, a request is
// a call of its own, and lasts until its body is read to the end or closed, or the attempt's time is over.
//
// Redirects are not followed: a dependency is one destination.
func (e *Endpoint) Client() *http.Client {
	return &http.Client{
		Transport:     guarded{e},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type guarded struct{ endpoint *Endpoint }

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if a := attemptFrom(r.Context()); a != nil && a.endpoint == g.endpoint {
		return a.join(r)
	}
	return g.endpoint.alone(r)
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
	e.dep.budget.earn()
	for try := 1; ; try++ {
		resp, err := e.single(ctx, p, r)
		if err == nil {
			return resp, nil
		}
		call, ok := err.(*Error)
		if !ok || !idempotent(r) || !e.retry(ctx, p, try, call) {
			if call != nil && call.response != nil {
				return call.response, nil // an answer, though a failure: the caller may want to read it
			}
			return nil, err
		}
		if call.response != nil {
			_ = call.response.Body.Close()
		}
		if r, ok = rewind(r); !ok {
			return nil, err
		}
	}
}

// rewind returns r with its body to be sent anew, if it can be.
func rewind(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return r, false
	}
	body, err := r.GetBody()
	if err != nil {
		return r, false
	}
	again := r.WithContext(r.Context())
	again.Body = body
	return again, true
}

// single makes one attempt of one request. A failed status comes back as an *Error that holds the response, still
// to be read or closed.
func (e *Endpoint) single(ctx context.Context, p *policy, r *http.Request) (*http.Response, error) {
	a, err := e.begin(ctx, p)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	resp, err := a.send(r, a)
	if err != nil {
		err = a.finish(err)
		a.release()
		return nil, err
	}
	if a.stop != nil {
		a.stop()
	}
	// The slot comes back at the deadline even if nobody reads or closes the body.
	a.stop = context.AfterFunc(a.Context, func() {
		a.overdue()
		a.release()
	})
	resp.Body = &body{rc: resp.Body, left: p.maxBody(), attempt: a}
	if failedStatus(resp.StatusCode) {
		call := a.failure(Failure, fmt.Errorf("status %d", resp.StatusCode))
		call.response = resp
		return nil, call
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
	resp, err := a.policy.transport.RoundTrip(r)
	if err != nil {
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

// body bounds a response body in bytes, and ends the attempt that it belongs to, if it stands alone.
type body struct {
	rc      io.ReadCloser
	left    int64    // negative: too much was sent
	attempt *attempt // nil: a joined one, which the Call ends
	once    sync.Once
	over    error // nil until the end, then what Read returns
}

func (b *body) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	// One byte more than allowed tells a body of just the size from one that goes on.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.rc.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, errBodyTooLarge
	}
	if err != nil {
		b.over = err
		b.end(err)
	}
	return n, err
}

// Close ends the call as the caller wants it: what it has read was enough.
func (b *body) Close() error {
	if b.over == nil {
		hurry := time.AfterFunc(drainTime, func() { _ = b.rc.Close() })
		_, _ = io.CopyN(io.Discard, b.rc, drainLimit)
		hurry.Stop()
		b.over = http.ErrBodyReadAfterClose
		b.end(io.EOF)
	}
	return b.rc.Close()
}

func (b *body) end(err error) {
	if b.attempt == nil {
		return
	}
	b.once.Do(func() {
		if err == io.EOF {
			err = nil
		}
		_ = b.attempt.finish(err)
		b.attempt.release()
	})
}
