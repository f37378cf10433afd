package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// Result is what a run has shown. Its JSON is stable.
type Result struct {
	Scenario string      `json:"scenario"`
	About    string      `json:"about"`
	Seed     uint64      `json:"seed"`
	Machine  MachineInfo `json:"machine"`
	Verdict  Verdict     `json:"verdict"`
	VoidBy   VoidBy      `json:"void_by,omitempty"` // what made it void
	Reasons  []string    `json:"reasons"`           // why it is not a pass
	Acts     []ActResult `json:"acts"`
	Bars     []BarResult `json:"bars"`

	// sentence is the run in one line, as "down: 100.0 % good · slow: 3.2 % good"; empty where the scenario has none.
	sentence string
	voids    []string // why it proves nothing, whatever its bars say
}

// Verdict is what a run comes to.
type Verdict string

const (
	Pass Verdict = "pass"
	Fail Verdict = "fail" // a bar was missed
	Void Verdict = "void" // the run proves nothing: it was not sent, or an act that must collapse did not
	// Unjudged is a run with defences of a person's choice: it had no bars.
	Unjudged Verdict = "unjudged"
)

// VoidBy says what made a run void.
type VoidBy string

const (
	ByMachine VoidBy = "machine" // it could not send the load, or was too busy to judge
	ByAct     VoidBy = "act"     // an act did not do what it must for the others to have shown anything
)

// ActResult is one act.
type ActResult struct {
	Name      string          `json:"name"`
	Defences  map[string]bool `json:"defences"` // as the act began
	Predicted Figures         `json:"predicted"`
	Measured  Figures         `json:"measured"`
	Phases    []PhaseResult   `json:"phases"`
	Series    Series          `json:"series"`
}

// Figures are what is compared: predicted before the fault, and measured.
type Figures struct {
	SaturationS map[string]float64 `json:"saturation_s,omitempty"` // seconds from the fault, by service
	// Values are what other formulas predict, by the prediction's name, and in their units; measured ones by the name
	// and the phase, as "loss in 3s".
	Values map[string]float64 `json:"values,omitempty"`
}

// PhaseResult is one phase of an act. People belong to the phase in which they meant to come.
type PhaseResult struct {
	Name     string                   `json:"name"`
	Seconds  float64                  `json:"seconds"`
	Faults   map[string]Faults        `json:"faults,omitempty"`   // put in place as it began, by service
	Defences string                   `json:"defences,omitempty"` // switched as it began
	Restart  []string                 `json:"restart,omitempty"`  // services restarted as it began
	Asked    int                      `json:"asked"`
	Sent     int                      `json:"sent"`
	LagP99   float64                  `json:"lag_p99_ms"` // from the intended to the actual start
	Idle     float64                  `json:"idle"`       // the machine's, as a share of all its processors; 0 where unknown
	Classes  map[string]ClassResult   `json:"classes"`
	Services map[string]ServiceResult `json:"services"`
}

// ClassResult is what became of the people of a class in a phase. Latencies count from the intended start, however the
// visit ended.
type ClassResult struct {
	Counts
	GoodRatio float64  `json:"good_ratio"` // of those asked
	P50       float64  `json:"p50_ms"`
	P99       float64  `json:"p99_ms"`
	P999      float64  `json:"p999_ms"`
	Examples  []string `json:"examples,omitempty"` // of what was wrong, over the whole act
}

// ServiceResult is what was seen of a service in a phase, twice a second.
type ServiceResult struct {
	WorkersHighWater int     `json:"workers_high_water"`
	CPUShareMax      float64 `json:"cpu_share_max"`  // cores kept busy between two looks; 1 is one whole core
	CPUShareMean     float64 `json:"cpu_share_mean"` // over the phase
	GoroutinesMax    int     `json:"goroutines_max"`
	FDsMax           int     `json:"fds_max"`
	RSSMaxBytes      int64   `json:"rss_max_bytes"`
	ProbeP99         float64 `json:"probe_p99_ms"` // of GET /readyz
	ProbeMax         float64 `json:"probe_max_ms"`
	ProbeFailures    int     `json:"probe_failures"`
	Looks            int     `json:"looks"`
	Dead             int     `json:"dead"` // looks at which the admin listener did not answer
}

