package resilience

import (
	"context"
	"sync"
	"time"
)

// lazy is a context that ends at an instant, with its caller, or when it is cancelled; it arms its timer, and hooks
// itself to its caller, only when somebody waits on it. To arm both costs more than everything else that bounds a
// call, and a function that is done before it would wait never needs them. Once waited on, it is a context of the
// standard library's.
type lazy struct {
	caller context.Context
	latest time.Time // zero: no instant of its own

	mu     sync.Mutex
	inner  context.Context // made by the first Done
	cancel context.CancelFunc
	ended  error // what Err has said, or cancel has made it say: it never changes again
}

func (l *lazy) Deadline() (time.Time, bool) {
	if l.latest.IsZero() {
		return l.caller.Deadline()
	}
	return l.latest, true
}

func (l *lazy) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner == nil {
		if l.latest.IsZero() {
			l.inner, l.cancel = context.WithCancel(l.caller)
		} else {
			l.inner, l.cancel = context.WithDeadline(l.caller, l.latest)
		}
		if l.ended != nil {
			l.cancel() // at the latest; the instant may have passed by itself
		}
	}
	return l.inner.Done()
}

func (l *lazy) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errLocked()
}

func (l *lazy) errLocked() error {
	switch {
	case l.ended != nil:
	case l.inner != nil:
		l.ended = l.inner.Err()
	case !l.latest.IsZero() && !time.Now().Before(l.latest):
		// Before the caller is asked: where both have happened and nobody watched, the time was up in any case.
		l.ended = context.DeadlineExceeded
	default:
		l.ended = l.caller.Err()
	}
	return l.ended
}

// Value asks the armed context first: the standard library finds its own kind by a value, and then needs no
// goroutine to pass the end on to contexts made of this one.
func (l *lazy) Value(key any) any {
	l.mu.Lock()
	inner := l.inner
	l.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return l.caller.Value(key)
}

// end cancels the context, if it is not over.
func (l *lazy) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.errLocked() == nil {
		l.ended = context.Canceled
	}
	if l.cancel != nil {
		l.cancel()
	}
}
