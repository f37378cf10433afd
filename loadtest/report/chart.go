package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is one picture in the house style: seconds along the bottom, a fault shaded, predictions dashed, axes from zero
// with their units, and beside the end of each line how it is drawn, its name and its newest value.
type chart struct {
	title string
	note  string   // what a reader must know besides; may be empty
	unit  string   // stands behind each number of the upright axis
	top   float64  // the upright axis reaches at least so far
	time  timeline // the other axis
	marks []mark
	lines []series
	lanes []lane // instead of lines, and without an upright axis
}

// series is one line. Points that are no numbers are left out, and a line is broken where nothing was seen.
type series struct {
	name   string // may have two lines
	value  string // the newest; empty: nothing stands beside the line
	points []point
	tone   tone
	dashes []vg.Length
	width  vg.Length
	filled bool
	// computed says that the line was not seen but reckoned, so that it has no breaks.
	computed bool
}

type point struct{ x, y float64 }

// size is that of a picture, in CSS pixels at which its letters are as large as small print.
type size struct{ width, height vg.Length }

var (
	small  = size{400, 210} // three beside each other on a screen, two on paper, one on a phone
	wide   = size{820, 210} // across a page
	narrow = size{400, 260} // across a phone
)

// The ways to draw a line, told apart without colour.
var strokes = [][]vg.Length{nil, {6, 3}, {2, 2}, {9, 3, 2, 3}, {4, 2, 1, 2, 1, 2}, {12, 4}}

// stroke is the look of the i-th line among others.
func stroke(i int) (tone, []vg.Length) {
	n := len(strokes)
	return first + tone(i%n), strokes[(i+i/n)%n]
}

const (
	intervals = 5    // at most, of the upright axis
	gap       = 2.5  // seconds without a look that break a line
	letter    = 10   // the size of the letters
	row       = 12   // from a line of text to the next
	sample    = 14   // of a line, beside its name
	wider     = 1.12 // than these letters are those that may stand in for them
)

// inline is the chart for a page.
func (c chart) inline(s size) template.HTML {
	return template.HTML(coloured(c.svg(s), inPage)) //nolint:gosec // svg escapes all that was read from files
}

// svg draws the chart, in tones.
func (c chart) svg(s size) string {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max = c.time.from, max(c.time.to, c.time.from+1)
	p.Y.Min, p.Y.Max = 0, c.reach()
	if c.lanes != nil {
		p.Y.Max = float64(len(c.lanes))
	}
	house(p)
	p.X.Tick.Marker = plot.ConstantTicks(ticks(p.X.Min, p.X.Max, int(s.width/60), " s"))
	p.Y.Tick.Marker = plot.ConstantTicks(nil)
	if c.lanes == nil {
		p.Y.Tick.Marker = plot.ConstantTicks(ticks(0, p.Y.Max, intervals, c.unit))
	}
	p.Add(ground{c}, curves{c})
	canvas := vgsvg.New(s.width, s.height)
	p.Draw(draw.Crop(draw.New(canvas), 0, -c.beside(), 0, -row-4))
	return clean(canvas, s, c.title)
}

// house gives the axes of a plot the style of the house.
func house(p *plot.Plot) {
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding = 0
		axis.LineStyle = draw.LineStyle{Color: rule, Width: 1}
		axis.Tick.LineStyle = draw.LineStyle{Color: rule, Width: 1}
		axis.Tick.Length = 4
		axis.Tick.Label.Color = muted
		axis.Tick.Label.Font = letters(letter)
	}
}

// reach is where the upright axis ends: above all points, at a round number.
func (c chart) reach() float64 {
	top := c.top
	for _, l := range c.lines {
		for _, q := range l.points {
			if drawable(q) {
				top = max(top, q.y)
			}
		}
	}
	if top < 1e-9 {
		return 1
	}
	step := roundStep(top / intervals)
	return math.Ceil(top/step-1e-9) * step
}

// drawable tells whether a point has a place on paper.
func drawable(p point) bool {
	const most = 1e15
	return math.Abs(p.x) < most && math.Abs(p.y) < most // neither is NaN
}

// beside is the room that the names beside the lines need.
func (c chart) beside() vg.Length {
	widest := vg.Length(0)
	for _, l := range c.lines {
		if l.value != "" {
			widest = max(widest, words(ink, letter).Width(l.label()))
		}
	}
	if widest == 0 {
		return row
	}
	return sample + 14 + wider*widest
}

func (l series) label() string { return l.name + " " + l.value }

// letters is the font of all pictures. Its measures are those of Arial and Helvetica, which stand in for it.
func letters(of vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, of)
}

func words(t tone, of vg.Length) draw.TextStyle {
	return draw.TextStyle{Color: t, Font: letters(of), Handler: plot.DefaultTextHandler}
}

// ticks are about n round numbers from one to another, each with its unit.
func ticks(from, to float64, n int, unit string) []plot.Tick {
	step := roundStep((to - from) / float64(max(n, 1)))
	var all []plot.Tick
	for i := math.Ceil(from/step - 1e-9); i*step <= to+1e-9*step && len(all) < 100; i++ {
		label := strconv.FormatFloat(i*step, 'f', max(0, -int(math.Floor(math.Log10(step)))), 64) + unit
		if i == 0 {
			label = "0" // in any unit
		}
		all = append(all, plot.Tick{Value: i * step, Label: label})
	}
	return all
}

// roundStep is the smallest of 1, 2, 4, 5, 10 … that is not below a step.
func roundStep(step float64) float64 {
	if !(step > 0) || math.IsInf(step, 0) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(step)))
	for _, n := range []float64{1, 2, 4, 5} {
		if n*decade >= step*(1-1e-9) {
			return n * decade
		}
	}
	return 10 * decade
}

var (
	opening = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
	fonts   = regexp.MustCompile(`font-family:[^"]*?font-style:normal;`)
)

// clean returns what was drawn as an element for a page: without the preamble of a file, with a name for those who do
// not see it, and with the font told once.
func clean(canvas *vgsvg.Canvas, s size, title string) string {
	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		panic(err) // a strings.Builder fails nobody
	}
	head := fmt.Sprintf(`<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%[1]g" `+
		`height="%[2]g" role="img" aria-label="%[3]s" style="font-family:Liberation Sans,Arial,Helvetica,sans-serif">`,
		s.width.Points(), s.height.Points(), html.EscapeString(title))
	return fonts.ReplaceAllString(opening.ReplaceAllLiteralString(b.String(), head), "")
}
