package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/loadtest"
)

// shortRun is a run of two acts, six seconds each: without defences the catalogue is full two seconds after the fault, with
// them nobody notices.
func shortRun() *loadtest.Result {
	phases := func(good int) []loadtest.PhaseResult {
		class := func(asked, good int) map[string]loadtest.ClassResult {
			return map[string]loadtest.ClassResult{"browse": {
				Counts: loadtest.Counts{Asked: asked, Sent: asked, Good: good}, GoodRatio: float64(good) / float64(asked),
				P50: 12, P99: 40.5,
			}}
		}
		return []loadtest.PhaseResult{
			{Name: "healthy", Seconds: 2, Asked: 20, Sent: 20, Idle: .5, Classes: class(20, 20)},
			{
				Name: "fault", Seconds: 4, Asked: 40, Sent: 40, Idle: .75, Classes: class(40, good),
				Faults: map[string]loadtest.Faults{"recommendations": {"hold=90s"}},
			},
		}
	}
	off := loadtest.ActResult{
		Name: "off", Defences: map[string]bool{"breakers": false, "fallbacks": true, "timeouts": false},
		Predicted: loadtest.Figures{SaturationS: map[string]float64{"catalogue": 2}},
		Measured:  loadtest.Figures{SaturationS: map[string]float64{"catalogue": 2.1}},
		Phases:    phases(20),
		Series: loadtest.Series{
			Classes: map[string]loadtest.ClassSeries{"browse": {
				Asked: []int{10, 10, 10, 10, 10, 10}, Good: []int{10, 10, 10, 10, 0, 0}, Fallback: []int{0, 0, 0, 0, 0, 0},
				P50: []float64{12, 12, 12, 12, 10000, 10000}, P99: []float64{40, 40, 40, 40, 10000, 10000},
			}},
			Services: map[string]loadtest.ServiceSeries{"catalogue": {
				Limit: 20, At: []float64{.5, 1.5, 2.5, 3.5, 5.5}, Workers: []int{2, 2, 7, 16, 20}, Queue: []int{0, 0, 0, 0, 4},
				Dependencies: map[string]loadtest.DependencySeries{"recommendations": {
					InUse:    []int{0, 0, 5, 14, 18},
					Outcomes: map[string][]int64{"success": {0, 10, 5, 0, 0}},
					Retries:  []int64{0, 0, 0, 0, 0},
					Breakers: map[string][]loadtest.StateChange{"related": {{At: .5, State: "none"}}},
				}},
			}},
			Idle: []float64{.5, .5, .6, .7, .8, .9},
		},
	}
	on := loadtest.ActResult{
		Name: "on", Defences: map[string]bool{"breakers": true, "fallbacks": true, "timeouts": true}, Phases: phases(40),
		Series: loadtest.Series{
			Classes: map[string]loadtest.ClassSeries{"browse": {
				Asked: []int{10, 10, 10, 10, 10, 10}, Good: []int{10, 10, 10, 10, 10, 10}, Fallback: []int{0, 0, 4, 4, 4, 4},
				P50: []float64{12, 12, 12, 12, 12, 12}, P99: []float64{40, 40, 260, 40, 40, 40},
			}},
			Services: map[string]loadtest.ServiceSeries{"catalogue": {
				Limit: 20, At: []float64{.5, 1.5, 2.5, 3.5, 4.5, 5.5}, Workers: []int{2, 2, 4, 2, 2, 2}, Queue: []int{0, 0, 0, 0, 0, 0},
				Dependencies: map[string]loadtest.DependencySeries{"recommendations": {
					Slots: 20, InUse: []int{0, 0, 3, 0, 0, 0},
					Outcomes: map[string][]int64{
						"success": {0, 10, 2, 0, 0, 0}, "timeout": {0, 0, 5, 1, 0, 0}, "short_circuited": {0, 0, 0, 9, 10, 10},
					},
					Retries:  []int64{0, 0, 2, 0, 0, 0},
					Breakers: map[string][]loadtest.StateChange{"related": {{At: .5, State: "closed"}, {At: 3, State: "open"}, {At: 5, State: "half-open"}}},
				}},
			}},
			Idle: []float64{.5, .5, .5, .5, .5, .5},
		},
	}
	return &loadtest.Result{
		Scenario: "small", About: "Recommendations is held. The shop dies of it, or does not.", Seed: 7, Verdict: loadtest.Pass,
		Machine: loadtest.MachineInfo{
			Began: time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC), Go: "go1.26", OS: "linux", Arch: "amd64", Processors: 2,
		},
		Reasons: []string{}, Acts: []loadtest.ActResult{off, on},
		Bars: []loadtest.BarResult{
			{Name: "off: saturation of catalogue", Want: "2.00 s ± 10.0 %", Got: "2.10 s", Pass: true},
			{Name: "on: fault: good, browse", Want: "at least 99.90 %", Got: "100.0 %", Pass: true},
		},
	}
}

