package resilience

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"
)

// longestCooldown of breaking's breaker, jitter included.
const longestCooldown = 5500 * time.Millisecond

// opened returns an endpoint whose breaker has just opened.
func opened(t *testing.T, p Policy) *Endpoint {
	t.Helper()
	e := endpoint(t, p)
	for range max(4, p.Breaker.MinRequests) {
		call(t.Context(), e, fail)
	}
	wantBreaker(t, e, "open")
	return e
}

// readyToProbe returns an endpoint whose open breaker lets probes through.
func readyToProbe(t *testing.T, p Policy) *Endpoint {
	t.Helper()
	e := opened(t, p)
	time.Sleep(longestCooldown)
	return e
}

// However a probe fails to report, half-open has a way out: the next probe comes after the probe's deadline and the
// cooldown.
func TestB08_ProbesThatNeverReport(t *testing.T) {
	released := make(chan struct{})
	cases := map[string]struct {
		probe  func(context.Context) (int, error)
		lasts  time.Duration // until the breaker is open again
		policy func(*Policy)
		stuck  int // slots that the function still holds
	}{
		"heeds its deadline":  {hang, 300 * time.Millisecond, nil, 0},
		"ignores its context": {func(context.Context) (int, error) { <-released; return 1, nil }, 300 * time.Millisecond, nil, 1},
		"is walked away from": {
			func(context.Context) (int, error) { <-released; return 1, nil }, 300 * time.Millisecond,
			func(p *Policy) { p.WalkAway = true }, 1,
		},
		"without a timeout": {hang, 300 * time.Millisecond, func(p *Policy) { p.Timeout, p.SlowAfter = Unbounded, time.Second }, 0},
		"probe timeout by default": {hang, time.Second, func(p *Policy) {
			p.Timeout, p.SlowAfter, p.ProbeTimeout = Unbounded, time.Second, 0
		}, 0},
		"panics":              {func(context.Context) (int, error) { panic("probe") }, 0, nil, 0},
		"ends its goroutine":  {func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, 0, nil, 0},
		"ends the walker's":   {func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, 0, func(p *Policy) { p.WalkAway = true }, 0},
		"answers, but slowly": {take(280 * time.Millisecond), 280 * time.Millisecond, func(p *Policy) { p.SlowAfter = 250 * time.Millisecond }, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				released = make(chan struct{})
				p := breaking()
				p.ProbeTimeout = 300 * time.Millisecond
				if c.policy != nil {
					c.policy(&p)
				}
				e := readyToProbe(t, p)
				start := time.Now()
				go call(t.Context(), e, c.probe)
				synctest.Wait()
				if c.lasts > 0 {
					wantBreaker(t, e, "half-open")
				}
				time.Sleep(time.Until(start.Add(c.lasts)))
				synctest.Wait()
				wantBreaker(t, e, "open")
				wantInUse(t, e, c.stuck)
				time.Sleep(longestCooldown)
				if got := call(t.Context(), e, ok); got != Success {
					t.Errorf("the next probe: %s", got)
				}
				wantBreaker(t, e, "closed")
				close(released)
				synctest.Wait()
				wantInUse(t, e, 0)
			})
		})
	}
}

// A response that nobody reads nor closes is a probe that never reports, too.
func TestB08_ProbeWhoseBodyIsNeverClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		status := 503
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		e := endpoint(t, p)
		times(4, func() error { return single(t.Context(), e) })
		time.Sleep(longestCooldown)
		status = 200
		resp, err := get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		wantBreaker(t, e, "half-open")
		time.Sleep(time.Second)
		synctest.Wait()
		wantBreaker(t, e, "open")
		wantInUse(t, e, 0)
		resp.Body.Close()
		time.Sleep(longestCooldown)
		single(t.Context(), e)
		wantBreaker(t, e, "closed")
	})
}

// A caller that leaves a probe gives its place back: the next call is the probe.
func TestCancelledProbeGivesItsPlaceBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := readyToProbe(t, breaking())
		ctx, cancel := context.WithCancel(t.Context())
		go call(ctx, e, hang)
		synctest.Wait()
		if got := call(t.Context(), e, ok); got != ShortCircuited {
			t.Errorf("beside the probe: %s", got)
		}
		cancel()
		synctest.Wait()
		if got := call(t.Context(), e, ok); got != Success {
			t.Errorf("after the probe was cancelled: %s", got)
		}
		wantBreaker(t, e, "closed")
	})
}

