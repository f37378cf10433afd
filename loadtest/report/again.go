package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/holdfast/loadtest"
)

// again is the command that makes the report's runs again.
func (r *Report) again() string {
	if r.Again == "" && len(r.Results) == 1 {
		return again(r.Results[0], r.Scenarios[r.Results[0].Scenario])
	}
	return cmp.Or(r.Again, "make proof report")
}

// again is the command that plays a run again: with its acts or its defences, and its length of the fault where that is
// not the scenario's. s may be nil. A scenario that does not come with the program is in a file of its name.
func again(run *loadtest.Result, s *loadtest.Scenario) string {
	file := run.Scenario
	if !slices.Contains(loadtest.Names(), file) {
		file += ".yaml"
	}
	command := fmt.Sprintf("bin/holdfast loadtest run %s --seed %d", quoted(file), run.Seed)
	if s == nil || len(run.Acts) == 0 {
		return command
	}
	if run.Verdict == loadtest.Unjudged {
		command += " --defences " + expression(run.Acts[0].Defences)
	} else if names := actNames(run.Acts); !slices.Equal(names, scenarioActs(s)) {
		command += " --acts " + strings.Join(names, ",")
	}
	if seconds := faultSeconds(run.Acts[0], s); seconds > 0 {
		command += fmt.Sprintf(" --fault-seconds %g", seconds)
	}
	return command
}

var plain = regexp.MustCompile(`^[\w./-]+$`)

// quoted is a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(strings.Join(strings.Fields(word), " "), "'", `'\''`) + "'"
}

// expression is a state of the defences as `holdfast defences set` takes it.
func expression(of map[string]bool) string {
	parts := []string{"all"}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if !of[name] {
			parts = append(parts, "-"+name)
		}
	}
	return strings.Join(parts, ",")
}

func actNames(acts []loadtest.ActResult) []string {
	var names []string
	for _, a := range acts {
		names = append(names, a.Name)
	}
	return names
}

func scenarioActs(s *loadtest.Scenario) []string {
	var names []string
	for _, a := range s.Acts {
		names = append(names, a.Name)
	}
	return names
}

// faultSeconds is how long the fault of an act lasted, where the scenario says otherwise; else 0.
func faultSeconds(a loadtest.ActResult, s *loadtest.Scenario) float64 {
	i := slices.IndexFunc(a.Phases, func(p loadtest.PhaseResult) bool { return p.Name == "fault" })
	j := slices.IndexFunc(s.Acts, func(of loadtest.Act) bool { return of.Name == a.Name })
	if i < 0 || j < 0 {
		return 0
	}
	for _, p := range s.Acts[j].Phases {
		if p.Name == "fault" && time.Duration(p.For).Seconds() != a.Phases[i].Seconds {
			return a.Phases[i].Seconds
		}
	}
	return 0
}