// BarResult is one bar, judged.
type BarResult struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Pass bool   `json:"pass"`

	always bool   // a miss is the shop's, on whatever machine: what it said it had stored, it had not
	void   bool   // a miss makes the run void, for the act has shown nothing
	busy   string // why a miss would say nothing of the shop
}

// ExitCode is 0 for a pass, 1 for a missed bar, 3 for a void run.
func (r *Result) ExitCode() int {
	switch r.Verdict {
	case Fail:
		return 1
	case Void:
		return 3
	}
	return 0
}

// WriteJSON writes the result as one indented JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // < and > are for people, in the bars
	return e.Encode(r)
}

// add takes in an act that has been played.
func (r *Result) add(s *Scenario, p *act) {
	a := ActResult{
		Name: p.Name, Defences: p.defences, Measured: Figures{SaturationS: p.saturations()}, Series: p.series(),
	}
	a.Predicted.Values, a.Measured.Values = p.compared()
	for service, t := range p.predicted {
		if t == predict.Never {
			continue // JSON has no such number: it is not there
		}
		if a.Predicted.SaturationS == nil {
			a.Predicted.SaturationS = map[string]float64{}
		}
		a.Predicted.SaturationS[service] = round(t.Seconds(), 3)
	}
	for service, t := range a.Measured.SaturationS {
		a.Measured.SaturationS[service] = round(t, 3)
	}
	for i := range p.phases {
		ph := p.phaseResult(i)
		a.Phases = append(a.Phases, ph)
		r.voids = append(r.voids, p.voidIn(i, ph)...)
	}
	for _, reason := range p.void {
		r.voids = append(r.voids, p.Name+": "+reason)
	}
	r.Acts = append(r.Acts, a)
	r.Bars = append(r.Bars, p.judge()...)
	r.Bars = append(r.Bars, p.orders.bars(p.Name)...)
	r.say(s, p)
}

// say adds the act's parts of the closing sentence.
func (r *Result) say(s *Scenario, p *act) {
	for _, say := range s.Summary {
		if say.Act != p.Name {
			continue
		}
		ph := p.played(say.Phase)
		from, to := ph.from, ph.to
		if say.AfterSaturation {
			longest := Duration(0)
			for _, c := range p.scenario.Classes {
				longest = max(longest, c.InTime)
			}
			first := time.Duration(-1)
			for _, service := range Services {
				if f, t, ok := p.afterSaturation(service, time.Duration(longest)); ok && (first < 0 || f < first) {
					first, to = f, t
				}
			}
			from = max(first, from)
		}
		classes, _ := p.classesOf(nil)
		part := fmt.Sprintf("%s: %s good", say.Say, percent(p.tally.window(classes, from, to).goodRatio()))
		if r.sentence != "" {
			r.sentence += " · "
		}
		r.sentence += part
	}
}

func (p *act) phaseResult(i int) PhaseResult {
	ph := p.phases[i]
	r := PhaseResult{
		Name: ph.Name, Seconds: (ph.to - ph.from).Seconds(), LagP99: round(p.tally.lagQuantile(i, 99), 3),
		Faults: ph.Faults, Defences: ph.Phase.Defences, Restart: ph.Restart,
		Classes: map[string]ClassResult{}, Services: map[string]ServiceResult{},
	}
	if ph.machine.total > 0 {
		r.Idle = round(ph.machine.idle/ph.machine.total, 3)
	}
	for c, name := range p.sender.names {
		class := ClassResult{
			Counts: p.tally.window([]int{c}, ph.from, ph.to),
			P50:    round(p.tally.quantile(c, i, 50), 3), P99: round(p.tally.quantile(c, i, 99), 3),
			P999: round(p.tally.quantile(c, i, 99.9), 3),
		}
		class.GoodRatio = round(class.goodRatio(), 6)
		if class.Wrong+class.Failed > 0 {
			class.Examples = slices.Clone(p.tally.examples[c])
		}
		r.Asked += class.Asked
		r.Sent += class.Sent
		r.Classes[name] = class
	}
	for _, service := range Services {
		samples := p.watch.between(service, p.tally.start.Add(ph.from), p.tally.start.Add(ph.to))
		r.Services[service] = serviceResult(samples, ph.after[service])
	}
	return r
}

