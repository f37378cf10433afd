package gateway

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// What a route may spend: the promise made to the person who waits. Everything below is derived from these.
const (
	pageBudget     = time.Second
	carouselBudget = 500 * time.Millisecond // the carousel as a page of its own
	orderBudget    = 3 * time.Second
)

// reserve is kept back to answer with after a call has failed.
const reserve = 50 * time.Millisecond

// breaker is the same on every edge: half of at least twenty calls in ten seconds.
var breaker = resilience.Breaker{
	TimeoutRate: 0.5, FailureRate: 0.5, MinRequests: 20,
	Window: 10 * time.Second, Cooldown: 5 * time.Second, Probes: 2,
}

// readRetry repeats a read once. Two attempts of 450 ms and the pause between them just fit a page:
// 2 × 450 + 50 ≤ 1,000 − 50.
var readRetry = resilience.Retry{Attempts: 2, Budget: 0.1, Backoff: 50 * time.Millisecond}

var (
	// toCatalogue is on the path of nearly every page, so it has most of the slots: 400 pages a second of 450 ms, at
	// the very worst, are 180.
	toCatalogue = defence.Edge{
		Dependency: "catalogue", To: "catalogue", Endpoints: []string{"books", "book"},
		Policy: resilience.Policy{
			Timeout: 450 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 200, Reserve: reserve, Retry: readRetry, Breaker: breaker,
		},
		Fallback: "the last good copy of that page, at most 10 min old, marked; none: a 503 page that says when to " +
			"try again",
		Why: "the catalogue gives up at 400 ms; two attempts and the pause fit a page of 1 s",
	}

	// toRelated asks for the carousel as a page of its own. Losing it must not cost the shelf anything, so it shares
	// nothing with toCatalogue.
	toRelated = defence.Edge{
		Dependency: "catalogue-related", To: "catalogue", Endpoints: []string{"related"},
		Policy: resilience.Policy{
			Criticality: resilience.Sheddable,
			Timeout:     400 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 20, Reserve: reserve, Breaker: breaker,
		},
		Fallback: "no carousel",
		Why:      "optional, so it is tried once and never holds more than 20 requests",
	}

	// toOffers asks for the header of offers, beside the own call of each page. It is opened with HEADER_OFFERS=on only.
	toOffers = defence.Edge{
		Dependency: "catalogue-offers", To: "catalogue", Endpoints: []string{"offers"},
		Policy: resilience.Policy{
			Criticality: resilience.Sheddable,
			Timeout:     400 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 7, Reserve: reserve, Breaker: breaker,
		},
		Fallback: "a page without offers (HEADER_OFFERS=on)",
		Why: "optional, and on every page: 40 pages/s × 0.1 s keep 4 slots busy, 3 more are room, and a page that finds " +
			"none free goes without at once; asked beside the page's own call, so that a page may take the longer of " +
			"the two and not their sum, which 1 s does not hold",
	}

	// toOrder takes the money. It has its own slots, so that no flood of readers can keep a buyer out.
	toOrder = defence.Edge{
		Dependency: "checkout-order", To: "checkout", Endpoints: []string{"order"},
		Policy: resilience.Policy{
			Criticality: resilience.Critical,
			Timeout:     2500 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 60, Reserve: reserve, Breaker: breaker,
		},
		Fallback: "a 503 page; the cart is kept and the same key works afterwards",
		Why: "what is left of 3 s; never repeated here: whether to order again is the person's to say, and the " +
			"key makes it safe",
	}

	// toOrders reads one order back.
	toOrders = defence.Edge{
		Dependency: "checkout-read", To: "checkout", Endpoints: []string{"order"},
		Policy: resilience.Policy{
			Timeout: 450 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 20, Reserve: reserve, Retry: readRetry, Breaker: breaker,
		},
		Fallback: "a 503 page that says when to try again",
		Why:      "as the catalogue's; apart from the ordering, so that looking cannot stop buying",
	}

	// toStock is asked in the background, every stockEvery. No page waits for it.
	toStock = defence.Edge{
		Dependency: "checkout-stock", To: "checkout", Endpoints: []string{"stock"}, Background: true,
		Policy: resilience.Policy{
			Criticality: resilience.Sheddable,
			Timeout:     500 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			Slots: 2, Reserve: reserve, Breaker: breaker,
		},
		Fallback: "the page says nothing of stock; checkout decides",
		Why:      "a tenth of the round of 5 s; a missed one is made up by the next",
	}
)

// Dependencies is everything that the gateway calls.
var Dependencies = []defence.Edge{toCatalogue, toRelated, toOffers, toOrder, toOrders, toStock}

// Routes is what each route that calls somebody may spend, and on what. The rest answers from what it has. A page that
// says no offers nothing.
var Routes = []defence.Route{
	{Name: "GET /books", Budget: pageBudget, Steps: [][]defence.Edge{{toCatalogue, toOffers}}},
	{Name: "GET /books/{id}", Budget: pageBudget, Steps: [][]defence.Edge{{toCatalogue, toOffers}}},
	{Name: "GET /books/{id}/related", Budget: carouselBudget, Steps: [][]defence.Edge{{toRelated, toOffers}}},
	{Name: "GET /cart", Budget: pageBudget, Steps: [][]defence.Edge{{toCatalogue, toOffers}}},
	{Name: "POST /orders", Budget: orderBudget, Steps: [][]defence.Edge{{toOrder}}},
	{Name: "GET /orders", Budget: pageBudget, Steps: [][]defence.Edge{{toOffers}}},
	{Name: "GET /orders/{id}", Budget: pageBudget, Steps: [][]defence.Edge{{toOrders, toOffers}}},
	{Name: "GET /currency", Budget: pageBudget, Steps: [][]defence.Edge{{toOffers}}},

	{Name: "GET /api/v1/books", Budget: pageBudget, Steps: [][]defence.Edge{{toCatalogue}}},
	{Name: "GET /api/v1/books/{id}", Budget: pageBudget, Steps: [][]defence.Edge{{toCatalogue}}},
	{Name: "GET /api/v1/books/{id}/related", Budget: carouselBudget, Steps: [][]defence.Edge{{toRelated}}},
	{Name: "POST /api/v1/orders", Budget: orderBudget, Steps: [][]defence.Edge{{toOrder}}},
	{Name: "GET /api/v1/orders/{id}", Budget: pageBudget, Steps: [][]defence.Edge{{toOrders}}},
}
