package main

import (
	"math"
	"reflect"
	"testing"
	"time"

	"example.com/holdfast/loadtest"
	"example.com/holdfast/loadtest/simulate"
)

// play simulates one act of a scenario that comes with the program.
func play(t *testing.T, scenario, act string, change func(*loadtest.Act)) loadtest.ActResult {
	t.Helper()
	s, err := loadtest.Load(scenario)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Acts {
		if a.Name != act {
			continue
		}
		change(&a)
		one := *s
		one.Acts = []loadtest.Act{a}
		acts, err := simulate.Scenario(t.Context(), &one, house(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return acts[0]
	}
	t.Fatalf("%s has no act %q", scenario, act)
	return loadtest.ActResult{}
}

func asIs(*loadtest.Act) {}

// attempts counts those to recommendations that ended in the seconds from..to of an act, with any outcome, or the given.
func attempts(a loadtest.ActResult, from, to float64, outcomes ...string) (n float64) {
	catalogue := a.Series.Services["catalogue"]
	for outcome, counts := range catalogue.Dependencies["recommendations"].Outcomes {
		if len(outcomes) > 0 && outcome != outcomes[0] {
			continue
		}
		for i, at := range catalogue.At {
			if from < at && at <= to {
				n += float64(counts[i])
			}
		}
	}
	return n
}

// near fails the test where a figure is farther than a share from what the incident says.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*want) {
		t.Errorf("%s: %.3f, want %.3f ± %g %%", what, got, want, 100*share)
	}
}

// The figures of the incident slow-map: 400 × 3.06 = 1,224 workers wanted of 600; 600 / 3.06 = 196 pages a second; 16
// attempts for one. The model adds to each page what a machine takes for it, so that it may be a hundredth off.
func TestSlowMapFigures(t *testing.T) {
	wanted := play(t, "slow-map", "nothing", func(a *loadtest.Act) {
		a.Environment = loadtest.Environment{"catalogue": {"WORKERS": "0"}}
	})
	near(t, "workers wanted", float64(wanted.Phases[2].Services["catalogue"].WorkersHighWater), 1224, 0.01)

	nothing := play(t, "slow-map", "nothing", func(a *loadtest.Act) { a.Phases[2].For = loadtest.Duration(time.Minute) })
	// They come in waves of 600 each 3.06 s: sixteen waves.
	near(t, "pages a second", attempts(nothing, 15, 15+16*3.06, "success")/(16*3.06), 196, 0.01)

	retries := play(t, "slow-map", "retries", asIs)
	near(t, "attempts a page", attempts(retries, 8, 16)/(8*100), 16, 0.01)
}

// The edge of slow-map's pool: 600 / 400 − 0.06 = 1.44 s. Ten milliseconds below it nobody ever waits for a worker, ten
// above it somebody does.
func TestSlowMapEdge(t *testing.T) {
	for _, test := range []struct {
		answer time.Duration // of the map
		full   bool
	}{{1430 * time.Millisecond, false}, {1450 * time.Millisecond, true}} {
		a := play(t, "slow-map", "nothing", func(a *loadtest.Act) {
			hold := test.answer - 80*time.Millisecond // which the map then works
			a.Phases[2].Faults = map[string]loadtest.Faults{"recommendations": {"hold=" + hold.String()}}
			a.Phases[2].For = loadtest.Duration(30 * time.Second)
		})
		if _, full := a.Measured.SaturationS["catalogue"]; full != test.full {
			t.Errorf("at %v: all workers taken is %v, want %v", test.answer, full, test.full)
		}
	}
}

// The cascade of ninety-seconds falls hop by hop when the arithmetic says; defended, it sells.
func TestSimulatedCascade(t *testing.T) {
	off := play(t, "ninety-seconds", "off", asIs)
	for service, want := range map[string]float64{"catalogue": 4.99, "checkout": 9.99, "gateway": 13.62} {
		near(t, service, off.Measured.SaturationS[service], want, 0.02)
	}
	on := play(t, "ninety-seconds", "on", asIs)
	for class, c := range on.Phases[2].Classes {
		if c.Good != c.Asked {
			t.Errorf("%s: %d of %d good", class, c.Good, c.Asked)
		}
	}
}

// The same seed gives the same simulation, to the last digit of every series; another seed another one.
func TestSimulationIsDetermined(t *testing.T) {
	s, err := loadtest.Load("overload") // whose people come at random
	if err != nil {
		t.Fatal(err)
	}
	simulated := func(seed uint64) []loadtest.ActResult {
		acts, err := simulate.Scenario(t.Context(), s, house(), seed)
		if err != nil {
			t.Fatal(err)
		}
		return acts
	}
	first := simulated(1)
	if !reflect.DeepEqual(first, simulated(1)) {
		t.Error("the same seed gave another simulation")
	}
	if reflect.DeepEqual(first, simulated(2)) {
		t.Error("another seed gave the same simulation")
	}
}

// Every scenario that comes with the program can be played.
func TestEveryScenarioIsSimulated(t *testing.T) {
	for _, name := range loadtest.Names() {
		s, err := loadtest.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		acts, err := simulate.Scenario(t.Context(), s, house(), 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, a := range acts {
			for _, p := range a.Phases {
				for class, c := range p.Classes {
					if ended := c.Good + c.Late + c.Wrong + c.Refused + c.Failed + c.GaveUp; ended != c.Asked {
						t.Errorf("%s, %s, %s, %s: %d of %d came to an end", name, a.Name, p.Name, class, ended, c.Asked)
					}
				}
			}
		}
	}
}

// Nothing of a defended shop depends on how many instances it has, but for what the leaf bears: its callers' slots, and
// their probes, which jitter spreads.
func TestScale(t *testing.T) {
	run := func(g simulate.Scale) simulate.Scaled {
		t.Helper()
		g.Rate, g.Seed = 200, 1
		s, err := g.Run(t.Context(), house())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, many, straight := run(simulate.Scale{Instances: 1}), run(simulate.Scale{Instances: 50}),
		run(simulate.Scale{Instances: 50, NoJitter: true})
	for _, s := range []simulate.Scaled{one, many, straight} {
		if s.Good != s.Pages {
			t.Errorf("%d of %d pages good", s.Good, s.Pages)
		}
		if s.InFlight > s.Slots {
			t.Errorf("%d calls in flight of %d slots", s.InFlight, s.Slots)
		}
	}
	if many.Slots != 50*one.Slots || many.InFlight != 50*one.InFlight {
		t.Errorf("fifty instances have %d in flight of %d slots, one %d of %d", many.InFlight, many.Slots, one.InFlight, one.Slots)
	}
	if many.Probes != 100 || straight.Probes != 100 {
		t.Errorf("fifty breakers look with %d probes, and without jitter with %d; want two each", many.Probes, straight.Probes)
	}
	if 4*many.Most > straight.Most {
		t.Errorf("with jitter %d probes come at once, without %d", many.Most, straight.Most)
	}
	if many.Back <= 0 || many.Back > 6*time.Second {
		t.Errorf("the last breaker closes %v after the hold, want a cooldown and its jitter at most", many.Back)
	}
	for _, wrong := range []simulate.Scale{{Rate: 200}, {Instances: 1}, {Instances: 1, Rate: math.NaN()}} {
		if _, err := wrong.Run(t.Context(), house()); err == nil {
			t.Errorf("%+v was played", wrong)
		}
	}
}
