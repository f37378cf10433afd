package defence

import (
	"strings"
	"testing"
	"time"

	"example.com/holdfast/pkg/resilience"
)

func TestTuning(t *testing.T) {
	e := Edge{Dependency: "recommendations", Policy: resilience.Policy{Slots: 20, Timeout: 250 * time.Millisecond}}
	for text, want := range map[string]resilience.Policy{
		"":                           {Slots: 20, Timeout: 250 * time.Millisecond},
		"recommendations.slots=60":   {Slots: 60, Timeout: 250 * time.Millisecond},
		"recommendations.timeout=2s": {Slots: 20, Timeout: 2 * time.Second},
		"currency.slots=1":           {Slots: 20, Timeout: 250 * time.Millisecond},
		" recommendations.slots=7 , recommendations.timeout=1s,": {Slots: 7, Timeout: time.Second},
	} {
		tuning, err := ParseTuning(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := tuning.Edge(e).Policy; got != want {
			t.Errorf("%q: %d slots, %v", text, got.Slots, got.Timeout)
		}
	}
}

func TestWrongTuning(t *testing.T) {
	for text, want := range map[string]string{
		"recommendations":            `"recommendations": must be dependency.slots=N`,
		"recommendations.workers=3":  "must be dependency.slots=N",
		"recommendations.slots=0":    "slots must be 1 to",
		"recommendations.slots=many": "slots must be 1 to",
		"recommendations.timeout=2":  "timeout must be a duration",
		"recommendations.timeout=0s": "timeout must be a duration",
	} {
		if _, err := ParseTuning(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	tuning, err := ParseTuning("reviews.slots=3")
	if err != nil {
		t.Fatal(err)
	}
	err = tuning.Check([]Edge{{Dependency: "recommendations"}, {Dependency: "currency"}})
	if want := `there is no dependency "reviews" here; there are recommendations, currency`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
