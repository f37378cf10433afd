package loadtest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// A Bar is one thing that must hold. Its kind is a check in this file; everything else are the check's thresholds, and
// a field that the check does not read is a mistake in the scenario.
type Bar struct {
	Kind string `yaml:"bar"`

	Phase    string   `yaml:"phase"`
	Against  string   `yaml:"against"`  // the phase to compare with
	Classes  []string `yaml:"classes"`  // unless said, all
	Services []string `yaml:"services"` // where several are meant; unless said, all
	Service  string   `yaml:"service"`
	Path     string   `yaml:"path"`

	AtLeast Share    `yaml:"at_least"`
	AtMost  Share    `yaml:"at_most"`
	Within  Duration `yaml:"within"` // of time
	Near    Share    `yaml:"near"`   // of a prediction
	Workers int      `yaml:"workers"`
	Factor  float64  `yaml:"factor"`
	Plus    Duration `yaml:"plus"`
	Window  Duration `yaml:"window"`
	Real    bool     `yaml:"real"` // by no fallback

	// Void says what a miss means: not that the shop failed, but that the act has shown nothing.
	Void bool `yaml:"void"`
}

// barKind is one check: the fields that it must be given, those that it may be given, and what it finds.
type barKind struct {
	needs, takes []string
	check        func(*act, Bar) []BarResult
}

var barKinds = map[string]barKind{
	"good":      {[]string{"phase", "at_least"}, []string{"classes"}, (*act).barGood},
	"fallback":  {[]string{"phase", "at_least", "classes"}, nil, (*act).barFallback},
	"back":      {[]string{"phase", "within", "at_least"}, []string{"classes", "real"}, (*act).barBack},
	"p99":       {[]string{"phase", "against", "classes", "factor", "plus"}, nil, (*act).barP99},
	"saturates": {[]string{"services", "near"}, nil, (*act).barSaturates},
	"collapses": {[]string{"services", "at_most"}, nil, (*act).barCollapses},
	"unready":   {[]string{"service"}, nil, (*act).barUnready},
	"idle":      {[]string{"service", "against"}, nil, (*act).barIdle},
	"workers":   {[]string{"service", "phase", "workers"}, nil, (*act).barWorkers},
	"probes":    {[]string{"phase", "within"}, []string{"services"}, (*act).barProbes},
	"flat":      {[]string{"phase", "window", "factor"}, []string{"services"}, (*act).barFlat},
	"let-go":    {[]string{"phase", "service", "path", "within"}, nil, (*act).barLetGo},
}

// given lists the fields of a bar that are set.
func (b Bar) given() []string {
	set := map[string]bool{
		"phase": b.Phase != "", "against": b.Against != "", "classes": b.Classes != nil, "services": b.Services != nil,
		"service": b.Service != "", "path": b.Path != "", "at_least": b.AtLeast != 0, "at_most": b.AtMost != 0,
		"within": b.Within != 0, "near": b.Near != 0, "workers": b.Workers != 0, "factor": b.Factor != 0,
		"plus": b.Plus != 0, "window": b.Window != 0, "real": b.Real,
	}
	maps.DeleteFunc(set, func(_ string, given bool) bool { return !given })
	return slices.Sorted(maps.Keys(set))
}

// bar checks what a scenario says of one bar.
func (c *check) bar(path string, s *Scenario, a *Act, b *Bar) {
	k, ok := barKinds[b.Kind]
	if !ok {
		c.wrong(path, "there is no bar %q; there are %s", b.Kind, strings.Join(slices.Sorted(maps.Keys(barKinds)), ", "))
		return
	}
	given := b.given()
	for _, field := range k.needs {
		if !slices.Contains(given, field) {
			c.wrong(path, "the bar %s is missing %s", b.Kind, field)
		}
	}
	for _, field := range given {
		if !slices.Contains(k.needs, field) && !slices.Contains(k.takes, field) {
			c.wrong(path+"."+field, "the bar %s does not read %s", b.Kind, field)
		}
	}
	if b.Phase != "" {
		c.phase(path+".phase", a, b.Phase)
	}
	if b.Against != "" {
		c.phase(path+".against", a, b.Against)
	}
	for i, class := range b.Classes {
		if _, ok := s.Classes[class]; !ok {
			c.wrong(fmt.Sprintf("%s.classes[%d]", path, i), "there is no class %q", class)
		}
	}
	for i, service := range b.Services {
		c.service(fmt.Sprintf("%s.services[%d]", path, i), service)
	}
	if b.Service != "" {
		c.service(path+".service", b.Service)
	}
	if ph, ok := a.phase(b.Phase); ok && b.Kind == "flat" && 2*b.Window > ph.For {
		c.wrong(path+".window", "two windows of %s do not fit the %s of %s", b.Window, ph.For, b.Phase)
	}
	if slices.Contains([]string{"saturates", "collapses", "unready", "idle"}, b.Kind) && len(a.Predict) == 0 {
		c.wrong(path, "the bar %s needs the act to predict a saturation", b.Kind)
	}
}

