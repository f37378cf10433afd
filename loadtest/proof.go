package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
}

// Add takes in what a run has shown.
func (p *Proof) Add(r *Result) {
	p.Scenarios = append(p.Scenarios, ProofScenario{Scenario: r.Scenario, Verdict: r.Verdict, Reasons: r.Reasons})
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
		for _, reason := range s.Reasons {
			fmt.Fprintf(t, "\t  %s\n", reason)
		}
	}
	return t.Flush()
}
