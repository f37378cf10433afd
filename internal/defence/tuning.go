package defence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tuning gives dependencies other limits than those declared, by name: an experiment asks what they would be worth.
type Tuning map[string]Limits

// Limits are those of one dependency. 0: as declared.
type Limits struct {
	Slots   int
	Timeout time.Duration
}

// ParseTuning reads a list such as "recommendations.slots=60,recommendations.timeout=2s". The error names every item
// that is wrong and what is allowed.
func ParseTuning(text string) (Tuning, error) {
	t := Tuning{}
	var errs []error
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		dependency, limit, _ := strings.Cut(key, ".")
		l := t[dependency]
		var err error
		switch limit {
		case "slots":
			if l.Slots, err = strconv.Atoi(value); err != nil || l.Slots < 1 || l.Slots > 1_000_000 {
				err = errors.New("slots must be 1 to 1000000")
			}
		case "timeout":
			if l.Timeout, err = time.ParseDuration(value); err != nil || l.Timeout < time.Millisecond || l.Timeout > time.Hour {
				err = errors.New("timeout must be a duration of 1ms to 1h")
			}
		default:
			err = errors.New("must be dependency.slots=N or dependency.timeout=D")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", item, err))
		}
		t[dependency] = l
	}
	return t, errors.Join(errs...)
}

// Edge returns e with the limits that it is given.
func (t Tuning) Edge(e Edge) Edge {
	l := t[e.Dependency]
	if l.Slots != 0 {
		e.Policy.Slots = l.Slots
	}
	if l.Timeout != 0 {
		e.Policy.Timeout = l.Timeout
	}
	return e
}

// Check reports a name that is no dependency among the edges.
func (t Tuning) Check(edges []Edge) error {
	var known []string
	for _, e := range edges {
		known = append(known, e.Dependency)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("TUNE: there is no dependency %q here; there are %s", name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}
