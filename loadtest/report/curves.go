package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"

	"example.com/holdfast/loadtest"
)

// people sums the classes of an act, second by second.
type people struct{ asked, good, fallback []float64 }

func peopleOf(a *loadtest.ActResult) people {
	var p people
	add := func(sum *[]float64, counts []int) {
		for i, n := range counts {
			if i == len(*sum) {
				*sum = append(*sum, 0)
			}
			(*sum)[i] += float64(n)
		}
	}
	for _, c := range a.Series.Classes {
		add(&p.asked, c.Asked)
		add(&p.good, c.Good)
		add(&p.fallback, c.Fallback)
	}
	return p
}

// perSecond places what was counted second by second in the middle of each second.
func (t timeline) perSecond(values []float64) []point {
	points := make([]point, len(values))
	for i, v := range values {
		points[i] = point{float64(i) + .5 - t.zero, v}
	}
	return points
}

// seen places what was seen at each look.
func (t timeline) seen(at, values []float64) []point {
	points := make([]point, min(len(at), len(values)))
	for i := range points {
		points[i] = point{at[i] - t.zero, values[i]}
	}
	return points
}

func floats[N int | int64 | float64](values []N, factor float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = float64(v) * factor
	}
	return all
}

// newest is the last value of a line, as it stands beside it.
func newest(points []point, unit string) string {
	if len(points) == 0 {
		return ""
	}
	return number(points[len(points)-1].y) + unit
}

