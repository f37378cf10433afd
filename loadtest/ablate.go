package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Ablation tells what each defence is worth: what a fault does to the shop with all of them, with none, with each alone,
// with each missing, and with those that work together, added one by one.
type Ablation struct {
	Scenario string        `json:"scenario"`
	Seed     uint64        `json:"seed"`
	Verdict  Verdict       `json:"verdict"` // unjudged or void: a table has no bars
	Reasons  []string      `json:"reasons"`
	Rows     []AblationRow `json:"rows"`
}

// AblationRow is one set of defences under the fault of the scenario.
type AblationRow struct {
	Group    string             `json:"group"`    // both ends, alone, missing, together
	Defences string             `json:"defences"` // as `holdfast defences set` takes them
	Good     map[string]float64 `json:"good"`     // share of those asked during the fault, by class
	// SaturationS is when each service had no worker left, in seconds after the fault; those that kept some are not in it.
	SaturationS map[string]float64 `json:"saturation_s"`
}

// The groups of an ablation, in the order of its table.
const (
	groupEnds     = "both ends"
	groupAlone    = "alone"
	groupMissing  = "missing"
	groupTogether = "together"
)

// together is the order in which defences are introduced: each needs those before it.
var together = []string{"timeouts", "bulkheads", "breakers", "fallbacks"}

// Ablate plays the last act of a scenario with one set of defences after the other.
func Ablate(ctx context.Context, s *Scenario, o Options) (*Ablation, error) {
	if len(o.Acts) > 0 || o.Defences != "" {
		return nil, fmt.Errorf("%w: an ablation chooses acts and defences itself", ErrCannotRun)
	}
	rows := ablationRows()
	played := s.Acts[len(s.Acts)-1]
	i := slices.IndexFunc(played.Phases, func(p Phase) bool { return p.Name == phaseFault })
	if i < 0 {
		return nil, fmt.Errorf("%w: the last act of %s has no phase %q", ErrCannotRun, s.Name, phaseFault)
	}
	ablated := *s
	ablated.Acts, ablated.Summary = nil, nil
	for _, row := range rows {
		ablated.Acts = append(ablated.Acts, Act{
			Name: row.Defences, Defences: row.Defences, Environment: played.Environment, Phases: played.Phases[:i+1],
		})
	}
	r, err := Run(ctx, &ablated, o)
	if err != nil {
		return nil, err
	}
	a := &Ablation{Scenario: s.Name, Seed: o.Seed, Verdict: Unjudged, Reasons: r.Reasons, Rows: rows}
	if r.Verdict == Void {
		a.Verdict = Void
	}
	for i := range a.Rows {
		act := r.Acts[i]
		a.Rows[i].SaturationS, a.Rows[i].Good = act.Measured.SaturationS, map[string]float64{}
		for class, c := range act.Phases[len(act.Phases)-1].Classes {
			a.Rows[i].Good[class] = c.GoodRatio
		}
	}
	return a, nil
}

func ablationRows() []AblationRow {
	rows := []AblationRow{{Group: groupEnds, Defences: "all"}, {Group: groupEnds, Defences: "none"}}
	for _, name := range defences {
		if name != "shallow_readiness" { // which none leaves on
			rows = append(rows, AblationRow{Group: groupAlone, Defences: "none,+" + name})
		}
	}
	for _, name := range defences {
		rows = append(rows, AblationRow{Group: groupMissing, Defences: "all,-" + name})
	}
	for i := 2; i <= len(together); i++ {
		rows = append(rows, AblationRow{Group: groupTogether, Defences: "none,+" + strings.Join(together[:i], ",+")})
	}
	return rows
}

// ExitCode is 0, or 3 for a void run.
func (a *Ablation) ExitCode() int {
	if a.Verdict == Void {
		return 3
	}
	return 0
}

// WriteJSON writes the ablation as one indented JSON object.
func (a *Ablation) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(a)
}

// WriteText writes the table.
func (a *Ablation) WriteText(w io.Writer) error {
	classes := slices.Sorted(maps.Keys(a.Rows[0].Good))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "group\tdefences\t%s\tno worker left\n", strings.Join(classes, "\t"))
	for _, row := range a.Rows {
		fmt.Fprintf(t, "%s\t%s", row.Group, row.Defences)
		for _, class := range classes {
			fmt.Fprintf(t, "\t%s", percent(row.Good[class]))
		}
		var full []string
		for _, service := range Services {
			if at, ok := row.SaturationS[service]; ok {
				full = append(full, fmt.Sprintf("%s %.1f s", service, at))
			}
		}
		fmt.Fprintf(t, "\t%s\n", strings.Join(full, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: %s\n", a.Scenario, strings.ToUpper(string(a.Verdict)))
	for _, reason := range a.Reasons {
		fmt.Fprintf(w, "  %s\n", reason)
	}
	return err
}
