// Package simulate plays a scenario of the load test in a second, without a shop: a small model of its workers, slots,
// timeouts, breakers, retries, fallbacks and deadlines, and of people and their patience, in a time of its own.
//
// The model has one clock and a heap of what is going to happen. It reads the scenarios of package loadtest, the
// policies and routes that the services declare, and what the defences make of them (package defence); of what a
// request costs it knows one constant. A run and a simulation with the same seed are visited by the same people at the
// same instants, and the same seed gives the same simulation to the last digit.
//
// What it leaves out: the processor, memory, descriptors, the network, and Postgres. So it tells what waiting does to a
// shop, and nothing of a shop that has run out of anything but workers, slots, and time.
package simulate

import (
	"context"
	"fmt"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/fault"
	"example.com/holdfast/loadtest"
)

// Shop is what the services declare, by service.
type Shop map[string]Declaration

// Declaration is what one service declares of its calls.
type Declaration struct {
	Edges  []defence.Edge
	Routes []defence.Route
}

// noBudget bounds a route for which its service declares none: a leaf's.
const noBudget = time.Second

func (s Shop) budget(service, route string) time.Duration {
	for _, r := range s[service].Routes {
		if r.Name == route {
			return r.Budget
		}
	}
	return noBudget
}

// Untold are the scenarios of which the model does not tell something that they are about, and why.
var Untold = map[string]string{
	"plain-go": "descriptors, of which every-page dies, are not in the model; that nobody is served follows from the hold " +
		"alone, and so does the rest",
	"rolling-restart": "that a drain loses nothing is what the model takes for granted",
}

// Scenario plays every act of a scenario, and tells of each what loadtest.Run would. Its error says what of the scenario
// the model does not know; it is ctx's where that ends first.
func Scenario(ctx context.Context, s *loadtest.Scenario, house Shop, seed uint64) ([]loadtest.ActResult, error) {
	var acts []loadtest.ActResult
	for i := range s.Acts {
		a, err := act(ctx, s, &s.Acts[i], house, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.Name, s.Acts[i].Name, err)
		}
		acts = append(acts, a)
	}
	return acts, nil
}

// act plays one act in a fresh shop.
func act(ctx context.Context, s *loadtest.Scenario, a *loadtest.Act, house Shop, seed uint64) (loadtest.ActResult, error) {
	on, err := defence.Parse(a.Defences, defence.All)
	if err != nil {
		return loadtest.ActResult{}, err
	}
	c := &clock{}
	sh, err := open(c, house, s.Environment.With(a.Environment), on, seed)
	if err != nil {
		return loadtest.ActResult{}, err
	}
	r := newRecord(s, a, sh, seed)
	longest := time.Duration(0)
	for _, k := range r.classes {
		longest = max(longest, time.Duration(k.Patience))
	}
	visits := 0
	for at, name := range s.Visits(a.Phases, seed) {
		if visits++; visits%1000 == 0 && ctx.Err() != nil {
			return loadtest.ActResult{}, ctx.Err()
		}
		if err := r.advance(at); err != nil {
			return loadtest.ActResult{}, err
		}
		c.run(at)
		r.class(name).come(c, sh.fleets["gateway"])
	}
	if err := r.advance(never); err != nil {
		return loadtest.ActResult{}, err
	}
	c.run(c.now + longest)
	return r.result(), nil
}

// begin makes the shop what a phase says.
func (s *shop) begin(p loadtest.Phase) error {
	if p.Defences != "" {
		on, err := defence.Parse(p.Defences, s.on)
		if err != nil {
			return err
		}
		s.set(on)
	}
	for _, name := range loadtest.Services { // in this order, so that those who are let go are so in the same one
		var faults []fault.Fault
		for _, line := range p.Faults[name] {
			parsed, err := fault.Parse(line)
			if err != nil {
				return err
			}
			faults = append(faults, parsed)
		}
		for _, i := range s.fleets[name].instances {
			i.inflict(faults)
		}
	}
	for _, name := range p.Restart {
		s.restart(name, 0)
	}
	return nil
}
