package report

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"example.com/holdfast/loadtest"
)

var noNumber = regexp.MustCompile(`NaN|Inf|inf`)

// checkSVG proves that a picture is XML without a coordinate that is no number.
func checkSVG(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if noNumber.MatchString(a.Value) {
					t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// Whatever was measured, there is a picture.
func TestAnyDataMakesAPicture(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, points := range map[string][]point{
		"none":         nil,
		"one":          {{1, 5}},
		"one of zero":  {{0, 0}},
		"no numbers":   {{nan, nan}, {1, nan}, {nan, 1}, {inf, inf}, {1, -inf}},
		"among others": {{0, 1}, {1, nan}, {2, 3}},
		"huge":         {{0, 1e300}, {1, math.MaxFloat64}},
		"outside":      {{-1e9, 1}, {1e9, 1}},
		"tiny":         {{0, 1e-300}, {1, 1e-12}},
	} {
		t.Run(name, func(t *testing.T) {
			c := chart{title: name, unit: " ms", time: timeline{to: 2, phases: []stretch{{name: "fault", label: "fault", fault: true, to: 2}}}}
			c.lines = []series{{name: "line", value: newest(points, ""), points: points, tone: first, filled: true}}
			c.marks = []mark{{at: nan, name: "never"}, {at: 1, name: "now", predicted: true}}
			for _, s := range []size{small, wide, narrow} {
				checkSVG(t, c.svg(s))
			}
		})
	}
	for name, a := range map[string]*loadtest.ActResult{"of an empty act": {}, "of a whole act": &shortRun().Acts[1]} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			r := &Report{}
			for _, c := range r.charts(shortRun(), a, &notes) {
				checkSVG(t, c.svg(c.natural()))
			}
			for _, s := range []size{wide, narrow} {
				checkSVG(t, ablationSVG(&loadtest.Ablation{}, nil, "empty", s.width))
			}
		})
	}
}

// A lone point is drawn as a dot, and a stretch in which nothing was seen as a gap.
func TestPointsAndGaps(t *testing.T) {
	c := chart{title: "gap", time: timeline{to: 10}, lines: []series{{points: []point{{0, 1}, {1, 1}, {5, 1}}, tone: first}}}
	svg := c.svg(small)
	line := regexp.MustCompile(`d="M[^"]*" style="fill:none;stroke:` + first.placeholder())
	if got := len(line.FindAllString(svg, -1)); got != 2 {
		t.Errorf("%d pieces, want 2: the first two points, and the last", got)
	}
	if dot := regexp.MustCompile(`A[^"]*Z" style="fill:` + first.placeholder()); !dot.MatchString(svg) {
		t.Error("no dot for the lone point")
	}
	c.lines[0].computed = true
	if got := len(line.FindAllString(c.svg(small), -1)); got != 1 {
		t.Errorf("%d pieces of a computed line, want 1", got)
	}
}

// However the lines end, their names do not lie on each other, and stay beside the picture as long as there is room.
func TestNamesDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []name
		for range rapid.IntRange(0, 12).Draw(t, "names") {
			l := series{name: rapid.SampledFrom([]string{"one line", "two\nlines"}).Draw(t, "name")}
			names = append(names, name{series: l, at: vg.Length(rapid.Float64Range(20, 200).Draw(t, "at"))})
		}
		spread(names, 20, 200)
		all := vg.Length(0)
		for _, n := range names {
			all += n.height()
		}
		if n := len(names); n > 0 {
			if last := names[n-1]; last.at-last.height()/2 < 20-row/2-1e-6 {
				t.Fatalf("the last name is at %g, below the picture", last.at)
			}
			if top := names[0].at + names[0].height()/2; all <= 180 && top > 200+row+1e-6 {
				t.Fatalf("the first name reaches to %g, above the picture", top)
			}
		}
		for i := 1; i < len(names); i++ {
			above, below := names[i-1], names[i]
			if room := above.at - above.height()/2 - (below.at + below.height()/2); room < -1e-6 {
				t.Fatalf("names %d and %d overlap by %g", i-1, i, -room)
			}
		}
	})
}

