package resilience

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Functions that ignore their context: they are walked away from at the deadline, and keep their slots until they
// return.
func TestB16_WalkAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots, p.WalkAway = 2, true
		e := endpoint(t, p)
		released := make(chan struct{})
		start := time.Now()
		var callers sync.WaitGroup
		var outcomes [len(Outcomes)]atomic.Int32
		for range 4 {
			callers.Go(func() {
				outcomes[call(t.Context(), e, func(context.Context) (int, error) { <-released; return 1, nil })].Add(1)
			})
		}
		callers.Wait()
		wantTook(t, start, time.Second)
		if ran, turnedAway := outcomes[Timeout].Load(), outcomes[Rejected].Load(); ran != 2 || turnedAway != 2 {
			t.Errorf("%d ran until the deadline and %d were rejected, want 2 and 2", ran, turnedAway)
		}
		wantInUse(t, e, 2)
		wantAbandoned(t, e, 2)
		if got := call(t.Context(), e, ok); got != Rejected {
			t.Errorf("while the abandoned hold every slot: %s", got)
		}
		close(released)
		synctest.Wait()
		wantInUse(t, e, 0)
		wantAbandoned(t, e, 0)
		wantOutcomes(t, e, map[Outcome]int{Timeout: 2, Rejected: 3})
	})
}

func wantAbandoned(t *testing.T, e *Endpoint, want int64) {
	t.Helper()
	if got := e.abandoned.Load(); got != want {
		t.Errorf("%d abandoned calls, want %d", got, want)
	}
}

// A walked-away call tells the same as one that is waited for, as long as its function returns in time.
func TestWalkAwayResults(t *testing.T) {
	cases := map[string]struct {
		fn      func(context.Context) (int, error)
		outcome Outcome
	}{
		"success":        {ok, Success},
		"failure":        {fail, Failure},
		"heeds its time": {hang, Timeout},
		"panic":          {func(context.Context) (int, error) { panic("x") }, Panicked},
		"goexit":         {func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }, Panicked},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Slots, p.WalkAway = 1, true
				e := endpoint(t, p)
				for range 100 { // with one slot: it must be back when the result is
					if got := call(t.Context(), e, c.fn); got != c.outcome {
						t.Fatalf("outcome %s, want %s", got, c.outcome)
					}
					if c.outcome == Timeout {
						synctest.Wait() // the function returns a moment after its caller has left
					}
				}
				wantOutcomes(t, e, map[Outcome]int{c.outcome: 100})
				wantInUse(t, e, 0)
				wantAbandoned(t, e, 0)
			})
		})
	}
}

// The gauge of abandoned calls ends at 0 although functions come back in the very moment of their deadline.
func TestWalkAwayAtTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.WalkAway = true
		e := endpoint(t, p)
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				call(t.Context(), e, func(context.Context) (int, error) {
					time.Sleep(p.Timeout)
					return 1, nil
				})
			})
		}
		callers.Wait()
		synctest.Wait()
		wantInUse(t, e, 0)
		wantAbandoned(t, e, 0)
	})
}

// However a call ends, its slot comes back, once.
func TestB17_TheSlotComesBackOnce(t *testing.T) {
	inCall := func(fn func(context.Context) (int, error)) func(context.Context, *Endpoint) {
		return func(ctx context.Context, e *Endpoint) { call(ctx, e, fn) }
	}
	cases := map[string]func(context.Context, *Endpoint){
		"success": inCall(ok),
		"failure": inCall(fail),
		"timeout": inCall(hang),
		"panic":   inCall(func(context.Context) (int, error) { panic("x") }),
		"goexit": func(ctx context.Context, e *Endpoint) {
			var wg sync.WaitGroup
			wg.Add(1)
			go func() {
				defer wg.Done()
				call(ctx, e, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
			}()
			wg.Wait()
		},
		"cancel": func(ctx context.Context, e *Endpoint) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			call(ctx, e, hang)
		},
		"read to the end and closed twice": func(ctx context.Context, e *Endpoint) {
			resp, _ := get(ctx, e)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Read(make([]byte, 1))
			resp.Body.Close()
			resp.Body.Close()
		},
		"read to the end and not closed": func(ctx context.Context, e *Endpoint) {
			resp, _ := get(ctx, e)
			io.Copy(io.Discard, resp.Body)
		},
		"closed unread": func(ctx context.Context, e *Endpoint) {
			resp, _ := get(ctx, e)
			resp.Body.Close()
		},
		"closed after the deadline": func(ctx context.Context, e *Endpoint) {
			resp, _ := get(ctx, e)
			time.Sleep(2 * time.Second)
			resp.Body.Close()
		},
		"closed while it is read": func(ctx context.Context, e *Endpoint) {
			resp, _ := get(ctx, e)
			go resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
		},
		"cancelled while it is read": func(ctx context.Context, e *Endpoint) {
			ctx, cancel := context.WithCancel(ctx)
			resp, _ := get(ctx, e)
			cancel()
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		},
	}
	for name, use := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Slots = 1
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "body") })
				e := endpoint(t, p)
				for range 10 { // a slot given back twice would show as fewer than none in use
					use(t.Context(), e)
					synctest.Wait()
					wantInUse(t, e, 0)
				}
				counted := uint64(0)
				for _, n := range state(e).Outcomes {
					counted += n
				}
				if counted != 10 {
					t.Errorf("%d outcomes of 10 calls: %v", counted, state(e).Outcomes)
				}
			})
		})
	}
}

