package simulate

import (
	"example.com/holdfast/loadtest"
	"example.com/holdfast/pkg/resilience"
)

// route is one thing that a service may be asked for: what it then asks of others, all at once. Its budget is what the
// service declares.
type route struct {
	service, name string
	class         resilience.Criticality // of who comes from outside
	needs         []need
}

// need is a call that a route makes.
type need struct {
	dependency, endpoint string
	route                string // of whom the dependency leads to
	when                 func(ask) bool
	// without is what the answer is called where a fallback stands in: a token of X-Degraded. Empty: there is no
	// fallback, and no answer without it. A copy is a fallback only where one was made.
	without lack
}

// lack is a thing that an answer may lack, several of them added up.
type lack uint8

const (
	lacksCarousel lack = 1 << iota
	lacksPrices
	lacksOffers
	lacksCopy // it is a copy
	lacksRate // of an order: it is not taken, but could be in the shop's own currency
)

var lacks = map[string]lack{
	"carousel": lacksCarousel, "prices": lacksPrices, "offers": lacksOffers, "copy": lacksCopy,
}

func always(ask) bool     { return true }
func abroad(a ask) bool   { return a.abroad }
func carousel(a ask) bool { return a.inline }
func offers(a ask) bool   { return a.offers }

// entrances are the routes of the gateway that people come by.
var entrances = map[loadtest.Kind]string{
	loadtest.Browse: "GET /books", loadtest.Book: "GET /books/{id}", loadtest.Carousel: "GET /books/{id}/related",
	loadtest.Order: "POST /api/v1/orders", loadtest.Lookup: "GET /api/v1/orders/{id}",
}

// header is the offers on every page.
var header = need{"catalogue-offers", "offers", "GET /offers", offers, lacksOffers}

// routes are those of the shop that the people of a load test come by; orders are kept in memory.
var routes = []route{
	{"gateway", "GET /books", resilience.Default, []need{
		{"catalogue", "books", "GET /books", always, lacksCopy}, header}},
	{"gateway", "GET /books/{id}", resilience.Default, []need{
		{"catalogue", "book", "GET /books/{id}", always, lacksCopy}, header}},
	{"gateway", "GET /books/{id}/related", resilience.Sheddable, []need{
		{"catalogue-related", "related", "GET /books/{id}/related", always, lacksCarousel}, header}},
	{"gateway", "POST /api/v1/orders", resilience.Critical, []need{
		{"checkout-order", "order", "POST /orders", always, 0}}},
	{"gateway", "GET /api/v1/orders/{id}", resilience.Default, []need{
		{"checkout-read", "order", "GET /orders/{id}", always, 0}}},

	{"catalogue", "GET /books", resilience.Default, []need{
		{"currency", "rates", "GET /rates", abroad, lacksPrices}}},
	{"catalogue", "GET /books/{id}", resilience.Default, []need{
		{"recommendations", "related", "GET /related/{book}", carousel, lacksCarousel},
		{"currency", "rates", "GET /rates", abroad, lacksPrices}}},
	{"catalogue", "GET /books/{id}/related", resilience.Default, []need{
		{"recommendations", "related", "GET /related/{book}", always, lacksCarousel},
		{"currency", "rates", "GET /rates", abroad, lacksPrices}}},
	{"catalogue", "GET /offers", resilience.Default, []need{
		{"recommendations-offers", "offers", "GET /offers", always, lacksOffers},
		{"currency", "rates", "GET /rates", abroad, lacksPrices}}},
	{"catalogue", "GET /prices", resilience.Default, nil},

	{"checkout", "POST /orders", resilience.Default, []need{
		{"catalogue", "prices", "GET /prices", always, 0},
		{"currency", "rates", "GET /rates", abroad, lacksRate}}},
	{"checkout", "GET /orders/{id}", resilience.Default, nil},

	{"recommendations", "GET /related/{book}", resilience.Default, nil},
	{"recommendations", "GET /offers", resilience.Default, nil},
	{"currency", "GET /rates", resilience.Default, nil},
}

// health is the route of a service by which others ask for a sign of life.
var health = route{name: "GET /healthz"}
