package loadtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// check finds what a scenario got wrong beyond its form, all of it at once, each with its place.
type check struct {
	file string
	tree *ast.File
	errs []placed
}

type placed struct {
	line int
	error
}

// wrong records a mistake at a path of the file, as $.acts[0].name; where the path names nothing (the field is
// missing) it points at what should contain it.
func (c *check) wrong(path, format string, args ...any) {
	line, column := 1, 1
	for p := path; p != ""; p = parent(p) {
		if n := c.node(p); n != nil {
			line, column = place(n)
			break
		}
	}
	c.errs = append(c.errs, placed{line, fmt.Errorf("%s:%d:%d: %s", c.file, line, column, fmt.Sprintf(format, args...))})
}

func (c *check) node(path string) ast.Node {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	n, err := p.FilterFile(c.tree)
	if err != nil {
		return nil
	}
	return n
}

func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// place is where a person sees a node begin: for a mapping its first key, not its first colon.
func place(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

func (c *check) scenario(s *Scenario) {
	if s.Name == "" {
		c.wrong("$", "the scenario has no name")
	}
	c.environment("$.environment", s.Environment)
	if s.Arrivals != Even && s.Arrivals != Poisson {
		c.wrong("$.arrivals", "arrivals are even or poisson")
	}
	if len(s.Classes) == 0 {
		c.wrong("$.classes", "nobody comes: the scenario has no class")
	}
	for name, class := range s.Classes {
		c.class("$.classes."+name, class)
	}
	for i, p := range s.Predictions {
		path := fmt.Sprintf("$.predictions[%d]", i)
		c.prediction(path, p)
		if _, ok := s.Classes[p.Class]; !ok && p.Class != "" {
			c.wrong(path+".class", "there is no class %q", p.Class)
		}
	}
	if len(s.Acts) == 0 {
		c.wrong("$.acts", "the scenario has no act")
	}
	for i := range s.Acts {
		c.act(fmt.Sprintf("$.acts[%d]", i), s, i)
	}
	for i, say := range s.Summary {
		path := fmt.Sprintf("$.summary[%d]", i)
		j := slices.IndexFunc(s.Acts, func(a Act) bool { return a.Name == say.Act })
		if j < 0 {
			c.wrong(path+".act", "there is no act %q", say.Act)
			continue
		}
		c.phase(path+".phase", &s.Acts[j], say.Phase)
	}
}

// err tells all mistakes in the order of the file; maps would tell them in any.
func (c *check) err() error {
	slices.SortStableFunc(c.errs, func(a, b placed) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(c.errs))
	for i, e := range c.errs {
		errs[i] = e.error
	}
	return errors.Join(errs...)
}

func (c *check) class(path string, class Class) {
	if _, ok := kinds[class.Kind]; !ok {
		c.wrong(path+".kind", "the kind of a class is browse, book, order, carousel or lookup")
	}
	if class.Rate == 0 {
		c.wrong(path, "the class has no rate")
	}
	if class.InTime > class.Patience {
		c.wrong(path+".in_time", "nobody waits %s with a patience of %s", class.InTime, class.Patience)
	}
	if class.Refresh > class.Patience {
		c.wrong(path+".refresh", "nobody tries again after %s with a patience of %s", class.Refresh, class.Patience)
	}
	var sum Share
	for _, share := range class.Currencies {
		sum += share
	}
	if sum < 0.999 || sum > 1.001 {
		c.wrong(path+".currencies", "the shares of the currencies add up to %.1f%%, not 100%%", 100*sum)
	}
	for i, token := range class.Fallbacks {
		if !slices.Contains(degradations, token) {
			c.wrong(fmt.Sprintf("%s.fallbacks[%d]", path, i), "there is no fallback %q; there are %s",
				token, strings.Join(degradations, ", "))
		}
	}
	if class.Deferred && class.Kind != Book {
		c.wrong(path+".deferred", "only the page of a book has a carousel to defer")
	}
	if class.Offers && class.Kind != Browse && class.Kind != Book && class.Kind != Carousel {
		c.wrong(path+".offers", "only pages have offers, and these are browse, book and carousel")
	}
	for i, service := range class.Needs {
		c.service(fmt.Sprintf("%s.needs[%d]", path, i), service)
	}
}

func (c *check) prediction(path string, p Prediction) {
	if p.Name == "" {
		c.wrong(path, "the prediction has no name")
	}
	f, ok := formulas[p.Formula]
	if !ok {
		c.wrong(path+".formula", "there is no formula %q; there are %s", p.Formula,
			strings.Join(slices.Sorted(maps.Keys(formulas)), ", "))
		return
	}
	given := p.given()
	for _, field := range f.needs {
		if !slices.Contains(given, field) {
			c.wrong(path, "the formula %s is missing %s", p.Formula, field)
		}
	}
	for _, field := range given {
		if !slices.Contains(f.needs, field) && !slices.Contains(f.takes, field) {
			c.wrong(path+"."+field, "the formula %s does not read %s", p.Formula, field)
		}
	}
	if p.Service != "" {
		c.service(path+".service", p.Service)
	}
	for i, n := range p.Attempts {
		if n < 1 || n > 100 {
			c.wrong(fmt.Sprintf("%s.attempts[%d]", path, i), "a loop makes 1 to 100 attempts")
		}
	}
	for i, h := range p.Hops {
		hop := fmt.Sprintf("%s.hops[%d]", path, i)
		c.service(hop+".service", h.Service)
		if len(h.Held) == 0 {
			c.wrong(hop+".held", "the hop does not say which dependencies hold its calls")
		}
		before := func(b Hop) bool { return b.Service == h.After }
		if (i == 0) != (h.After == "") || i > 0 && !slices.ContainsFunc(p.Hops[:i], before) {
			c.wrong(hop+".after", "every hop but the first comes after one that stands before it")
		}
	}
}

func (c *check) act(path string, s *Scenario, index int) {
	a := &s.Acts[index]
	if a.Name == "" {
		c.wrong(path, "the act has no name")
	}
	for _, b := range s.Acts[:index] {
		if b.Name == a.Name {
			c.wrong(path+".name", "there are two acts %q", a.Name)
		}
	}
	c.environment(path+".environment", a.Environment)
	if a.Defences == "" {
		c.wrong(path+".defences", "the act does not say its defences")
	} else if err := validDefences(a.Defences); err != nil {
		c.wrong(path+".defences", "%v", err)
	}
	if len(a.Phases) == 0 {
		c.wrong(path+".phases", "the act has no phase")
	}
	for j, p := range a.Phases {
		phase := fmt.Sprintf("%s.phases[%d]", path, j)
		if p.Name == "" {
			c.wrong(phase, "the phase has no name")
		}
		if slices.ContainsFunc(a.Phases[:j], func(b Phase) bool { return b.Name == p.Name }) {
			c.wrong(phase+".name", "there are two phases %q", p.Name)
		}
		if p.For == 0 {
			c.wrong(phase, "the phase does not say how long it is: for")
		}
		for service := range p.Faults {
			c.service(phase+".faults."+service, service)
		}
		for class := range p.Rates { // those of the act among them
			if _, ok := s.Classes[class]; !ok {
				c.wrong(phase+".rates."+class, "there is no class %q", class)
			}
		}
		for k, service := range p.Restart {
			c.service(fmt.Sprintf("%s.restart[%d]", phase, k), service)
		}
		if p.Defences != "" {
			if err := validDefences(p.Defences); err != nil {
				c.wrong(phase+".defences", "%v", err)
			}
		}
	}
	for j, name := range a.Predict {
		i := slices.IndexFunc(s.Predictions, func(p Prediction) bool { return p.Name == name })
		needs := []string{phaseHealthy}
		if i < 0 {
			c.wrong(fmt.Sprintf("%s.predict[%d]", path, j), "there is no prediction %q", name)
		} else if formulas[s.Predictions[i].Formula].measure == nil {
			needs = append(needs, phaseFault) // from which saturations count
		}
		for _, phase := range needs {
			if _, ok := a.phase(phase); !ok {
				c.wrong(path+".phases", "the prediction %s needs a phase %q", name, phase)
			}
		}
	}
	if len(a.Bars) == 0 {
		c.wrong(path, "the act has no bar: nothing in it can be missed")
	}
	for j := range a.Bars {
		c.bar(fmt.Sprintf("%s.bars[%d]", path, j), s, a, &a.Bars[j])
	}
}

func (c *check) environment(path string, env Environment) {
	for service := range env {
		if service != "all" {
			c.service(path+"."+service, service)
		}
	}
}

func (c *check) service(path, name string) {
	if !slices.Contains(Services, name) {
		c.wrong(path, "there is no service %q; there are %s", name, strings.Join(Services, ", "))
	}
}

func (c *check) phase(path string, a *Act, name string) {
	if _, ok := a.phase(name); !ok {
		c.wrong(path, "the act %q has no phase %q", a.Name, name)
	}
}
