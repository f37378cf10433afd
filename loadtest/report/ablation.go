package report

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/holdfast/loadtest"
)

// ablationView is what each defence is worth, as a table and a picture.
type ablationView struct {
	Scenario string
	Verdict  verdict
	Reasons  []string
	Classes  []string
	Rows     []ablationRow
	Picture  picture
}

type ablationRow struct {
	Group, Defences, Full string
	Good                  []string
}

func ablationViewOf(a *loadtest.Ablation) *ablationView {
	if a == nil {
		return nil
	}
	v := &ablationView{
		Scenario: a.Scenario, Verdict: verdict(said[a.Verdict]), Reasons: a.Reasons, Classes: ablationClasses(a),
	}
	for _, row := range a.Rows {
		r := ablationRow{Group: row.Group, Defences: row.Defences, Full: fullAt(row.SaturationS)}
		for _, class := range v.Classes {
			r.Good = append(r.Good, percent(row.Good[class]))
		}
		v.Rows = append(v.Rows, r)
	}
	drawn := func(width vg.Length) template.HTML {
		svg := ablationSVG(a, v.Classes, v.Picture.Title, width)
		return template.HTML(coloured(svg, inPage)) //nolint:gosec // the drawing escapes its text
	}
	v.Picture.Title = "Served right and in time during the fault, by what is defended"
	v.Picture.Wide, v.Picture.Narrow = drawn(wide.width), drawn(narrow.width)
	return v
}

// ablationClasses are the classes of its rows.
func ablationClasses(a *loadtest.Ablation) []string {
	all := map[string]bool{}
	for _, row := range a.Rows {
		for class := range row.Good {
			all[class] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// fullAt tells which services had no worker left, and after how long.
func fullAt(at map[string]float64) string {
	var parts []string
	for _, service := range bySecond(at) {
		parts = append(parts, service+" "+seconds(at[service]))
	}
	return strings.Join(parts, ", ")
}

// ablationSVG draws a row for each set of defences and on it a shape for each class, from 0 to 100 %. Its name stands
// before the row, or, where there is little room, above it.
func ablationSVG(a *loadtest.Ablation, classes []string, title string, width vg.Length) string {
	above := width < wide.width
	height := vg.Length(20)
	if above {
		height = 30
	}
	s := size{width, height*vg.Length(len(a.Rows)) + 50}
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 100, 0, float64(max(len(a.Rows), 1))
	house(p)
	p.X.Tick.Marker = plot.ConstantTicks(ticks(0, 100, 5, " %"))
	var names []plot.Tick
	if !above {
		for i, row := range a.Rows {
			names = append(names, plot.Tick{Value: float64(len(a.Rows)-i) - .5, Label: roomy(row.Defences)})
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Add(worth{a, classes, above})
	canvas := vgsvg.New(s.width, s.height)
	p.Draw(draw.Crop(draw.New(canvas), 0, -2*row, 0, -row-8))
	return clean(canvas, s, title)
}

// roomy is a name that ends at the axis and does not run over it in wider letters than these.
func roomy(name string) string {
	style := words(ink, letter)
	spaces := (wider - 1) * style.Width(name) / style.Width(" ")
	return name + strings.Repeat(" ", 1+int(math.Ceil(spaces.Points())))
}

// worth draws the shapes of an ablation, and above them which is whose.
type worth struct {
	*loadtest.Ablation
	classes []string
	above   bool // stand the names
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.TriangleGlyph{},
}

// Plot draws them.
func (w worth) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: rule, Width: .5}
	for i, of := range w.Rows {
		at := y(float64(len(w.Rows)-i) - .5)
		if w.above {
			at = y(float64(len(w.Rows)-i) - .75)
			c.FillText(words(muted, letter), vg.Point{X: c.Min.X + 4, Y: at + 10}, of.Defences)
		}
		c.StrokeLine2(line, c.Min.X, at, c.Max.X, at)
		if i > 0 && of.Group != w.Rows[i-1].Group {
			edge := y(float64(len(w.Rows) - i))
			c.StrokeLine2(draw.LineStyle{Color: muted, Width: 1}, c.Min.X, edge, c.Max.X, edge)
		}
		for j, class := range w.classes {
			share := point{x: 100 * min(max(of.Good[class], 0), 1)}
			if !drawable(share) {
				continue
			}
			// Shapes of the same value stand one below the other.
			below := (vg.Length(j) - vg.Length(len(w.classes)-1)/2) * 4
			c.DrawGlyph(w.glyph(j), vg.Point{X: x(share.x), Y: at - below})
		}
	}
	at := c.Min.X
	for j, class := range w.classes {
		c.DrawGlyphNoClip(w.glyph(j), vg.Point{X: at + 4, Y: c.Max.Y + row - 2})
		style := words(ink, letter)
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: at + 12, Y: c.Max.Y + row - 2}, class)
		at += style.Width(class) + 32
	}
}

func (worth) glyph(i int) draw.GlyphStyle {
	t, _ := stroke(i)
	return draw.GlyphStyle{Color: t, Radius: 3.2, Shape: shapes[i%len(shapes)]}
}

// markdown is the table.
func (v *ablationView) markdown() [][]string {
	rows := [][]string{append(append([]string{"group", "defences"}, v.Classes...), "no worker left")}
	for _, r := range v.Rows {
		rows = append(rows, append(append([]string{r.Group, fmt.Sprintf("`%s`", r.Defences)}, r.Good...), r.Full))
	}
	return rows
}
