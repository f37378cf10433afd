package loadtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeShop is the five services of a shop behind one listener. It tells the truth, unless it is told to lie.
type fakeShop struct {
	server *httptest.Server
	honest http.Handler
	lie    lie
	closed atomic.Bool

	mu       sync.Mutex
	began    time.Time
	stock    map[string]int
	placed   int                  // orders so far
	orders   map[string]fakeOrder // by id
	keys     map[string]string    // the id of the order of each idempotency key
	seen     map[string]int       // how often each idempotency key was seen
	defences []string             // in the order in which they were set, with the service
	faults   map[string]chan struct{}

	saturateAfter time.Duration // from the fault; 0: never
	faultAt       time.Time
}

// lie answers a request in the shop's place, or does something behind its back and returns false.
type lie func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool

var fakeBooks = []struct {
	id, title, usd, eur string
	stock               int
}{
	{"moby-dick", "Moby-Dick; or, The Whale", "12.50", "11.30", 1_000_000},
	{"typee", "Typee <a peep>", "9.00", "8.14", 1_000_000},
	{"walden", `"Walden" & more`, "7.25", "6.55", 2},
	{"dracula", "Dracula", "5.00", "4.52", 0},
}

// fakePage is how many books stand on a page of the shelf.
const fakePage = 2

