package resilience

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A caller that leaves says nothing of the dependency, whatever it gives as the cause.
func TestB01_CancelledCallsDoNotOpenTheBreaker(t *testing.T) {
	causes := map[string]error{"no cause": nil, "a plain error": errors.New("the reader turned the page")}
	for name, cause := range causes {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := endpoint(t, breaking())
				for range 100 {
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
					_, err := Call(ctx, e, hang)
					wantOutcome(t, err, Cancelled)
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%v is not context.Canceled", err)
					}
				}
				wantBreaker(t, e, "closed")
				wantOutcomes(t, e, map[Outcome]int{Cancelled: 100})
			})
		})
	}
}

// An attempt that runs out of its own time is the dependency's timeout, and counts.
func TestB02_AttemptTimeoutCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, breaking())
		start := time.Now()
		_, err := Call(t.Context(), e, hang)
		wantTook(t, start, time.Second)
		wantOutcome(t, err, Timeout)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not context.DeadlineExceeded", err)
		}
		times(3, func() Outcome { return call(t.Context(), e, hang) })
		wantBreaker(t, e, "open")
	})
}

// Every deadline is the caller's: past the slow threshold they count against the dependency, before it not.
func TestB03_CallersDeadlines(t *testing.T) {
	cases := map[string]struct {
		deadline time.Duration
		breaker  string
	}{
		"past the slow threshold":   {300 * time.Millisecond, "open"},
		"at the slow threshold":     {250 * time.Millisecond, "open"},
		"before the slow threshold": {249 * time.Millisecond, "closed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := breaking()
				p.SlowAfter = 250 * time.Millisecond
				e := endpoint(t, p)
				for range 4 {
					ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
					if got := call(ctx, e, hang); got != Timeout {
						t.Errorf("outcome %s, want timeout", got)
					}
					cancel()
				}
				wantBreaker(t, e, c.breaker)
			})
		})
	}
}

// No time is left on entry: nothing is sent and the breaker hears nothing of it.
func TestB04_ExpiredOnEntry(t *testing.T) {
	over := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		"deadline passed": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, -time.Second)
		},
		"only the reserve is left": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		},
	}
	for name, make := range over {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := breaking()
				p.Reserve = 50 * time.Millisecond
				e := endpoint(t, p)
				for range 10 {
					ctx, cancel := make(t.Context())
					_, err := Call(ctx, e, func(context.Context) (int, error) {
						t.Error("sent")
						return 0, io.ErrUnexpectedEOF
					})
					wantOutcome(t, err, Expired)
					cancel()
				}
				wantBreaker(t, e, "closed")
				wantOutcomes(t, e, map[Outcome]int{Expired: 10})
				wantInUse(t, e, 0)
			})
		})
	}
}

// joined makes a call whose client joins it, and which returns an error for every status but 200.
func joined(ctx context.Context, e *Endpoint) error {
	_, err := Call(ctx, e, func(ctx context.Context) (string, error) {
		resp, err := get(ctx, e)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "", errors.New(resp.Status)
		}
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	})
	return err
}

// single makes a call of one request, outside of Call, which ignores the status as careless code does.
func single(ctx context.Context, e *Endpoint) error {
	_, err := fetch(ctx, e)
	return err
}

// A 404 is an answer of a dependency that is well; a 503 is none. Joined or alone, the breaker sees the same.
func TestB05_StatusesAndTheBreaker(t *testing.T) {
	cases := map[string]struct {
		statuses []int // in turn
		breaker  string
	}{
		"404":                        {[]int{404}, "closed"},
		"400 and 409":                {[]int{400, 409}, "closed"},
		"503":                        {[]int{503}, "open"},
		"429, want of capacity":      {[]int{429}, "open"},
		"404 and 503 by turns":       {[]int{404, 503}, "open"},
		"one 503 of four":            {[]int{200, 404, 503, 200}, "closed"},
		"303, which is not followed": {[]int{200, 303}, "closed"},
	}
	ways := map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single}
	for name, c := range cases {
		for way, send := range ways {
			if way == "joined" && name == "303, which is not followed" {
				continue // an error for a redirect is a failure, unless it is marked as expected
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					n := 0
					p := breaking()
					p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(c.statuses[n%len(c.statuses)])
						n++
					})
					e := endpoint(t, p)
					for range 100 {
						send(t.Context(), e)
					}
					wantBreaker(t, e, c.breaker)
					wantInUse(t, e, 0)
				})
			})
		}
	}
}

