package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/holdfast/loadtest"
)

// timeline is an act along one axis of seconds. 0 is where its fault begins; of an act without a fault, where its first
// phase ends.
type timeline struct {
	zero     float64 // in seconds from the first arrival, from which the series count
	from, to float64
	phases   []stretch
	marks    []mark // what was switched or restarted
}

// stretch is a phase.
type stretch struct {
	name     string
	label    string // the name, and the fault if there is one
	fault    bool
	from, to float64
}

// mark is an instant.
type mark struct {
	at        float64
	name      string
	predicted bool
}

func timelineOf(a *loadtest.ActResult) timeline {
	var t timeline
	i := slices.IndexFunc(a.Phases, func(p loadtest.PhaseResult) bool { return p.Name == "fault" || p.Faults != nil })
	if i < 0 {
		i = min(1, len(a.Phases))
	}
	for _, p := range a.Phases[:i] {
		t.zero += p.Seconds
	}
	t.from = -t.zero
	at := t.from
	for _, p := range a.Phases {
		s := stretch{name: p.Name, label: p.Name, fault: p.Faults != nil, from: at, to: at + p.Seconds}
		if s.fault {
			s.label += ": " + faults(p.Faults)
		}
		t.phases = append(t.phases, s)
		if p.Defences != "" {
			t.marks = append(t.marks, mark{at: at, name: "defences " + p.Defences})
		}
		for _, service := range p.Restart {
			t.marks = append(t.marks, mark{at: at, name: service + " restarted"})
		}
		at += p.Seconds
	}
	t.to = at
	return t
}

// faults tells what is done to whom: "recommendations hold=90s".
func faults(of map[string]loadtest.Faults) string {
	var parts []string
	for _, service := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, service+" "+strings.Join(of[service], ", "))
	}
	return strings.Join(parts, "; ")
}

// tested lists the phases in which something is asked of the shop: those with a fault, else all but the first.
func tested(a *loadtest.ActResult) []loadtest.PhaseResult {
	var with []loadtest.PhaseResult
	for _, p := range a.Phases {
		if p.Name == "fault" || p.Faults != nil {
			with = append(with, p)
		}
	}
	if with == nil && len(a.Phases) > 1 {
		return a.Phases[1:]
	}
	return with
}

// goodShare is the share of those asked in some phases who were served right and in time, whatever they wanted.
func goodShare(phases []loadtest.PhaseResult) (share float64, ok bool) {
	good, asked := 0, 0
	for _, p := range phases {
		for _, c := range p.Classes {
			good += c.Good
			asked += c.Asked
		}
	}
	if asked == 0 {
		return 0, false
	}
	return float64(good) / float64(asked), true
}

// predictions marks the instants at which services were to have no worker left, with those at which they had none.
func predictions(a *loadtest.ActResult) []mark {
	at := a.Predicted.SaturationS
	var marks []mark
	for _, service := range bySecond(at) {
		name := service + " " + seconds(at[service]) + " → " + seconds(value(a.Measured.SaturationS, service))
		marks = append(marks, mark{at: at[service], name: name, predicted: true})
	}
	return marks
}

// bySecond lists services in the order in which they saturate.
func bySecond(at map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(at), func(a, b string) int {
		return cmp.Or(cmp.Compare(at[a], at[b]), strings.Compare(a, b))
	})
}
