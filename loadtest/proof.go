package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Proof is what a number of scenarios have shown. Its JSON is stable.
type Proof struct {
	Scenarios []ProofScenario `json:"scenarios"`
}

// ProofScenario is the verdict on one scenario.
type ProofScenario struct {
	Scenario string   `json:"scenario"`
	Verdict  Verdict  `json:"verdict"`
	Reasons  []string `json:"reasons"`
	// FirstVoid says why a first run was void, where it was played once more.
	FirstVoid []string `json:"first_void,omitempty"`
}

// Add takes in what a run has shown, and the void one before it, if any.
func (p *Proof) Add(r, void *Result) {
	s := ProofScenario{Scenario: r.Scenario, Verdict: r.Verdict, Reasons: r.Reasons}
	if void != nil {
		s.FirstVoid = void.Reasons
	}
	p.Scenarios = append(p.Scenarios, s)
	slices.SortStableFunc(p.Scenarios, func(a, b ProofScenario) int { return strings.Compare(a.Scenario, b.Scenario) })
}

// ninety are the seconds that the incidents' fault lasted. A proof plays shorter ones: rates, pools, holds and timeouts
// keep their size, so each predicted instant lies where it lay, within less time.
const ninety = 90 * time.Second

// Lasts says how long the acts of a scenario take, and for how long of ninety seconds a service is hurt: "3 acts in 90 s,
// hurt for up to 30 s of ninety (scale 0.33)".
func (s *Scenario) Lasts(o Options) (string, error) {
	played, err := s.with(o)
	if err != nil {
		return "", err
	}
	var all, hurt time.Duration
	for _, a := range played.Acts {
		hurting := time.Duration(0)
		for _, p := range a.Phases {
			all += time.Duration(p.For)
			if len(p.Faults) > 0 {
				hurting += time.Duration(p.For)
			}
		}
		hurt = max(hurt, hurting)
	}
	text := fmt.Sprintf("%d acts in %.0f s", len(played.Acts), all.Seconds())
	if hurt > 0 {
		text += fmt.Sprintf(", hurt for up to %.0f s of ninety (scale %.2f)", hurt.Seconds(), hurt.Seconds()/ninety.Seconds())
	}
	return text, nil
}

// ExitCode is 1 where a bar was missed, else 3 where a run was void, else 0.
func (p *Proof) ExitCode() int {
	code := 0
	for _, s := range p.Scenarios {
		switch s.Verdict {
		case Fail:
			return 1
		case Void:
			code = 3
		}
	}
	return code
}

// WriteJSON writes the proof as one indented JSON object.
func (p *Proof) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(p)
}

// WriteText writes a line for each scenario, and why it is not a pass.
func (p *Proof) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range p.Scenarios {
		fmt.Fprintf(t, "%s\t%s\n", strings.ToUpper(string(s.Verdict)), s.Scenario)
		for _, reason := range s.FirstVoid {
			fmt.Fprintf(t, "\t  played again, the first run was void: %s\n", reason)
		}
		for _, reason := range s.Reasons {
			fmt.Fprintf(t, "\t  %s\n", reason)
		}
	}
	return t.Flush()
}