// One 404 as the half-open probe closes: the dependency is alive.
func TestB05_A404ProbeCloses(t *testing.T) {
	for way, send := range map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				status := 503
				p := breaking()
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
				e := endpoint(t, p)
				times(4, func() error { return send(t.Context(), e) })
				wantBreaker(t, e, "open")
				time.Sleep(6 * time.Second)
				status = 404
				send(t.Context(), e)
				wantBreaker(t, e, "closed")
			})
		})
	}
}

// Being turned away for want of a slot says nothing of the dependency.
func TestB06_RejectionsDoNotReachTheBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Slots = 1
		p.Timeout, p.SlowAfter = time.Minute, 5*time.Second
		e := endpoint(t, p)
		go call(t.Context(), e, take(4*time.Second))
		synctest.Wait()
		for range 100 {
			if got := call(t.Context(), e, ok); got != Rejected {
				t.Fatalf("outcome %s, want rejected", got)
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		wantBreaker(t, e, "closed")
		// Three failures more, beside the success, are enough for the rate only if none of the 100 was counted.
		times(2, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "closed")
		call(t.Context(), e, fail)
		wantBreaker(t, e, "open")
		wantOutcomes(t, e, map[Outcome]int{Success: 1, Rejected: 100, Failure: 3})
	})
}

// Success is never recorded at headers: a body cut short is a failure.
func TestB07_HalfABodyIsAFailure(t *testing.T) {
	for way, send := range map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "100")
					io.WriteString(w, "half")
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				})
				e := endpoint(t, p)
				wantOutcome(t, send(t.Context(), e), Failure)
				wantOutcomes(t, e, map[Outcome]int{Failure: 1})
				wantInUse(t, e, 0)
			})
		})
	}
}

// A body that drips past the deadline is read until then, and is a timeout.
func TestB07_DrippingBodyTimesOut(t *testing.T) {
	for way, send := range map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
					for r.Context().Err() == nil {
						io.WriteString(w, ".")
						w.(http.Flusher).Flush()
						time.Sleep(100 * time.Millisecond)
					}
				})
				e := endpoint(t, p)
				start := time.Now()
				wantOutcome(t, send(t.Context(), e), Timeout)
				wantTook(t, start, time.Second)
				wantOutcomes(t, e, map[Outcome]int{Timeout: 1})
				wantInUse(t, e, 0)
			})
		})
	}
}

// A connect that runs out of its own time is a timeout of the dependency although the attempt had time left.
func TestConnectTimeoutIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Breaker.FailureRate = 0
		p.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}}
		e := endpoint(t, p)
		for range 4 {
			wantOutcome(t, single(t.Context(), e), Timeout)
		}
		wantBreaker(t, e, "open")
		wantOutcomes(t, e, map[Outcome]int{Timeout: 4})
	})
}

// A timeout of another dependency, met inside the function, is not booked against this one.
func TestTimeoutOfAnotherDependencyIsAFailureHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		outer, inner := endpoint(t, breaking()), endpoint(t, Policy{Timeout: 10 * time.Millisecond, Slots: 1})
		_, err := Call(t.Context(), outer, func(ctx context.Context) (int, error) { return Call(ctx, inner, hang) })
		wantOutcome(t, err, Failure)
		wantOutcomes(t, inner, map[Outcome]int{Timeout: 1})
	})
}

// A caller that leaves after the time was over changes nothing: who was first decides.
func TestLeavingAfterTheTimeoutIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, err := Call(ctx, e, func(context.Context) (int, error) {
			time.Sleep(5 * time.Second) // ignores its context
			return 0, io.ErrUnexpectedEOF
		})
		wantOutcome(t, err, Timeout)
	})
}

