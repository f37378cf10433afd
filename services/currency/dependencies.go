// Package currency tells what one currency is in all others, at the European Central Bank's reference rates of a day.
//
// It is a leaf: it calls no other service of the shop, and answers from memory. Where RATES_URL says so, it fetches
// newer rates in the background; nobody ever waits for that.
package currency

import (
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// Source is where newer rates come from, if there is a RATES_URL.
var Source = defence.Edge{
	Dependency: "rates-source",
	To:         "RATES_URL",
	Endpoints:  []string{"daily"},
	Policy: resilience.Policy{
		Criticality:    resilience.Sheddable,
		Timeout:        5 * time.Second,
		ConnectTimeout: time.Second,
		Slots:          1,
		MaxBody:        64 << 10,
	},
	Background: true,
	Fallback:   "the last rates, their date shown",
	Why: "a document of 2 KiB that changes once a working day: 5 s are generous, and the next round is the retry. A " +
		"breaker would have nothing to spare at one call an hour",
}

// Dependencies are all calls that this service makes.
var Dependencies = []defence.Edge{Source}

// ratesRoute answers from memory; 150 ms is what its callers wait for it.
var ratesRoute = defence.Route{Name: "GET /rates", Budget: 150 * time.Millisecond}

// Routes are all routes of this service.
var Routes = []defence.Route{ratesRoute}
