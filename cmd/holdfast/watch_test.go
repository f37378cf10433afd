package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/service"
)

// stateOf is a reading of the catalogue after a number of calls to recommendations, each of 30 ms.
func stateOf(after time.Duration, calls uint64, change ...func(*service.DependencyState)) reading {
	d := service.DependencyState{
		Name: "recommendations", TimeoutMS: 250, Slots: 20,
		Endpoints: []service.EndpointState{{
			Name: "related", Breaker: "closed", Outcomes: outcomes{"success": calls}, Durations: took(0, calls),
		}},
	}
	for _, c := range change {
		c(&d)
	}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	return reading{At: at.Add(after), Dependencies: []service.DependencyState{d}}
}

func declared(service string) declaration {
	for _, d := range declarations {
		if d.service == service {
			return d
		}
	}
	panic("no such service")
}

// TestWatchSeesWhatWasAdded proves that percentiles and counts are of the watch alone, that the peak is that of the
// busiest second, and that slots count where they were seen in use or the mark rose.
func TestWatchSeesWhatWasAdded(t *testing.T) {
	inUse := func(n, mark int) func(*service.DependencyState) {
		return func(d *service.DependencyState) { d.InUse, d.HighWater = n, mark }
	}
	const s = time.Second
	w, err := newWatch(declared("catalogue"), stateOf(0, 1000, inUse(1, 15)))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		r     reading
		inUse int
	}{
		{stateOf(1*s, 1040, inUse(3, 15)), 3},       // the mark is from before
		{stateOf(2*s, 1240, inUse(2, 16)), 16},      // and now it is not
		{stateOf(2*s+s/10, 1300, inUse(2, 16)), 16}, // too close to make a rate of 600/s
		{stateOf(4*s+s/10, 1400, inUse(2, 4)), 16},  // marked anew
		{stateOf(5*s+s/10, 1440, inUse(17, 17)), 17},
	} {
		if err := w.add(step.r); err != nil {
			t.Fatal(err)
		}
		if got := w.deps[0].inUse; got != step.inUse {
			t.Errorf("after %v: %d in use, want %d", w.span(), got, step.inUse)
		}
	}
	d := w.deps[0]
	e := d.endpoints[0]
	if e.durations.Count() != 440 || e.earlier.Count() != 1000 || e.outcomes["success"] != 440 || w.calls() != 440 {
		t.Errorf("saw %d calls after %d, %v", e.durations.Count(), e.earlier.Count(), e.outcomes)
	}
	if d.peak != 200 || e.peak != 200 {
		t.Errorf("peak %v/s, endpoint %v/s, want 200/s", d.peak, e.peak)
	}
	if d.ceiling != 350*ms || d.timeout != 250*ms || d.slots != 20 || d.inner != 0 || e.tripped {
		t.Errorf("bounds %+v", d)
	}
}

// A breaker that was open in any reading was open; the calls of the callee are known where it is declared.
func TestWatchRemembersAnOpenBreaker(t *testing.T) {
	open := func(d *service.DependencyState) { d.Endpoints[0].Breaker = "open" }
	w, err := newWatch(declared("catalogue"), stateOf(0, 0, open))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.add(stateOf(time.Second, 0)); err != nil {
		t.Fatal(err)
	}
	if !w.deps[0].endpoints[0].tripped {
		t.Error("forgotten")
	}
	catalogue := func(d *service.DependencyState) { d.Name = "catalogue" }
	if w, err = newWatch(declared("gateway"), stateOf(0, 0, catalogue)); err != nil || w.deps[0].inner != 250*ms {
		t.Errorf("the catalogue's own calls take %v (%v), want 250 ms", w.deps[0].inner, err)
	}
}

func TestWatchRefusesWhatDoesNotGoOn(t *testing.T) {
	change := func(c func(*service.DependencyState)) reading { return stateOf(time.Second, 1040, c) }
	for _, tt := range []struct {
		name string
		r    reading
		want string
	}{
		{"restarted", stateOf(time.Second, 10), "catalogue was restarted"},
		{"less of it", reading{}, "catalogue was restarted"},
		{"another endpoint", change(func(d *service.DependencyState) { d.Endpoints[0].Name = "x" }),
			"catalogue was restarted"},
		{"other buckets", change(func(d *service.DependencyState) { d.Endpoints[0].Durations = nil }),
			"catalogue was restarted"},
		{"timeout", change(func(d *service.DependencyState) { d.TimeoutMS = 0 }),
			"the limits of recommendations in catalogue were changed"},
		{"slots", change(func(d *service.DependencyState) { d.Slots = 0 }),
			"the limits of recommendations in catalogue were changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := newWatch(declared("catalogue"), stateOf(0, 1000))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.add(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	unknown := stateOf(0, 0, func(d *service.DependencyState) { d.Name = "elsewhere" })
	if _, err := newWatch(declared("catalogue"), unknown); err == nil || !strings.Contains(err.Error(), "not declared") {
		t.Errorf("a dependency that nobody declares: %v", err)
	}
}

// TestFollow proves that a watch reads once a second and at its end, and ends early when told to or at an error.
func TestFollow(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		stopAt time.Duration
		failAt time.Duration
		reads  int
		want   error
	}{
		{"to its end", time.Hour, time.Hour, 10, nil},
		{"Ctrl-C", 3500 * ms, time.Hour, 3, nil},
		{"an error", time.Hour, 4 * time.Second, 4, broken},
		{"an error because of Ctrl-C", 3500 * ms, 3600 * ms, 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.stopAt)
				defer cancel()
				reads := 0
				err := follow(ctx, 10*time.Second, func(elapsed time.Duration) error {
					reads++
					if want := time.Duration(reads) * time.Second; elapsed != want {
						t.Errorf("read after %v, want %v", elapsed, want)
					}
					if elapsed >= tt.failAt {
						return broken
					}
					if tt.failAt-elapsed < time.Second { // a reading under way when it is told to stop
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				})
				if err != tt.want || reads != tt.reads {
					t.Errorf("%d reads, %v; want %d, %v", reads, err, tt.reads, tt.want)
				}
			})
		})
	}
}