func newFakeShop(t *testing.T, lie lie) *fakeShop {
	s := fakeHandler(lie)
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// fakeHandler is a fake shop that listens nowhere yet.
func fakeHandler(lie lie) *fakeShop {
	s := &fakeShop{lie: lie, stock: map[string]int{}, orders: map[string]fakeOrder{}, keys: map[string]string{},
		seen: map[string]int{}, faults: map[string]chan struct{}{}}
	for _, b := range fakeBooks {
		s.stock[b.id] = b.stock
	}
	s.began = time.Now()
	mux := http.NewServeMux()
	s.honest = mux
	mux.HandleFunc("GET /gateway/api/v1/books", s.apiBooks)
	mux.HandleFunc("GET /gateway/books", s.shelfPage)
	mux.HandleFunc("GET /gateway/books/{id}", s.bookPage)
	mux.HandleFunc("POST /gateway/api/v1/orders", s.placeOrder)
	mux.HandleFunc("GET /gateway/api/v1/orders/{id}", s.readOrder)
	mux.HandleFunc("POST /checkout/orders", s.placeOrder)
	mux.HandleFunc("GET /checkout/orders/{id}", s.readOrder)
	mux.HandleFunc("GET /checkout/stock", s.readStock)
	mux.HandleFunc("GET /recommendations/related/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		held := s.faults["recommendations"]
		s.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, `{}`)
	})
	mux.HandleFunc("GET /admin/{service}/admin/state", s.state)
	mux.HandleFunc("GET /admin/{service}/admin/defences", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"timeouts":true}`)
	})
	mux.HandleFunc("POST /admin/{service}/admin/defences", func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Set string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.defences = append(s.defences, r.PathValue("service")+" "+body.Set)
	})
	mux.HandleFunc("POST /admin/{service}/admin/faults", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults[r.PathValue("service")] = make(chan struct{})
		s.faultAt = time.Now()
	})
	mux.HandleFunc("DELETE /admin/{service}/admin/faults", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if held := s.faults[r.PathValue("service")]; held != nil {
			close(held)
			delete(s.faults, r.PathValue("service"))
		}
	})
	mux.HandleFunc("POST /admin/{service}/admin/mark", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /admin/{service}/readyz", func(http.ResponseWriter, *http.Request) {})
	return s
}

func (s *fakeShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.lie == nil || !s.lie(s, w, r) {
		s.honest.ServeHTTP(w, r)
	}
}

func (s *fakeShop) url() string {
	if s.server == nil {
		return "http://shop"
	}
	return s.server.URL
}

func (s *fakeShop) Public(service string) string { return s.url() + "/" + service }
func (s *fakeShop) Admin(service string) string  { return s.url() + "/admin/" + service }
func (s *fakeShop) Close(context.Context) error  { s.closed.Store(true); return nil }

func (s *fakeShop) Restart(context.Context, string) error { return nil }

func (s *fakeShop) open(context.Context, Environment) (Shop, error) { return s, nil }

// fakePrice is what a book costs in the currency of a request.
func fakePrice(i int, r *http.Request) amount {
	if code := cmp.Or(r.FormValue("currency"), "USD"); code != "USD" {
		return amount{fakeBooks[i].eur, code}
	}
	return amount{fakeBooks[i].usd, "USD"}
}

// fakeShelf returns the positions of the books on the page that is asked for, and how many pages there are.
func fakeShelf(r *http.Request) (on []int, pages int) {
	pages = (len(fakeBooks) + fakePage - 1) / fakePage
	page, _ := strconv.Atoi(r.FormValue("page"))
	page = min(max(page, 1), pages)
	for i := (page - 1) * fakePage; i < min(page*fakePage, len(fakeBooks)); i++ {
		on = append(on, i)
	}
	return on, pages
}

func (s *fakeShop) apiBooks(w http.ResponseWriter, r *http.Request) {
	on, pages := fakeShelf(r)
	var books []map[string]any
	for _, i := range on {
		books = append(books, map[string]any{
			"id": fakeBooks[i].id, "title": fakeBooks[i].title, "price": fakePrice(i, r),
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"books": books, "pages": pages})
}

func (s *fakeShop) shelfPage(w http.ResponseWriter, r *http.Request) {
	on, _ := fakeShelf(r)
	var books []string
	for _, i := range on {
		books = append(books, bookHTML(fakeBooks[i].id, fakeBooks[i].title, fakePrice(i, r)))
	}
	fmt.Fprint(w, pageHTML(books...))
}

func (s *fakeShop) bookPage(w http.ResponseWriter, r *http.Request) {
	i := fakeIndex(r.PathValue("id"))
	fmt.Fprint(w, pageHTML(bookHTML(fakeBooks[i].id, fakeBooks[i].title, fakePrice(i, r)), carouselHTML))
}

func fakeIndex(id string) int {
	for i, b := range fakeBooks {
		if b.id == id {
			return i
		}
	}
	return -1
}

func pageHTML(main ...string) string {
	return "<!doctype html>\n<html><head><title>Books</title></head><body>\n<ul><li><a>Subjects</a></li></ul>\n" +
		strings.Join(main, "\n") + "\n</body>\n</html>\n"
}

func bookHTML(id, title string, price amount) string {
	const article = `<article data-book="%s"><h1>%s</h1>` +
		`<data class="price" data-currency="%s" value="%s">x</data></article>`
	return fmt.Sprintf(article, id, html.EscapeString(title), price.Currency, price.Number)
}

const carouselHTML = `<section class="related" data-related="recommendations"><ul class="books">` +
	`<li data-book-related="typee">Typee <data class="price" data-currency="USD" value="9.00">x</data></li></ul></section>`

// fakeOrder is an order as it is stored and told.
type fakeOrder struct {
	ID       string     `json:"id"`
	Items    []fakeLine `json:"items"`
	Total    amount     `json:"total"`
	Currency string     `json:"currency"`
}

type fakeLine struct {
	Book      string `json:"book"`
	Quantity  int    `json:"quantity"`
	UnitPrice amount `json:"unit_price"`
	LineTotal amount `json:"line_total"`
}

func (s *fakeShop) placeOrder(w http.ResponseWriter, r *http.Request) {
	var o struct {
		Items    []fakeLine
		Expected string `json:"expected_total"`
		Currency string
	}
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	s.seen[key]++
	id, replayed := s.keys[key]
	if !replayed {
		id = fmt.Sprintf("ord_%d", s.placed)
		s.placed++
		for i := range o.Items {
			l := &o.Items[i]
			book := fakeBooks[fakeIndex(l.Book)]
			l.UnitPrice = amount{book.usd, "USD"}
			if o.Currency != "USD" {
				l.UnitPrice = amount{book.eur, o.Currency}
			}
			l.LineTotal = l.UnitPrice // of one copy: the load test orders no more
		}
		s.keys[key] = id
		s.orders[id] = fakeOrder{id, o.Items, amount{o.Expected, o.Currency}, o.Currency}
		s.sell(s.orders[id], 1)
	}
	writeJSON(w, http.StatusCreated, s.orders[id])
}

// sell takes the copies of an order from the stock, times over.
func (s *fakeShop) sell(o fakeOrder, times int) {
	for _, l := range o.Items {
		s.stock[l.Book] -= times * l.Quantity
	}
}

func (s *fakeShop) readOrder(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orders[r.PathValue("id")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, o)
}

func (s *fakeShop) readStock(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"stock": s.stock})
}

func writeJSON(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

// state is a service with 200 workers of which two are busy, and a dependency called 40 times a second.
func (s *fakeShop) state(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	up := time.Since(s.began).Seconds()
	saturated := "null"
	if s.saturateAfter > 0 && !s.faultAt.IsZero() && time.Since(s.faultAt) > s.saturateAfter {
		saturated = `"` + s.faultAt.Add(s.saturateAfter).Format(time.RFC3339Nano) + `"`
	}
	fmt.Fprintf(w, `{"service":%q,
		"workers":{"limit":200,"in_use":2,"high_water":5,"saturated_at":%s,"queue":0,"busy_seconds":%f},
		"process":{"goroutines":20,"fds":10,"fds_limit":1024,"rss_bytes":1000000,"cpu_seconds":%f},
		"dependencies":[{"name":"recommendations","slots":20,"endpoints":[
			{"name":"related","breaker":"closed","outcomes":{"success":%d,"timeout":0},"p50_ms":50,"p99_ms":60}]}]}`,
		r.PathValue("service"), saturated, 4*up, 0.1*up, int64(40*up))
}