// A function that heeds the deadline by a timer of its own may be a moment before the context's.
func TestErrorAtTheDeadlineIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		attempt := &clockOnly{Context: t.Context(), deadline: time.Now()}
		if got := endedBy(attempt); got != Timeout {
			t.Errorf("outcome %s, want timeout", got)
		}
		attempt.deadline = attempt.deadline.Add(1)
		if got := endedBy(attempt); got != Failure {
			t.Errorf("a moment before: outcome %s, want failure", got)
		}
	})
}

// clockOnly is a context whose timer is late.
type clockOnly struct {
	context.Context
	deadline time.Time
}

func (c *clockOnly) Deadline() (time.Time, bool) { return c.deadline, true }

// What the function says of its own error, and what a joined status says, decide what the caller is told.
func TestWhatIsAnAnswer(t *testing.T) {
	noRows := errors.New("no rows")
	cases := map[string]struct {
		status  int // of a joined request; 0: none
		returns error
		outcome Outcome
		bare    bool // the error is the function's own
	}{
		"expected":                        {0, Expected(noRows), Success, true},
		"expected, wrapped":               {0, errors.Join(Expected(noRows)), Success, true},
		"expected beside a 503":           {503, Expected(noRows), Success, true},
		"an error of its own":             {0, noRows, Failure, false},
		"404":                             {404, noRows, Success, true},
		"200 that does not decode":        {200, noRows, Failure, false},
		"503":                             {503, noRows, Failure, false},
		"429":                             {429, noRows, Failure, false},
		"503 that the function overlooks": {503, nil, Failure, false},
		"302":                             {302, noRows, Failure, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) })
				e := endpoint(t, p)
				_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
					if c.status != 0 {
						resp, err := get(ctx, e)
						if err != nil {
							t.Fatal(err)
						}
						resp.Body.Close()
					}
					return 0, c.returns
				})
				wantOutcomes(t, e, map[Outcome]int{c.outcome: 1})
				_, isCall := errors.AsType[*Error](err)
				if isCall == c.bare || c.returns != nil && !errors.Is(err, noRows) || c.outcome == Failure && err == nil {
					t.Errorf("the caller is told %#v", err)
				}
			})
		})
	}
}

// An expected error may be that of another guarded call: it is passed on, not taken for this call's own.
func TestExpectedErrorOfAnotherCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Retry = Retry{Attempts: 3, Budget: Unbudgeted}
		e, inner := endpoint(t, p), endpoint(t, steady())
		_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
			v, err := Call(ctx, inner, fail)
			return v, Expected(err)
		}, FallbackTo(9))
		wantOutcome(t, err, Failure)
		wantOutcomes(t, e, map[Outcome]int{Success: 1})
		wantOutcomes(t, inner, map[Outcome]int{Failure: 1})
	})
}

// A connection that fails after an earlier 404 of the same attempt is a failure: the status was the earlier one's.
func TestStatusOfAnEarlierRequestIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0
		p := steady()
		p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n > 1 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusNotFound)
		})
		e := endpoint(t, p)
		_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
			if _, err := fetch(ctx, e); err != nil {
				t.Error(err)
			}
			_, err := fetch(ctx, e)
			return 0, err
		})
		wantOutcome(t, err, Failure)
	})
}

func TestExpectedNilIsNil(t *testing.T) {
	if err := Expected(nil); err != nil {
		t.Errorf("Expected(nil) = %v", err)
	}
}

// An error names where it happened and how it ended.
func TestErrorText(t *testing.T) {
	e := &Error{Dependency: "recommendations", Endpoint: "related", Outcome: ShortCircuited, Err: errOpen}
	if got, want := e.Error(), "recommendations/related: short_circuited: the breaker is open"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if e.Timeout() || !(&Error{Outcome: Timeout}).Timeout() {
		t.Error("Timeout() is true for a timeout alone")
	}
	if OutcomeOf(nil) != Success || OutcomeOf(io.EOF) != Success {
		t.Error("no guarded call failed")
	}
}
