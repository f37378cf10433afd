package loadtest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A Bar is one thing that must hold. Its kind is one of barKinds; everything else are the thresholds of its check, and a
// field that the check does not read is a mistake in the scenario.
type Bar struct {
	Kind string `yaml:"bar"`

	Phase    string   `yaml:"phase"`
	Against  string   `yaml:"against"`  // the phase to compare with
	Classes  []string `yaml:"classes"`  // unless said, all
	Services []string `yaml:"services"` // where several are meant; unless said, all
	Service  string   `yaml:"service"`
	Path     string   `yaml:"path"`

	Dependency   string   `yaml:"dependency"`
	Dependencies []string `yaml:"dependencies"`
	Prediction   string   `yaml:"prediction"`
	Class        string   `yaml:"class"` // whose people the calls are made for

	AtLeast Share    `yaml:"at_least"`
	AtMost  Share    `yaml:"at_most"`
	Within  Duration `yaml:"within"` // of time
	Near    Share    `yaml:"near"`   // of a prediction
	Points  Share    `yaml:"points"` // as near as this will do, too: not of the prediction but of the whole
	After   Duration `yaml:"after"`  // leaves out so much of the phase's beginning
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
	// What people feel: bars_people.go.
	"good":     {[]string{"phase", "at_least"}, []string{"classes", "after", "real"}, (*act).barGood},
	"down":     {[]string{"phase", "at_most"}, []string{"classes", "after"}, (*act).barDown},
	"errors":   {[]string{"phase", "at_most"}, nil, (*act).barErrors},
	"refused":  {[]string{"phase", "at_least", "within", "classes"}, []string{"after"}, (*act).barRefused},
	"goodput":  {[]string{"phase", "at_least"}, nil, (*act).barGoodput},
	"fallback": {[]string{"phase", "at_least", "classes"}, []string{"after"}, (*act).barFallback},
	"back":     {[]string{"phase", "within", "at_least"}, []string{"classes", "real"}, (*act).barBack},
	"p99":      {[]string{"phase", "against", "classes", "factor", "plus"}, nil, (*act).barP99},
	// What services look like: bars_services.go.
	"saturates": {[]string{"services", "near"}, []string{"phase"}, (*act).barSaturates},
	"collapses": {[]string{"services", "at_most"}, nil, (*act).barCollapses},
	"full":      {[]string{"service", "phase", "within"}, nil, (*act).barFull},
	"stuck":     {[]string{"service", "phase", "workers", "after"}, nil, (*act).barStuck},
	"free":      {[]string{"service", "phase", "workers", "after"}, nil, (*act).barFree},
	"restarts":  {[]string{"phase", "within"}, nil, (*act).barRestarts},
	"unready":   {[]string{"service"}, nil, (*act).barUnready},
	"idle":      {[]string{"service", "at_least"}, nil, (*act).barIdle},
	"workers":   {[]string{"service", "phase", "workers"}, nil, (*act).barWorkers},
	"probes":    {[]string{"phase", "within"}, []string{"services"}, (*act).barProbes},
	"flat":      {[]string{"phase", "window", "factor"}, []string{"after"}, (*act).barFlat},
	"let-go":    {[]string{"phase", "service", "path", "within"}, nil, (*act).barLetGo},
	// What becomes of calls: bars_calls.go.
	"meets":     {[]string{"phase", "prediction", "near"}, []string{"points"}, (*act).barMeets},
	"booked":    {[]string{"phase", "dependencies", "at_least"}, nil, (*act).barBooked},
	"unharmed":  {[]string{"phase", "dependencies"}, nil, (*act).barUnharmed},
	"rejected":  {[]string{"phase", "service", "dependency", "at_least"}, nil, (*act).barRejected},
	"opens":     {[]string{"phase", "service", "dependency", "within"}, nil, (*act).barOpens},
	"amplified": {[]string{"phase", "service", "dependency", "factor", "class"}, nil, (*act).barAmplified},
	"zombies":   {[]string{"phase", "service"}, []string{"at_least"}, (*act).barZombies},
}

