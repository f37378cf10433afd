package resilience

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Fallback is the answer to a call that could not be made. It makes no remote call.
type Fallback[T any] struct {
	value T
	fn    func(context.Context, error) (T, error)
}

// FallbackTo answers with v.
func FallbackTo[T any](v T) Fallback[T] { return Fallback[T]{value: v} }

// FallbackFunc answers with what fn makes of the call's error. Where fn fails, panics or does not answer in time, the
// call's own error is kept. Its time is the caller's, and at most the policy's Timeout, or 1 s where that is Unbounded.
func FallbackFunc[T any](fn func(ctx context.Context, cause error) (T, error)) Fallback[T] {
	return Fallback[T]{fn: fn}
}

const (
	// A fallback needs no time but to be scheduled; this much it gets when the caller's was used up by the call.
	fallbackGrace = 10 * time.Millisecond
	// The longest that a fallback is waited for where the policy names no time.
	fallbackLimit = time.Second
	// So many fallback functions of an endpoint may hang, nobody waiting for them, before no more are started.
	maxHungFallbacks = 64
)

func (f Fallback[T]) answer(ctx context.Context, e *Endpoint, p *policy, cause error) (answer T, ok bool) {
	if f.fn == nil {
		return f.value, true
	}
	// Those that somebody waits for are not counted: a storm, when many calls fail at once, is when they are needed.
	if e.hung.Load() >= maxHungFallbacks {
		return answer, false
	}
	var ended atomic.Bool // by the function, or by who waits for it
	back := make(chan T, 1)
	failed := make(chan struct{})
	go func() {
		defer func() {
			if !ended.CompareAndSwap(false, true) {
				e.hung.Add(-1)
			}
		}()
		ok := false
		defer func() {
			if ok {
				return
			}
			if r := recover(); r != nil { // the call's own error says more to the caller
				e.dep.log.LogAttrs(ctx, slog.LevelError, "fallback panicked", slog.String("dependency", e.dep.name),
					slog.String("endpoint", e.name), slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			}
			close(failed)
		}()
		if v, err := f.fn(ctx, cause); err == nil {
			back <- v
			ok = true
		}
	}()
	left := fallbackLimit
	if p.Timeout != Unbounded {
		left = p.Timeout
	}
	if latest, bounded := ctx.Deadline(); bounded {
		left = min(left, time.Until(latest))
	}
	over := ctx.Done()
	if ctx.Err() != nil || left <= 0 {
		over, left = nil, fallbackGrace
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case answer = <-back:
		return answer, true
	case <-failed:
		return answer, false
	case <-over:
	case <-timer.C:
	}
	e.hung.Add(1)
	if !ended.CompareAndSwap(false, true) { // it did after all
		e.hung.Add(-1)
	}
	return answer, false
}