func serviceResult(samples []sample, end State) ServiceResult {
	r := ServiceResult{WorkersHighWater: end.Workers.HighWater, Looks: len(samples)}
	var probes []time.Duration
	var last *sample
	for i := range samples {
		s := &samples[i]
		probes = append(probes, s.probe)
		if s.failed {
			r.ProbeFailures++
		}
		if s.dead {
			r.Dead++
			continue
		}
		r.WorkersHighWater = max(r.WorkersHighWater, s.state.Workers.HighWater)
		r.GoroutinesMax = max(r.GoroutinesMax, s.state.Process.Goroutines)
		r.FDsMax = max(r.FDsMax, s.state.Process.FDs)
		r.RSSMaxBytes = max(r.RSSMaxBytes, s.state.Process.RSSBytes)
		if last != nil {
			if used, ok := processorUse([]sample{*last, *s}); ok {
				r.CPUShareMax = max(r.CPUShareMax, round(used, 4))
			}
		}
		last = s
	}
	if mean, ok := processorUse(samples); ok {
		r.CPUShareMean = round(mean, 4)
	}
	if n := len(probes); n > 0 {
		slices.Sort(probes)
		r.ProbeMax = round(1000*probes[n-1].Seconds(), 3)
		r.ProbeP99 = round(1000*probes[(n*99+99)/100-1].Seconds(), 3)
	}
	return r
}

const (
	maxLag  = 50.0 // ms, p99
	minSent = 0.99 // of those asked
)

// voidIn tells why a phase proves nothing, if it does not.
func (p *act) voidIn(i int, r PhaseResult) []string {
	var reasons []string
	where, ph := p.Name+", "+r.Name, p.phases[i]
	if float64(r.Sent) < minSent*float64(r.Asked) {
		reasons = append(reasons,
			fmt.Sprintf("%s: %d of %d were sent, less than %s", where, r.Sent, r.Asked, percent(minSent)))
	}
	if !p.judges(ph.Name) {
		return reasons
	}
	if r.LagP99 > maxLag {
		reasons = append(reasons,
			fmt.Sprintf("%s: the sender was late: lag p99 %.0f ms, above %.0f ms", where, r.LagP99, maxLag))
	}
	shop, known := 0.0, true
	for _, service := range Services {
		then, ok := ph.before[service]
		now, ok2 := ph.after[service]
		known = known && ok && ok2
		shop += now.Process.CPUSeconds - then.Process.CPUSeconds
	}
	// Of a shop so stuck that it does not tell what it took, none of the rest may be called others'.
	if others, idle, yes := ph.machine.starved(shop); yes && known {
		reasons = append(reasons, fmt.Sprintf("%s: the machine was starved: other programs took %s of it and %s was idle",
			where, percent(others), percent(idle)))
	} else if known && ph.Name == phaseHealthy && ph.machine.known && idle < starvedIdle {
		reasons = append(reasons, fmt.Sprintf("%s: the machine is too slow for this load: only %s of it was idle, less than %s",
			where, percent(idle), percent(starvedIdle)))
	}
	return reasons
}

// judges tells whether anything is held to a phase. In a warm-up everything connects for the first time, and nothing that
// is told of the shop depends on how long that took.
func (p *act) judges(phase string) bool {
	return phase == phaseHealthy || phase == phaseFault || slices.ContainsFunc(p.Bars, func(b Bar) bool {
		return b.Phase == phase || b.Against == phase
	})
}