// given lists the fields of a bar that are set.
func (b Bar) given() []string {
	set := map[string]bool{
		"phase": b.Phase != "", "against": b.Against != "", "classes": b.Classes != nil, "services": b.Services != nil,
		"service": b.Service != "", "path": b.Path != "", "at_least": b.AtLeast != 0, "at_most": b.AtMost != 0,
		"within": b.Within != 0, "near": b.Near != 0, "workers": b.Workers != 0, "factor": b.Factor != 0,
		"plus": b.Plus != 0, "window": b.Window != 0, "real": b.Real, "points": b.Points != 0, "after": b.After != 0,
		"dependency": b.Dependency != "", "dependencies": b.Dependencies != nil, "prediction": b.Prediction != "",
		"class": b.Class != "",
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
	if _, ok := s.Classes[b.Class]; !ok && b.Class != "" {
		c.wrong(path+".class", "there is no class %q", b.Class)
	}
	for i, service := range b.Services {
		c.service(fmt.Sprintf("%s.services[%d]", path, i), service)
	}
	if b.Service != "" {
		c.service(path+".service", b.Service)
	}
	if ph, ok := a.phase(b.Phase); ok && b.Kind == "flat" && 2*b.Window+b.After > ph.For {
		c.wrong(path+".window", "two windows of %s do not fit the %s of %s", b.Window, ph.For-b.After, b.Phase)
	}
	if ph, ok := a.phase(b.Phase); ok && b.After >= ph.For {
		c.wrong(path+".after", "nothing of %s is left after %s", b.Phase, b.After)
	}
	if b.Prediction != "" {
		i := slices.IndexFunc(s.Predictions, func(p Prediction) bool { return p.Name == b.Prediction })
		switch {
		case !slices.Contains(a.Predict, b.Prediction):
			c.wrong(path+".prediction", "the act does not predict %q", b.Prediction)
		case i >= 0 && formulas[s.Predictions[i].Formula].measure == nil:
			c.wrong(path+".prediction", "%q predicts saturations: the bar saturates is for them", b.Prediction)
		}
	}
	for _, service := range b.Services {
		if b.Kind == "saturates" && !s.predictsSaturation(a, service) {
			c.wrong(path+".services", "the act predicts no saturation of %s", service)
		}
	}
	if ph, ok := a.phase(b.Phase); ok && b.Kind == "restarts" && b.Within > ph.For {
		c.wrong(path+".within", "a restart of up to %s does not fit the %s of %s", b.Within, ph.For, b.Phase)
	}
}

// predictsSaturation tells whether an act predicts when a service saturates.
func (s *Scenario) predictsSaturation(a *Act, service string) bool {
	return slices.ContainsFunc(s.Predictions, func(p Prediction) bool {
		return slices.Contains(a.Predict, p.Name) && formulas[p.Formula].measure == nil &&
			(p.Service == service || slices.ContainsFunc(p.Hops, func(h Hop) bool { return h.Service == service }))
	})
}

// judge checks all bars of the act.
func (p *act) judge() []BarResult {
	var all []BarResult
	for _, b := range p.Bars {
		results := barKinds[b.Kind].check(p, b)
		for i := range results {
			results[i].Name = p.Name + ": " + results[i].Name
			results[i].void = b.Void
			results[i].busy = p.tooBusyFor(b)
		}
		all = append(all, results...)
	}
	return all
}

// calmLag is how late the sender may be, at p99, for milliseconds to be judged. Beside an idle machine it is 2 to 3.5 ms
// late; a service that shares its processors is kept from them for as long, on every hop.
const calmLag = 5.0 // ms

// tooBusyFor tells why a miss of a bar that judges milliseconds would say nothing of the shop; "" where it would.
func (p *act) tooBusyFor(b Bar) string {
	if !slices.Contains([]string{"p99", "probes", "let-go", "saturates", "idle"}, b.Kind) {
		return ""
	}
	for _, name := range []string{cmp.Or(b.Phase, phaseFault), b.Against} {
		if name == "" {
			continue
		}
		if lag := p.tally.lagQuantile(p.indexOf(name), 99); lag > calmLag {
			return fmt.Sprintf("in %s the sender itself was late by %.1f ms at p99, above %.1f ms", name, lag, calmLag)
		}
	}
	return ""
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

func (p *act) played(name string) *playedPhase {
	i := slices.IndexFunc(p.phases, func(ph playedPhase) bool { return ph.Name == name })
	return &p.phases[i] // the scenario is checked
}

// since tells when something happened in the time of the schedule.
func (p *act) since(t time.Time) time.Duration { return t.Sub(p.tally.start) }

func (p *act) indexOf(phase string) int {
	return slices.IndexFunc(p.phases, func(ph playedPhase) bool { return ph.Name == phase })
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
