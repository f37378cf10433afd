package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The JSON is read by others: its names do not change.
func TestTheJSONIsStable(t *testing.T) {
	p := played(t).saturate(map[string]time.Duration{"catalogue": 4970 * time.Millisecond})
	p.Name, p.defences = "off", map[string]bool{"timeouts": false}
	p.predicted = map[string]time.Duration{"catalogue": 4950 * time.Millisecond}
	p.phases = p.phases[:2]
	p.visits(sorry(faultAt+5*time.Second, recoveryAt))
	p.Bars = []Bar{{Kind: "good", Phase: "healthy", AtLeast: 1}, {Kind: "good", Phase: "fault", AtLeast: 0.999}}
	p.scenario.Summary = []Saying{{Say: "slow", Act: "off", Phase: "fault", AfterSaturation: true}}
	r := &Result{Scenario: "ninety-seconds", Seed: 1, Reasons: []string{}}
	r.add(p.scenario, p)
	r.conclude(true)
	r.Acts[0].Series = Series{map[string]ClassSeries{}, map[string]ServiceSeries{}, []float64{}} // series_test.go

	var got bytes.Buffer
	if err := r.WriteJSON(&got); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "result.json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s (UPDATE_GOLDEN=1 rewrites it): %s", golden, d)
	}
	if got, want := r.sentence, "slow: 0.0 % good"; got != want {
		t.Errorf("sentence %q, want %q", got, want)
	}

	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MISSED", "slow: 0.0 % good", "ninety-seconds: FAIL"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
}

// Lists are lists, even when they are empty.
func TestAnEmptyResultHasNoNull(t *testing.T) {
	shop := newFakeShop(t, nil)
	s := small(t, `{kind: browse, rate: 20/s}`, `[{name: healthy, for: 100ms}]`)
	r, err := Run(t.Context(), s, Options{Open: shop.open, Defences: "all"})
	if err != nil {
		t.Fatal(err)
	}
	calm(r, false)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("null")) {
		t.Errorf("null in %s", text)
	}
}

func TestCapacityComparesTheSides(t *testing.T) {
	t.Parallel()
	shop := newFakeShop(t, nil)
	var env Environment
	r, err := Capacity(t.Context(), CapacityOptions{Pairs: 1, InFlight: 2, Each: 200 * time.Millisecond,
		Open: func(_ context.Context, e Environment) (Shop, error) { env = e; return shop, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Probe != "closed loop" || len(r.Pairs) != 1 || r.Pairs[0].All <= 0 || r.Pairs[0].None <= 0 || r.Ratio <= 0 {
		t.Errorf("%+v", r)
	}
	if env["recommendations"]["OWN_WORK"] != "0s" || env["all"]["SHARED_CLIENT_IDLE"] == "" {
		t.Errorf("the sides are not comparable: %v", env)
	}
	if !shop.closed.Load() {
		t.Error("the shop was not closed")
	}
}

func TestCapacityRefusesWhatItCannotMeasure(t *testing.T) {
	unopened := func(context.Context, Environment) (Shop, error) {
		t.Error("a shop was opened")
		return nil, errors.New("no")
	}
	for _, o := range []CapacityOptions{{Pairs: -1}, {Pairs: 1e9}, {InFlight: -1}, {InFlight: 1e9}, {Each: -1}, {Each: 1}} {
		o.Open = unopened
		if _, err := Capacity(t.Context(), o); !errors.Is(err, ErrCannotRun) || !strings.Contains(err.Error(), "1 to 100 pairs") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestCapacityVerdicts(t *testing.T) {
	pair := func(ratios ...float64) (pairs []CapacityPair) {
		for _, r := range ratios {
			pairs = append(pairs, CapacityPair{Ratio: r})
		}
		return pairs
	}
	sound := Counts{Asked: 1000, Good: 1000}
	for name, c := range map[string]struct {
		pairs []CapacityPair
		total Counts
		want  Verdict
	}{
		"cheap":            {pair(0.9, 0.95, 1, 0.92, 0.93), sound, Pass},
		"dear":             {pair(0.8, 0.81, 0.82, 0.83, 0.84), sound, Fail},
		"restless":         {pair(0.8, 1.2, 1, 0.9, 1), sound, Void},
		"by doing less":    {pair(1, 1, 1, 1, 1), Counts{Asked: 1000, Good: 1000, Fallback: 11}, Void},
		"with bad answers": {pair(1, 1, 1, 1, 1), Counts{Asked: 1000, Good: 980}, Void},
	} {
		r := &CapacityResult{Pairs: c.pairs}
		r.conclude(c.total)
		if r.Verdict != c.want || (r.Verdict == Pass) != (len(r.Reasons) == 0) {
			t.Errorf("%s: %s, want %s: %q", name, r.Verdict, c.want, r.Reasons)
		}
	}
}

// Where nobody watches a terminal, progress is a line a phase and what was predicted.
func TestProgressInALogIsALineAPhase(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	run(t, small(t, `{kind: browse, rate: 20/s}`, `[{name: healthy, for: 100ms}]`), newFakeShop(t, nil),
		Options{Progress: &log})
	want := "act: opening a shop, defences all\nact: healthy, 100ms\n"
	if log.String() != want {
		t.Errorf("progress %q, want %q", log.String(), want)
	}
}
