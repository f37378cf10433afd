package loadtest

import (
	"math"
	"strings"
	"testing"
	"time"
)

const right = `name: x
classes:
  people: {kind: browse, rate: 40/s}
predictions:
  - name: p
    formula: cascade
    hops:
      - {service: catalogue, held: [recommendations]}
      - {service: gateway, held: [catalogue], after: catalogue}
acts:
  - name: on
    defences: all,-timeouts
    predict: [p]
    phases:
      - {name: healthy, for: 5s}
      - {name: fault, for: 20s, faults: {recommendations: [hold=90s, refuse share=0.1]}}
    bars:
      - {bar: good, phase: fault, at_least: 99.9%}
      - {bar: flat, phase: fault, window: 10s, factor: 1.1}
summary:
  - {say: slow, act: on, phase: fault}
`

const bothBars = `      - {bar: good, phase: fault, at_least: 99.9%}
      - {bar: flat, phase: fault, window: 10s, factor: 1.1}
`

func TestARightScenario(t *testing.T) {
	s, err := parse("x.yaml", []byte(right))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Classes["people"]
	if c.InTime != Duration(time.Second) || c.Patience != Duration(10*time.Second) || c.Rate != 40 || len(c.Needs) != 2 {
		t.Errorf("the class is not completed: %+v", c)
	}
	if f := s.Acts[0].Phases[1].Faults["recommendations"]; len(f) != 2 || f[1] != "refuse share=0.1" {
		t.Errorf("faults %q", f)
	}
}

