// Package recommendations is the service of "readers also bought": for each book, the books that go with it. And it
// knows what is much bought lately, for the shop to offer.
//
// It is a leaf: it calls no other service. What it knows it works out once, at the start, from the shop's order
// history, and answers from memory. The shop can do without it, and every caller should treat it so.
package recommendations

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// Database is where the order history is, if there is one (DATABASE_URL). It is read at the start and then no more.
var Database = defence.Edge{
	Dependency: "postgres",
	To:         "postgres",
	Endpoints:  []string{"seed", "history"},
	Background: true,
	Policy: resilience.Policy{
		Criticality:    resilience.Sheddable,
		Timeout:        5 * time.Second,
		ConnectTimeout: 200 * time.Millisecond,
		Slots:          1,
	},
	Fallback: "none: the service does not start",
	Why:      "The whole history at once, before anybody is served; 20,000 orders take less than half a second.",
}

// Dependencies are all that this service calls. Once it has started, it answers whatever happens to the others.
var Dependencies = []defence.Edge{Database}

// routeBudget is what a request may take at most, whatever its caller has left. It is no promise: an answer is a
// look-up in memory. Its caller, the catalogue, gives up after 250 ms, so a second ends only what nobody waits for.
const routeBudget = time.Second

// Routes are what this service may be asked. None of them waits for anybody.
var Routes = []defence.Route{
	{Name: "GET /related/{book}", Budget: routeBudget},
	{Name: "GET /offers", Budget: routeBudget},
}
