package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func admission(t *testing.T, p AdmissionPolicy) *Admission {
	t.Helper()
	a, err := NewAdmission(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// party is a number of requests by name, each in its own goroutine, and what became of them in the order in which it did.
type party struct {
	t *testing.T
	a *Admission

	mu  sync.Mutex
	log []string
}

// arrive makes a request; when it gets a worker it keeps it for its work.
func (p *party) arrive(name string, c Criticality, work time.Duration) {
	p.arriveWith(p.t.Context(), name, c, work)
}

func (p *party) arriveWith(ctx context.Context, name string, c Criticality, work time.Duration) {
	p.t.Helper()
	go func() {
		release, err := p.a.Acquire(ctx, c)
		if err != nil {
			p.note(name + ": " + errors.Unwrap(fmt.Errorf("%w", err)).(*ShedError).Reason)
			return
		}
		p.note(name)
		time.Sleep(work)
		release()
	}()
	synctest.Wait()
}

func (p *party) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, s)
}

// want waits for all to end and compares.
func (p *party) want(want ...string) {
	p.t.Helper()
	time.Sleep(time.Hour)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.log, want) {
		p.t.Errorf("%s\nwant\n%s", strings.Join(p.log, ", "), strings.Join(want, ", "))
	}
	if s := p.a.Snapshot(); s.InUse != 0 || s.Queue != 0 {
		p.t.Errorf("%d in use and %d in line at the end", s.InUse, s.Queue)
	}
}

// Each rule, broken alone, and all at once.
func TestAdmissionRules(t *testing.T) {
	cases := map[string]struct {
		p    AdmissionPolicy
		want string
	}{
		"no queue":               {AdmissionPolicy{Workers: 1}, ""},
		"a queue":                {AdmissionPolicy{Workers: 1, Queue: 1, MaxWait: 1, TargetWait: 1}, ""},
		"no limits":              {AdmissionPolicy{Workers: Unlimited, Queue: Unlimited, MaxWait: Unbounded}, ""},
		"no workers":             {AdmissionPolicy{}, "admission: Workers is 0: must be at least 1; write Unlimited if you mean no limit"},
		"negative queue":         {AdmissionPolicy{Workers: 1, Queue: -1}, "admission: Queue is -1: must not be negative"},
		"a wait without end":     {AdmissionPolicy{Workers: 1, Queue: 1}, "admission: MaxWait is 0s: must be positive with a queue; write Unbounded if you mean infinity"},
		"a target above the max": {AdmissionPolicy{Workers: 1, Queue: 1, MaxWait: 1, TargetWait: 2}, "admission: TargetWait is 2ns: must be in 0..MaxWait (1ns)"},
		"a negative target":      {AdmissionPolicy{Workers: 1, Queue: 1, MaxWait: 1, TargetWait: -1}, "admission: TargetWait is -1ns: must be in 0..MaxWait (1ns)"},
		"all at once": {AdmissionPolicy{Queue: -1, TargetWait: -1}, "admission: Workers is 0: must be at least 1; write Unlimited if you mean no limit\n" +
			"admission: Queue is -1: must not be negative\nadmission: TargetWait is -1ns: must be in 0..MaxWait (0s)"},
	}
	for name, c := range cases {
		if _, err := NewAdmission(c.p); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	a := admission(t, AdmissionPolicy{Workers: 3})
	if err := a.Apply(AdmissionPolicy{}); err == nil || a.Snapshot().Limit != 3 {
		t.Error("an invalid policy changed something")
	}
}

// With every worker taken and the line full, what does not pass through admission answers at once.
func TestB32_ProbesAnswerWhenWorkersAreFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := admission(t, AdmissionPolicy{Workers: 2, Queue: 2, MaxWait: time.Minute})
		release := make(chan struct{})
		mux := http.NewServeMux()
		mux.Handle("/books", a.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })))
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ready") })
		mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, len(gathered(t, a))) })
		client := &http.Client{Transport: serve(t, mux.ServeHTTP)}
		ask := func(path string) int {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop"+path, nil)
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return 0
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		var askers sync.WaitGroup
		for range 4 {
			askers.Go(func() { ask("/books") })
		}
		synctest.Wait()
		start := time.Now()
		for path, want := range map[string]int{"/readyz": 200, "/metrics": 200, "/books": 503} {
			if got := ask(path); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
		wantTook(t, start, 0)
		close(release)
		askers.Wait()
	})
}