// Every mistake is told with its line and column, and all of them at once.
func TestAWrongScenarioSaysWhere(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown field":        {"rate: 40/s", "rates: 40/s", `x.yaml:3:26: unknown field "rates"`},
		"rate without a unit":  {"rate: 40/s", "rate: 40", "x.yaml:3:32: a rate is"},
		"rate of nobody":       {"rate: 40/s", "rate: 0/s", "x.yaml:3:11: the class has no rate"},
		"no rate":              {", rate: 40/s", "", "x.yaml:3:11: the class has no rate"},
		"no such kind":         {"kind: browse", "kind: stare", "x.yaml:3:18: the kind of a class"},
		"time without a unit":  {"for: 5s", "for: 5", "x.yaml:15:30: a duration is"},
		"time in a list":       {"for: 5s", "for: [5s]", "x.yaml:15:30: a duration is"},
		"no time":              {", for: 5s", "", "x.yaml:15:9: the phase does not say how long"},
		"share without a unit": {"99.9%", "99.9", "x.yaml:18:45: a share is"},
		"share above all":      {"99.9%", "101%", "x.yaml:18:45: a share is"},
		"fault without a unit": {"[hold=90s,", "[hold=90,", "x.yaml:16:60: hold is a duration with its unit"},
		"no such service":      {"{recommendations: [", "{reviews: [", `x.yaml:16:`},
		"missing bar":          {bothBars, "", "the act has no bar"},
		"no such bar":          {"bar: good", "bar: nice", `x.yaml:18:9: there is no bar "nice"`},
		"bar missing a field":  {", at_least: 99.9%", "", "x.yaml:18:9: the bar good is missing at_least"},
		"bar with one too many": {"at_least: 99.9%", "at_least: 99.9%, workers: 3",
			"x.yaml:18:61: the bar good does not read workers"},
		"bar of no phase": {"phase: fault, at_least", "phase: dusk, at_least",
			`x.yaml:18:28: the act "on" has no phase "dusk"`},
		"window too wide":         {"window: 10s", "window: 11s", "two windows of 11s do not fit the 20s"},
		"no such defence":         {"all,-timeouts", "all,-armour", `x.yaml:12:15: there is no defence "armour"`},
		"defences without a base": {"all,-timeouts", "-timeouts", "x.yaml:12:15: "},
		"no such prediction":      {"predict: [p]", "predict: [q]", `x.yaml:13:15: there is no prediction "q"`},
		"no such formula":         {"formula: cascade", "formula: guess", `x.yaml:6:14: there is no formula "guess"`},
		"hops out of order":       {"after: catalogue", "after: checkout", "x.yaml:9:54: every hop but the first"},
		"no such act":             {"act: on,", "act: off,", `x.yaml:21:22: there is no act "off"`},
		"twice the same key":      {"name: x\n", "name: x\nname: y\n", "x.yaml:2:1: "},
		"not YAML":                {"acts:\n", "acts: [\n", "x.yaml:"},
		"in time beyond patience": {"rate: 40/s", "rate: 40/s, in_time: 9s, patience: 1s",
			"nobody waits 9s with a patience of 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(right, c.from) {
				t.Fatalf("%q is not in the scenario", c.from)
			}
			_, err := parse("x.yaml", []byte(strings.Replace(right, c.from, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}

	twice := strings.NewReplacer("kind: browse", "kind: stare", "-timeouts", "-armour").Replace(right)
	_, err := parse("x.yaml", []byte(twice))
	if err == nil || strings.Count(err.Error(), "x.yaml:") != 2 {
		t.Errorf("two mistakes, told: %v", err)
	}
}

// What the program carries is right, and short enough to be watched.
func TestTheScenariosWithin(t *testing.T) {
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name {
			t.Errorf("%s calls itself %s", name, s.Name)
		}
	}
	length := time.Duration(0)
	for _, a := range ninetySeconds(t).Acts {
		for _, p := range a.Phases {
			length += time.Duration(p.For)
			if p.Name == phaseHealthy && p.For < Duration(8*time.Second) {
				t.Errorf("%s: %s is too short to measure", a.Name, p.For)
			}
		}
	}
	if length > 210*time.Second {
		t.Errorf("ninety-seconds takes %s", length)
	}
	if _, err := Load("nineteen-seconds"); err == nil || !strings.Contains(err.Error(), "ninety-seconds") {
		t.Errorf("an unknown name does not tell the known ones: %v", err)
	}
}

// Every arrival is planned beforehand: a fault without end would be a list without end.
func TestAFaultHasAnEnd(t *testing.T) {
	for _, n := range []float64{-1, 0.5, 3601, 1e300, math.Inf(1), math.NaN()} {
		if _, err := ninetySeconds(t).with(Options{FaultSeconds: n}); err == nil || !strings.Contains(err.Error(), "1 to 3600") {
			t.Errorf("a fault of %g s: %v", n, err)
		}
	}
}

func TestTheFaultCanBeShorter(t *testing.T) {
	s := ninetySeconds(t)
	short, err := s.with(Options{Acts: []string{"off", "on"}, FaultSeconds: 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(short.Acts) != 2 || short.Acts[0].Name != "off" {
		t.Fatalf("acts %v", short.Acts)
	}
	for _, a := range short.Acts {
		if p, _ := a.phase(phaseFault); p.For != Duration(20*time.Second) {
			t.Errorf("%s: fault of %s", a.Name, p.For)
		}
	}
	if p, _ := s.Acts[1].phase(phaseFault); p.For != Duration(30*time.Second) {
		t.Errorf("the scenario itself was changed: %s", p.For)
	}
}

// Acts that share their phases by an alias do not share their rates.
func TestRatesOfAnAct(t *testing.T) {
	s, err := parse("x.yaml", []byte(`
name: x
classes: {people: {kind: browse, rate: 10/s}, others: {kind: browse, rate: 10/s}}
acts:
  - name: a
    defences: all
    rates: {people: 0/s}
    phases: &phases
      - {name: healthy, for: 1s}
      - {name: fault, for: 1s, rates: {people: 5/s}}
    bars: [{bar: good, phase: fault, at_least: 99%}]
  - name: b
    defences: all
    rates: {others: 0/s}
    phases: *phases
    bars: [{bar: good, phase: fault, at_least: 99%}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for act, want := range []map[string][]Rate{{"people": {0, 5}, "others": {10, 10}}, {"people": {10, 5}, "others": {0, 0}}} {
		for class, rates := range want {
			for i, ph := range s.Acts[act].Phases {
				if got := ph.rate(class, 10); got != rates[i] {
					t.Errorf("act %d: %s come at %v/s in %s, want %v", act, class, got, ph.Name, rates[i])
				}
			}
		}
	}
}