// conclude comes to the verdict. A lost order fails a run on whatever machine. Else a machine that did not send the load
// makes it void, whatever its bars say; then a missed bar fails it; then an act that has shown nothing makes it void, or
// a bar that was missed on a machine too busy for it.
func (r *Result) conclude(judged bool) {
	var lost, failed, nothing, unproven []string
	for _, b := range r.Bars {
		switch {
		case b.Pass:
		case b.always:
			lost = append(lost, missed(b))
		case b.busy != "":
			unproven = append(unproven, missed(b)+"; "+b.busy)
		case b.void:
			nothing = append(nothing, missed(b))
		default:
			failed = append(failed, missed(b))
		}
	}
	r.VoidBy = ""
	switch {
	case !judged && len(r.voids) == 0:
		r.Verdict = Unjudged
	case len(lost) > 0:
		r.Verdict = Fail
	case len(r.voids) > 0:
		r.Verdict, r.VoidBy = Void, ByMachine
	case len(failed) > 0:
		r.Verdict = Fail
	case len(nothing) > 0:
		r.Verdict, r.VoidBy = Void, ByAct
	case len(unproven) > 0:
		r.Verdict, r.VoidBy = Void, ByMachine
	default:
		r.Verdict = Pass
	}
	r.Reasons = []string{} // never null in the JSON
	for _, reasons := range [][]string{lost, r.voids, failed, nothing, unproven} {
		r.Reasons = append(r.Reasons, reasons...)
	}
}

func missed(b BarResult) string { return fmt.Sprintf("%s: want %s, got %s", b.Name, b.Want, b.Got) }

// WriteText writes what happened as a short table, then the bars, the closing sentence and the verdict.
func (r *Result) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "act\tphase\tseconds\tasked\tgood\tfallback\tp50/p99 ms\tworkers, high water")
	for _, a := range r.Acts {
		for _, ph := range a.Phases {
			var goods, fallbacks, latencies []string
			for _, name := range busiest(ph.Classes) {
				c := ph.Classes[name]
				goods = append(goods, name+" "+percent(c.GoodRatio))
				if c.Fallback > 0 {
					fallbacks = append(fallbacks, fmt.Sprintf("%s %d", name, c.Fallback))
				}
				latencies = append(latencies, fmt.Sprintf("%s %.0f/%.0f", name, c.P50, c.P99))
			}
			var workers []string
			for _, service := range Services[2:] {
				workers = append(workers, fmt.Sprintf("%s %d", service, ph.Services[service].WorkersHighWater))
			}
			fmt.Fprintf(t, "%s\t%s\t%g\t%d\t%s\t%s\t%s\t%s\n", a.Name, ph.Name, ph.Seconds, ph.Asked,
				strings.Join(goods, " · "), strings.Join(fallbacks, " · "), strings.Join(latencies, " · "),
				strings.Join(workers, " · "))
		}
	}
	fmt.Fprintln(t)
	for _, b := range r.Bars {
		mark := "ok"
		if !b.Pass {
			mark = "MISSED"
		}
		fmt.Fprintf(t, "%s\t%s\twant %s\tgot %s\n", mark, b.Name, b.Want, b.Got)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.sentence != "" {
		fmt.Fprintf(w, "\n%s\n", r.sentence)
	}
	_, err := fmt.Fprintf(w, "\n%s: %s\n", r.Scenario, strings.ToUpper(string(r.Verdict)))
	for _, reason := range r.Reasons {
		fmt.Fprintf(w, "  %s\n", reason)
	}
	if r.Verdict == Fail {
		for _, example := range r.examples() {
			fmt.Fprintf(w, "    for instance %s\n", example)
		}
	}
	return err
}

// examples are what was wrong with some answers, by act and class.
func (r *Result) examples() []string {
	var all []string
	for _, a := range r.Acts {
		told := map[string]bool{} // the examples of a class are of its whole act
		for _, ph := range a.Phases {
			for _, class := range busiest(ph.Classes) {
				if told[class] || ph.Classes[class].Examples == nil {
					continue
				}
				told[class] = true
				for _, e := range ph.Classes[class].Examples {
					all = append(all, fmt.Sprintf("%s, %s: %s", a.Name, class, e))
				}
			}
		}
	}
	return all
}

func busiest(classes map[string]ClassResult) []string {
	var names []string
	for name := range classes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := classes[b].Asked - classes[a].Asked; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

func round(x float64, digits int) float64 {
	scale := 1.0
	for range digits {
		scale *= 10
	}
	return float64(int64(x*scale+0.5)) / scale
}