// judge checks all bars of the act, and that the orders are there.
func (p *act) judge() []BarResult {
	var all []BarResult
	for _, b := range p.Bars {
		results := barKinds[b.Kind].check(p, b)
		for i := range results {
			results[i].Name = p.Name + ": " + results[i].Name
			results[i].void = b.Void
		}
		all = append(all, results...)
	}
	if p.orders.asked > 0 {
		r := BarResult{Name: p.Name + ": orders that were accepted are there",
			Want: fmt.Sprintf("%d of %[1]d", p.orders.asked), Got: fmt.Sprintf("%d of %d", p.orders.found, p.orders.asked),
			Pass: p.orders.found == p.orders.asked}
		if p.orders.missing != nil {
			r.Got += "; " + p.orders.missing.Error()
		}
		all = append(all, r)
	}
	return all
}

// classesOf returns the indices and names of a bar's classes.
func (p *act) classesOf(names []string) (indices []int, called string) {
	for i, name := range p.sender.names {
		if names == nil || slices.Contains(names, name) {
			indices = append(indices, i)
		}
	}
	if names == nil {
		return indices, "everybody"
	}
	return indices, strings.Join(names, ", ")
}

func servicesOf(b Bar) []string {
	if b.Services == nil {
		return Services
	}
	return b.Services
}

func (p *act) played(name string) *playedPhase {
	i := slices.IndexFunc(p.phases, func(ph playedPhase) bool { return ph.Name == name })
	return &p.phases[i] // the scenario is checked
}

// since tells when something happened in the time of the schedule.
func (p *act) since(t time.Time) time.Duration { return t.Sub(p.tally.start) }

// barGood wants a share of those who came in a phase to be served well.
func (p *act) barGood(b Bar) []BarResult {
	classes, called := p.classesOf(b.Classes)
	ph := p.played(b.Phase)
	c := p.tally.window(classes, ph.from, ph.to)
	return []BarResult{{
		Name: fmt.Sprintf("%s: good, %s", b.Phase, called),
		Want: "at least " + percent(float64(b.AtLeast)), Got: percent(c.goodRatio()) + c.missed(),
		Pass: c.Asked > 0 && c.goodRatio() >= float64(b.AtLeast),
	}}
}

// missed tells what became of those who were not served well.
func (c Counts) missed() string {
	var parts []string
	for _, m := range []struct {
		n    int
		what string
	}{
		{c.Late, "late"}, {c.Wrong, "wrong"}, {c.Refused, "refused"}, {c.Failed, "failed"}, {c.GaveUp, "gave up"},
		{c.Asked - c.Sent, "not sent"},
	} {
		if m.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.what))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf(" (of %d: %s)", c.Asked, strings.Join(parts, ", "))
}

// barFallback wants a share of the good answers of a phase to be by a fallback: the fault was felt, and the shop
// answered all the same.
func (p *act) barFallback(b Bar) []BarResult {
	classes, called := p.classesOf(b.Classes)
	ph := p.played(b.Phase)
	c := p.tally.window(classes, ph.from, ph.to)
	share := 0.0
	if c.Good > 0 {
		share = float64(c.Fallback) / float64(c.Good)
	}
	return []BarResult{{
		Name: fmt.Sprintf("%s: answered by a fallback, %s", b.Phase, called),
		Want: "at least " + percent(float64(b.AtLeast)), Got: percent(share), Pass: share >= float64(b.AtLeast),
	}}
}

