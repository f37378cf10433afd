package loadtest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// barMeets wants what was measured to be what was predicted.
func (p *act) barMeets(b Bar) []BarResult {
	i := slices.IndexFunc(p.scenario.Predictions, func(of Prediction) bool { return of.Name == b.Prediction })
	of := p.scenario.Predictions[i] // the scenario is checked
	kind := formulas[of.Formula]
	r := BarResult{Name: b.Phase + ": " + of.Name, Want: "as predicted", Got: "not measured"}
	want, predicted := p.values[of.Name]
	if !predicted {
		r.Want = "a prediction, and there is none"
	} else {
		r.Want = fmt.Sprintf("%.4g %s ± %s", want, kind.unit, percent(float64(b.Near)))
		if b.Points > 0 {
			r.Want += fmt.Sprintf(" or %.3g points", 100*float64(b.Points))
		}
	}
	got, err := kind.measure(p, of, p.played(b.Phase))
	if err != nil {
		r.Got = err.Error()
		return []BarResult{r}
	}
	r.Got = fmt.Sprintf("%.4g %s", got, kind.unit)
	r.Pass = predicted && math.Abs(got-want) <= max(float64(b.Near)*want, float64(b.Points))
	return []BarResult{r}
}

// compared are the values that were predicted, and those measured that bars hold to them.
func (p *act) compared() (predicted, measured map[string]float64) {
	predicted, measured = map[string]float64{}, map[string]float64{}
	for name, v := range p.values {
		predicted[name] = round(v, 4)
	}
	for _, b := range p.Bars {
		i := slices.IndexFunc(p.scenario.Predictions, func(of Prediction) bool { return of.Name == b.Prediction })
		if i < 0 {
			continue
		}
		of := p.scenario.Predictions[i]
		if got, err := formulas[of.Formula].measure(p, of, p.played(b.Phase)); err == nil {
			measured[of.Name+" in "+b.Phase] = round(got, 4)
		}
	}
	return predicted, measured
}

// barBooked wants a share of all timeouts of a phase to be booked against some dependencies.
func (p *act) barBooked(b Bar) []BarResult {
	all, theirs := int64(0), int64(0)
	ph := p.played(b.Phase)
	for _, service := range Services {
		for _, d := range ph.after[service].Dependencies {
			if c, err := p.callsIn(service, d.Name, ph); err == nil {
				n := c.Outcomes["timeout"]
				all += n
				if slices.Contains(b.Dependencies, d.Name) {
					theirs += n
				}
			}
		}
	}
	share := 0.0
	if all > 0 {
		share = float64(theirs) / float64(all)
	}
	return []BarResult{{
		Name: fmt.Sprintf("%s: timeouts booked against %s", b.Phase, strings.Join(b.Dependencies, ", ")),
		Want: fmt.Sprintf("at least %s of all", percent(float64(b.AtLeast))),
		Got:  fmt.Sprintf("%s of %d", percent(share), all), Pass: all > 0 && share >= float64(b.AtLeast),
	}}
}

// barUnharmed wants every call to some dependencies to have been an answer or the caller's own leaving.
func (p *act) barUnharmed(b Bar) []BarResult {
	var results []BarResult
	ph := p.played(b.Phase)
	for _, name := range b.Dependencies {
		r := BarResult{Name: fmt.Sprintf("%s: calls to %s", b.Phase, name), Want: "none harmed", Got: "nobody told of them"}
		var harmed, all int64
		for _, service := range Services { // several may call the same one
			if c, err := p.callsIn(service, name, ph); err == nil {
				all += c.ended()
				harmed += c.ended() - c.Outcomes["success"] - c.Outcomes["cancelled"]
			}
		}
		if all > 0 {
			r.Got, r.Pass = fmt.Sprintf("%d of %d", harmed, all), harmed == 0
		}
		results = append(results, r)
	}
	return results
}

// barRejected wants a share of the calls from a service to a dependency to find no slot: it is full, and says so.
func (p *act) barRejected(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: calls from %s to %s that found no slot", b.Phase, b.Service, b.Dependency),
		Want: "at least " + percent(float64(b.AtLeast)), Got: "not known"}
	if c, err := p.callsIn(b.Service, b.Dependency, p.played(b.Phase)); err == nil && c.ended() > 0 {
		share := float64(c.Outcomes["rejected"]) / float64(c.ended())
		r.Got, r.Pass = fmt.Sprintf("%s of %d", percent(share), c.ended()), share >= float64(b.AtLeast)
	}
	return []BarResult{r}
}

// barOpens wants a breaker to open soon after the beginning of a phase.
func (p *act) barOpens(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: the breaker of %s at %s opens", b.Phase, b.Dependency, b.Service),
		Want: fmt.Sprintf("within %s", b.Within), Got: "never"}
	ph := p.played(b.Phase)
	for _, s := range p.watch.between(b.Service, ph.changed, p.tally.start.Add(ph.to)) {
		if s.state.opened(b.Dependency) {
			after := s.at.Sub(ph.changed)
			r.Got, r.Pass = "seen open after "+inSeconds(after), after <= time.Duration(b.Within)+watchEvery
			break
		}
	}
	return []BarResult{r}
}

// opened tells whether a breaker of the dependency is not closed.
func (s State) opened(dependency string) bool {
	for _, d := range s.Dependencies {
		for _, e := range d.Endpoints {
			if d.Name == dependency && (e.Breaker == "open" || e.Breaker == "half-open") {
				return true
			}
		}
	}
	return false
}

// barAmplified wants retries not to multiply the calls to a dependency: so many at most for each person of a class.
func (p *act) barAmplified(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: attempts from %s to %s for each %s", b.Phase, b.Service, b.Dependency, b.Class),
		Want: fmt.Sprintf("at most %.2f", b.Factor)}
	of := Prediction{Service: b.Service, Dependency: b.Dependency, Class: b.Class}
	got, err := p.measureAmplification(of, p.played(b.Phase))
	if err != nil {
		r.Got = err.Error()
		return []BarResult{r}
	}
	r.Got, r.Pass = fmt.Sprintf("%.2f", got), got <= b.Factor
	return []BarResult{r}
}

// barZombies wants a service to begin requests for which nobody waits any more: at least a share of all, or, without a
// share, none.
func (p *act) barZombies(b Bar) []BarResult {
	ph := p.played(b.Phase)
	then, now := ph.before[b.Service].Workers, ph.after[b.Service].Workers
	begun, late := now.Begun-then.Begun, now.BegunLate-then.BegunLate
	r := BarResult{Name: fmt.Sprintf("%s: requests that %s began for nobody", b.Phase, b.Service), Want: "none",
		Got: fmt.Sprintf("%d of %d", late, begun), Pass: begun > 0 && late == 0}
	if b.AtLeast > 0 {
		r.Want = "at least " + percent(float64(b.AtLeast))
		r.Pass = begun > 0 && float64(late) >= float64(b.AtLeast)*float64(begun)
	}
	return []BarResult{r}
}