// In real time a failed probe opens the breaker again. gobreaker's own open time is a nanosecond here, so asking it
// for its state would move it on to half-open: a storm of probes without any cooldown.
func TestFailedProbeOpensInRealTime(t *testing.T) {
	b := newBreaker(breaking().Breaker, 100, new(flight), time.Now())
	b.trip()
	first := b.probesAt
	now := first
	ticket, ok := b.admit(now)
	if !ok || ticket.probe == nil || b.state != gobreaker.StateHalfOpen {
		t.Fatal("no probe when its time has come")
	}
	b.report(ticket, failed, time.Second, now)
	if b.state != gobreaker.StateOpen {
		t.Fatalf("breaker is %s after a failed probe, want open", b.state)
	}
	if _, ok := b.admit(time.Now()); ok {
		t.Error("admitted within the cooldown")
	}
}

// The slot is taken before the breaker is asked: a call turned away for want of a slot spends no probe.
func TestB09_NoSlotSpendsNoProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Slots = 1
		e := readyToProbe(t, p)
		other := e.dep.Endpoint("other")
		go call(t.Context(), other, take(500*time.Millisecond))
		synctest.Wait()
		if got := call(t.Context(), e, ok); got != Rejected {
			t.Errorf("without a free slot: %s", got)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if got := call(t.Context(), e, ok); got != Success {
			t.Errorf("with a free slot: %s", got)
		}
		wantBreaker(t, e, "closed")
	})
}

// Of fifty callers at half-open exactly the quota reach the server.
func TestB10_HalfOpenQuota(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Breaker.Probes = 2
		e := readyToProbe(t, p)
		var reached atomic.Int32
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				call(t.Context(), e, func(ctx context.Context) (int, error) {
					reached.Add(1)
					return take(100 * time.Millisecond)(ctx)
				})
			})
		}
		callers.Wait()
		if got := reached.Load(); got != 2 {
			t.Errorf("%d calls reached the server, want 2", got)
		}
		wantBreaker(t, e, "closed")
		wantOutcomes(t, e, map[Outcome]int{Failure: 4, Success: 2, ShortCircuited: 48})
	})
}

// Every probe of the quota must succeed; one that fails opens again, and the other's result is then of no interest.
func TestOneFailedProbeOfTwoOpens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Breaker.Probes = 2
		e := readyToProbe(t, p)
		go call(t.Context(), e, take(500*time.Millisecond))
		synctest.Wait()
		call(t.Context(), e, fail)
		wantBreaker(t, e, "open")
		opensAt := state(e).OpensAt
		time.Sleep(500 * time.Millisecond)
		synctest.Wait() // the other probe has succeeded, too late
		wantBreaker(t, e, "open")
		if got := state(e).OpensAt; got != opensAt {
			t.Errorf("opens at %v, before the late probe at %v", got, opensAt)
		}
		if got := call(t.Context(), e, ok); got != ShortCircuited {
			t.Errorf("within the cooldown: %s", got)
		}
	})
}

// Whoever is told of a timeout may read the breaker: nothing is called under its lock.
func TestB11_ReadingTheBreakerFromTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reader := &readingHandler{}
		p := breaking()
		p.Timeout = 2 * time.Second
		e := endpoint(t, p, WithLogger(slog.New(reader)))
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(e.dep)
		reader.read = func() string {
			if _, err := registry.Gather(); err != nil {
				t.Error(err)
			}
			return state(e).Breaker
		}
		times(4, func() Outcome { return call(t.Context(), e, hang) })
		if got, want := strings.Join(reader.seen, " "), "closed closed closed open"; got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}

// readingHandler reads the breaker with every line.
type readingHandler struct {
	read func() string
	seen []string
}

func (h *readingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *readingHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *readingHandler) WithGroup(string) slog.Handler            { return h }

func (h *readingHandler) Handle(context.Context, slog.Record) error {
	h.seen = append(h.seen, h.read())
	return nil
}

