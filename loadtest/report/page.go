package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"example.com/holdfast/loadtest"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// WriteHTML writes the page: one file that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error { return pageTemplate.Execute(w, r.page()) }

// page is what the template shows.
type page struct {
	Title, Claim, Conclusion string
	Verdict                  verdict
	Style                    template.CSS
	Light, Dark              template.CSS // the colours of the pictures
	Picture                  *picture
	Runs                     []runView
	One                      bool // run, and no proof
	Ablation                 *ablationView
	Simulation               []simulationRow
	Near                     int      // of it
	Untold                   []string // of the scenarios that are simulated
	Again                    string
}

type verdict struct{ Shape, Word string }

// picture is a chart at two widths: across a page, and across a phone.
type picture struct {
	Title, Note  string
	Wide, Narrow template.HTML
}

type figure struct {
	Title, Note string
	SVG         template.HTML
}

type runView struct {
	ID, Name, Brief, About, Conclusion string
	Verdict                            verdict
	Reasons                            []string
	Acts                               []actView
	Picture                            *picture
	Comparisons                        []comparisonRow
	Bars                               []loadtest.BarResult
	Held, Missed                       int
	Machine, Again                     string
}

type comparisonRow struct{ Act, Of, Predicted, Measured, Off, Simulated string }

func (r *Report) page() page {
	p := page{
		Title: "Holdfast: the proof", Claim: claim, Conclusion: r.conclusion(), Verdict: verdict(said[r.verdict()]),
		Style: template.CSS(pageCSS), Light: variables(inLight), Dark: variables(inDark),
		One: len(r.Results) == 1, Again: r.again(), Ablation: ablationViewOf(r.Ablation), Simulation: r.simulation(), Untold: r.untold(),
	}
	for _, row := range p.Simulation {
		if row.Near {
			p.Near++
		}
	}
	if p.One {
		run := r.Results[0]
		p.Title, p.Claim = "Holdfast: "+run.Scenario, strings.TrimSuffix(run.About, ".")
	}
	if run := r.leading(); run != nil {
		p.Picture = overview(run)
	}
	for i, run := range r.Results {
		p.Runs = append(p.Runs, r.runView(run, fmt.Sprintf("run-%d", i+1), p.One))
	}
	return p
}

// overview is the picture that a run begins with.
func overview(run *loadtest.Result) *picture {
	c := overviewOf(run)
	return &picture{Title: c.title, Note: c.note, Wide: c.inline(wide), Narrow: c.inline(narrow)}
}

// overviewOf sets off against on where a run has both, else all of its acts side by side. A lone act has nothing beside
// it.
func overviewOf(run *loadtest.Result) chart {
	if len(run.Acts) == 1 {
		a := &run.Acts[0]
		return served(a, nil, timelineOf(a))
	}
	off, on := pair(run)
	if off == nil || len(run.Acts) > 2 && off.Name != "off" {
		return sideBySide(run.Acts)
	}
	c := offAgainstOn(off, on)
	if len(off.Predicted.SaturationS) > 0 {
		c.note = "Dashed: the seconds at which no worker was to be left, predicted → measured."
	}
	return c
}

// brief is the first sentence of a text, or the first two where the first does not tell enough to be alone.
func brief(text string) string {
	const enough = 70 // letters
	end := 0
	for range 2 {
		i := strings.Index(text[end:], ". ")
		if i < 0 {
			return text
		}
		if end += i + 1; end > enough {
			break
		}
	}
	return text[:end]
}

func (r *Report) runView(run *loadtest.Result, id string, open bool) runView {
	v := runView{
		ID: id, Name: run.Scenario, Brief: brief(run.About), About: run.About, Verdict: verdict(said[run.Verdict]), Reasons: run.Reasons,
		Bars: run.Bars, Machine: machine(run), Again: again(run, r.Scenarios[run.Scenario]),
	}
	one := Report{Results: []*loadtest.Result{run}}
	v.Conclusion = one.conclusion()
	held, all := held(run.Bars)
	v.Held, v.Missed = held, all-held
	if !open || r.leading() != run { // else it stands at the top already
		v.Picture = overview(run)
	}
	for _, c := range r.comparisons(run) {
		v.Comparisons = append(v.Comparisons, comparisonRow{
			Act: c.act, Of: c.of, Predicted: c.text(c.predicted), Measured: c.text(c.measured),
			Off: off(c.measured, c.predicted), Simulated: c.text(c.simulated),
		})
	}
	for i := range run.Acts {
		v.Acts = append(v.Acts, r.actView(run, &run.Acts[i], open))
	}
	return v
}

func machine(run *loadtest.Result) string {
	m := run.Machine
	return fmt.Sprintf("%s, %d processors, %s/%s, %s, seed %d",
		m.Began.UTC().Format(time.DateTime)+" UTC", m.Processors, m.OS, m.Arch, m.Go, run.Seed)
}