// barBack wants a phase to serve a share of its people well from some instant on, soon after the phase's beginning
// and to its end. The windows are whole seconds, so that a single slow answer does not undo a recovery.
func (p *act) barBack(b Bar) []BarResult {
	classes, called := p.classesOf(b.Classes)
	if b.Real {
		called += ", by no fallback"
	}
	ph := p.played(b.Phase)
	began := p.since(ph.changed)
	back, ok := p.tally.backSince(classes, began, ph.to, float64(b.AtLeast), b.Real)
	r := BarResult{
		Name: fmt.Sprintf("%s: good again, %s", b.Phase, called),
		Want: fmt.Sprintf("at least %s within %s", percent(float64(b.AtLeast)), b.Within),
		Got:  "not within " + inSeconds(ph.to-began),
	}
	if ok {
		r.Got, r.Pass = "after "+inSeconds(back), back <= time.Duration(b.Within)
	}
	return []BarResult{r}
}

// backSince tells how long after from everything is well again: the start of the first second from which on every
// second up to `to` is good for at least a share.
func (t *tally) backSince(classes []int, from, to time.Duration, share float64, real bool) (time.Duration, bool) {
	back, ok := time.Duration(0), false
	for second := to - time.Second; second > from-time.Second; second -= time.Second {
		begin := max(second, from)
		c := t.window(classes, begin, second+time.Second)
		if real {
			c.Good -= c.Fallback
		}
		if c.Asked == 0 && begin == second || c.goodRatio() < share {
			break
		}
		back, ok = begin-from, true
	}
	return back, ok
}

// barP99 wants the latency of some classes not to have grown.
func (p *act) barP99(b Bar) []BarResult {
	var results []BarResult
	for _, name := range b.Classes {
		class := slices.Index(p.sender.names, name)
		before := p.tally.quantile(class, p.indexOf(b.Against), 99)
		now := p.tally.quantile(class, p.indexOf(b.Phase), 99)
		most := max(b.Factor*before, before+float64(time.Duration(b.Plus))/float64(time.Millisecond))
		results = append(results, BarResult{
			Name: fmt.Sprintf("%s: p99 of %s", b.Phase, name),
			Want: fmt.Sprintf("at most %.1f ms (%s: %.1f ms)", most, b.Against, before),
			Got:  fmt.Sprintf("%.1f ms", now), Pass: before > 0 && now <= most,
		})
	}
	return results
}

func (p *act) indexOf(phase string) int {
	return slices.IndexFunc(p.phases, func(ph playedPhase) bool { return ph.Name == phase })
}

// saturated tells how long after the fault all workers of a service were in use, as the service itself noted.
func (p *act) saturated(service string) (time.Duration, bool) {
	i := p.indexOf(phaseFault)
	if i < 0 {
		return 0, false
	}
	ph := &p.phases[i]
	note := func(s State) (time.Duration, bool) {
		if s.Workers.SaturatedAt == nil || s.Workers.SaturatedAt.Before(ph.began) {
			return 0, false
		}
		return max(s.Workers.SaturatedAt.Sub(ph.changed), 0), true
	}
	if s, ok := ph.after[service]; ok {
		return note(s)
	}
	// It did not answer at the end of the phase, but perhaps before.
	for _, s := range slices.Backward(living(p.watch.between(service, ph.changed, p.tally.start.Add(ph.to)))) {
		if t, ok := note(s.state); ok {
			return t, true
		}
	}
	return 0, false
}

// saturations are those of all services that saturated, in seconds.
func (p *act) saturations() map[string]float64 {
	all := map[string]float64{}
	for _, service := range Services {
		if t, ok := p.saturated(service); ok {
			all[service] = t.Seconds()
		}
	}
	return all
}

