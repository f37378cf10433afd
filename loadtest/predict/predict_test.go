package predict

import (
	"math"
	"testing"
	"time"
)

// The figures are those of the post-mortem that ninety-seconds re-enacts, and those measured when its shop was first
// tried with three small processes.
func TestEveryFigureOfNinetySeconds(t *testing.T) {
	shop := []Hop{
		{Service: "catalogue", Workers: 200, Busy: 2, Held: 40},
		{Service: "checkout", Workers: 200, Held: 40, After: "catalogue"},
		{Service: "gateway", Workers: 4000, Held: 440, After: "catalogue", Early: 40},
	}
	at, err := Cascade(shop)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got       float64
		want, off float64
	}{
		{"200 workers, 40/s held: about five seconds", Saturation(200, 0, 40).Seconds(), 5, 0},
		{"catalogue, two workers busy with the rest", at["catalogue"].Seconds(), 4.95, 0.001},
		{"catalogue, as tried", at["catalogue"].Seconds(), 4.97, 0.05},
		{"checkout, 5 + 200/40", at["checkout"].Seconds(), 10, 0.06},
		{"gateway, 5 + 3,800/440", at["gateway"].Seconds(), 13.6, 0.06},
		{"workers that book pages hold at the gateway by then", 40 * at["catalogue"].Seconds(), 200, 3},
		{"plain Go at 40/s survives on this many descriptors", Descriptors(40, 90*time.Second), 7200, 0},
		{"plain Go at 400/s dies of descriptors", DescriptorDeath(20_000, 400).Seconds(), 25, 0},
	} {
		if math.Abs(c.got-c.want) > c.off+1e-9 {
			t.Errorf("%s: got %.3f, want %g ± %g", c.what, c.got, c.want, c.off)
		}
	}
}

func TestNothingSaturatesWithoutACause(t *testing.T) {
	for what, got := range map[string]time.Duration{
		"no limit on workers":     Saturation(0, 10, 40),
		"nothing held":            Saturation(200, 10, 0),
		"no limit on descriptors": DescriptorDeath(0, 40),
		"nothing held, unlimited": DescriptorDeath(20_000, 0),
		"a hop behind a sound one": mustCascade(t, Hop{Service: "a"},
			Hop{Service: "b", Workers: 9, Held: 1, After: "a"})["b"],
		"a hop without a limit": mustCascade(t, Hop{Service: "a", Workers: 9, Held: 1},
			Hop{Service: "b", Held: 1, After: "a"})["b"],
	} {
		if got != Never {
			t.Errorf("%s: got %s, want never", what, got)
		}
	}
}

func TestAServiceBusyBeyondItsWorkersIsSaturatedAtOnce(t *testing.T) {
	if got := Saturation(200, 250, 40); got != 0 {
		t.Errorf("got %s, want 0", got)
	}
}

func TestCascadeRefusesHopsOutOfOrder(t *testing.T) {
	for what, hops := range map[string][]Hop{
		"waits for a later one": {{Service: "a"}, {Service: "b", After: "c"}, {Service: "c", After: "a"}},
		"waits for nothing":     {{Service: "a"}, {Service: "b"}},
		"first waits":           {{Service: "a", After: "b"}},
		"twice":                 {{Service: "a"}, {Service: "a", After: "a"}},
	} {
		if _, err := Cascade(hops); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func mustCascade(t *testing.T, hops ...Hop) map[string]time.Duration {
	t.Helper()
	at, err := Cascade(hops)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