// Each line of a picture is told from every other without its colour.
func TestStrokesDiffer(t *testing.T) {
	type look struct {
		tone tone
		dash *vg.Length
	}
	seen := map[look]int{}
	for i := range 2 * len(strokes) {
		l := look{}
		dashes := []vg.Length(nil)
		l.tone, dashes = stroke(i)
		if dashes != nil {
			l.dash = &dashes[0]
		}
		if before, ok := seen[l]; ok {
			t.Errorf("lines %d and %d look alike", before, i)
		}
		seen[l] = i
	}
}

// The axes begin at zero, end above the data at a round number, and carry their unit.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		most, want float64
	}{{0, 1}, {440, 500}, {100, 100}, {0.3, 0.3}, {10_001, 12_000}, {7, 8}} {
		ch := chart{lines: []series{{points: []point{{0, c.most}}}}}
		if got := ch.reach(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("of %g the axis ends at %g, want %g", c.most, got, c.want)
		}
	}
	var labels []string
	for _, tick := range ticks(-8, 22, 6, " s") {
		labels = append(labels, tick.Label)
	}
	if got, want := strings.Join(labels, ","), "-5 s,0,5 s,10 s,15 s,20 s"; got != want {
		t.Errorf("ticks %s, want %s", got, want)
	}
}

// Little's line climbs from the healthy workers to the limit at the predicted second, by way of the hop before it.
func TestLittleLines(t *testing.T) {
	seen := func(limit, busy int) loadtest.ServiceSeries {
		return loadtest.ServiceSeries{Limit: limit, At: []float64{1, 2, 3}, Workers: []int{busy, busy, 99}}
	}
	a := &loadtest.ActResult{
		Name:      "off",
		Predicted: loadtest.Figures{SaturationS: map[string]float64{"catalogue": 4, "checkout": 9, "gateway": 12}},
		Phases:    []loadtest.PhaseResult{{Name: "healthy", Seconds: 3}, {Name: "fault", Seconds: 20}},
		Series: loadtest.Series{Services: map[string]loadtest.ServiceSeries{
			"catalogue": seen(202, 2), "checkout": seen(200, 1), "gateway": seen(600, 5),
		}},
	}
	scenario, err := loadtest.Load("ninety-seconds")
	if err != nil {
		t.Fatal(err)
	}
	lines := littleLines(scenario, a, timelineOf(a))
	for service, want := range map[string][]point{
		"catalogue": {{-3, 2}, {0, 2}, {4, 202}, {20, 202}},
		"checkout":  {{-3, 1}, {0, 1}, {4, 1}, {9, 200}, {20, 200}},
		"gateway":   {{-3, 5}, {0, 5}, {4, 205}, {12, 600}, {20, 600}}, // which holds the catalogue's 50/s from the start
	} {
		if got := lines[service]; !equal(got, want) {
			t.Errorf("%s: %v, want %v", service, got, want)
		}
	}
	if lines := littleLines(nil, a, timelineOf(a)); len(lines) != 0 {
		t.Errorf("lines of an unknown scenario: %v", lines)
	}
}

func equal(a, b []point) bool {
	for i := range a {
		if i >= len(b) || math.Abs(a[i].x-b[i].x) > 1e-9 || math.Abs(a[i].y-b[i].y) > 1e-9 {
			return false
		}
	}
	return len(a) == len(b)
}

// One drawing serves every place: a page by variables, a file by the colours themselves.
func TestPictureForLightAndDark(t *testing.T) {
	light, dark := (&Report{Results: []*loadtest.Result{shortRun()}}).Picture()
	checkSVG(t, light)
	checkSVG(t, dark)
	for _, svg := range []string{light, dark} {
		if strings.Contains(svg, "var(") || strings.Contains(svg, "#0000") {
			t.Error("a picture for a file has colours that it does not say")
		}
	}
	if !strings.Contains(light, tones[ink].light) || !strings.Contains(dark, tones[ink].dark) {
		t.Error("the letters are not in the ink of their place")
	}
}