// overload is a simulation, in fake time, of a server whose requests each hold a worker for their own work and nothing
// else: its capacity is workers / work. One in ten is critical, three in ten sheddable.
type overload struct {
	policy AdmissionPolicy
	work   time.Duration
	times  float64 // of the capacity that arrive
	lasts  time.Duration
}

// served is what became of the requests of one class.
type served struct{ asked, good int }

func (s served) share() float64 { return float64(s.good) / float64(s.asked) }

// run returns what was good, by class, and in all as a share of what the workers could do.
func (o overload) run(t *testing.T) (classes map[Criticality]served, goodput float64) {
	t.Helper()
	a := admission(t, o.policy)
	random := rand.New(rand.NewPCG(1, 2))
	capacity := float64(o.policy.Workers) / o.work.Seconds()
	var mu sync.Mutex
	classes = map[Criticality]served{}
	good := 0
	var requests sync.WaitGroup
	request := func(c Criticality) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a page's budget
		defer cancel()
		release, err := a.Acquire(ctx, c)
		if err == nil {
			time.Sleep(o.work)
			release()
		}
		mu.Lock()
		defer mu.Unlock()
		s := classes[c]
		s.asked++
		if err == nil && ctx.Err() == nil {
			s.good++
			good++
		}
		classes[c] = s
	}
	// The goroutines are used again: of each one ever begun the race detector keeps some memory for good.
	next := make(chan Criticality)
	start, at := time.Now(), time.Duration(0)
	for {
		at += time.Duration(random.ExpFloat64() / (o.times * capacity) * float64(time.Second))
		if at > o.lasts {
			break
		}
		time.Sleep(time.Until(start.Add(at)))
		c := []Criticality{Critical, Default, Default, Default, Default, Default, Default, Sheddable, Sheddable, Sheddable}[random.IntN(10)]
		select {
		case next <- c: // to one that is idle
		default:
			requests.Go(func() {
				request(c)
				for c := range next {
					request(c)
				}
			})
		}
	}
	close(next)
	requests.Wait()
	return classes, float64(good) / (capacity * o.lasts.Seconds())
}

// At three times the capacity goodput stays at the peak, and the critical are served while the sheddable are refused.
func TestB33_Overload(t *testing.T) {
	shed := func(workers int) AdmissionPolicy {
		return AdmissionPolicy{Workers: workers, Queue: workers, MaxWait: 100 * time.Millisecond, TargetWait: 10 * time.Millisecond}
	}
	cases := map[string]overload{
		"a small server": {shed(20), 80 * time.Millisecond, 3, 20 * time.Second},
		"a large one":    {shed(200), 80 * time.Millisecond, 3, 4 * time.Second},
		"short work":     {shed(20), 20 * time.Millisecond, 3, 5 * time.Second},
		"just too much":  {shed(20), 80 * time.Millisecond, 1.2, 20 * time.Second},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				classes, goodput := o.run(t)
				t.Logf("goodput %.1f %% of capacity; good: critical %.2f %%, default %.1f %%, sheddable %.1f %%", 100*goodput,
					100*classes[Critical].share(), 100*classes[Default].share(), 100*classes[Sheddable].share())
				if goodput < 0.9 {
					t.Errorf("goodput %.3f of capacity, want 0.9", goodput)
				}
				if got := classes[Critical].share(); got < 0.994 {
					t.Errorf("%.4f of the critical good, want 0.994", got)
				}
				if d, s := classes[Default].share(), classes[Sheddable].share(); s > d {
					t.Errorf("%.3f of the sheddable good, of the default %.3f", s, d)
				}
			})
		})
	}
}

