package report

import (
	"cmp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ground is what lies under the lines: the phases with their names, the shaded fault, the grid.
type ground struct{ chart }

// Plot draws it.
func (g ground) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, s := range g.time.phases {
		from, to := x(s.from), x(s.to)
		if s.fault {
			fill(c, shade, from, c.Min.Y, to, c.Max.Y)
		}
		style := words(muted, letter-1)
		style.XAlign = draw.XCenter
		for _, name := range []string{s.label, s.name} {
			if wider*style.Width(name)+4 <= to-from {
				c.FillText(style, vg.Point{X: (from + to) / 2, Y: c.Max.Y + 3}, name)
				break
			}
		}
	}
	line := draw.LineStyle{Color: rule, Width: .5}
	for _, s := range g.time.phases[min(1, len(g.time.phases)):] {
		c.StrokeLine2(line, x(s.from), c.Min.Y, x(s.from), c.Max.Y+row)
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(line, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}

func fill(c draw.Canvas, t tone, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(t, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// curves are the lines, their names, and the marks.
type curves struct{ chart }

// Plot draws them.
func (g curves) Plot(c draw.Canvas, p *plot.Plot) {
	for i := range g.lanes {
		g.lanes[i].draw(c, p, len(g.lanes)-1-i)
	}
	var names []name
	for _, l := range g.lines {
		pieces := l.pieces(c, p)
		for _, piece := range pieces {
			if len(piece) == 1 { // a line of one point is none
				c.DrawGlyph(draw.GlyphStyle{Color: l.tone, Radius: 2, Shape: draw.CircleGlyph{}}, piece[0])
			}
			if l.filled {
				low := []vg.Point{{X: piece[len(piece)-1].X, Y: c.Min.Y}, {X: piece[0].X, Y: c.Min.Y}}
				c.FillPolygon(field, append(slices.Clone(piece), low...))
			}
			c.StrokeLines(l.style(), piece)
		}
		if n := len(pieces); n > 0 && l.value != "" {
			last := pieces[n-1]
			names = append(names, name{series: l, at: last[len(last)-1].Y})
		}
	}
	g.drawMarks(c, p)
	for _, n := range spread(names, c.Min.Y, c.Max.Y) {
		n.draw(c)
	}
}

func (l series) style() draw.LineStyle {
	return draw.LineStyle{Color: l.tone, Width: cmp.Or(l.width, 1.6), Dashes: l.dashes}
}

// pieces are the points of a line on the canvas, broken where nothing was seen.
func (l series) pieces(c draw.Canvas, p *plot.Plot) [][]vg.Point {
	x, y := p.Transforms(&c)
	var pieces [][]vg.Point
	var before *point
	for i, q := range l.points {
		if !drawable(q) || q.x < p.X.Min || q.x > p.X.Max {
			continue
		}
		if before == nil || q.x-before.x > gap && !l.computed {
			pieces = append(pieces, nil)
		}
		before = &l.points[i]
		n := len(pieces) - 1
		pieces[n] = append(pieces[n], vg.Point{X: x(q.x), Y: y(q.y)})
	}
	return pieces
}

// name is what stands beside the end of a line: how it is drawn, what it is, its newest value.
type name struct {
	series
	at vg.Length // the middle
}

func (n name) height() vg.Length { return vg.Length(strings.Count(n.label(), "\n")+1) * row }

func (n name) draw(c draw.Canvas) {
	x := c.Max.X + 6
	c.StrokeLine2(n.style(), x, n.at, x+sample, n.at)
	style := words(ink, letter)
	style.YAlign = draw.YCenter
	c.FillText(style, vg.Point{X: x + sample + 4, Y: n.at}, n.label())
}

// spread moves names apart until none lies on another, as little as it takes, and none below the canvas.
func spread(names []name, low, high vg.Length) []name {
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(b.at, a.at) })
	ceiling := high + row
	for i := range names {
		h := names[i].height()
		names[i].at = min(names[i].at, ceiling-h/2)
		ceiling = names[i].at - h/2
	}
	floor := low - row/2
	for i := len(names) - 1; i >= 0; i-- {
		h := names[i].height()
		names[i].at = max(names[i].at, floor+h/2)
		floor = names[i].at + h/2
	}
	return names
}

// drawMarks draws the instants, each name in a row of its own beside its line.
func (g curves) drawMarks(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, m := range g.marks {
		if !drawable(point{x: m.at}) || m.at < p.X.Min || m.at > p.X.Max {
			continue
		}
		line, style := draw.LineStyle{Color: muted, Width: 1}, words(ink, letter-1)
		if m.predicted {
			line = draw.LineStyle{Color: accent, Width: 1, Dashes: []vg.Length{4, 3}}
		}
		at := x(m.at)
		c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
		style.YAlign = draw.YTop
		beside := at + 3
		if beside+style.Width(m.name) > c.Max.X {
			style.XAlign, beside = draw.XRight, at-3
		}
		// Not at the top, where the line of those who come is.
		below := (c.Max.Y-c.Min.Y)/3 + vg.Length(i)*row
		c.FillText(style, vg.Point{X: beside, Y: c.Max.Y - below}, m.name)
	}
}
