package report

import (
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/holdfast/loadtest"
)

// lane is one breaker through an act: a line while it is closed, a frame while it is half open, a bar while it is open.
type lane struct {
	name    string
	changes []loadtest.StateChange // their seconds from the fault on
	end     float64
}

const laneHeight = 30

// draw draws the i-th lane from below.
func (l lane) draw(c draw.Canvas, p *plot.Plot, i int) {
	x, y := p.Transforms(&c)
	low, high := y(float64(i)), y(float64(i+1))
	style := words(ink, letter-1)
	style.YAlign = draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X + 4, Y: high - 4}, l.name)
	bottom, top := low+3, low+13
	within := func(at float64) vg.Length { return x(min(max(at, p.X.Min), p.X.Max)) }
	for j, change := range l.changes {
		end := l.end
		if j+1 < len(l.changes) {
			end = l.changes[j+1].At
		}
		from, to := within(change.At), within(end)
		switch change.State {
		case "open":
			fill(c, accent, from, bottom, to, top)
		case "half-open":
			frame := []vg.Point{{X: from, Y: bottom}, {X: to, Y: bottom}, {X: to, Y: top}, {X: from, Y: top}, {X: from, Y: bottom}}
			c.StrokeLines(draw.LineStyle{Color: accent, Width: 1.2}, frame)
		default:
			c.StrokeLine2(draw.LineStyle{Color: muted, Width: 1}, from, (bottom+top)/2, to, (bottom+top)/2)
		}
	}
}

// breakers draws every breaker that moved.
func breakers(a *loadtest.ActResult, t timeline) (chart, bool) {
	c := chart{
		title: "Breakers that opened",
		note:  "Line: closed. Frame: half open. Bar: open.",
		time:  t, lanes: []lane{},
	}
	for _, service := range loadtest.Services {
		s := a.Series.Services[service]
		for _, d := range slices.Sorted(maps.Keys(s.Dependencies)) {
			for _, endpoint := range slices.Sorted(maps.Keys(s.Dependencies[d].Breakers)) {
				changes := slices.Clone(s.Dependencies[d].Breakers[endpoint])
				if !slices.ContainsFunc(changes, func(c loadtest.StateChange) bool { return c.State == "open" }) {
					continue
				}
				for i := range changes {
					changes[i].At -= t.zero
				}
				c.lanes = append(c.lanes, lane{name: service + " → " + d + ", " + endpoint, changes: changes, end: t.to})
			}
		}
	}
	return c, len(c.lanes) > 0
}