// number writes a value with three figures, and whole above a hundred.
func number(v float64) string {
	if v >= 100 && v < 1e7 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// served draws who came and who was served, in people a second.
func served(a, simulated *loadtest.ActResult, t timeline) chart {
	p := peopleOf(a)
	c := chart{title: "Offered and good, people a second", unit: "/s", time: t, marks: slices.Concat(predictions(a), t.marks)}
	good := t.perSecond(p.good)
	c.lines = []series{
		{name: "offered", points: t.perSecond(p.asked), tone: muted, width: 1},
		{name: "good", points: good, tone: first, filled: true},
	}
	if slices.ContainsFunc(p.fallback, func(n float64) bool { return n > 0 }) {
		c.lines = append(c.lines, series{name: "by fallback", points: t.perSecond(p.fallback), tone: first + 2, dashes: strokes[2]})
	}
	if simulated != nil {
		s := timelineOf(simulated)
		c.lines = append(c.lines, series{
			name: "good, simulated", points: s.perSecond(peopleOf(simulated).good), tone: accent, dashes: strokes[1], computed: true,
		})
	}
	for i := range c.lines {
		c.lines[i].value = newest(c.lines[i].points, "/s")
	}
	return c
}

// goodAlong is the share of those asked who were served right and in time, in percent, second by second.
func goodAlong(a *loadtest.ActResult, t timeline) []point {
	p := peopleOf(a)
	var points []point
	for i, asked := range p.asked {
		if asked > 0 && i < len(p.good) {
			points = append(points, point{float64(i) + .5 - t.zero, 100 * p.good[i] / asked})
		}
	}
	return points
}

// offAgainstOn draws what the defences are worth, in people a second on one axis.
func offAgainstOn(off, on *loadtest.ActResult) chart {
	t, u := timelineOf(on), timelineOf(off)
	c := chart{
		title: "Served right and in time, people a second: " + off.Name + " against " + on.Name,
		unit:  "/s", time: together(t, u), marks: slices.Concat(predictions(off), u.marks),
	}
	c.lines = []series{
		{name: "offered", points: t.perSecond(peopleOf(on).asked), tone: muted, width: 1},
		{name: on.Name, points: t.perSecond(peopleOf(on).good), tone: first, width: 2.4, filled: true},
		{name: off.Name, points: u.perSecond(peopleOf(off).good), tone: first + 1, width: 2.4, dashes: strokes[1]},
	}
	for i := range c.lines {
		c.lines[i].value = newest(c.lines[i].points, "/s")
	}
	return c
}

// together is the timeline of a picture of several acts. Phases in which each has another fault have only their names.
func together(t timeline, others ...timeline) timeline {
	t.phases, t.marks = slices.Clone(t.phases), nil
	for _, other := range others {
		t.from, t.to = min(t.from, other.from), max(t.to, other.to)
		for i := range t.phases {
			if i >= len(other.phases) || t.phases[i].label != other.phases[i].label {
				t.phases[i].label = t.phases[i].name
			}
		}
	}
	return t
}

// sideBySide draws some acts on one axis, as shares of those who came.
func sideBySide(acts []loadtest.ActResult) chart {
	c := chart{title: "Served right and in time, of those who came, act by act", unit: " %", top: 100}
	var times []timeline
	for i := range acts {
		t := timelineOf(&acts[i])
		l := series{name: acts[i].Name, points: goodAlong(&acts[i], t)}
		l.tone, l.dashes = stroke(i)
		l.value = newest(l.points, " %")
		for _, m := range t.marks {
			m.name = acts[i].Name + ": " + m.name
			c.marks = append(c.marks, m)
		}
		c.lines, times = append(c.lines, l), append(times, t)
	}
	if len(times) > 0 {
		c.time = together(times[0], times[1:]...)
	}
	return c
}

// workers draws the workers in use as a share of each service's limit, with the line that Little's law predicts; of
// services without a limit, the number.
func workers(r *Report, run *loadtest.Result, a *loadtest.ActResult, t timeline) (limited, unlimited chart) {
	limited = chart{title: "Workers in use, of those there are", unit: " %", top: 100, time: t, marks: unnamed(predictions(a))}
	unlimited = chart{title: "Requests in progress, where workers are not limited", time: t}
	lines := littleLines(r.Scenarios[run.Scenario], a, t)
	simulated := r.simulated(run.Scenario, a.Name)
	for i, service := range loadtest.Services {
		s, ok := a.Series.Services[service]
		if !ok || len(s.At) == 0 {
			continue
		}
		l := series{name: service}
		l.tone, l.dashes = stroke(i)
		if s.Limit <= 0 {
			l.points = t.seen(s.At, floats(s.Workers, 1))
			l.value = newest(l.points, "")
			unlimited.lines = append(unlimited.lines, l)
			continue
		}
		percent := 100 / float64(s.Limit)
		l.points = t.seen(s.At, floats(s.Workers, percent))
		if n := len(s.Workers); n > 0 {
			l.value = fmt.Sprintf("%d/%d", s.Workers[n-1], s.Limit)
		}
		limited.lines = append(limited.lines, l)
		if line := lines[service]; line != nil {
			limited.note = "Thin and red: the line that Little’s law predicts from the healthy phase."
			limited.lines = append(limited.lines, computedLine(line, percent))
		}
		if simulated != nil {
			sim := simulated.Series.Services[service]
			points := timelineOf(simulated).seen(sim.At, floats(sim.Workers, percent))
			limited.lines = append(limited.lines, series{points: points, tone: l.tone, dashes: strokes[2], width: 1, computed: true})
		}
	}
	return limited, unlimited
}

func computedLine(points []point, factor float64) series {
	scaled := make([]point, len(points))
	for i, p := range points {
		scaled[i] = point{p.x, p.y * factor}
	}
	return series{points: scaled, tone: accent, width: .8, dashes: []vg.Length{3, 2}, computed: true}
}

// unnamed returns marks without their names, for a picture that only recalls them.
func unnamed(marks []mark) []mark {
	marks = slices.Clone(marks)
	for i := range marks {
		marks[i].name = ""
	}
	return marks
}

// waits draws what the people of each class waited.
func waits(a *loadtest.ActResult, t timeline) []chart {
	return []chart{
		wait("p50 of the wait, from the intended start", a, t, func(s loadtest.ClassSeries) []float64 { return s.P50 }),
		wait("p99 of the wait, from the intended start", a, t, func(s loadtest.ClassSeries) []float64 { return s.P99 }),
	}
}

func wait(title string, a *loadtest.ActResult, t timeline, of func(loadtest.ClassSeries) []float64) chart {
	c := chart{title: title, time: t, unit: " ms"}
	factor := 1.0
	for _, s := range a.Series.Classes {
		if slices.Max(append([]float64{0}, of(s)...)) >= 1000 {
			c.unit, factor = " s", 1e-3
		}
	}
	for i, class := range slices.Sorted(maps.Keys(a.Series.Classes)) {
		s := a.Series.Classes[class]
		l := series{name: class}
		for j, p := range t.perSecond(floats(of(s), factor)) {
			if j < len(s.Asked) && s.Asked[j] > 0 { // of nobody there is no percentile
				l.points = append(l.points, p)
			}
		}
		l.tone, l.dashes = stroke(i)
		l.value = newest(l.points, c.unit)
		c.lines = append(c.lines, l)
	}
	return c
}

// idle draws how much of the machine had nothing to do.
func idle(a *loadtest.ActResult, t timeline) chart {
	points := t.perSecond(floats(a.Series.Idle, 100))
	return chart{title: "Processors idle, of all of the machine", unit: " %", top: 100, time: t, lines: []series{
		{name: "idle", points: points, tone: first, filled: true, value: newest(points, " %")},
	}}
}