// barSaturates wants services to saturate in the order given, each when it was predicted to.
func (p *act) barSaturates(b Bar) []BarResult {
	measured := map[string]float64{}
	for _, service := range b.Services {
		if t, ok := p.saturated(service); ok {
			measured[service] = t.Seconds()
		}
	}
	order := slices.SortedFunc(maps.Keys(measured), func(a, b string) int { return cmp.Compare(measured[a], measured[b]) })
	results := []BarResult{{
		Name: "order of saturation", Want: strings.Join(b.Services, " < "), Got: strings.Join(order, " < "),
		Pass: slices.Equal(order, b.Services),
	}}
	for _, service := range b.Services {
		r := BarResult{Name: "saturation of " + service, Want: "as predicted", Got: "it did not saturate"}
		want, predicted := p.predicted[service]
		switch {
		case !predicted:
			r.Want = "a prediction, and there is none"
		case want == predict.Never:
			r.Want = "never, says the prediction"
		default:
			r.Want = fmt.Sprintf("%.2f s ± %s", want.Seconds(), percent(float64(b.Near)))
		}
		if got, ok := measured[service]; ok {
			r.Got = fmt.Sprintf("%.2f s", got)
			r.Pass = predicted && want != predict.Never &&
				math.Abs(got-want.Seconds()) <= float64(b.Near)*want.Seconds()
		}
		results = append(results, r)
	}
	return results
}

// afterSaturation is the window in which a saturated service can serve nobody: a second after its last worker was
// taken, to as long before the fault's end as an answer may take.
func (p *act) afterSaturation(service string, inTime time.Duration) (from, to time.Duration, ok bool) {
	t, ok := p.saturated(service)
	if !ok {
		return 0, 0, false
	}
	ph := p.played(phaseFault)
	from, to = p.since(ph.changed)+t+time.Second, ph.to-inTime
	return from, to, to-from >= slice
}

// barCollapses wants hardly anybody to be served who needs a saturated service.
func (p *act) barCollapses(b Bar) []BarResult {
	var results []BarResult
	for _, service := range b.Services {
		for i, name := range p.sender.names {
			class := p.scenario.Classes[name]
			if !slices.Contains(class.Needs, service) {
				continue
			}
			r := BarResult{
				Name: fmt.Sprintf("%s, after the saturation of %s: good", name, service),
				Want: "at most " + percent(float64(b.AtMost)), Got: "no window: it did not saturate in time",
			}
			if from, to, ok := p.afterSaturation(service, time.Duration(class.InTime)); ok {
				c := p.tally.window([]int{i}, from, to)
				r.Got = fmt.Sprintf("%s of %d", percent(c.goodRatio()), c.Asked)
				r.Pass = c.Asked > 0 && c.goodRatio() <= float64(b.AtMost)
			}
			results = append(results, r)
		}
	}
	return results
}

// saturatedSamples are the looks at a service between its saturation and the fault's end.
func (p *act) saturatedSamples(service string) ([]sample, bool) {
	from, to, ok := p.afterSaturation(service, 0)
	if !ok {
		return nil, false
	}
	samples := p.watch.between(service, p.tally.start.Add(from), p.tally.start.Add(to))
	return samples, len(samples) > 0
}

// barUnready wants a saturated service to fail every readiness probe.
func (p *act) barUnready(b Bar) []BarResult {
	r := BarResult{Name: b.Service + ": readiness probes answered after its saturation", Want: "none",
		Got: "it did not saturate in time"}
	if samples, ok := p.saturatedSamples(b.Service); ok {
		answered := 0
		for _, s := range samples {
			if !s.failed {
				answered++
			}
		}
		r.Got, r.Pass = fmt.Sprintf("%d of %d", answered, len(samples)), answered == 0
	}
	return []BarResult{r}
}

// barIdle wants a saturated service to use less of the processor than it did in health: it is not busy, it waits.
func (p *act) barIdle(b Bar) []BarResult {
	r := BarResult{Name: b.Service + ": processor use after its saturation", Want: "below " + b.Against,
		Got: "it did not saturate in time"}
	against := p.played(b.Against)
	from, to := p.tally.start.Add(against.from), p.tally.start.Add(against.to)
	healthy, known := processorUse(p.watch.between(b.Service, from, to))
	if samples, ok := p.saturatedSamples(b.Service); ok && known {
		r.Got = "not known"
		if now, ok := processorUse(samples); ok {
			r.Want = fmt.Sprintf("below %.1f %% of a core (%s)", 100*healthy, b.Against)
			r.Got, r.Pass = fmt.Sprintf("%.1f %%", 100*now), now < healthy
		}
	}
	return []BarResult{r}
}

