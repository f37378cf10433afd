package loadtest

import (
	"strings"
	"testing"
	"time"
)

func TestAProofKeepsWhyItPlayedAgain(t *testing.T) {
	var p Proof
	p.Add(&Result{Scenario: "calm", Verdict: Pass}, nil)
	p.Add(&Result{Scenario: "busy", Verdict: Pass}, &Result{Verdict: Void, Reasons: []string{"the sender was late"}})
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Count(got, "played again") != 1 || !strings.Contains(got, "the sender was late") {
		t.Errorf("a void run before is not told, or more than it:\n%s", got)
	}
	if p.ExitCode() != 0 {
		t.Errorf("it passed, and exits with %d", p.ExitCode())
	}
}

func TestAProofTellsItsScale(t *testing.T) {
	phases := []Phase{
		{Name: "healthy", For: Duration(10 * time.Second)},
		{Name: "fault", For: Duration(30 * time.Second), Faults: map[string]Faults{"currency": {}}},
	}
	s := &Scenario{Acts: []Act{{Name: "off", Phases: phases}, {Name: "on", Phases: phases}}}
	for seconds, want := range map[float64]string{
		0:  "2 acts in 80 s, hurt for up to 30 s of ninety (scale 0.33)",
		90: "2 acts in 200 s, hurt for up to 90 s of ninety (scale 1.00)",
	} {
		if got, err := s.Lasts(Options{FaultSeconds: seconds}); err != nil || got != want {
			t.Errorf("--fault-seconds %g: got %q, %v, want %q", seconds, got, err, want)
		}
	}
}
