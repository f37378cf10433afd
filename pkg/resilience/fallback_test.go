package resilience

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A fallback answers what the dependency could not; never a caller that has left, nor an answer that is one.
func TestB36_WhatAFallbackAnswers(t *testing.T) {
	cases := map[string]struct {
		outcome  Outcome
		answered bool
		call     func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error)
	}{
		"success": {Success, false, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) { return Call(ctx, e, ok, f) }},
		"failure": {Failure, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) { return Call(ctx, e, fail, f) }},
		"timeout": {Timeout, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) { return Call(ctx, e, hang, f) }},
		"rejected": {Rejected, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			e.dep.slots.take()
			defer e.dep.slots.release()
			return Call(ctx, e, ok, f)
		}},
		"short_circuited": {ShortCircuited, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			e.mu.Lock()
			e.breaker.trip()
			e.mu.Unlock()
			return Call(ctx, e, ok, f)
		}},
		"expired": {Expired, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			return Call(ctx, e, ok, f)
		}},
		"panicked": {Panicked, true, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			return Call(ctx, e, func(context.Context) (int, error) { panic("x") }, f)
		}},
		"cancelled": {Cancelled, false, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			return Call(ctx, e, hang, f)
		}},
		"a 404": {Success, false, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			return Call(ctx, e, func(ctx context.Context) (int, error) { return 0, joinedStatus(ctx, e) }, f)
		}},
		"no rows": {Success, false, func(ctx context.Context, e *Endpoint, f Fallback[int]) (int, error) {
			return Call(ctx, e, func(context.Context) (int, error) { return 0, Expected(errors.New("no rows")) }, f)
		}},
	}
	ways := map[string]Fallback[int]{
		"a value": FallbackTo(7),
		"a function": FallbackFunc(func(_ context.Context, cause error) (int, error) {
			if OutcomeOf(cause) == Success {
				return 0, errors.New("no cause is given")
			}
			return 7, nil
		}),
	}
	for name, c := range cases {
		for way, fallback := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := breaking()
					p.Slots = 1
					p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
					e := endpoint(t, p)
					got, err := c.call(t.Context(), e, fallback)
					if answered := got == 7; answered != c.answered || answered && err != nil {
						t.Errorf("answered %d, %v", got, err)
					}
					want := uint64(0)
					if c.answered {
						want = 1
					}
					if s := state(e); s.Outcomes[c.outcome.String()] != 1 || s.Fallbacks != want {
						t.Errorf("outcomes %v, %d fallbacks", s.Outcomes, s.Fallbacks)
					}
				})
			})
		}
	}
}

func joinedStatus(ctx context.Context, e *Endpoint) error {
	resp, err := get(ctx, e)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return errors.New(resp.Status)
}

// A fallback that does not answer keeps the call's own error, and stays inside the time that there is.
func TestB36_FallbacksThatDoNotAnswer(t *testing.T) {
	block := func(release <-chan struct{}) func(context.Context, error) (int, error) {
		return func(context.Context, error) (int, error) { <-release; return 7, nil }
	}
	cases := map[string]struct {
		fallback func(release <-chan struct{}) func(context.Context, error) (int, error)
		left     time.Duration // of the caller; 0: no deadline
		timeout  time.Duration
		took     time.Duration
	}{
		"fails": {func(<-chan struct{}) func(context.Context, error) (int, error) {
			return func(context.Context, error) (int, error) { return 7, io.ErrClosedPipe }
		}, time.Second, time.Minute, 0},
		"panics": {func(<-chan struct{}) func(context.Context, error) (int, error) {
			return func(context.Context, error) (int, error) { panic("the fallback, too") }
		}, time.Second, time.Minute, 0},
		"ends its goroutine": {func(<-chan struct{}) func(context.Context, error) (int, error) {
			return func(context.Context, error) (int, error) { runtime.Goexit(); return 7, nil }
		}, time.Second, time.Minute, 0},
		"blocks, until the caller's deadline":  {block, time.Second, time.Minute, time.Second},
		"blocks, without one for the timeout":  {block, 0, 250 * time.Millisecond, 250 * time.Millisecond},
		"blocks, without any time for one":     {block, 0, Unbounded, fallbackLimit},
		"blocks, within a timeout yet shorter": {block, time.Second, 250 * time.Millisecond, 250 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Timeout = c.timeout
				e := endpoint(t, p)
				release := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				if c.left > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.left)
				}
				defer cancel()
				start := time.Now()
				v, err := Call(ctx, e, fail, FallbackFunc(c.fallback(release)))
				wantTook(t, start, c.took)
				wantOutcome(t, err, Failure)
				if v != 0 || !errors.Is(err, io.ErrUnexpectedEOF) || state(e).Fallbacks != 0 {
					t.Errorf("%d, %v", v, err)
				}
				close(release)
				synctest.Wait()
				if got := e.hung.Load(); got != 0 {
					t.Errorf("%d fallbacks still hang", got)
				}
			})
		})
	}
}

