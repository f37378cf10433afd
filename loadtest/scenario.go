package loadtest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

//go:embed scenarios/*.yaml
var scenarios embed.FS

// A Scenario is one experiment: a shop, the people who come to it, what is done to it, and what must hold.
type Scenario struct {
	Name  string `yaml:"name"`
	About string `yaml:"about"` // what it shows, for a person

	// Environment is what the processes of the shop are started with, by service ("all" for every one).
	Environment Environment      `yaml:"environment"`
	Arrivals    Arrivals         `yaml:"arrivals"` // even, unless said
	Classes     map[string]Class `yaml:"classes"`
	Predictions []Prediction     `yaml:"predictions"`
	Acts        []Act            `yaml:"acts"`
	Summary     []Saying         `yaml:"summary"` // the closing sentence, part by part
}

// Arrivals says how the people of a class come: evenly spaced, or at random (a Poisson process).
type Arrivals string

const (
	Even    Arrivals = "even"
	Poisson Arrivals = "poisson"
)

// A Class is people who want the same thing.
type Class struct {
	Kind Kind `yaml:"kind"`
	Rate Rate `yaml:"rate"`

	// InTime is how soon an answer is good, Patience after how long a person gives up and the connection closes, both
	// from the instant at which the person meant to come. Unless said: 1 s (an order 3 s), and 10 s.
	InTime   Duration `yaml:"in_time"`
	Patience Duration `yaml:"patience"`
	// Refresh is how long a person looks at an empty or a broken page before trying again, within the same
	// patience. 0: never.
	Refresh Duration `yaml:"refresh"`

	// Currencies is the share of people who ask for each currency; unless said, all of them US dollars.
	Currencies map[string]Share `yaml:"currencies"`
	// Fallbacks are the tokens of X-Degraded with which an answer is still good. It is then counted apart.
	Fallbacks []string `yaml:"fallbacks"`
	// Deferred says that the page of a book is whole without its carousel, and Offers that no page is whole without
	// the offers of HEADER_OFFERS.
	Deferred bool `yaml:"deferred"`
	Offers   bool `yaml:"offers"`
	// Needs are the services without which no answer is good; unless said, those of the kind.
	Needs []string `yaml:"needs"`
}

// Kind is what the people of a class do.
type Kind string

const (
	Browse Kind = "browse" // look at a page of a shelf
	Book   Kind = "book"   // look at one book, with its carousel
	Order  Kind = "order"  // buy one or two books through the API
	// Carousel is to look at the carousel of a book as a page of its own, and Lookup to look at an order that was placed
	// before the act, through the API.
	Carousel Kind = "carousel"
	Lookup   Kind = "lookup"
)

// kinds holds what a class of each kind has unless it says otherwise.
var kinds = map[Kind]Class{
	Browse: {InTime: Duration(time.Second), Needs: []string{"gateway", "catalogue"}},
	Book:   {InTime: Duration(time.Second), Needs: []string{"gateway", "catalogue"}},
	Order:  {InTime: Duration(3 * time.Second), Needs: []string{"gateway", "checkout", "catalogue"}},

	Carousel: {InTime: Duration(time.Second), Needs: []string{"gateway", "catalogue"}},
	Lookup:   {InTime: Duration(time.Second), Needs: []string{"gateway", "checkout"}},
}

// An Act is one fresh shop and what happens to it. The load runs through all of its phases without a pause.
type Act struct {
	Name     string `yaml:"name"`
	Defences string `yaml:"defences"` // as `holdfast defences set` takes them, from a preset on
	// Environment changes that of the scenario for this act, and Rates the usual rates of classes; 0/s: nobody comes.
	Environment Environment     `yaml:"environment"`
	Rates       map[string]Rate `yaml:"rates"`
	Predict     []string        `yaml:"predict"` // the predictions to make at the end of the phase "healthy"
	Phases      []Phase         `yaml:"phases"`
	Bars        []Bar           `yaml:"bars"`
}