// Below capacity nobody is refused who could be served, and the same line without end is what collapses above it.
func TestOverloadByContrast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		policy := AdmissionPolicy{Workers: 20, Queue: 20, MaxWait: 100 * time.Millisecond, TargetWait: 10 * time.Millisecond}
		classes, _ := overload{policy, 80 * time.Millisecond, 0.6, 20 * time.Second}.run(t)
		for c, s := range classes {
			if s.share() < 0.999 {
				t.Errorf("at 0.6 of the capacity %.4f of the %s are good", s.share(), c)
			}
		}
		policy = AdmissionPolicy{Workers: 20, Queue: Unlimited, MaxWait: Unbounded}
		if _, goodput := (overload{policy, 80 * time.Millisecond, 3, 10 * time.Second}).run(t); goodput > 0.2 {
			t.Errorf("waiting in line without end gives %.2f of the capacity: then shedding shows nothing", goodput)
		}
	})
}

// A handler that panics gives its worker back; the panic goes on to who turns it into a 500.
func TestB34_PanicGivesTheWorkerBack(t *testing.T) {
	a := admission(t, AdmissionPolicy{Workers: 1})
	h := a.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") }))
	for range 3 {
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if r := recover(); r != "secret" {
					t.Errorf("recovered %v", r)
				}
			}()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		}()
		if w.Body.Len() > 0 {
			t.Errorf("the answer tells %q", w.Body)
		}
		if got := a.Snapshot().InUse; got != 0 {
			t.Errorf("%d workers in use", got)
		}
	}
}

// The line is as long as it may be and no longer.
func TestQueueBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 2, MaxWait: time.Minute})}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			p.arrive(name, Default, time.Second)
		}
		if s := p.a.Snapshot(); s.InUse != 1 || s.Queue != 2 || s.Shed != 2 {
			t.Errorf("%+v", s)
		}
		p.want("a", "d: queue_full", "e: queue_full", "b", "c")
	})
}

// A full line makes room for the more critical: of the lowest class the newest goes.
func TestEviction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 3, MaxWait: time.Minute})}
		p.arrive("at work", Default, time.Second)
		p.arrive("s1", Sheddable, time.Second)
		p.arrive("s2", Sheddable, time.Second)
		p.arrive("d1", Default, time.Second)
		p.arrive("d2", Default, time.Second)
		p.arrive("c1", Critical, time.Second)
		p.arrive("s3", Sheddable, time.Second)
		p.arrive("c2", Critical, time.Second)
		p.arrive("d3", Default, time.Second)
		p.arrive("c3", Critical, time.Second)
		p.arrive("c4", Critical, time.Second)
		p.want("at work", "s2: queue_full", "s1: queue_full", "s3: queue_full", "d2: queue_full", "d3: queue_full",
			"d1: queue_full", "c4: queue_full", "c1", "c2", "c3")
	})
}

// Workers go to the most critical in line, and in a class to who came first.
func TestOrderOfTheLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 9, MaxWait: time.Minute})}
		p.arrive("at work", Default, time.Second)
		for _, name := range []string{"s1", "d1", "c1", "s2", "d2", "c2"} {
			p.arrive(name, map[byte]Criticality{'s': Sheddable, 'd': Default, 'c': Critical}[name[0]], time.Second)
		}
		p.want("at work", "c1", "c2", "d1", "d2", "s1", "s2")
	})
}

// overloadedParty has one worker, whose requests take 50 ms, and a line in which the delay has been above the target
// for a while: the next free worker is at 250 ms.
func overloadedParty(t *testing.T, queue int) *party {
	p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: queue, MaxWait: time.Second, TargetWait: 20 * time.Millisecond})}
	for i := range 5 {
		p.arrive(fmt.Sprint(i), Default, 50*time.Millisecond)
	}
	time.Sleep(220 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = nil
	return p
}

