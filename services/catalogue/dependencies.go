// Package catalogue is the service of books and prices: it lists them, shows one with what readers of it also bought,
// and tells checkout what a book costs.
//
// It looks at books in a copy of its store in memory, so that it needs nobody to show one. Two leaves make an answer
// better, recommendations and currency, and this file says how little of the catalogue each of them may take. Read it
// first.
package catalogue

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// routeBudget is what each route may spend, whatever its caller has left. Why 400 ms: the gateway gives a page one
// second and one attempt here 450 ms; taking 50 ms off for the way back leaves this.
const routeBudget = 400 * time.Millisecond

// reserve is kept back from a route's budget, to answer with after a call has failed. Why 50 ms: making the largest
// answer takes under one (BenchmarkPage); the rest is for a machine that has something else to do.
const reserve = 50 * time.Millisecond

// giveUp is when to stop calling either leaf: at half of the calls of ten seconds, since single hiccups happen; at
// twenty calls or more, since a share of fewer means nothing; for five seconds, about what a restart takes.
var giveUp = resilience.Breaker{
	TimeoutRate: 0.5,
	FailureRate: 0.5,
	MinRequests: 20,
	Window:      10 * time.Second,
	Cooldown:    5 * time.Second,
	Probes:      2,
}

var recommendations = defence.Edge{
	Dependency: "recommendations",
	To:         "recommendations",
	Leaf:       true,
	Endpoints:  []string{"related"},
	Policy: resilience.Policy{
		Criticality:    resilience.Sheddable,
		Timeout:        250 * time.Millisecond,
		ConnectTimeout: 50 * time.Millisecond,
		Slots:          20,
		Reserve:        reserve,
		MaxBody:        64 << 10,
		Breaker:        giveUp,
	},
	Fallback: "empty list: no carousel",
	Why: "Optional, so it may take a tenth of the workers and no second try. Slots: 40 pages/s at a healthy 80 ms keep " +
		"4 busy, and a leaf held for good can take 20 of 200. Timeout: three times the healthy answer, and 100 ms " +
		"inside what the route has left.",
}

// offering asks the same service for another purpose, on behalf of every page and not of a book's alone. So it shares
// nothing with recommendations: neither may turn the other's calls away.
var offering = defence.Edge{
	Dependency: "recommendations-offers",
	To:         "recommendations",
	Leaf:       true,
	Endpoints:  []string{"offers"},
	Policy: resilience.Policy{
		Criticality:    resilience.Sheddable,
		Timeout:        250 * time.Millisecond,
		ConnectTimeout: 50 * time.Millisecond,
		Slots:          7,
		Reserve:        reserve,
		MaxBody:        64 << 10,
		Breaker:        giveUp,
	},
	Fallback: "empty list: no offers",
	Why: "Optional, and on every page, so it gets what it needs and little room: 40 calls/s at a healthy 0.1 s keep 4 " +
		"slots busy, and 3 more are for calls that bunch. Whoever finds none free goes without, at once. Timeout: as " +
		"the carousel's, whose answer comes from the same memory.",
}

var exchange = defence.Edge{
	Dependency: "currency",
	To:         "currency",
	Leaf:       true,
	Endpoints:  []string{"rates"},
	Policy: resilience.Policy{
		Timeout:        150 * time.Millisecond,
		ConnectTimeout: 50 * time.Millisecond,
		Slots:          20,
		Reserve:        reserve,
		MaxBody:        64 << 10,
		Breaker:        giveUp,
	},
	Fallback: "the last rates if fetched at most 72 h ago, else the shop's own currency, and the answer says so",
	Why: "Rates come from memory in a few milliseconds, so 150 ms means trouble; one look-up a page, so 20 slots carry " +
		"130 pages/s even at the timeout. Default, not sheddable: a price in the wrong currency is seen by everybody " +
		"who asked for another.",
}

// Database is where the books are, if there is one (DATABASE_URL). No request ever waits for it.
var Database = defence.Edge{
	Dependency: "postgres",
	To:         "postgres",
	Endpoints:  []string{"books"},
	Background: true,
	Policy: resilience.Policy{
		Criticality:    resilience.Sheddable,
		Timeout:        2 * time.Second,
		ConnectTimeout: 200 * time.Millisecond,
		Slots:          1,
	},
	Fallback: "the copy in memory, however old",
	Why: "All books at once, twice a minute: a few milliseconds, and the next round is the retry. A breaker would have " +
		"nothing to spare.",
}

// Dependencies are all that the catalogue calls. None is on the path of a page in the shop's own currency that asks for
// neither a carousel nor offers.
var Dependencies = []defence.Edge{recommendations, offering, exchange, Database}

// Routes are what the catalogue may be asked, and what each may wait for: the two leaves at once, never one after the
// other.
var Routes = []defence.Route{
	{Name: "GET /books", Budget: routeBudget, Steps: [][]defence.Edge{{exchange}}},
	{Name: "GET /books/{id}", Budget: routeBudget, Steps: [][]defence.Edge{{recommendations, exchange}}},
	{Name: "GET /books/{id}/related", Budget: routeBudget, Steps: [][]defence.Edge{{recommendations, exchange}}},
	{Name: "GET /offers", Budget: routeBudget, Steps: [][]defence.Edge{{offering, exchange}}},
	{Name: "GET /prices", Budget: routeBudget},
}