// A Phase is a stretch of an act. What it says holds from its first instant to its last; a fault that the next phase
// does not name ends there.
type Phase struct {
	Name     string            `yaml:"name"`
	For      Duration          `yaml:"for"`
	Faults   map[string]Faults `yaml:"faults"`   // by service
	Defences string            `yaml:"defences"` // switched as it begins; unless said, they stay
	Rates    map[string]Rate   `yaml:"rates"`    // of classes for which another holds meanwhile; 0/s: nobody comes
	Restart  []string          `yaml:"restart"`  // services that are restarted as it begins, one after the other
}

// rate is how many people of a class come in a second of the phase.
func (p Phase) rate(class string, usual Rate) Rate {
	if r, ok := p.Rates[class]; ok {
		return r
	}
	return usual
}

// A Saying is one part of the closing sentence: "slow: 3.2 % good".
type Saying struct {
	Say   string `yaml:"say"`
	Act   string `yaml:"act"`
	Phase string `yaml:"phase"`
	// AfterSaturation counts only the window from the first saturation on.
	AfterSaturation bool `yaml:"after_saturation"`
}

// A Prediction is a formula of package predict and where its inputs are measured. Its formula is one of formulas; a
// field that this does not read is a mistake.
type Prediction struct {
	Name    string `yaml:"name"`
	Formula string `yaml:"formula"`

	Hops       []Hop    `yaml:"hops"`       // cascade: the services, in the order in which they fall
	Service    string   `yaml:"service"`    // whose workers, descriptors or calls they are
	Dependency string   `yaml:"dependency"` // of it, whose calls are held or fail
	Needing    []string `yaml:"needing"`    // dependencies of it that share its client's pool with the held one
	Takes      Duration `yaml:"takes"`      // what a call takes in the fault: the hold, or the timeout
	Hold       Duration `yaml:"hold"`       // what the fault adds to a call
	Share      Share    `yaml:"share"`      // of the calls that are held; unless said, all
	Class      string   `yaml:"class"`      // whose people make the calls, or come again and again
	Attempts   []int    `yaml:"attempts"`   // of the loops around a call, one in the other
}

// A Hop is one service of a cascade.
type Hop struct {
	Service string `yaml:"service"`
	// Held are the dependencies of the service whose calls never end once the hop is reached.
	Held []string `yaml:"held"`
	// After is the hop whose saturation reaches this one; the first has none.
	After string `yaml:"after"`
	// Early says that what the leaf holds at the first hop holds a worker here too, from the start of the fault.
	Early bool `yaml:"early"`
}

// The phases that have a meaning to the runner; the others are names.
const (
	phaseHealthy = "healthy" // where the inputs of the predictions are measured
	phaseFault   = "fault"   // what Options.FaultSeconds makes longer or shorter, and what saturation counts from
)

// Services are the services of the shop, callees first.
var Services = []string{"recommendations", "currency", "catalogue", "checkout", "gateway"}

// Names lists the scenarios that come with the program.
func Names() []string {
	files, _ := fs.Glob(scenarios, "scenarios/*.yaml") // the pattern is right, so there is no error
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files
}

// Load reads a scenario: one of Names, or a file. Its errors say line and column.
func Load(nameOrPath string) (*Scenario, error) {
	if slices.Contains(Names(), nameOrPath) {
		file := "scenarios/" + nameOrPath + ".yaml"
		text, err := scenarios.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return parse(file, text)
	}
	text, err := os.ReadFile(nameOrPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no scenario and no file %q; the scenarios are %s",
			nameOrPath, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	return parse(nameOrPath, text)
}

func parse(file string, text []byte) (*Scenario, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, at(file, err)
	}
	var s Scenario
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		return nil, at(file, err)
	}
	s.complete()
	c := check{file: file, tree: tree}
	c.scenario(&s)
	return &s, c.err()
}

// at puts the place before an error of the parser, in the form that editors jump to.
func at(file string, err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		p := e.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, e.GetMessage())
	}
	return fmt.Errorf("%s: %w", file, err)
}