// proof is two runs, one of which missed a bar, an ablation and a simulation that is right in one act of two.
func proof() *Report {
	missed := shortRun()
	missed.Scenario, missed.Verdict, missed.Reasons = "other", loadtest.Fail, []string{"off: a | bar: want < 1, got 2"}
	missed.Bars[1].Pass = false
	simulated := shortRun().Acts
	simulated[0].Measured.SaturationS = map[string]float64{"catalogue": 2.15}
	simulated[1].Phases = simulated[0].Phases
	return &Report{
		Results:   []*loadtest.Result{shortRun(), missed},
		Simulated: map[string][]loadtest.ActResult{"small": simulated},
		Ablation: &loadtest.Ablation{Scenario: "small", Seed: 7, Verdict: loadtest.Unjudged, Rows: []loadtest.AblationRow{
			{Group: "both ends", Defences: "all", Good: map[string]float64{"browse": 1, "order": .9999}},
			{
				Group: "both ends", Defences: "none", Good: map[string]float64{"browse": .5, "order": 0},
				SaturationS: map[string]float64{"gateway": 3.5, "catalogue": 2.1},
			},
		}},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (UPDATE_GOLDEN=1 rewrites it): %s", file, d)
	}
}

// What a README and CI show is text that people compare: it does not change by itself.
func TestMarkdownAndSummary(t *testing.T) {
	for name, r := range map[string]*Report{"run": {Results: []*loadtest.Result{shortRun()}}, "proof": proof()} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := r.WriteMarkdown(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".md", b.String())
			golden(t, name+".txt", r.Summary()+"\n")
		})
	}
}

// The worst run decides: a proof is as good as what it did not show.
func TestTheVerdictIsTheWorst(t *testing.T) {
	for _, c := range []struct {
		runs []loadtest.Verdict
		want loadtest.Verdict
	}{
		{nil, loadtest.Unjudged},
		{[]loadtest.Verdict{loadtest.Pass, loadtest.Pass}, loadtest.Pass},
		{[]loadtest.Verdict{loadtest.Pass, loadtest.Unjudged}, loadtest.Unjudged},
		{[]loadtest.Verdict{loadtest.Void, loadtest.Pass, loadtest.Unjudged}, loadtest.Void},
		{[]loadtest.Verdict{loadtest.Void, loadtest.Fail}, loadtest.Fail},
	} {
		r := Report{}
		for _, v := range c.runs {
			r.Results = append(r.Results, &loadtest.Result{Scenario: "s", Verdict: v})
		}
		if got := r.verdict(); got != c.want {
			t.Errorf("%v: %s, want %s", c.runs, got, c.want)
		}
	}
}

// A simulation within 5 % and 3 points is near; one that is not is said to be off.
func TestSimulationIsHeldToItsBounds(t *testing.T) {
	type figure struct {
		what string
		near bool
	}
	var got []figure
	for _, row := range proof().simulation() {
		got = append(got, figure{row.Act + ": " + row.What, row.Near})
	}
	want := []figure{
		{"off: no worker left, catalogue", true}, // 2.15 s of 2.1 s
		{"off: good during the fault", true},
		{"on: good during the fault", false}, // 50 points
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(figure{})); d != "" {
		t.Error(d)
	}
	a, s := shortRun().Acts[0], shortRun().Acts[0]
	s.Measured.SaturationS = map[string]float64{"catalogue": 2.3}
	if rows := compared("small", &a, &s); rows[0].Near {
		t.Error("2.3 s are near 2.1 s")
	}
	s.Measured.SaturationS = nil
	if rows := compared("small", &a, &s); rows[0].Near {
		t.Error("a service that never saturates in the simulation is near one that does")
	}
}

// The command plays what was played.
func TestAgain(t *testing.T) {
	scenario, err := loadtest.Load("ninety-seconds")
	if err != nil {
		t.Fatal(err)
	}
	played := func(names ...string) *loadtest.Result {
		r := &loadtest.Result{Scenario: "ninety-seconds", Seed: 3, Verdict: loadtest.Pass}
		for _, name := range names {
			r.Acts = append(r.Acts, loadtest.ActResult{Name: name})
		}
		return r
	}
	short := played("off", "on")
	short.Acts[0].Phases = []loadtest.PhaseResult{{Name: "fault", Seconds: 20}}
	free := played("played")
	free.Verdict, free.Acts[0].Defences = loadtest.Unjudged, map[string]bool{"timeouts": false, "breakers": true}
	own := &loadtest.Result{Scenario: "it's; mine", Seed: 1}
	for _, c := range []struct {
		run  *loadtest.Result
		of   *loadtest.Scenario
		want string
	}{
		{played("down", "off", "rescue", "on"), scenario, "bin/holdfast loadtest run ninety-seconds --seed 3"},
		{short, scenario, "bin/holdfast loadtest run ninety-seconds --seed 3 --acts off,on --fault-seconds 20"},
		{free, scenario, "bin/holdfast loadtest run ninety-seconds --seed 3 --defences all,-timeouts"},
		{own, nil, `bin/holdfast loadtest run 'it'\''s; mine.yaml' --seed 1`},
	} {
		if got := again(c.run, c.of); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
