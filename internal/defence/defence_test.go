package defence

import (
	"strings"
	"testing"
	"time"

	"example.com/holdfast/pkg/resilience"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	without := func(s Set, change func(*Set)) Set { change(&s); return s }
	tests := []struct {
		expr    string
		current Set
		want    Set
	}{
		{"all", None, All},
		{"none", All, None},
		{"all,-bulkheads", None, without(All, func(s *Set) { s.Bulkheads = false })},
		{"none,+fallbacks", All, without(None, func(s *Set) { s.Fallbacks = true })},
		{"bulkheads=off", All, without(All, func(s *Set) { s.Bulkheads = false })},
		{"timeouts=on, -shallow_readiness", None, Set{Timeouts: true}},
		{"-timeouts,+timeouts", All, All},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			got, err := Parse(tt.expr, tt.current)
			if err != nil || got != tt.want {
				t.Errorf("Parse(%q) = %v, %v; want %v", tt.expr, got, err, tt.want)
			}
		})
	}
}

func TestParseTellsEveryWrongWordAndChangesNothing(t *testing.T) {
	got, err := Parse("all,-walls,timeouts=maybe,none", None)
	if got != None {
		t.Errorf("got %v, want the current set", got)
	}
	for _, want := range []string{`no defence "walls"`, `"timeouts=maybe"`, `"none"`, "shallow_readiness"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %s", err, want)
		}
	}
	if _, err := Parse("", All); err == nil {
		t.Error("an empty expression was taken")
	}
}

func TestStringIsParsedBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		for _, name := range Names {
			*s.field(name) = rapid.Bool().Draw(t, name)
		}
		if got, err := Parse(s.String(), All); err != nil || got != s {
			t.Fatalf("%v became %q and came back as %v, %v", s, s.String(), got, err)
		}
	})
}

func TestRouteMustFitItsBudget(t *testing.T) {
	edge := func(timeout time.Duration, attempts int) Edge {
		return Edge{Dependency: "d", Policy: resilience.Policy{
			Timeout: timeout, Slots: 1, Reserve: 50 * time.Millisecond,
			Retry: resilience.Retry{Attempts: attempts, Backoff: 50 * time.Millisecond},
		}}
	}
	tests := []struct {
		name  string
		steps [][]Edge
		fits  bool
	}{
		{"twice 450 ms and a pause of 50 ms", [][]Edge{{edge(450*time.Millisecond, 2)}}, true},
		{"the same with one millisecond more", [][]Edge{{edge(451*time.Millisecond, 2)}}, false},
		{"parallel calls count once", [][]Edge{{edge(900*time.Millisecond, 1), edge(950*time.Millisecond, 1)}}, true},
		{"calls in turn add up", [][]Edge{{edge(500*time.Millisecond, 1)}, {edge(500*time.Millisecond, 1)}}, false},
		{"an unbounded call never fits", [][]Edge{{edge(resilience.Unbounded, 1)}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckRoutes([]Route{{Name: "GET /", Budget: time.Second, Steps: tt.steps}})
			if (err == nil) != tt.fits {
				t.Errorf("got %v, want fits %v", err, tt.fits)
			}
		})
	}
}