// Where the call has used its caller's time up, a fallback has a moment to be scheduled, and no more.
func TestFallbackAfterTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		v, err := Call(ctx, e, hang, FallbackFunc(func(context.Context, error) (int, error) { return 7, nil }))
		if v != 7 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		wantTook(t, start, 100*time.Millisecond)

		release := make(chan struct{})
		start = time.Now()
		_, err = Call(ctx, e, hang, FallbackFunc(func(context.Context, error) (int, error) { <-release; return 7, nil }))
		wantOutcome(t, err, Expired)
		wantTook(t, start, fallbackGrace)
		close(release)
	})
}

// Fallbacks that hang are bounded: no more of them are started than that, and the calls go on.
func TestHungFallbacksAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		release := make(chan struct{})
		var started atomic.Int32
		hung := FallbackFunc(func(context.Context, error) (int, error) { started.Add(1); <-release; return 7, nil })
		for range 3 * maxHungFallbacks {
			_, err := Call(t.Context(), e, fail, hung)
			wantOutcome(t, err, Failure)
		}
		if got := started.Load(); got != maxHungFallbacks {
			t.Errorf("%d started, want %d", got, maxHungFallbacks)
		}
		close(release)
		synctest.Wait()
		if v, err := Call(t.Context(), e, fail, FallbackFunc(func(context.Context, error) (int, error) { return 7, nil })); v != 7 {
			t.Errorf("when they have gone: %d, %v", v, err)
		}
	})
}

// However many calls fail at once, each gets its answer: what is bounded is what hangs.
func TestFallbacksOfAStormAllAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		busy := FallbackFunc(func(context.Context, error) (int, error) { time.Sleep(time.Millisecond); return 7, nil })
		for range 4 * maxHungFallbacks {
			go func() {
				if v, err := Call(t.Context(), e, fail, busy); v != 7 {
					t.Errorf("%d, %v", v, err)
				}
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// A panic of a fallback is in the log, since nobody else tells of it.
func TestFallbackPanicIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		e := endpoint(t, steady(), WithLogger(slog.New(slog.NewTextHandler(&lines, nil))))
		_, err := Call(t.Context(), e, fail, FallbackFunc(func(context.Context, error) (int, error) { panic("oops") }))
		wantOutcome(t, err, Failure)
		if got := lines.String(); !strings.Contains(got, "panic=oops") || !strings.Contains(got, "fallback_test.go") {
			t.Errorf("logged %q", got)
		}
	})
}

// With NoFallback the error is returned, as ordinary code does.
func TestNoFallback(t *testing.T) {
	p := steady()
	p.NoFallback = true
	_, err := Call(t.Context(), endpoint(t, p), fail, FallbackTo(7))
	wantOutcome(t, err, Failure)
}

// A panic becomes an error that holds the stack, and the process goes on.
func TestPanicHoldsItsStack(t *testing.T) {
	_, err := Call(t.Context(), endpoint(t, steady()), func(context.Context) (int, error) { panic("oops") })
	wantOutcome(t, err, Panicked)
	if got := err.Error(); !strings.Contains(got, "panic: oops") || !strings.Contains(got, "fallback_test.go") {
		t.Errorf("%s", got)
	}
}

// Each timeout is a line with what a reader of it needs; in a storm one a second, which says for how many it stands.
func TestTimeoutLines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		p := steady()
		p.Timeout = 250 * time.Millisecond
		e := endpoint(t, p, WithLogger(log))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		call(ctx, e, hang)
		for range 50 {
			go call(t.Context(), e, hang)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		call(t.Context(), e, hang)
		const line = "level=WARN msg=\"call timed out\" dependency=dep endpoint=op timeout=250ms elapsed=250ms stands_for="
		if got, want := lines.String(), line+"1 budget_remaining=750ms\n"+line+"51\n"; got != want {
			t.Errorf("logged\n%swant\n%s", got, want)
		}
	})
}
