package loadtest

import (
	"slices"
	"time"
)

// As returns the scenario as a run has played it: with its acts, and phases as long as they were. False: the scenario
// has other acts or phases by now, or the run had defences of a person's choice.
func (s *Scenario) As(run *Result) (*Scenario, bool) {
	played := *s
	played.Acts = nil
	for _, r := range run.Acts {
		i := slices.IndexFunc(s.Acts, func(a Act) bool { return a.Name == r.Name })
		if i < 0 || len(s.Acts[i].Phases) != len(r.Phases) {
			return nil, false
		}
		a := s.Acts[i]
		a.Phases = slices.Clone(a.Phases)
		for j, p := range r.Phases {
			if a.Phases[j].Name != p.Name {
				return nil, false
			}
			a.Phases[j].For = Duration(p.Seconds * float64(time.Second))
		}
		played.Acts = append(played.Acts, a)
	}
	return &played, true
}
