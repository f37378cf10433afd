// Package checkout owns the stock and the orders of the shop.
//
// An order needs the catalogue (what does a book cost?) and, unless it is in the shop's own currency, the currency
// service (what is that in the person's money?). Both are asked before any stock is held, and while no connection to
// the database is; and nothing is asked after the order is stored.
package checkout

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// breaker is the same for all edges: a dependency is given up when half of at least twenty calls in ten seconds did
// not come back right, or not in time, and asked again five seconds later by two probes.
var breaker = resilience.Breaker{
	TimeoutRate: 0.5,
	FailureRate: 0.5,
	MinRequests: 20,
	Window:      10 * time.Second,
	Cooldown:    5 * time.Second,
	Probes:      2,
}

// Prices is the catalogue as the source of prices. Without it there is no order.
var Prices = defence.Edge{
	Dependency: "catalogue",
	To:         "catalogue",
	Endpoints:  []string{"prices"},
	Policy: resilience.Policy{
		Criticality:    resilience.Critical,
		Timeout:        350 * time.Millisecond,
		ConnectTimeout: 100 * time.Millisecond,
		Slots:          30,
		Reserve:        50 * time.Millisecond,
		MaxBody:        64 << 10,
		Retry:          resilience.Retry{Attempts: 2, Budget: 0.1, Backoff: 50 * time.Millisecond},
		Breaker:        breaker,
	},
	Fallback: "none: the order is refused in under 1 s, its key freed",
	Why: "a price must never be guessed. The catalogue answers from memory: 350 ms is its own cap of 400 ms less the " +
		"way back; two tries and the pause are 750 ms, and a person is told within the second. " +
		"40 orders/s × 350 ms = 14 slots when all is slow, doubled",
}

// Rates is the currency service. It is asked beside the prices, and only for an order in another currency than USD.
var Rates = defence.Edge{
	Dependency: "currency",
	To:         "currency",
	Endpoints:  []string{"rates"},
	Leaf:       true,
	Policy: resilience.Policy{
		Criticality:    resilience.Critical,
		Timeout:        150 * time.Millisecond,
		ConnectTimeout: 50 * time.Millisecond,
		Slots:          20,
		Reserve:        50 * time.Millisecond,
		MaxBody:        64 << 10,
		Retry:          resilience.Retry{Attempts: 2, Budget: 0.1, Backoff: 25 * time.Millisecond},
		Breaker:        breaker,
	},
	Fallback: "a quote in the shop's own currency, which the person must accept",
	Why: "an old rate would charge another amount than agreed, so there is no last copy here. " +
		"40 orders/s × 2 × 150 ms = 12 slots when all is slow, and room",
}

// Keeping is the database as the keeper of orders and their keys, where there is one (DATABASE_URL). An order comes
// here twice, before and after it is priced, and holds no connection between.
var Keeping = defence.Edge{
	Dependency: "postgres-orders",
	To:         "postgres",
	Endpoints:  []string{"claim", "place", "release"},
	Policy: resilience.Policy{
		Criticality:    resilience.Critical,
		Timeout:        250 * time.Millisecond,
		ConnectTimeout: 200 * time.Millisecond,
		Slots:          16,
		SlotWait:       50 * time.Millisecond,
		Reserve:        50 * time.Millisecond,
		Breaker:        breaker,
	},
	Fallback: "none: the order is refused in under 1 s, and the same key works afterwards",
	Why: "never repeated: whether a commit that was not answered has happened, the key tells. Slots are connections, of " +
		"which a server has about a hundred for everybody. 40 orders/s of two transactions, a few milliseconds each, " +
		"keep one busy; 16 place 500 orders/s of the same two titles, on two cores that the server shares " +
		"(BenchmarkOrder). Who finds all busy can wait for one",
}

// Reading is the database as the teller of orders and stock. Its own connections: people who look at their orders, and
// the gateway's look at the stock, do not take those of people who buy.
var Reading = defence.Edge{
	Dependency: "postgres-reading",
	To:         "postgres",
	Endpoints:  []string{"order", "stock"},
	Policy: resilience.Policy{
		Timeout:        175 * time.Millisecond,
		ConnectTimeout: 100 * time.Millisecond,
		Slots:          8,
		Reserve:        50 * time.Millisecond,
		Retry:          resilience.Retry{Attempts: 2, Budget: 0.1, Backoff: 25 * time.Millisecond},
		Breaker:        breaker,
	},
	Fallback: "none: 503, and when to ask again",
	Why: "a look-up by key takes a few milliseconds; two tries and the pause fit into the 400 ms that the route has. The " +
		"second try is for a connection that a restart of the server has broken",
}

// Dependencies are all calls that this service makes.
var Dependencies = []defence.Edge{Prices, Rates, Keeping, Reading}

// The routes, and what each may spend.
var (
	placeRoute = defence.Route{
		Name:   "POST /orders",
		Budget: 2500 * time.Millisecond,
		// The key is claimed, the order priced (by two in parallel), and placed; or the key released.
		Steps: [][]defence.Edge{{Keeping}, {Prices, Rates}, {Keeping}, {Keeping}},
	}
	orderRoute = defence.Route{
		Name: "GET /orders/{id}", Budget: 450 * time.Millisecond, Steps: [][]defence.Edge{{Reading}},
	}
	stockRoute = defence.Route{Name: "GET /stock", Budget: 450 * time.Millisecond, Steps: [][]defence.Edge{{Reading}}}
)

// Routes are all routes of this service.
var Routes = []defence.Route{placeRoute, orderRoute, stockRoute}
