// Package defence turns switches into policies. It is the only place that knows both: services declare their edges
// as if every defence were on, and pkg/resilience knows nothing of switches.
package defence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Set says which of the nine defences are on.
type Set struct {
	Timeouts         bool `json:"timeouts"`
	Deadlines        bool `json:"deadlines"`
	Bulkheads        bool `json:"bulkheads"`
	Breakers         bool `json:"breakers"`
	Fallbacks        bool `json:"fallbacks"`
	RetryBudget      bool `json:"retry_budget"`
	Shedding         bool `json:"shedding"`
	IsolatedProbes   bool `json:"isolated_probes"`
	ShallowReadiness bool `json:"shallow_readiness"`
}

// All has every defence on. None has every one off but shallow readiness: readiness that asks dependencies is a
// mistake of its own.
var (
	All = Set{
		Timeouts: true, Deadlines: true, Bulkheads: true, Breakers: true, Fallbacks: true, RetryBudget: true,
		Shedding: true, IsolatedProbes: true, ShallowReadiness: true,
	}
	None = Set{ShallowReadiness: true}
)

// Names lists the defences in the order in which they are told.
var Names = []string{
	"timeouts", "deadlines", "bulkheads", "breakers", "fallbacks", "retry_budget", "shedding", "isolated_probes",
	"shallow_readiness",
}

// On reports whether the named defence is on; false for a name that is none.
func (s Set) On(name string) bool {
	p := s.field(name)
	return p != nil && *p
}

func (s *Set) field(name string) *bool {
	switch name {
	case "timeouts":
		return &s.Timeouts
	case "deadlines":
		return &s.Deadlines
	case "bulkheads":
		return &s.Bulkheads
	case "breakers":
		return &s.Breakers
	case "fallbacks":
		return &s.Fallbacks
	case "retry_budget":
		return &s.RetryBudget
	case "shedding":
		return &s.Shedding
	case "isolated_probes":
		return &s.IsolatedProbes
	case "shallow_readiness":
		return &s.ShallowReadiness
	}
	return nil
}

// String returns the shortest expression that Parse turns into s: all, none, or one of them with its exceptions.
func (s Set) String() string {
	fromAll, fromNone := s.differences("all", All), s.differences("none", None)
	if len(fromAll) <= len(fromNone) {
		return strings.Join(fromAll, ",")
	}
	return strings.Join(fromNone, ",")
}

func (s Set) differences(preset string, from Set) []string {
	words := []string{preset}
	for _, name := range Names {
		switch {
		case s.On(name) && !from.On(name):
			words = append(words, "+"+name)
		case !s.On(name) && from.On(name):
			words = append(words, "-"+name)
		}
	}
	return words
}

// Parse reads a list of words, separated by commas: "all" or "none", which only the first may be, then "+x" or "x=on",
// "-x" or "x=off". Without a preset in front the rest changes current.
func Parse(expr string, current Set) (Set, error) {
	set := current
	var errs []error
	for i, word := range strings.Split(expr, ",") {
		word = strings.TrimSpace(word)
		switch {
		case i == 0 && word == "all":
			set = All
		case i == 0 && word == "none":
			set = None
		default:
			name, on, err := parseSwitch(word)
			if err != nil {
				errs = append(errs, err)
			} else {
				*set.field(name) = on
			}
		}
	}
	if len(errs) > 0 {
		return current, errors.Join(errs...)
	}
	return set, nil
}

func parseSwitch(word string) (name string, on bool, err error) {
	value := ""
	switch {
	case strings.HasPrefix(word, "+"):
		name, on = word[1:], true
	case strings.HasPrefix(word, "-"):
		name = word[1:]
	default:
		name, value, _ = strings.Cut(word, "=")
		on = value == "on"
		if value != "on" && value != "off" {
			return "", false, fmt.Errorf("defences: %q is not understood: write all or none first, then +x, -x, x=on or x=off", word)
		}
	}
	if !slices.Contains(Names, name) {
		return "", false, fmt.Errorf("defences: there is no defence %q: use one of %s", name, strings.Join(Names, ", "))
	}
	return name, on, nil
}
