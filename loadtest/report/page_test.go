package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"example.com/holdfast/loadtest"
)

func written(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// void elements have no end.
var void = []string{"meta", "br", "img", "link", "input"}

// checkPage proves of a page that every element ends where it should, that it runs nothing, and that it needs no other
// file or host.
func checkPage(t *testing.T, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	var open []string
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("never closed: %v", open)
			}
			return
		case html.TextToken:
			inStyle := len(open) > 0 && open[len(open)-1] == "style"
			if text := string(z.Text()); inStyle && (strings.Contains(text, "url(") || strings.Contains(text, "@import")) {
				t.Error("the style needs another file")
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if slices.Contains([]string{"script", "img", "link", "iframe", "object", "embed", "base", "form"}, token.Data) {
				t.Errorf("an element %s", token.Data)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s runs %s=%q", token.Data, a.Key, a.Val)
				}
				refers := slices.Contains([]string{"href", "xlink:href", "src", "srcset", "data", "action", "poster"}, a.Key)
				if refers && !strings.HasPrefix(a.Val, "#") || strings.Contains(a.Val, "url(") {
					t.Errorf("%s refers to %s=%q", token.Data, a.Key, a.Val)
				}
			}
			if kind == html.StartTagToken && !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if n := len(open); n == 0 || open[n-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func TestThePageStandsAlone(t *testing.T) {
	for name, r := range map[string]*Report{
		"run": {Results: []*loadtest.Result{shortRun()}}, "proof": proof(), "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			page := written(t, r)
			checkPage(t, page)
			if strings.Contains(page, "#0000") {
				t.Error("a tone was not given its colour")
			}
		})
	}
}

// A reader who was not there finds what happened, when and why.
func TestThePageTells(t *testing.T) {
	page := written(t, &Report{Results: []*loadtest.Result{shortRun()}})
	for _, want := range []string{
		"● pass", "Recommendations is held. The shop dies of it, or does not.", "It held: 2 of 2 bars.",
		"From 0 to 4 s: recommendations hold=90s.", "catalogue had no worker left after 2.10 s (predicted 2.00 s).",
		"50.0 % of those who came meanwhile were served right and in time.", "no defence but fallbacks", "all defences",
		"2026-12-01 05:00:00 UTC, 2 processors, linux/amd64, go1.26, seed 7", "bin/holdfast loadtest run small.yaml --seed 7",
		"catalogue → recommendations, related", "short_circuited", "No breaker opened.", "Retries for each person who came",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if page := written(t, proof()); !strings.Contains(page, "2 of 3 figures are near") || !strings.Contains(page, "<details open><summary>Figure by figure") {
		t.Error("a page with a simulation that is off does not say so, or hides where")
	}
}

// Names come from files that others may have written. None of them becomes an element, in HTML or in SVG.
func TestHostileNamesStayText(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'&`
	r := proof()
	r.Again = hostile
	r.Ablation.Scenario, r.Ablation.Rows[0].Defences, r.Ablation.Rows[0].Group = hostile, hostile, hostile
	r.Ablation.Rows[0].Good = map[string]float64{hostile: 1}
	for _, run := range r.Results {
		run.Scenario, run.About, run.Reasons = hostile, hostile, []string{hostile}
		run.Machine.Go, run.Bars[0].Name, run.Bars[0].Got = hostile, hostile, hostile
		for i := range run.Acts {
			a := &run.Acts[i]
			a.Name, a.Defences = hostile, map[string]bool{hostile: i == 0, "other": true}
			a.Phases[0].Name, a.Phases[1].Faults = hostile, map[string]loadtest.Faults{hostile: {hostile}}
			a.Predicted.SaturationS = map[string]float64{hostile: 1}
			a.Measured.SaturationS = map[string]float64{hostile: 1}
			a.Series.Classes[hostile] = a.Series.Classes["browse"]
			d := a.Series.Services["catalogue"].Dependencies
			of := d["recommendations"]
			of.Breakers[hostile] = []loadtest.StateChange{{At: 1, State: "open"}}
			of.Outcomes[hostile] = []int64{1, 2}
			d[hostile] = of
		}
	}
	page := written(t, r)
	checkPage(t, page)
	if !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the hostile name is not there at all")
	}
}

// A table has room for one sentence: the first, and the second where the first is too short to tell anything.
func TestBrief(t *testing.T) {
	long := strings.Repeat("long ", 15) + "sentence."
	for text, want := range map[string]string{
		"":     "",
		"One.": "One.",
		"Recommendations is held. It dies. It is mourned.": "Recommendations is held. It dies.",
		long + " Another.":           long,
		"It takes 1.5 s and no more": "It takes 1.5 s and no more",
	} {
		if got := brief(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