// Failures in a thousand that people do not notice are health.
func TestB12_FewFailuresKeepItClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Breaker.FailureRate, p.Breaker.TimeoutRate, p.Breaker.MinRequests = 0.02, 0.02, 100
		e := endpoint(t, p)
		for i := range 30_000 { // 30 s at 1,000 a second
			fn := ok
			if i%200 == 199 {
				fn = fail
			}
			if got := call(t.Context(), e, fn); got == ShortCircuited {
				t.Fatalf("opened after %d calls", i)
			}
			time.Sleep(time.Millisecond)
		}
		wantOutcomes(t, e, map[Outcome]int{Success: 29_850, Failure: 150})
	})
}

// The rules, as results in turn: s success, f failure, t timeout, l a slow success; a space is a minute.
func TestB12_WhatOpensABreaker(t *testing.T) {
	cases := map[string]struct {
		rules   Breaker
		results string
		breaker string
	}{
		"failures exactly at the rate":         {Breaker{FailureRate: 0.5, MinRequests: 4}, "ssff", "open"},
		"failures just below it":               {Breaker{FailureRate: 0.5, MinRequests: 4}, "sssff", "closed"},
		"too few to tell":                      {Breaker{FailureRate: 0.5, MinRequests: 4}, "fff", "closed"},
		"a burst after idle":                   {Breaker{FailureRate: 0.5, MinRequests: 4}, "ssss" + strings.Repeat(" ", 60) + "ffff", "open"},
		"what is older than the window":        {Breaker{FailureRate: 0.5, MinRequests: 4}, "fff f", "closed"},
		"timeouts are failures":                {Breaker{FailureRate: 0.5, MinRequests: 4}, "sstt", "open"},
		"failures are no timeouts":             {Breaker{TimeoutRate: 0.5, MinRequests: 4}, "ffffffff", "closed"},
		"timeouts exactly at the rate":         {Breaker{TimeoutRate: 0.5, MinRequests: 4}, "sstt", "open"},
		"timeouts below it":                    {Breaker{TimeoutRate: 0.5, MinRequests: 4}, "ssstt", "closed"},
		"slow successes":                       {Breaker{TimeoutRate: 0.5, MinRequests: 4}, "ssll", "open"},
		"slow successes are no failures":       {Breaker{FailureRate: 0.5, MinRequests: 4}, "llll", "closed"},
		"two rules, either":                    {Breaker{FailureRate: 0.5, TimeoutRate: 0.2, MinRequests: 10}, "sssssssstt", "open"},
		"in a row":                             {Breaker{Consecutive: 3}, "fff", "open"},
		"a row broken":                         {Breaker{Consecutive: 3}, "ffsff", "closed"},
		"a row broken by a slow success":       {Breaker{Consecutive: 3}, "fflff", "closed"},
		"five timeouts, a minute apart":        {Breaker{Consecutive: 5}, "t t t t t", "open"},
		"four timeouts and as many minutes on": {Breaker{Consecutive: 5}, "t t t t", "closed"},
		"a healthy stretch is forgotten":       {Breaker{FailureRate: 0.5, MinRequests: 4}, strings.Repeat("s", 1000) + " ffff", "open"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Timeout, p.SlowAfter = 100*time.Millisecond, 50*time.Millisecond
				p.Breaker = c.rules
				p.Breaker.Window, p.Breaker.Cooldown = 30*time.Second, time.Hour
				e := endpoint(t, p)
				for _, result := range c.results {
					switch result {
					case 's':
						call(t.Context(), e, ok)
					case 'f':
						call(t.Context(), e, fail)
					case 't':
						call(t.Context(), e, hang)
					case 'l':
						call(t.Context(), e, take(60*time.Millisecond))
					case ' ':
						time.Sleep(time.Minute)
					}
				}
				wantBreaker(t, e, c.breaker)
			})
		})
	}
}

// Breakers of many instances that open together send their probes at different times, all within a tenth.
func TestB13_ProbesAreSpread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		start := time.Now()
		for range 100 {
			after := state(opened(t, breaking())).OpensAt.Sub(start)
			if after < 4500*time.Millisecond || after > longestCooldown {
				t.Errorf("probes after %v, want 5s give or take a tenth", after)
			}
			seen[after.Round(10*time.Millisecond)] = true
		}
		if len(seen) < 30 {
			t.Errorf("probes of 100 breakers come at %d times within 10 ms of each other", len(seen))
		}
	})
}

