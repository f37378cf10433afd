package loadtest

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// schedule is everybody who comes during an act, in the order in which they come.
type schedule struct {
	hits    []hit
	names   []string // of the classes, by hit.class
	fastest []Rate   // at which each class comes in any phase
}

// hit is one person's coming.
type hit struct {
	at    time.Duration // from the start of the load
	class int
	ask   *ask
}

// ask is what a person wants: the request, and what its answer must contain. Many hits share one; only the
// idempotency key of an order is made for each.
type ask struct {
	kind   Kind
	method string
	path   string // and query
	body   []byte

	currency string
	page     int    // Browse: of the shelf, from 1
	book     string // Book, Carousel: its id
	deferred bool   // Book: it has no carousel
	offers   bool   // of a page: it has offers
	order    string // Lookup: its id
	lines    []line // Order, Lookup: what it must say …
	total    price  // … and what it costs
	atHome   *ask   // Order: the same in the shop's own currency; nil: it is
}

// line is one title of an order.
type line struct {
	book        string
	quantity    int
	unit, total price
}

// asksPerClass is how many different requests a class has ready to choose from.
const asksPerClass = 512

// newSchedule computes all arrivals before the first is sent. It is a pure function of its arguments.
func newSchedule(s *Scenario, sh *shelf, phases []Phase, seed uint64) schedule {
	sched := schedule{names: s.classNames()}
	chances := make([]*rand.Rand, len(sched.names)) // one for each class: another class changes nothing in it
	asks := make([][]*ask, len(sched.names))
	for i, name := range sched.names {
		sched.fastest = append(sched.fastest, s.Classes[name].busiest(name, phases))
		chances[i] = rand.New(rand.NewPCG(seed, math.MaxUint64-uint64(i))) // apart from that of the arrivals
		for range asksPerClass {
			asks[i] = append(asks[i], newAsk(s.Classes[name], sh, chances[i]))
		}
	}
	for at, i := range s.visits(phases, seed) {
		sched.hits = append(sched.hits, hit{at: at, class: i, ask: asks[i][chances[i].IntN(asksPerClass)]})
	}
	return sched
}

func newAsk(c Class, sh *shelf, chance *rand.Rand) *ask {
	a := &ask{
		kind: c.Kind, method: http.MethodGet, currency: chooseCurrency(c.Currencies, chance),
		deferred: c.Deferred, offers: c.Offers,
	}
	query := url.Values{"currency": {a.currency}}
	switch c.Kind {
	case Browse:
		a.page = 1 + chance.IntN(len(sh.pages))
		query.Set("page", strconv.Itoa(a.page))
		a.path = "/books?" + query.Encode()
	case Book:
		a.book = sh.books[chance.IntN(len(sh.books))]
		a.path = "/books/" + url.PathEscape(a.book) + "?" + query.Encode()
	case Carousel:
		a.book = sh.books[chance.IntN(len(sh.books))]
		a.path = "/books/" + url.PathEscape(a.book) + "/related?" + query.Encode()
	case Lookup:
		placed := sh.orders[chance.IntN(len(sh.orders))]
		a.order, a.lines, a.total = placed.id, placed.lines, placed.total
		a.path = "/api/v1/orders/" + url.PathEscape(placed.id)
	case Order:
		a.method, a.path = http.MethodPost, "/api/v1/orders"
		a.buy(sh, chooseBooks(sh, chance))
	}
	return a
}

// chooseBooks chooses one title or two to buy.
func chooseBooks(sh *shelf, chance *rand.Rand) []string {
	first := chance.IntN(len(sh.stock))
	books := []string{sh.stock[first]}
	if chance.IntN(2) == 1 {
		other := (first + 1 + chance.IntN(len(sh.stock)-1)) % len(sh.stock) // never the same title twice
		books = append(books, sh.stock[other])
	}
	return books
}

// buy fills in an order of some titles, one copy each.
func (a *ask) buy(sh *shelf, books []string) {
	type item struct {
		Book     string `json:"book"`
		Quantity int    `json:"quantity"`
	}
	var items []item
	total := sh.price[a.currency][books[0]].Amount
	for i, book := range books {
		unit := sh.price[a.currency][book]
		items = append(items, item{book, 1})
		a.lines = append(a.lines, line{book: book, quantity: 1, unit: unit, total: unit})
		if i > 0 {
			sum, err := total.Add(unit.Amount)
			if err != nil {
				panic(err) // both prices are of one currency: the shelf is keyed by it
			}
			total = sum
		}
	}
	a.total = priceOf(total)
	body, err := json.Marshal(struct {
		Items    []item `json:"items"`
		Currency string `json:"currency"`
		Expected string `json:"expected_total"`
	}{items, a.currency, a.total.number})
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	a.body = body
	if a.currency != home {
		a.atHome = &ask{kind: a.kind, method: a.method, path: a.path, currency: home}
		a.atHome.buy(sh, books)
	}
}

func chooseCurrency(shares map[string]Share, chance *rand.Rand) string {
	at := Share(chance.Float64())
	codes := slices.Sorted(maps.Keys(shares))
	for _, code := range codes {
		if at -= shares[code]; at < 0 {
			return code
		}
	}
	return codes[len(codes)-1] // the shares add up to a hair less than one
}