// A response that its caller forgets costs its slot until the deadline, and is a timeout.
func TestB18_ResponseNeverClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots = 1
		p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "body") })
		e := endpoint(t, p)
		start := time.Now()
		resp, err := get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := get(t.Context(), e); OutcomeOf(err) != Rejected {
			t.Errorf("before the deadline: %v", err)
		}
		time.Sleep(time.Until(start.Add(p.Timeout)))
		synctest.Wait()
		wantInUse(t, e, 0)
		wantOutcomes(t, e, map[Outcome]int{Timeout: 1, Rejected: 1})
	})
}

// Waiting for a slot ends with the time of the caller, whose reserve is kept, or with the policy's, and is never
// reported as the dependency's timeout.
func TestB19_WaitingForASlot(t *testing.T) {
	cases := map[string]struct {
		wait, left, reserve, took time.Duration
		outcome                   Outcome
	}{
		"20 ms left":             {500 * time.Millisecond, 20 * time.Millisecond, 0, 20 * time.Millisecond, Expired},
		"20 ms beside a reserve": {500 * time.Millisecond, 70 * time.Millisecond, 50 * time.Millisecond, 20 * time.Millisecond, Expired},
		"time enough":            {100 * time.Millisecond, 10 * time.Second, 0, 100 * time.Millisecond, Rejected},
		"no wait":                {0, 10 * time.Second, 0, 0, Rejected},
		"a slot in time":         {900 * time.Millisecond, 10 * time.Second, 0, 500 * time.Millisecond, Success},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := breaking()
				p.Slots, p.SlotWait, p.Reserve = 1, c.wait, c.reserve
				e := endpoint(t, p)
				go call(t.Context(), e, take(500*time.Millisecond))
				synctest.Wait()
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.left)
				defer cancel()
				if got := call(ctx, e, ok); got != c.outcome {
					t.Errorf("outcome %s, want %s", got, c.outcome)
				}
				wantTook(t, start, c.took)
				time.Sleep(time.Second)
				wantInUse(t, e, 0)
			})
		})
	}
}

// A caller that leaves while it waits is cancelled, and its place in line is gone.
func TestLeavingTheLineForASlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots, p.SlotWait = 1, time.Minute
		e := endpoint(t, p)
		go call(t.Context(), e, take(500*time.Millisecond))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := Call(ctx, e, ok)
		wantOutcome(t, err, Cancelled)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v is not context.Canceled", err)
		}
		time.Sleep(time.Second)
		wantInUse(t, e, 0)
		if got := call(t.Context(), e, ok); got != Success {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// The line for slots is served in order, and is no longer than there are slots.
func TestLineForSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots, p.SlotWait = 2, 10*time.Second
		e := endpoint(t, p)
		var order []int
		var mu sync.Mutex
		for i := range 6 {
			go func() {
				call(t.Context(), e, func(ctx context.Context) (int, error) {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					return take(time.Duration(i+1) * 100 * time.Millisecond)(ctx)
				})
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 4 || order[2] != 2 || order[3] != 3 {
			t.Errorf("served %v, want 0 1 2 3", order)
		}
		wantOutcomes(t, e, map[Outcome]int{Success: 4, Rejected: 2})
	})
}

// Slots taken away while in use are not given out again until fewer are in use than there are.
func TestB20_FewerSlotsThanInUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots, p.Timeout = 10, time.Minute
		e := endpoint(t, p)
		for i := range 8 {
			go call(t.Context(), e, take(time.Duration(i+1)*time.Second))
		}
		synctest.Wait()
		start := time.Now()
		p.Slots = 2
		if err := e.dep.Apply(p); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, 0)
		for inUse := 8; inUse > 0; inUse-- {
			want := Rejected
			if inUse < 2 {
				want = Success
			}
			wantInUse(t, e, inUse)
			if got := call(t.Context(), e, ok); got != want {
				t.Errorf("with %d in use: %s, want %s", inUse, got, want)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		wantInUse(t, e, 0)
	})
}