// Hung calls open the breaker before any of them has come back.
func TestB14_CallsInFlightOpen(t *testing.T) {
	cases := map[string]struct {
		slots, hung, finished int
		breaker               string
	}{
		"all of seven slots":              {7, 7, 0, "open"},
		"fewer than the minimum":          {100, 19, 0, "closed"},
		"the minimum":                     {100, 20, 0, "open"},
		"without limit":                   {Unlimited, 20, 0, "open"},
		"below the rate of what finished": {100, 20, 21, "closed"},
		"at the rate of what finished":    {100, 20, 20, "open"},
		"one hiccup in a single slot":     {1, 1, 0, "closed"},
		"one hiccup beside a success":     {2, 1, 1, "closed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer synctest.Wait()
				defer cancel()
				p := breaking()
				p.Slots, p.Timeout, p.SlowAfter = c.slots, Unbounded, 250*time.Millisecond
				p.Breaker.MinRequests = 20
				e := endpoint(t, p)
				for range c.finished {
					call(ctx, e, ok)
				}
				for range c.hung {
					go call(ctx, e, hang)
				}
				synctest.Wait()
				time.Sleep(250*time.Millisecond - 1)
				look(ctx, e)
				wantBreaker(t, e, "closed")
				time.Sleep(time.Nanosecond)
				look(ctx, e)
				wantBreaker(t, e, c.breaker)
			})
		})
	}
}

// look makes a call that counts for nothing: it is refused, or left at once.
func look(ctx context.Context, e *Endpoint) {
	ctx, cancel := context.WithCancel(ctx)
	call(ctx, e, func(ctx context.Context) (int, error) {
		cancel()
		return hang(ctx)
	})
}

// The hung calls that opened a breaker are still hung when a probe succeeds: they must not open it again.
func TestHungCallsOfBeforeDoNotReopen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := breaking()
		p.Slots, p.Timeout, p.SlowAfter = 20, Unbounded, 250*time.Millisecond
		e := endpoint(t, p)
		for range 10 {
			go call(ctx, e, hang)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		call(ctx, e, ok)
		wantBreaker(t, e, "open")
		time.Sleep(longestCooldown)
		for range 10 {
			if got := call(ctx, e, ok); got != Success {
				t.Fatalf("the dependency is well again, and a call is %s", got)
			}
		}
		wantBreaker(t, e, "closed")
		if got := state(e).OldestCall; got < 6*time.Second {
			t.Errorf("oldest call is %v old: the hung ones are still in flight", got)
		}
		cancel()
		synctest.Wait()
		wantInUse(t, e, 0)
	})
}

// A policy with another breaker starts it closed, and blames it for nothing that began before.
func TestNewBreakerForgetsWhatIsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := breaking()
		p.Timeout, p.SlowAfter, p.Breaker = Unbounded, 250*time.Millisecond, Breaker{}
		e := endpoint(t, p)
		for range 10 {
			go call(ctx, e, hang)
		}
		time.Sleep(time.Minute)
		p.Breaker = breaking().Breaker
		if err := e.dep.Apply(p); err != nil {
			t.Fatal(err)
		}
		if got := call(ctx, e, ok); got != Success {
			t.Errorf("outcome %s", got)
		}
		wantBreaker(t, e, "closed")
		cancel()
		synctest.Wait()
		wantBreaker(t, e, "closed")
	})
}

// When the fault clears, the breaker is closed within cooldown and probes; until then the server sees the quota only.
func TestB15_RecoveryWithoutASurge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var held atomic.Bool
		var inFlight, most atomic.Int32
		p := breaking()
		p.Timeout = 250 * time.Millisecond
		p.Breaker.MinRequests, p.Breaker.Probes = 20, 2
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			if held.Load() {
				<-r.Context().Done()
			}
		})
		e := endpoint(t, p)
		var callers sync.WaitGroup
		traffic := func(d time.Duration, until string) time.Duration { // 100 a second
			start := time.Now()
			for ; time.Since(start) < d && state(e).Breaker != until; time.Sleep(10 * time.Millisecond) {
				callers.Go(func() { single(t.Context(), e) })
			}
			return time.Since(start)
		}
		traffic(time.Second, "")
		held.Store(true)
		traffic(2*time.Second, "open")
		time.Sleep(time.Second)
		most.Store(0)
		traffic(15*time.Second, "closed") // two rounds of probes and more, all of them held
		if got := most.Load(); got > 2 {
			t.Errorf("%d calls at the held server at once, the quota is 2", got)
		}
		held.Store(false)
		if took := traffic(time.Minute, "closed"); took > longestCooldown+300*time.Millisecond {
			t.Errorf("closed %v after the fault had cleared", took)
		}
		callers.Wait()
		if got := most.Load(); got > 2 {
			t.Errorf("%d calls at the server at once before it closed, the quota is 2", got)
		}
	})
}

