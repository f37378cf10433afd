package defence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// Edge declares one dependency of one service, as it is with every defence on. A service's edges are its
// dependencies.go; `holdfast budgets` prints them all.
type Edge struct {
	Dependency string   // its name in metrics and logs: checkout-order
	To         string   // the service that it calls: checkout
	Endpoints  []string // the operations that it may be asked for
	Policy     resilience.Policy
	Leaf       bool   // what it calls, calls nothing: where the naive client repeats itself (NAIVE_ATTEMPTS)
	Background bool   // nobody waits for it
	Fallback   string // what happens when it cannot answer, in words
	Why        string // where the numbers come from, in words
}

// Route declares what one route of a service may take, and the calls it makes: the edges of a step in parallel, the
// steps one after the other.
type Route struct {
	Name   string // GET /books/{id}
	Budget time.Duration
	Steps  [][]Edge
}

// worst is the longest that a call over the edge takes: every wait for a slot and every pause to its cap, every
// attempt to its timeout.
func (e Edge) worst() time.Duration {
	attempts := max(1, e.Policy.Retry.Attempts)
	pause := max(e.Policy.Retry.MaxBackoff, e.Policy.Retry.Backoff)
	return time.Duration(attempts)*(e.Policy.SlotWait+e.Policy.Timeout) + time.Duration(attempts-1)*pause
}

// Worst is the longest that the route's calls take: in each step the longest one, the steps added up.
func (r Route) Worst() time.Duration {
	var sum time.Duration
	for _, step := range r.Steps {
		var longest time.Duration
		for _, e := range step {
			longest = max(longest, e.worst())
		}
		sum += longest
	}
	return sum
}

// Check reports a route whose calls do not fit its budget less the reserve.
func (r Route) Check() error {
	var reserve time.Duration
	for _, e := range slices.Concat(r.Steps...) {
		if e.Policy.Timeout == resilience.Unbounded {
			return fmt.Errorf("route %s: the call to %s is unbounded", r.Name, e.Dependency)
		}
		reserve = max(reserve, e.Policy.Reserve)
	}
	if worst := r.Worst(); worst > r.Budget-reserve {
		return fmt.Errorf("route %s: its calls may take %v, its budget is %v less a reserve of %v: "+
			"shorten a timeout, take an attempt away, or take the call off this path", r.Name, worst, r.Budget, reserve)
	}
	return nil
}

// CheckRoutes tells every route whose calls do not fit its budget.
func CheckRoutes(routes []Route) error {
	var errs []error
	for _, r := range routes {
		errs = append(errs, r.Check())
	}
	return errors.Join(errs...)
}