// More slots call those who wait at once.
func TestMoreSlotsCallTheLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots, p.SlotWait = 1, time.Second
		e := endpoint(t, p)
		go call(t.Context(), e, hang)
		synctest.Wait()
		time.AfterFunc(100*time.Millisecond, func() {
			p := p
			p.Slots = 2
			e.dep.Apply(p)
		})
		start := time.Now()
		if got := call(t.Context(), e, ok); got != Success {
			t.Errorf("outcome %s", got)
		}
		wantTook(t, start, 100*time.Millisecond)
		time.Sleep(time.Second)
	})
}

// The policy may be swapped under load as often as one likes: each call reads it once.
func TestB20_PolicySwappedUnderLoad(t *testing.T) {
	long := Policy{Timeout: time.Minute, Slots: 64, Transport: http.NewFileTransport(http.Dir("."))}
	longer := long
	longer.Timeout, longer.Slots, longer.Breaker = time.Hour, 128, Breaker{Consecutive: 2, Window: 3 * time.Hour, Cooldown: time.Second}
	e := endpoint(t, long)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					call(t.Context(), e, ok)
				}
			}
		})
	}
	for i := range 10_000 {
		if err := e.dep.Apply([]Policy{longer, long}[i%2]); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	close(stop)
	callers.Wait()
	wantInUse(t, e, 0)
	for outcome, n := range state(e).Outcomes {
		if n > 0 != (outcome == "success") {
			t.Errorf("%d %s", n, outcome)
		}
	}
}

// HTTP/2 sends as many requests as one likes over one connection: the slots bound them all the same.
func TestB21_HTTP2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var inFlight, most atomic.Int32
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		l := newPipe()
		server := &http.Server{Protocols: &protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("HTTP/%d", r.ProtoMajor)
				}
				most.Store(max(most.Load(), inFlight.Add(1)))
				defer inFlight.Add(-1)
				time.Sleep(100 * time.Millisecond)
			})}
		go server.Serve(l)
		transport := &http.Transport{DialContext: l.dial, Protocols: &protocols}
		p := steady()
		p.Slots, p.SlotWait, p.Transport = 2, 10*time.Second, transport
		e := endpoint(t, p)
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() { wantOutcome(t, single(t.Context(), e), Success) })
		}
		callers.Wait()
		if got := most.Load(); got != 2 {
			t.Errorf("%d requests at the server at once, want 2", got)
		}
		transport.CloseIdleConnections()
		server.Close()
		time.Sleep(time.Minute) // HTTP/2's own goroutines end by their timers
	})
}

// A storm of refusals costs neither memory nor goroutines.
func TestB22_RefusalsCostNothing(t *testing.T) {
	p := breaking()
	p.Slots, p.Breaker.Cooldown = 1, time.Hour
	e := endpoint(t, p)
	e.dep.slots.take()
	refused := map[string]func(){
		"rejected": func() {
			if got := call(t.Context(), e, ok); got != Rejected {
				t.Errorf("outcome %s", got)
			}
		},
	}
	open := endpoint(t, p) // for an hour
	times(4, func() Outcome { return call(t.Context(), open, fail) })
	refused["short_circuited"] = func() {
		if got := call(t.Context(), open, ok); got != ShortCircuited {
			t.Errorf("outcome %s", got)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	refused["expired"] = func() {
		if got := call(over, e, ok); got != Expired {
			t.Errorf("outcome %s", got)
		}
	}
	for name, refuse := range refused {
		before := goroutines()
		if got := testing.AllocsPerRun(100_000, refuse); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
		if after := goroutines(); after > before+3 { // the runtime starts a few of its own
			t.Errorf("%s: %d goroutines, %d before", name, after, before)
		}
	}
}

// Never more calls in flight than slots, whatever comes at once.
func TestSlotsUnderLoad(t *testing.T) {
	p := steady()
	p.Slots, p.SlotWait, p.Timeout = 3, time.Minute, time.Hour
	e := endpoint(t, p)
	var inFlight atomic.Int32
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 200 {
				call(t.Context(), e, func(context.Context) (int, error) {
					if n := inFlight.Add(1); n > 3 {
						t.Errorf("%d calls in flight", n)
					}
					runtime.Gosched()
					inFlight.Add(-1)
					return 1, nil
				})
			}
		})
	}
	callers.Wait()
	wantInUse(t, e, 0)
	if got := e.dep.Snapshot().HighWater; got != 3 {
		t.Errorf("high water %d, want 3", got)
	}
	e.dep.Mark()
	if got := e.dep.Snapshot().HighWater; got != 0 {
		t.Errorf("high water %d after the mark", got)
	}
}
