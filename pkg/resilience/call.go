package resilience

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Call runs fn guarded by the policy of e's dependency. fn gets a context that ends with the attempt; it may run
// several times if the policy retries. The error is an *Error unless the dependency's answer was an expected one.
//
// A fallback, at most one, answers every outcome but success and cancelled. Where the caller has left meanwhile, it
// answers none: nobody is there to read it.
func Call[T any](ctx context.Context, e *Endpoint, fn func(context.Context) (T, error), fallback ...Fallback[T]) (T, error) {
	p := e.dep.policy.Load()
	e.dep.budget.earn(p)
	for try := 1; ; try++ {
		v, answered, failed := once(ctx, e, p, fn)
		if failed == nil {
			return v, answered
		}
		if pause, ok := e.mayRetry(ctx, p, try, failed); ok && e.pause(ctx, pause) {
			continue
		}
		if len(fallback) > 0 && !p.NoFallback && !errors.Is(ctx.Err(), context.Canceled) {
			if answer, ok := fallback[0].answer(ctx, e, p, failed); ok {
				e.fallbacks.Add(1)
				return answer, nil
			}
		}
		return v, failed
	}
}

// once makes one attempt. answered is an expected error of a dependency that is well.
func once[T any](ctx context.Context, e *Endpoint, p *policy, fn func(context.Context) (T, error)) (v T, answered error, failed *Error) {
	a, failed := e.begin(ctx, p)
	if failed != nil {
		return v, nil, failed
	}
	if p.WalkAway {
		return walkAway(a, fn)
	}
	v, err := protect(a, fn)
	answered, failed = a.finish(err)
	a.release()
	return v, answered, failed
}

// protect turns a panic of fn into an error, and ends the attempt if fn ends its caller's goroutine.
func protect[T any](a *attempt, fn func(context.Context) (T, error)) (v T, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		r := recover()
		err = &panicError{value: r, stack: debug.Stack()}
		if r == nil && !a.policy.WalkAway { // runtime.Goexit: nobody will read err
			_, _ = a.finish(err)
			a.release()
		}
	}()
	v, err = fn(a)
	returned = true
	return v, err
}

// walkAway leaves fn behind when the attempt ends before it. Its slot stays taken until it returns, and that is
// the bound on how many can be left behind.
func walkAway[T any](a *attempt, fn func(context.Context) (T, error)) (v T, answered error, failed *Error) {
	type result struct {
		v   T
		err error
	}
	back := make(chan result, 1)
	var left atomic.Bool // by the caller or by fn, whoever is first
	go func() {
		r := result{err: errExited} // which stays if fn ends its goroutine
		defer func() {
			a.release() // first: who has the result may need the slot
			if !left.CompareAndSwap(false, true) {
				a.endpoint.abandoned.Add(-1)
			}
			back <- r
		}()
		r.v, r.err = protect(a, fn)
	}()
	select {
	case r := <-back:
		answered, failed = a.finish(r.err)
		return r.v, answered, failed
	case <-a.Done():
	}
	a.endpoint.abandoned.Add(1)
	if !left.CompareAndSwap(false, true) { // it came back after all
		a.endpoint.abandoned.Add(-1)
		r := <-back
		answered, failed = a.finish(r.err)
		return r.v, answered, failed
	}
	answered, failed = a.finish(a.Err())
	return v, answered, failed
}

var errExited = &panicError{value: "the function ended its goroutine"}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// attempt is one try of a call, from its slot to its outcome. It is the context that the call's function gets.
type attempt struct {
	lazy
	endpoint *Endpoint
	policy   *policy
	started  time.Time
	limit    time.Duration // what the policy allows: Timeout or ProbeTimeout
	ticket   ticket
	freed    atomic.Bool // the slot

	// Of what waits for the attempt's end, or for that of the probe; nil: nothing does.
	stop, stopProbe func() bool

	// Guarded by the endpoint's mutex.
	older, newer *attempt
	slow         bool
	settled      bool

	// What a joined client saw.
	status     atomic.Int32
	cut        atomic.Bool  // by a timer of the transport: connect, TLS
	retryAfter atomic.Int64 // ns
	final      atomic.Bool  // must not be repeated

	permanent atomic.Bool // what it met is not to heal
}

type attemptKey struct{}

func (a *attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.lazy.Value(key)
}

func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// release gives the slot back, once.
func (a *attempt) release() {
	if a.freed.CompareAndSwap(false, true) {
		a.endpoint.dep.slots.release()
	}
}

// finish settles the attempt by what its function returned, and returns what the caller is told: an error that is an
// answer, or what went wrong.
func (a *attempt) finish(err error) (answered error, failed *Error) {
	o := a.classify(err)
	if o == Failure {
		if err == nil {
			err = fmt.Errorf("status %d", a.status.Load())
		}
		if _, ok := errors.AsType[*permanentError](err); ok {
			a.final.Store(true)
			a.permanent.Store(true)
		}
	}
	a.endpoint.settle(a, o)
	for _, stop := range [...]func() bool{a.stop, a.stopProbe} {
		if stop != nil {
			stop()
		}
	}
	a.end()
	if expected, ok := err.(*expectedError); ok {
		return expected.error, nil
	}
	if o == Success {
		return err, nil
	}
	return nil, a.failure(o, err)
}

func (a *attempt) failure(o Outcome, err error) *Error {
	return &Error{
		Dependency: a.endpoint.dep.name, Endpoint: a.endpoint.name, Outcome: o, Err: err,
		RetryAfter: time.Duration(a.retryAfter.Load()), final: a.final.Load(),
	}
}

func (a *attempt) classify(err error) Outcome {
	status := int(a.status.Load())
	if err == nil {
		if failedStatus(status) {
			return Failure
		}
		return Success
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return Panicked
	}
	if _, ok := errors.AsType[*expectedError](err); ok {
		return Success
	}
	switch o := endedBy(a); {
	case o == Failure && a.cut.Load():
		return Timeout
	case o == Failure && status >= 400 && !failedStatus(status):
		return Success
	default:
		return o
	}
}

// failedStatus tells which answers are the dependency's failures: its errors, and its want of capacity.
func failedStatus(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests
}

// verdict tells what an outcome means to the breaker. A deadline that the caller brought counts once the call has
// been slow; before that it says nothing of the dependency.
func (a *attempt) verdict(o Outcome, elapsed time.Duration) verdict {
	var v verdict
	if elapsed >= min(a.policy.slowAfter(), a.limit) {
		v = slow
	}
	switch o {
	case Success:
		return v
	case Failure, Panicked:
		if a.permanent.Load() {
			v |= permanent
		}
		return v | failed
	case Timeout:
		if v == slow || a.cut.Load() {
			return slow | failed
		}
	}
	return neutral
}

// overdue settles an attempt whose time is over, whatever its function does.
func (a *attempt) overdue() { a.endpoint.settle(a, endedBy(a)) }
