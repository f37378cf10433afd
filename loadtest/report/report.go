// Package report tells people what a load test has shown: as one page that opens from disk, as Markdown for a README,
// and as a line for CI.
//
// The page needs no network and no script, reads in the light and in the dark, on a screen, a phone and paper, and
// without colour. Its pictures are drawn here and stand in it as SVG.
package report

import (
	"math"
	"slices"

	"example.com/holdfast/loadtest"
)

// Report is what is told of: one run, or all the runs of a proof.
type Report struct {
	// Results are the runs, in the order in which they are told. The picture at the top is of the first of them that
	// has an act "off" and an act "on", else of the first.
	Results []*loadtest.Result
	// Scenarios are what the runs were played from, by name. Of a run whose scenario is not there, the lines of
	// Little's law are not drawn.
	Scenarios map[string]*loadtest.Scenario
	// Simulated are acts as a simulator plays them, by scenario; they are drawn beside the measured ones of the same
	// name and compared with them. Nil: none.
	Simulated map[string][]loadtest.ActResult
	// Untold says of scenarios that are simulated what the model cannot tell of them, and why.
	Untold map[string]string
	// Ablation is what each defence is worth. Nil: not measured.
	Ablation *loadtest.Ablation
	// Again is the command that makes all of this again. Empty: that of the only run.
	Again string
}

// verdict is what the runs come to together: the worst of them. A run that nothing judged proves nothing.
func (r *Report) verdict() loadtest.Verdict {
	for _, worst := range []loadtest.Verdict{loadtest.Fail, loadtest.Void, loadtest.Unjudged} {
		if len(r.with(worst)) > 0 {
			return worst
		}
	}
	if len(r.Results) == 0 {
		return loadtest.Unjudged
	}
	return loadtest.Pass
}

// with lists the scenarios that came to a verdict.
func (r *Report) with(v loadtest.Verdict) []string {
	var names []string
	for _, run := range r.Results {
		if run.Verdict == v {
			names = append(names, run.Scenario)
		}
	}
	return names
}

// held counts bars.
func held(bars []loadtest.BarResult) (held, all int) {
	for _, b := range bars {
		if b.Pass {
			held++
		}
	}
	return held, len(bars)
}

// simulated is an act as it was simulated, nil where it was not.
func (r *Report) simulated(scenario, act string) *loadtest.ActResult {
	acts := r.Simulated[scenario]
	if i := slices.IndexFunc(acts, func(a loadtest.ActResult) bool { return a.Name == act }); i >= 0 {
		return &acts[i]
	}
	return nil
}

// farthest is by how much, as a share, the measured saturation that is farthest from its prediction missed it.
func (r *Report) farthest() (share float64, known bool) {
	for _, run := range r.Results {
		for _, a := range run.Acts {
			for service, predicted := range a.Predicted.SaturationS {
				if measured, ok := a.Measured.SaturationS[service]; ok && predicted > 0 {
					share, known = max(share, math.Abs(measured-predicted)/predicted), true
				}
			}
		}
	}
	return share, known
}

// pair chooses the acts that show what the defences are worth: those called off and on, else the first and the last
// where these differ in their defences. Without such a pair nothing is set against anything.
func pair(run *loadtest.Result) (off, on *loadtest.ActResult) {
	for i := range run.Acts {
		switch run.Acts[i].Name {
		case "off":
			off = &run.Acts[i]
		case "on":
			on = &run.Acts[i]
		}
	}
	if off != nil && on != nil {
		return off, on
	}
	if n := len(run.Acts); n > 1 && !sameDefences(run.Acts[0].Defences, run.Acts[n-1].Defences) {
		return &run.Acts[0], &run.Acts[n-1]
	}
	return nil, nil
}

func sameDefences(a, b map[string]bool) bool {
	for name, on := range a {
		if b[name] != on {
			return false
		}
	}
	return len(a) == len(b)
}
