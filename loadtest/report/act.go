package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"example.com/holdfast/loadtest"
)

type actView struct {
	Name, Defences, Story, Good string
	Open                        bool
	Classes                     []string
	Phases                      []phaseRow
	Figures                     []figure
	Outcomes                    []string // the columns of Calls
	Calls                       []callRow
	Notes                       []string
}

type phaseRow struct {
	Name, Seconds, Done, Idle string
	Classes                   []string
}

type callRow struct {
	Name   string
	Counts []string
}

func (r *Report) actView(run *loadtest.Result, a *loadtest.ActResult, open bool) actView {
	v := actView{
		Name: a.Name, Defences: defences(a.Defences), Good: goodText(a), Open: open,
		Classes: slices.Sorted(maps.Keys(a.Series.Classes)),
	}
	v.Story = story(a)
	for _, p := range a.Phases {
		row := phaseRow{Name: p.Name, Seconds: number(p.Seconds) + " s", Done: done(p), Idle: percent(p.Idle)}
		for _, class := range v.Classes {
			c := p.Classes[class]
			cell := "–"
			if c.Asked > 0 {
				cell = fmt.Sprintf("%s · %s/%s ms", percent(c.GoodRatio), number(c.P50), number(c.P99))
			}
			row.Classes = append(row.Classes, cell)
		}
		v.Phases = append(v.Phases, row)
	}
	for _, c := range r.charts(run, a, &v.Notes) {
		v.Figures = append(v.Figures, figure{Title: c.title, Note: c.note, SVG: c.inline(c.natural())})
	}
	v.Outcomes, v.Calls = callTable(a)
	return v
}

// natural is the size of a chart in a row of others.
func (c chart) natural() size {
	s := small
	if c.lanes != nil {
		s.height = laneHeight*vg.Length(len(c.lanes)) + 40
	}
	return s
}

// maxOutcomes is how many dependencies have a picture of their own; the table has them all.
const maxOutcomes = 4

// charts are the pictures of an act, and in notes what needs none.
func (r *Report) charts(run *loadtest.Result, a *loadtest.ActResult, notes *[]string) []chart {
	t := timelineOf(a)
	limited, unlimited := workers(r, run, a, t)
	slotted, free := slots(a, t)
	all := []chart{served(a, r.simulated(run.Scenario, a.Name), t)}
	for _, c := range []chart{limited, unlimited, slotted, free} {
		if len(c.lines) > 0 {
			all = append(all, c)
		}
	}
	all = append(all, waits(a, t)...)
	for i, d := range calls(a) {
		if i < maxOutcomes && d.unsuccessful() > 0 {
			all = append(all, outcomes(d, t))
		}
	}
	if c, ok := retries(a, t); ok {
		all = append(all, c)
	} else {
		*notes = append(*notes, "No call was tried again.")
	}
	if c, ok := breakers(a, t); ok {
		all = append(all, c)
	} else {
		*notes = append(*notes, "No breaker opened.")
	}
	if len(a.Series.Idle) > 0 {
		all = append(all, idle(a, t))
	}
	return all
}

// callTable counts how the attempts to each dependency ended, over the whole act.
func callTable(a *loadtest.ActResult) (columns []string, rows []callRow) {
	all := calls(a)
	seen := map[string]bool{}
	for _, d := range all {
		for outcome := range d.ended() {
			seen[outcome] = true
		}
	}
	columns = append(slices.Sorted(maps.Keys(seen)), "retries")
	for _, d := range all {
		ended := d.ended()
		for _, n := range d.Retries {
			ended["retries"] += n
		}
		row := callRow{Name: d.title()}
		for _, column := range columns {
			row.Counts = append(row.Counts, fmt.Sprint(ended[column]))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// story tells in words what was done in an act and what came of it.
func story(a *loadtest.ActResult) string {
	var parts []string
	for i, s := range timelineOf(a).phases {
		if what := done(a.Phases[i]); what != "" {
			parts = append(parts, fmt.Sprintf("From %s to %s s: %s.", number(s.from), number(s.to), what))
		}
	}
	for _, service := range bySecond(a.Measured.SaturationS) {
		at := a.Measured.SaturationS[service]
		text := fmt.Sprintf("%s had no worker left after %s", service, seconds(at))
		if p := value(a.Predicted.SaturationS, service); !math.IsNaN(p) {
			text += fmt.Sprintf(" (predicted %s)", seconds(p))
		}
		parts = append(parts, text+".")
	}
	return strings.Join(append(parts, goodText(a)+" of those who came meanwhile were served right and in time."), " ")
}

// done tells what begins with a phase.
func done(p loadtest.PhaseResult) string {
	var parts []string
	if p.Faults != nil {
		parts = append(parts, faults(p.Faults))
	}
	if p.Defences != "" {
		parts = append(parts, "defences "+p.Defences)
	}
	for _, service := range p.Restart {
		parts = append(parts, service+" restarted")
	}
	return strings.Join(parts, "; ")
}

// defences tells which were on.
func defences(of map[string]bool) string {
	var on, off []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] {
			on = append(on, name)
		} else {
			off = append(off, name)
		}
	}
	switch {
	case len(on) == 0:
		return "no defence"
	case len(off) == 0:
		return "all defences"
	case len(off) < len(on):
		return "all defences but " + strings.Join(off, ", ")
	}
	return "no defence but " + strings.Join(on, ", ")
}
