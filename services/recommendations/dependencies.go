// Package recommendations is the service of "readers also bought": for each book, the books that go with it. And it
// knows what is much bought lately, for the shop to offer.
//
// It is a leaf: it calls nobody. What it knows it works out once, at the start, from the shop's order history, and
// answers from memory. The shop can do without it, and every caller should treat it so.
package recommendations

import (
	"time"

	"example.com/holdfast/internal/defence"
)

// Dependencies is empty: whatever happens to the others, this service answers.
var Dependencies []defence.Edge

// routeBudget is what a request may take at most, whatever its caller has left. It is no promise: an answer is a
// look-up in memory. Its caller, the catalogue, gives up after 250 ms, so a second ends only what nobody waits for.
const routeBudget = time.Second

// Routes are what this service may be asked. None of them waits for anybody.
var Routes = []defence.Route{
	{Name: "GET /related/{book}", Budget: routeBudget},
	{Name: "GET /offers", Budget: routeBudget},
}
