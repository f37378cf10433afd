package loadtest

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestEnduranceRefusesWhatItCannotMeasure(t *testing.T) {
	unopened := func(context.Context, Environment) (Shop, error) {
		t.Error("a shop was opened")
		return nil, errors.New("no")
	}
	for _, o := range []EnduranceOptions{{Minutes: 1.9}, {Minutes: 601}, {Minutes: -5}, {Each: 1}, {Each: time.Hour}} {
		o.Open = unopened
		if _, err := Endure(t.Context(), o); !errors.Is(err, ErrCannotRun) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// The last phase takes what is left of the minutes.
func TestEnduranceLastsAsLongAsItIsTold(t *testing.T) {
	s, err := parse("endurance.yaml", enduranceScenario)
	if err != nil {
		t.Fatal(err)
	}
	s.endure(512, 5)
	var held Duration
	for _, ph := range s.Acts[0].Phases {
		if len(ph.Faults) > 0 {
			held += ph.For
		}
	}
	if held != Duration(5*time.Minute) {
		t.Errorf("recommendations is held for %s", held)
	}
	if got := s.Classes["book"].Rate; got != 512 {
		t.Errorf("%g pages/s", float64(got))
	}
}

// The capacity is measured with the defences on, and of it no more than two fifths is sent.
func TestEnduranceMeasuresBeforeItSends(t *testing.T) {
	t.Parallel()
	shop := newFakeShop(t, nil)
	var env Environment
	o := EnduranceOptions{Each: 50 * time.Millisecond, Open: func(_ context.Context, e Environment) (Shop, error) {
		env = e
		return shop, nil
	}}
	capacity, err := measureCapacity(t.Context(), o, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	if capacity <= 0 || env["all"]["DEFENCES"] != "all" || !shop.closed.Load() {
		t.Errorf("capacity %g with %v, closed %v", capacity, env, shop.closed.Load())
	}
}