// complete fills in what was left to its default.
func (s *Scenario) complete() {
	if s.Arrivals == "" {
		s.Arrivals = Even
	}
	for i := range s.Acts {
		a := &s.Acts[i]
		a.Phases = slices.Clone(a.Phases) // which an alias in the file shares with another act's
		for j := range a.Phases {
			rates := maps.Clone(a.Rates)
			if rates == nil {
				rates = map[string]Rate{}
			}
			maps.Copy(rates, a.Phases[j].Rates)
			a.Phases[j].Rates = rates
		}
	}
	for name, c := range s.Classes {
		usual := kinds[c.Kind]
		if c.InTime == 0 {
			c.InTime = usual.InTime
		}
		if c.Patience == 0 {
			c.Patience = Duration(10 * time.Second)
		}
		if c.Needs == nil {
			c.Needs = usual.Needs
		}
		if c.Currencies == nil {
			c.Currencies = map[string]Share{"USD": 1}
		}
		s.Classes[name] = c
	}
}

// classNames returns the classes in a stable order: the busiest first.
func (s *Scenario) classNames() []string {
	return slices.SortedFunc(maps.Keys(s.Classes), func(a, b string) int {
		if d := s.Classes[b].Rate - s.Classes[a].Rate; d != 0 {
			return int(d / max(d, -d))
		}
		return strings.Compare(a, b)
	})
}

func (a *Act) phase(name string) (Phase, bool) {
	i := slices.IndexFunc(a.Phases, func(p Phase) bool { return p.Name == name })
	if i < 0 {
		return Phase{}, false
	}
	return a.Phases[i], true
}

// maxFaultSeconds is the longest fault that can be asked for: every arrival of a run is planned, and kept, beforehand.
const maxFaultSeconds = 3600

// with returns the scenario as the options want it: with other acts, or another length of the fault.
func (s *Scenario) with(o Options) (*Scenario, error) {
	changed := *s
	changed.Acts = slices.Clone(s.Acts)
	if n := o.FaultSeconds; n != 0 && !(n >= 1 && n <= maxFaultSeconds) { // nor is NaN
		return nil, fmt.Errorf("the fault cannot last %g s: it must be from 1 to %d", n, maxFaultSeconds)
	}
	if o.Defences != "" {
		if len(o.Acts) > 0 {
			return nil, errors.New("either acts or defences: defences replace the acts")
		}
		if err := validDefences(o.Defences); err != nil {
			return nil, err
		}
		played := s.Acts[len(s.Acts)-1]
		changed.Acts = []Act{{Name: "played", Defences: o.Defences, Predict: played.Predict, Phases: played.Phases}}
	}
	if len(o.Acts) > 0 {
		changed.Acts = nil
		for _, name := range o.Acts {
			i := slices.IndexFunc(s.Acts, func(a Act) bool { return a.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("%s has no act %q", s.Name, name)
			}
			changed.Acts = append(changed.Acts, s.Acts[i])
		}
	}
	if o.FaultSeconds > 0 {
		for i, a := range changed.Acts {
			a.Phases = slices.Clone(a.Phases)
			for j := range a.Phases {
				if a.Phases[j].Name == phaseFault {
					a.Phases[j].For = Duration(o.FaultSeconds * float64(time.Second))
				}
			}
			changed.Acts[i] = a
		}
	}
	return &changed, nil
}

// defences are the switches there are. The shop knows what they do; here only a misspelt one is found early.
var defences = []string{"timeouts", "deadlines", "bulkheads", "breakers", "fallbacks", "retry_budget", "shedding",
	"isolated_probes", "shallow_readiness"}

// validDefences accepts an expression that leaves nothing to the state before it: a preset first, then changes.
func validDefences(expr string) error {
	preset, rest, more := strings.Cut(expr, ",")
	if preset != "all" && preset != "none" {
		return fmt.Errorf("defences %q begin with neither all nor none", expr)
	}
	for more {
		var item string
		item, rest, more = strings.Cut(rest, ",")
		name, state, set := strings.Cut(item, "=")
		if set && state != "on" && state != "off" {
			return fmt.Errorf("defence %q is set to neither on nor off", item)
		}
		if !set {
			if name = strings.TrimLeft(item, "+-"); len(item)-len(name) != 1 {
				return fmt.Errorf("defence %q is written as +%[1]s, -%[1]s, %[1]s=on or %[1]s=off", item)
			}
		}
		if !slices.Contains(defences, name) {
			return fmt.Errorf("there is no defence %q; there are %s", name, strings.Join(defences, ", "))
		}
	}
	return nil
}