// barWorkers wants a service never to have had more than some workers in use.
func (p *act) barWorkers(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: workers of %s, high water", b.Phase, b.Service),
		Want: fmt.Sprintf("at most %d", b.Workers), Got: "not known"}
	if s, ok := p.played(b.Phase).after[b.Service]; ok {
		r.Want += fmt.Sprintf(" of %d", s.Workers.Limit)
		r.Got = fmt.Sprint(s.Workers.HighWater)
		r.Pass = s.Workers.HighWater > 0 && s.Workers.HighWater <= b.Workers
	}
	return []BarResult{r}
}

// barProbes wants every readiness probe of a phase to be answered, and soon.
func (p *act) barProbes(b Bar) []BarResult {
	slowest, failures, count := sample{}, 0, 0
	slow := ""
	ph := p.played(b.Phase)
	for _, service := range servicesOf(b) {
		for _, s := range p.watch.between(service, p.tally.start.Add(ph.from), p.tally.start.Add(ph.to)) {
			count++
			if s.failed {
				failures++
			}
			if s.probe > slowest.probe {
				slowest, slow = s, service
			}
		}
	}
	r := BarResult{Name: b.Phase + ": readiness probes", Want: fmt.Sprintf("all answered, each within %s", b.Within),
		Got:  fmt.Sprintf("%d of %d failed, slowest %.1f ms", failures, count, 1000*slowest.probe.Seconds()),
		Pass: count > 0 && failures == 0 && slowest.probe <= time.Duration(b.Within)}
	if slow != "" {
		r.Got += " (" + slow + ")"
	}
	return []BarResult{r}
}

// barFlat wants goroutines, descriptors and memory of each service not to grow: the median of the last window of a
// phase against that of the window before.
func (p *act) barFlat(b Bar) []BarResult {
	to := p.tally.start.Add(p.played(b.Phase).to)
	last := to.Add(-time.Duration(b.Window))
	before := last.Add(-time.Duration(b.Window))
	var results []BarResult
	for _, service := range servicesOf(b) {
		then, now := living(p.watch.between(service, before, last)), living(p.watch.between(service, last, to))
		r := BarResult{Name: fmt.Sprintf("%s: %s stays flat", b.Phase, service),
			Want: fmt.Sprintf("at most %.2f × the %s before", b.Factor, b.Window), Got: "not known",
			Pass: len(then) > 0 && len(now) > 0}
		if r.Pass {
			var parts []string
			for _, m := range []struct {
				what string
				of   func(sample) float64
			}{
				{"goroutines", func(s sample) float64 { return float64(s.state.Process.Goroutines) }},
				{"descriptors", func(s sample) float64 { return float64(s.state.Process.FDs) }},
				{"memory", func(s sample) float64 { return float64(s.state.Process.RSSBytes) }},
			} {
				x, y := median(then, m.of), median(now, m.of)
				parts = append(parts, fmt.Sprintf("%s %.2f", m.what, y/x))
				r.Pass = r.Pass && x > 0 && y <= b.Factor*x
			}
			r.Got = strings.Join(parts, ", ")
		}
		results = append(results, r)
	}
	return results
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// barLetGo wants a request that a fault held to be answered at once when the fault is cleared.
func (p *act) barLetGo(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: what %s held is let go", b.Phase, b.Service),
		Want: fmt.Sprintf("within %s of the clearing", b.Within), Got: "nothing was sent"}
	if c := p.canaries[b.Phase]; c != nil {
		cleared := p.played(b.Phase).began
		switch after := c.answered.Sub(cleared); {
		case c.err != nil:
			r.Got = c.err.Error()
		case after < 0:
			r.Got = "it was not held: answered " + inSeconds(-after) + " before"
		default:
			r.Got, r.Pass = fmt.Sprintf("after %.0f ms", 1000*after.Seconds()), after <= time.Duration(b.Within)
		}
	}
	return []BarResult{r}
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// percent never rounds up to what was not reached: 99.996 % is not 100 %.
func percent(share float64) string {
	switch p := 100 * share; {
	case p >= 100 || p < 99:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.2f %%", math.Floor(p*100+1e-6)/100)
	}
}
