package resilience

import (
	"context"
	"time"
)

// Fallback is the answer to a call that could not be made. It makes no remote call.
type Fallback[T any] struct {
	value T
	fn    func(context.Context, error) (T, error)
}

// FallbackTo answers with v.
func FallbackTo[T any](v T) Fallback[T] { return Fallback[T]{value: v} }

// FallbackFunc answers with what fn makes of the call's error; where fn fails, panics or does not answer in time,
// the call's own error is kept.
func FallbackFunc[T any](fn func(ctx context.Context, cause error) (T, error)) Fallback[T] {
	return Fallback[T]{fn: fn}
}

const (
	// A fallback needs no time but to be scheduled; this much it gets when the caller's is used up.
	fallbackGrace = 10 * time.Millisecond
	// So many fallback functions of an endpoint may hang before no more are started.
	maxHungFallbacks = 64
)

func (f Fallback[T]) answer(ctx context.Context, e *Endpoint, cause error) (answer T, ok bool) {
	if f.fn == nil {
		return f.value, true
	}
	if e.answering.Add(1) > maxHungFallbacks {
		e.answering.Add(-1)
		return answer, false
	}
	back := make(chan T, 1)
	failed := make(chan struct{})
	go func() {
		defer e.answering.Add(-1)
		ok := false
		defer func() {
			if !ok {
				_ = recover() // the call's own error says more
				close(failed)
			}
		}()
		if v, err := f.fn(ctx, cause); err == nil {
			back <- v
			ok = true
		}
	}()
	select {
	case answer = <-back:
		return answer, true
	case <-failed:
		return answer, false
	case <-ctx.Done():
	}
	grace := time.NewTimer(fallbackGrace)
	defer grace.Stop()
	select {
	case answer = <-back:
		return answer, true
	case <-failed:
	case <-grace.C:
	}
	return answer, false
}