// Under overload the newest of the default class is served first, none waits longer than the target, and the sheddable
// do not wait. The critical keep their order and their patience.
func TestUnderOverload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := overloadedParty(t, 10)
		p.arrive("d1", Default, 50*time.Millisecond) // at 220 ms, and may wait until 240
		time.Sleep(12 * time.Millisecond)
		p.arrive("d2", Default, 50*time.Millisecond)
		p.arrive("c1", Critical, 10*time.Millisecond)
		p.arrive("s1", Sheddable, 0)
		p.arrive("c2", Critical, time.Millisecond)
		time.Sleep(time.Millisecond)
		p.arrive("d3", Default, 50*time.Millisecond)
		p.want("s1: overload", "d1: queue_delay", "c1", "d2: queue_delay", "d3: queue_delay", "c2")
	})
}

func TestNewestFirstUnderOverload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := overloadedParty(t, 10)
		time.Sleep(25 * time.Millisecond)
		p.arrive("d1", Default, 5*time.Millisecond)
		p.arrive("d2", Default, 5*time.Millisecond)
		p.arrive("d3", Default, 5*time.Millisecond)
		p.want("d3", "d2", "d1")
	})
}

// Where the newest are served first a full line gives way to them.
func TestFullLineUnderOverload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := overloadedParty(t, 4)
		time.Sleep(25 * time.Millisecond)
		for _, name := range []string{"d1", "d2", "d3", "d4", "d5"} {
			p.arrive(name, Default, time.Millisecond)
		}
		p.arrive("c1", Critical, time.Millisecond)
		p.want("d1: queue_full", "d2: queue_full", "c1", "d5", "d4", "d3")
	})
}

// Overload ends when a worker is free again.
func TestOverloadEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := overloadedParty(t, 10)
		p.arrive("s1", Sheddable, 0)
		time.Sleep(time.Second)
		p.arrive("at work", Default, 100*time.Millisecond)
		p.arrive("s2", Sheddable, 0)
		p.want("s1: overload", "at work", "s2")
	})
}

// Workers that never come free are overload, too, once someone has waited in vain.
func TestHungWorkersAreOverload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 5, MaxWait: 100 * time.Millisecond, TargetWait: 10 * time.Millisecond})}
		p.arrive("hung", Default, time.Minute)
		p.arrive("d1", Default, 0)
		time.Sleep(200 * time.Millisecond)
		p.arrive("s1", Sheddable, 0)
		p.want("hung", "d1: queue_delay", "s1: overload")
	})
}

// Nobody waits longer than MaxWait.
func TestMaxWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := admission(t, AdmissionPolicy{Workers: 1, Queue: 1, MaxWait: 100 * time.Millisecond})
		release, err := a.Acquire(t.Context(), Default)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = a.Acquire(t.Context(), Critical)
		wantTook(t, start, 100*time.Millisecond)
		if shed, ok := errors.AsType[*ShedError](err); !ok || shed.Reason != "queue_delay" || err.Error() != "no worker: queue_delay" {
			t.Errorf("%v", err)
		}
		release()
	})
}

// A line without end is first come first served, whatever the class, and whatever the time.
func TestUnlimitedLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: Unlimited, MaxWait: Unbounded})}
		p.arrive("at work", Default, time.Minute)
		var want []string
		for i := range 30 {
			name := fmt.Sprint(i)
			p.arrive(name, []Criticality{Sheddable, Default, Critical}[i%3], time.Minute)
			want = append(want, name)
		}
		p.want(append([]string{"at work"}, want...)...)
	})
}

