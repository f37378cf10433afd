package loadtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeShop is the five services of a shop behind one listener. It tells the truth, unless it is told to lie.
type fakeShop struct {
	server *httptest.Server
	lie    func(w http.ResponseWriter, r *http.Request) bool // answers in the shop's place, if it returns true
	closed atomic.Bool

	mu       sync.Mutex
	began    time.Time
	orders   map[string]string
	keys     map[string]int // how often each idempotency key was seen
	defences []string       // in the order in which they were set, with the service
	faults   map[string]chan struct{}

	saturateAfter time.Duration // from the fault; 0: never
	faultAt       time.Time
}

var fakeBooks = []struct{ id, title, price string }{
	{"moby-dick", "Moby-Dick; or, The Whale", "12.50"},
	{"typee", "Typee <a peep>", "9.00"},
	{"walden", `"Walden" & more`, "7.25"},
}

func newFakeShop(t *testing.T, lie func(http.ResponseWriter, *http.Request) bool) *fakeShop {
	s := &fakeShop{lie: lie, orders: map[string]string{}, keys: map[string]int{}, faults: map[string]chan struct{}{}}
	s.began = time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /gateway/api/v1/books", s.apiBooks)
	mux.HandleFunc("GET /gateway/books", s.shelfPage)
	mux.HandleFunc("GET /gateway/books/{id}", s.bookPage)
	mux.HandleFunc("POST /gateway/api/v1/orders", s.placeOrder)
	mux.HandleFunc("GET /gateway/api/v1/orders/{id}", s.readOrder)
	mux.HandleFunc("GET /checkout/stock", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"stock":{"moby-dick":1000000,"typee":1000000,"walden":2}}`)
	})
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
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.lie == nil || !s.lie(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *fakeShop) Public(service string) string { return s.server.URL + "/" + service }
func (s *fakeShop) Admin(service string) string  { return s.server.URL + "/admin/" + service }
func (s *fakeShop) Close(context.Context) error  { s.closed.Store(true); return nil }

func (s *fakeShop) Restart(context.Context, string) error { return nil }

func (s *fakeShop) open(context.Context, Environment) (Shop, error) { return s, nil }

func (s *fakeShop) apiBooks(w http.ResponseWriter, r *http.Request) {
	code := cmp.Or(r.FormValue("currency"), "USD")
	var books []string
	for _, b := range fakeBooks {
		const book = `{"id":%q,"title":%q,"price":{"number":%q,"currency":%q}}`
		books = append(books, fmt.Sprintf(book, b.id, b.title, b.price, code))
	}
	fmt.Fprintf(w, `{"books":[%s],"page":1,"pages":1}`, strings.Join(books, ","))
}

func (s *fakeShop) shelfPage(w http.ResponseWriter, r *http.Request) {
	for _, b := range fakeBooks {
		fmt.Fprint(w, bookHTML(b.id, b.title, b.price, r.FormValue("currency")))
	}
}

func (s *fakeShop) bookPage(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(fakeBooks, func(b struct{ id, title, price string }) bool { return b.id == r.PathValue("id") })
	b := fakeBooks[i]
	fmt.Fprint(w, bookHTML(b.id, b.title, b.price, r.FormValue("currency"))+carouselHTML)
}

func bookHTML(id, title, price, currency string) string {
	const article = `<article data-book="%s"><h1>%s</h1>` +
		`<data class="price" data-currency="%s" value="%s">x</data></article>`
	return fmt.Sprintf(article, id, html.EscapeString(title), currency, price)
}

const carouselHTML = `<section class="related" data-related="recommendations"><p data-book="typee">Typee</p></section>`

func (s *fakeShop) placeOrder(w http.ResponseWriter, r *http.Request) {
	var o struct {
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
	s.keys[key]++
	id := fmt.Sprintf("ord_%d", len(s.orders))
	body := fmt.Sprintf(`{"id":%q,"total":{"number":%q,"currency":%[3]q},"currency":%[3]q}`, id, o.Expected, o.Currency)
	s.orders[id] = body
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, body)
}

func (s *fakeShop) readOrder(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.orders[r.PathValue("id")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, body)
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