// A breaker belongs to an endpoint: one that fails every call takes no other with it.
func TestB35_OneEndpointOfTen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, err := New("dep", breaking())
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			for i := range 10 {
				fn := ok
				if i == 3 {
					fn = fail
				}
				call(t.Context(), d.Endpoint(fmt.Sprint(i)), fn)
			}
		}
		for _, s := range d.Snapshot().Endpoints {
			want := map[string]uint64{"success": 100}
			if s.Name == "3" {
				want = map[string]uint64{"failure": 4, "short_circuited": 96}
			}
			for outcome, n := range s.Outcomes {
				if n != want[outcome] {
					t.Errorf("endpoint %s: %d %s, want %d", s.Name, n, outcome, want[outcome])
				}
			}
		}
	})
}

// Results of calls that began before a change of state say nothing of the state after it.
func TestResultsOfCallsBegunBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Timeout, p.SlowAfter, p.Breaker.Window = time.Minute, time.Minute, 2*time.Minute
		e := endpoint(t, p)
		for range 10 { // begun while closed, to fail when it is closed again
			go call(t.Context(), e, func(context.Context) (int, error) {
				time.Sleep(20 * time.Second)
				return fail(t.Context())
			})
		}
		for range 10 { // to succeed while it is open
			go call(t.Context(), e, take(2*time.Second))
		}
		synctest.Wait()
		times(4, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "open")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantBreaker(t, e, "open")
		time.Sleep(longestCooldown)
		call(t.Context(), e, ok)
		wantBreaker(t, e, "closed")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		wantBreaker(t, e, "closed")
		times(3, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "closed") // the ten were not counted
	})
}

// Settle makes a breaker look away for a while, and only for that.
func TestSettle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, breaking())
		e.dep.Settle(2 * time.Second)
		times(10, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "closed")
		p := breaking()
		p.Breaker.Probes = 3 // another breaker, which looks away as long
		if err := e.dep.Apply(p); err != nil {
			t.Fatal(err)
		}
		times(10, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "closed")
		time.Sleep(2 * time.Second)
		times(3, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "closed")
		call(t.Context(), e, fail)
		wantBreaker(t, e, "open")
	})
}

// A scrape moves no state: without traffic an open breaker stays open, past its cooldown too.
func TestReadingMovesNoState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := opened(t, breaking())
		at := state(e).OpensAt
		time.Sleep(time.Hour)
		wantBreaker(t, e, "open")
		if got := state(e).OpensAt; got != at {
			t.Errorf("opens at %v, was %v", got, at)
		}
	})
}

func TestNoBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		times(100, func() Outcome { return call(t.Context(), e, fail) })
		wantBreaker(t, e, "none")
		wantOutcomes(t, e, map[Outcome]int{Failure: 100})
	})
}

// The window holds what came in the last ten steps and nothing else, however long the pauses.
func TestWindowAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Now()
		w := window{start: start, length: 10 * time.Second}
		type event struct {
			step int64
			v    verdict
		}
		var events []event
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 4_000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 20).Draw(t, "idle") == 0 {
				now = now.Add(time.Hour)
			}
			v := rapid.SampledFrom([]verdict{healthy, slow, failed, slow | failed}).Draw(t, "verdict")
			w.add(v, now)
			events = append(events, event{int64(now.Sub(start) / time.Second), v})
			var want tally
			for _, e := range events {
				if int64(now.Sub(start)/time.Second)-e.step >= 10 {
					continue
				}
				want.total++
				want.slow += int(e.v & slow)
				want.failed += int(e.v&failed) / 2
			}
			if got := w.sum(now); got != want {
				t.Fatalf("sum %+v, want %+v", got, want)
			}
		}
	})
}