// A request whose time runs out in line, or whose client leaves, is never begun; nor is one that comes too late.
func TestOverWhileInLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 9, MaxWait: time.Minute})}
		p.arrive("at work", Default, time.Second)
		deadline, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		p.arriveWith(deadline, "short of time", Default, 0)
		leaves, leave := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, leave)
		p.arriveWith(leaves, "impatient", Critical, 0)
		atTheSameMoment, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.arriveWith(atTheSameMoment, "unlucky", Default, 0)
		time.Sleep(600 * time.Millisecond)
		p.arriveWith(deadline, "late", Default, 0)
		p.arriveWith(leaves, "gone", Default, 0)
		p.want("at work", "short of time: expired", "impatient: cancelled", "late: expired", "gone: cancelled", "unlucky: expired")
	})
}

// A worker handed over in the very moment in which the time of its request ends comes back.
func TestHandedOverTooLate(t *testing.T) {
	a := admission(t, AdmissionPolicy{Workers: 1, Queue: 1, MaxWait: time.Minute})
	a.Acquire(t.Context(), Default)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	w := &waiter{criticality: Default}
	if _, err := a.released(over, w, nil); err == nil {
		t.Error("begun")
	}
	if got := a.Snapshot().InUse; got != 0 {
		t.Errorf("%d in use", got)
	}
}

// A policy may be swapped while requests wait: more workers call them, a shorter line refuses who has waited longest
// and is least critical, and a line without end becomes one by class.
func TestApplyToWhoWaits(t *testing.T) {
	bounded := AdmissionPolicy{Workers: 1, Queue: 4, MaxWait: time.Minute}
	unlimited := AdmissionPolicy{Workers: 1, Queue: Unlimited, MaxWait: Unbounded}
	cases := map[string]struct {
		from, to AdmissionPolicy
		want     []string
	}{
		"more workers":       {bounded, AdmissionPolicy{Workers: 3, Queue: 4, MaxWait: time.Minute}, []string{"c1", "d1", "s1", "s2"}},
		"a shorter line":     {bounded, AdmissionPolicy{Workers: 1, Queue: 2, MaxWait: time.Minute}, []string{"s1: queue_full", "s2: queue_full", "c1", "d1"}},
		"no line":            {bounded, AdmissionPolicy{Workers: 1}, []string{"c1: queue_full", "d1: queue_full", "s1: queue_full", "s2: queue_full"}},
		"an end to the line": {unlimited, bounded, []string{"c1", "d1", "s1", "s2"}},
		"an end to it, now":  {unlimited, AdmissionPolicy{Workers: 1, Queue: 3, MaxWait: time.Minute}, []string{"s1: queue_full", "c1", "d1", "s2"}},
		"a line without end": {bounded, unlimited, []string{"c1", "d1", "s1", "s2"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := &party{t: t, a: admission(t, c.from)}
				p.arrive("at work", Default, 10*time.Second)
				p.arrive("s1", Sheddable, time.Second)
				p.arrive("d1", Default, 2*time.Second)
				p.arrive("s2", Sheddable, 3*time.Second)
				p.arrive("c1", Critical, 4*time.Second)
				if err := p.a.Apply(c.to); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				p.mu.Lock()
				slices.Sort(p.log[1:]) // what happens at once has no order
				p.mu.Unlock()
				p.want(append([]string{"at work"}, c.want...)...)
			})
		})
	}
}

// In a line that has no end any more, who came first is first, also of those who were in line by class.
func TestALineWithoutEndForgetsTheClasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 1, Queue: 4, MaxWait: time.Minute})}
		p.arrive("at work", Default, 10*time.Second)
		for _, c := range []Criticality{Sheddable, Default, Critical} {
			time.Sleep(time.Second)
			p.arrive(c.String(), c, time.Second)
		}
		if err := p.a.Apply(AdmissionPolicy{Workers: 1, Queue: Unlimited, MaxWait: Unbounded}); err != nil {
			t.Fatal(err)
		}
		p.want("at work", "sheddable", "default", "critical")
	})
}

