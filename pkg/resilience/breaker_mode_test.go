package resilience

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// An observing breaker decides what an acting one does, call for call, and lets every call through: a dependency that is
// down for a while, with time enough to find that out and to recover from it.
func TestObservingDecidesAsActing(t *testing.T) {
	const calls = 600 // one each 100 ms, down from the 100th to the 400th
	run := func(t *testing.T, mode BreakerMode) (refused []int, sent int, s EndpointSnapshot) {
		p := breaking()
		p.Breaker.Mode = mode
		e := endpoint(t, p)
		for i := range calls {
			before := state(e)
			outcome := call(t.Context(), e, func(ctx context.Context) (int, error) {
				sent++
				if i >= 100 && i < 400 {
					return fail(ctx)
				}
				return ok(ctx)
			})
			if outcome == ShortCircuited || state(e).Observed > before.Observed {
				refused = append(refused, i)
			}
			time.Sleep(100 * time.Millisecond)
		}
		return refused, sent, state(e)
	}
	bubble(t, func(t *testing.T) {
		acting, sent, _ := run(t, Acting)
		if len(acting) < 200 || sent != calls-len(acting) {
			t.Fatalf("an acting breaker refused %d and sent %d of %d calls", len(acting), sent, calls)
		}
		observed, sent, s := run(t, Observing)
		if sent != calls || s.Outcomes["short_circuited"] != 0 {
			t.Errorf("an observing breaker sent %d of %d calls, and refused %d", sent, calls, s.Outcomes["short_circuited"])
		}
		if s.Observed != uint64(len(observed)) || s.Breaker != "closed" {
			t.Errorf("%d calls counted of %d, and in the end it is %s", s.Observed, len(observed), s.Breaker)
		}
		// The cooldown's jitter is all that differs: a second between the extremes, so ten calls a round at most.
		first, rounds := observed[0] == acting[0], 6
		if diff := len(observed) - len(acting); !first || diff > 10*rounds || diff < -10*rounds {
			t.Errorf("observed from %d on, %d calls; acted from %d on, %d calls", observed[0], len(observed), acting[0], len(acting))
		}
	})
}

// A probe of an observing breaker keeps the whole timeout of its call, and half-open still has its way out.
func TestObservingCutsNoProbeShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Timeout, p.SlowAfter, p.ProbeTimeout, p.Breaker.Mode = Unbounded, time.Second, 300*time.Millisecond, Observing
		e := readyToProbe(t, p)
		answered := make(chan error)
		go func() {
			_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
				time.Sleep(time.Minute)
				return 1, ctx.Err()
			})
			answered <- err
		}()
		synctest.Wait()
		wantBreaker(t, e, "half-open")
		time.Sleep(301 * time.Millisecond)
		wantBreaker(t, e, "open")
		if err := <-answered; err != nil {
			t.Errorf("the probe's call: %v", err)
		}
		wantBreaker(t, e, "open") // its late success is not heard
	})
}

// A probe that ends in time is heard once, and nothing waits for it afterwards.
func TestObservingHearsAProbeOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Breaker.Probes, p.Breaker.Mode = 2, Observing
		e := readyToProbe(t, p)
		call(t.Context(), e, ok)
		time.Sleep(2 * p.Timeout)
		wantBreaker(t, e, "half-open")
		call(t.Context(), e, ok)
		wantBreaker(t, e, "closed")
	})
}

// A request alone is a probe like any other: where its body hangs for good, half-open has its way out.
func TestObservingProbeWhoseBodyHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Timeout, p.SlowAfter, p.ProbeTimeout, p.Breaker.Mode = Unbounded, time.Second, 300*time.Millisecond, Observing
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		e := readyToProbe(t, p)
		resp, err := get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		wantBreaker(t, e, "half-open")
		time.Sleep(301 * time.Millisecond)
		wantBreaker(t, e, "open")
	})
}

// Forced open and disabled need no rules, and take effect as they are applied.
func TestForcedOpenAndDisabled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, breaking())
		apply := func(b Breaker) {
			t.Helper()
			p := breaking()
			p.Breaker = b
			if err := e.dep.Apply(p); err != nil {
				t.Fatal(err)
			}
		}
		apply(Breaker{Mode: ForcedOpen})
		for range 3 {
			if got := call(t.Context(), e, ok); got != ShortCircuited {
				t.Errorf("forced open: %v", got)
			}
			time.Sleep(24 * time.Hour)
		}
		if s := state(e); s.Breaker != "open" || !s.OpensAt.IsZero() {
			t.Errorf("forced open: %s, lets probes through at %v", s.Breaker, s.OpensAt)
		}

		rules := breaking().Breaker
		rules.Mode = Disabled
		apply(rules)
		for range 100 {
			if got := call(t.Context(), e, fail); got != Failure {
				t.Errorf("disabled: %v", got)
			}
		}
		wantBreaker(t, e, "none")

		apply(breaking().Breaker)
		wantBreaker(t, e, "closed")
	})
}

// An error that no waiting heals opens the breaker at once, whatever its rules, and is not repeated; a probe that meets
// it again keeps it open, and one that does not closes it.
func TestPermanentErrorOpensAtOnce(t *testing.T) {
	revoked := errors.New("the key is revoked")
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Retry = Retry{Attempts: 3, Budget: Unbudgeted}
		e := endpoint(t, p)
		times := 0
		refuse := func(context.Context) (int, error) {
			times++
			return 0, Permanent(revoked)
		}
		_, err := Call(t.Context(), e, refuse)
		wantOutcome(t, err, Failure)
		if !errors.Is(err, revoked) || times != 1 {
			t.Errorf("%v, after %d attempts", err, times)
		}
		wantBreaker(t, e, "open")
		time.Sleep(longestCooldown)
		_, err = Call(t.Context(), e, refuse, FallbackTo(7))
		if err != nil {
			t.Errorf("a permanent error has a fallback, too: %v", err)
		}
		wantBreaker(t, e, "open")
		time.Sleep(longestCooldown)
		call(t.Context(), e, ok)
		wantBreaker(t, e, "closed")
	})
	if err := Permanent(nil); err != nil {
		t.Errorf("Permanent(nil) = %v", err)
	}
}
