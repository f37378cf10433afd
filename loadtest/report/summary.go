package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"example.com/holdfast/loadtest"
)

// claim is what a proof is about.
const claim = "Hold any one leaf at ninety seconds and the shop keeps selling; switch the defences off and it dies at " +
	"the second the arithmetic says it will"

// words of the verdicts, and their shapes for those who see no colour.
var said = map[loadtest.Verdict]struct{ Shape, Word string }{
	loadtest.Pass:     {"●", "pass"},
	loadtest.Fail:     {"■", "fail"},
	loadtest.Void:     {"▲", "void"},
	loadtest.Unjudged: {"○", "not judged"},
}

// conclusion is the verdict in a sentence.
func (r *Report) conclusion() string {
	barsHeld, bars := r.bars()
	if len(r.Results) == 1 {
		switch r.verdict() {
		case loadtest.Pass:
			return fmt.Sprintf("It held: %d of %d bars.", barsHeld, bars)
		case loadtest.Fail:
			return fmt.Sprintf("It did not hold: %d of %d bars were missed.", bars-barsHeld, bars)
		case loadtest.Void:
			return "The run is void and proves nothing."
		}
		return "The run was not judged."
	}
	passed := len(r.with(loadtest.Pass))
	sentence := fmt.Sprintf("%d of %d scenarios passed, with %d of %d bars", passed, len(r.Results), barsHeld, bars)
	for _, v := range []loadtest.Verdict{loadtest.Fail, loadtest.Void, loadtest.Unjudged} {
		if names := r.with(v); names != nil {
			sentence += fmt.Sprintf("; %s: %s", said[v].Word, strings.Join(names, ", "))
		}
	}
	return sentence + "."
}

func (r *Report) bars() (barsHeld, all int) {
	for _, run := range r.Results {
		h, n := held(run.Bars)
		barsHeld, all = barsHeld+h, all+n
	}
	return barsHeld, all
}

// Summary is everything in one line, for CI.
func (r *Report) Summary() string {
	of := "the proof"
	if len(r.Results) == 1 {
		of = r.Results[0].Scenario
	}
	line := fmt.Sprintf("%s: %s: %s", of, strings.ToUpper(said[r.verdict()].Word), strings.TrimSuffix(r.conclusion(), "."))
	if share, ok := r.farthest(); ok {
		line += fmt.Sprintf("; saturation within %.1f %% of its prediction", 100*share)
	}
	if run := r.leading(); run != nil {
		if off, on := pair(run); off != nil {
			line += fmt.Sprintf("; %s: %s good %s, %s %s", run.Scenario, off.Name, goodText(off), on.Name, goodText(on))
		}
	}
	return line
}

// leading is the run that the picture at the top shows.
func (r *Report) leading() *loadtest.Result {
	for _, run := range r.Results {
		if off, on := pair(run); off != nil && off.Name == "off" && on.Name == "on" {
			return run
		}
	}
	if len(r.Results) == 0 {
		return nil
	}
	return r.Results[0]
}

// goodText is the share of people served well while the shop was tested.
func goodText(a *loadtest.ActResult) string {
	share, ok := goodShare(tested(a))
	if !ok {
		return "–"
	}
	return percent(share)
}

// percent rounds a share down where that is the difference between all and nearly all.
func percent(share float64) string {
	p := 100 * share
	if p >= 99 && p < 100 {
		return fmt.Sprintf("%.2f %%", math.Floor(p*100+1e-6)/100)
	}
	return fmt.Sprintf("%.1f %%", p)
}

// comparison is a figure that was predicted, measured or simulated. It is NaN where it was not.
type comparison struct {
	act, of                        string
	predicted, measured, simulated float64
	text                           func(float64) string
}

// comparisons are the seconds at which services of a run had no worker left, and what else was predicted of it.
func (r *Report) comparisons(run *loadtest.Result) []comparison {
	var all []comparison
	for i := range run.Acts {
		a := &run.Acts[i]
		simulated := map[string]float64{}
		if s := r.simulated(run.Scenario, a.Name); s != nil {
			simulated = s.Measured.SaturationS
		}
		told := map[string]float64{} // with a second to sort by: the measured one, else the predicted
		for _, at := range []map[string]float64{simulated, a.Predicted.SaturationS, a.Measured.SaturationS} {
			maps.Copy(told, at)
		}
		for _, service := range bySecond(told) {
			all = append(all, comparison{
				act: a.Name, of: service + " full", predicted: value(a.Predicted.SaturationS, service),
				measured: value(a.Measured.SaturationS, service), simulated: value(simulated, service), text: seconds,
			})
		}
		for _, name := range slices.Sorted(maps.Keys(a.Predicted.Values)) {
			all = append(all, comparison{
				act: a.Name, of: name, predicted: a.Predicted.Values[name], measured: measuredValue(a, name), simulated: math.NaN(),
				text: bare,
			})
		}
	}
	return all
}

// measuredValue is what was measured of a prediction, in the phase whose bar asked for it.
func measuredValue(a *loadtest.ActResult, name string) float64 {
	for _, p := range a.Phases {
		if v, ok := a.Measured.Values[name+" in "+p.Name]; ok {
			return v
		}
	}
	return math.NaN()
}

func value(of map[string]float64, name string) float64 {
	if v, ok := of[name]; ok {
		return v
	}
	return math.NaN()
}

func seconds(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.2f s", v)
}

// bare is a number whose unit its name tells.
func bare(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return number(v)
}

// off is how far a value is from another, as text: "+1.2 %".
func off(v, from float64) string {
	if math.IsNaN(v) || math.IsNaN(from) || from == 0 {
		return "–"
	}
	percent := math.Round(1000*(v-from)/from) / 10
	return fmt.Sprintf("%+.1f %%", percent+0) // + 0: nothing has no sign
}