// The integral of the workers in use is exact, the marks are what happened since they were set.
func TestBusyAndMarks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &party{t: t, a: admission(t, AdmissionPolicy{Workers: 2, Queue: 9, MaxWait: time.Minute})}
		start := time.Now()
		want := func(inUse, high int, busy time.Duration, saturated time.Duration) {
			t.Helper()
			s := p.a.Snapshot()
			if s.InUse != inUse || s.HighWater != high || s.Busy != busy {
				t.Errorf("after %v: %d in use, high water %d, busy %v; want %d, %d, %v",
					time.Since(start), s.InUse, s.HighWater, s.Busy, inUse, high, busy)
			}
			if got := s.SaturatedAt; saturated < 0 && !got.IsZero() || saturated >= 0 && got.Sub(start) != saturated {
				t.Errorf("after %v: saturated at %v, want %v", time.Since(start), got, saturated)
			}
		}
		want(0, 0, 0, -1)
		time.Sleep(time.Second)
		p.arrive("a", Default, 3*time.Second) // from 1 to 4
		want(1, 1, 0, -1)
		time.Sleep(time.Second)
		p.arrive("b", Default, 5*time.Second) // from 2 to 7
		want(2, 2, time.Second, 2*time.Second)
		p.arrive("c", Default, time.Second) // waits, and then from 4 to 5
		time.Sleep(1500 * time.Millisecond)
		want(2, 2, 4*time.Second, 2*time.Second)
		p.a.Mark() // at 3.5, with all in use
		want(2, 2, 4*time.Second, 3500*time.Millisecond)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.a.Mark() // at 5.5, with one in use
		want(1, 1, 7500*time.Millisecond, -1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want(0, 1, 9*time.Second, -1)
	})
}

// A refusal is a 503 that says when to come again, or what Refuse makes of it.
func TestRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := admission(t, AdmissionPolicy{Workers: 1})
		h := a.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("begun") }))
		release, _ := a.Acquire(t.Context(), Default)
		defer release()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Body.String() != "no worker is free: queue_full\n" {
			t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
		}
		a.Refuse = func(w http.ResponseWriter, r *http.Request, reason string, retryAfter time.Duration) {
			http.Error(w, reason+" "+retryAfter.String()+" "+r.URL.Path, http.StatusTeapot)
		}
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/books", nil))
		if w.Code != http.StatusTeapot || w.Body.String() != "queue_full 1s /books\n" {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

// A request's class and deadline are those of its context: the middleware of the one feeds that of the other.
func TestDeadlineBeforeAdmission(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := admission(t, AdmissionPolicy{Workers: 1, Queue: 5, MaxWait: time.Minute})
		release, _ := a.Acquire(t.Context(), Default)
		h := (&Deadline{Trust: true}).Within(300 * time.Millisecond)(a.Middleware(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("begun") })))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(CriticalityHeader, "sheddable")
		start := time.Now()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wantTook(t, start, 300*time.Millisecond)
		if got := gathered(t, a)["resilience_shed_total{criticality=sheddable,reason=expired}"]; w.Code != 503 || got != 1 {
			t.Errorf("%d, %v counted", w.Code, got)
		}
		release()
	})
}

// Never more at work than there are workers, and none is lost, whatever comes at once and leaves in between.
func TestAdmissionUnderLoad(t *testing.T) {
	a := admission(t, AdmissionPolicy{Workers: 3, Queue: 4, MaxWait: time.Minute, TargetWait: time.Microsecond})
	var atWork atomic.Int32
	var requests sync.WaitGroup
	for g := range 16 {
		requests.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				if release, err := a.Acquire(ctx, Criticality((g+i)%3)); err == nil {
					if n := atWork.Add(1); n > 3 {
						t.Errorf("%d at work", n)
					}
					runtime.Gosched()
					atWork.Add(-1)
					release()
				}
				cancel()
			}
		})
	}
	requests.Wait()
	if s := a.Snapshot(); s.InUse != 0 || s.Queue != 0 || s.HighWater > 3 {
		t.Errorf("%+v", s)
	}
}
