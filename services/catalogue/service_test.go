package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someRates = `{"base":"USD","as_of":"2026-09-24",
	"rates":{"USD":"1","EUR":"0.8797396","JPY":"147.5","KWD":"0.305"}}`

// leaf plays a dependency. Its answer may be changed while it runs.
type leaf struct {
	*httptest.Server
	asked  atomic.Int64
	last   atomic.Pointer[http.Request]
	answer atomic.Pointer[http.HandlerFunc]
}

func newLeaf(t testing.TB, answer http.HandlerFunc) *leaf {
	l := new(leaf)
	l.answer.Store(&answer)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		l.last.Store(r)
		(*l.answer.Load())(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *leaf) now(answer http.HandlerFunc) { l.answer.Store(&answer) }

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// holds answers nothing for as long as the caller waits.
func holds(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// shop is a catalogue between two leaves that it may lose.
type shop struct {
	*Service
	chassis                   *service.Chassis
	recommendations, currency *leaf
}

func newShop(t testing.TB, defences string) *shop {
	t.Helper()
	store, err := NewMemory(testBooks(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{
		recommendations: newLeaf(t, says(200, `{"related":["typee","unheard-of","moby-dick","an-odyssey"],
			"offers":["an-odyssey","unheard-of","typee","typee","the-time-machine","moby-dick","les-miserables"]}`)),
		currency: newLeaf(t, says(200, someRates)),
	}
	cfg := Config{Config: service.Defaults("catalogue")}
	cfg.Defences, cfg.Addr, cfg.AdminAddr, cfg.DrainDelay = defences, "127.0.0.1:0", "127.0.0.1:0", 0
	cfg.RecommendationsURL = addresses(t, s.recommendations.URL)
	cfg.CurrencyURL = addresses(t, s.currency.URL)
	c, err := service.New("catalogue", cfg.Config, service.LogTo(io.Discard), service.AnnounceTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s.chassis = c
	if s.Service, err = newService(cfg, c, store); err != nil {
		t.Fatal(err)
	}
	related, offers, rates := s.related, s.offers, s.rates // which a test may take away
	t.Cleanup(func() {
		related.Client().CloseIdleConnections()
		offers.Client().CloseIdleConnections()
		rates.Client().CloseIdleConnections()
	})
	return s
}

func addresses(t testing.TB, list string) *service.Addresses {
	t.Helper()
	a, err := service.ParseAddresses(list)
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

// reply is any answer of the catalogue, as a caller reads it.
type reply struct {
	Status int

	Book struct {
		ID, Title, Description string
		Price                  money
	}
	Books []struct {
		ID    string
		Price money
	}
	Related []struct {
		ID    string
		Price money
	}
	Offers []struct {
		ID, Title, Author string
		Price             money
	}
	Prices    map[string]money
	Total     int
	Currency  string
	RatesAsOf string `json:"rates_as_of"`
	Degraded  []string

	Type       string
	Errors     []struct{ Field, Message string }
	Currencies []string
}

type money struct{ Number, Currency string }

func (s *shop) get(t testing.TB, target string) reply {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	var got reply
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("GET %s: %d %q: %v", target, w.Code, w.Body, err)
	}
	got.Status = w.Code
	return got
}

func (r reply) related() []string {
	ids := []string{}
	for _, b := range r.Related {
		ids = append(ids, b.ID)
	}
	return ids
}

func (r reply) fields() []string {
	var fields []string
	for _, e := range r.Errors {
		fields = append(fields, e.Field)
	}
	return fields
}

func TestABookWithItsCarouselInAnotherCurrency(t *testing.T) {
	s := newShop(t, "all")
	got := s.get(t, "/books/moby-dick?currency=EUR")
	if got.Status != 200 || got.Book.Title != "Moby-Dick; or, The Whale" || got.Book.Description == "" {
		t.Errorf("got %+v", got)
	}
	if want := (money{"11.00", "EUR"}); got.Book.Price != want { // 12.50 × 0.8797396 = 10.996745
		t.Errorf("price %v, want %v", got.Book.Price, want)
	}
	if diff := cmp.Diff([]string{"typee", "an-odyssey"}, got.related()); diff != "" {
		t.Errorf("related (-want +got)\n%s", diff)
	}
	if want := (money{"7.96", "EUR"}); got.Related[0].Price != want { // 9.05 × 0.8797396 = 7.96164338
		t.Errorf("related price %v, want %v", got.Related[0].Price, want)
	}
	if got.RatesAsOf != "2026-09-24" || got.Degraded != nil {
		t.Errorf("rates as of %q, degraded %v, want 2026-09-24 and nothing", got.RatesAsOf, got.Degraded)
	}
	if asked := s.recommendations.last.Load().URL.String(); asked != "/related/moby-dick?limit=5" {
		t.Errorf("recommendations was asked for %s", asked)
	}
	if asked := s.currency.last.Load().URL.String(); asked != "/rates?base=USD" {
		t.Errorf("currency was asked for %s", asked)
	}
}

func TestEachRouteAsksNoMoreThanItMust(t *testing.T) {
	for _, c := range []struct {
		target                    string
		recommendations, currency int64
	}{
		{"/books", 0, 0},
		{"/books?currency=usd", 0, 0},
		{"/books?currency=EUR&per_page=48", 0, 1},
		{"/books/moby-dick", 1, 0},
		{"/books/moby-dick?currency=EUR", 1, 1},
		{"/books/moby-dick?related=none", 0, 0},
		{"/books/moby-dick?related=none&currency=EUR", 0, 1},
		{"/books/moby-dick/related", 1, 0},
		{"/books/moby-dick/related?currency=EUR", 1, 1},
		{"/offers", 1, 0},
		{"/offers?currency=EUR", 1, 1},
		{"/offers?currency=euros", 0, 0},
		{"/prices?ids=moby-dick,typee", 0, 0},
		{"/books/unheard-of?currency=EUR", 0, 0},
		{"/books/moby-dick?currency=euros", 0, 0},
	} {
		t.Run("D6 "+c.target, func(t *testing.T) {
			s := newShop(t, "all")
			s.get(t, c.target)
			if r, m := s.recommendations.asked.Load(), s.currency.asked.Load(); r != c.recommendations || m != c.currency {
				t.Errorf("recommendations asked %d times, currency %d; want %d and %d", r, m, c.recommendations, c.currency)
			}
		})
	}
}

// Whatever recommendations does, the page of a book is there, and says when the carousel is not the real one.
func TestD1ACarouselIsNeverWorthAPage(t *testing.T) {
	degraded := []string{"carousel"}
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		degraded []string
	}{
		{"held", holds, degraded},
		{"500", says(500, "oops"), degraded},
		{"503", says(503, ""), degraded},
		{"429", says(429, ""), degraded},
		{"302", says(302, ""), degraded},
		{"noise", says(200, "<html>"), degraded},
		{"no list", says(200, "{}"), degraded},
		{"null", says(200, "null"), degraded},
		{"too long", says(200, `{"related":["`+strings.Repeat("x", 65<<10)+`"]}`), degraded},
		{"a question it refuses", says(400, ""), degraded},
		{"a book it does not know", says(404, ""), nil},
		{"an empty list", says(200, `{"related":[]}`), nil},
	} {
		for _, route := range []string{"/books/moby-dick", "/books/moby-dick/related"} {
			t.Run(c.name+" "+route, func(t *testing.T) {
				s := newShop(t, "all")
				s.recommendations.now(c.answer)
				got := s.get(t, route)
				if got.Status != 200 || len(got.Related) != 0 || !slices.Equal(got.Degraded, c.degraded) {
					t.Errorf("got %d, related %v, degraded %v; want 200, none, %v",
						got.Status, got.related(), got.Degraded, c.degraded)
				}
			})
		}
	}
}

func TestD1PricesFallBackToTheLastRatesThenToDollars(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"held": holds, "500": says(500, ""), "noise": says(200, "1,2,3"), "404": says(404, ""),
		"free of charge": says(200, strings.Replace(someRates, "0.8797396", "0", 1)),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, "all")
			s.currency.now(answer)
			degraded := []string{"prices"}
			for _, target := range []string{
				"/books/typee?currency=EUR", "/books?currency=EUR&q=typee", "/books/moby-dick/related?currency=EUR",
			} {
				got := s.get(t, target)
				if got.Status != 200 || got.RatesAsOf != "" || !slices.Equal(got.Degraded, degraded) {
					t.Errorf("never fetched: GET %s: %+v, want dollars, marked", target, got)
				}
			}
			if got, want := s.get(t, "/books/typee?currency=EUR").Book.Price, (money{"9.05", "USD"}); got != want {
				t.Errorf("never fetched: price %v, want %v", got, want)
			}

			s.currency.now(says(200, someRates))
			if got := s.get(t, "/books/typee?currency=EUR"); got.Degraded != nil {
				t.Fatalf("a good answer is marked %v", got.Degraded)
			}
			s.currency.now(answer)
			fetched := s.last.Load().fetched
			got := s.get(t, "/books/typee?currency=EUR")
			if s.last.Load().fetched != fetched {
				t.Error("the last rates grew young by being used")
			}
			lastRates := got.Book.Price == money{"7.96", "EUR"} && got.RatesAsOf == "2026-09-24"
			if !lastRates || !slices.Equal(got.Degraded, degraded) {
				t.Errorf("fetched before: %+v, want the last rates, marked", got)
			}

			s.last.Store(&keptRates{s.last.Load().rates, time.Now().Add(-lastRatesFor - time.Second)})
			got = s.get(t, "/books/typee?currency=EUR")
			dollars := got.Book.Price == money{"9.05", "USD"} && got.RatesAsOf == ""
			if !dollars || !slices.Equal(got.Degraded, degraded) {
				t.Errorf("fetched 72 h ago and a second: %+v, want dollars, marked", got)
			}
		})
	}
}

func TestBothLeavesLost(t *testing.T) {
	s := newShop(t, "all")
	s.recommendations.now(holds)
	s.currency.now(holds)
	start := time.Now()
	got := s.get(t, "/books/moby-dick?currency=EUR")
	if got.Status != 200 || !slices.Equal(got.Degraded, []string{"carousel", "prices"}) {
		t.Errorf("got %+v, want a page that says carousel and prices", got)
	}
	if took := time.Since(start); took >= routeBudget {
		t.Errorf("took %v, which is not inside the route's %v", took, routeBudget)
	}
}

func TestWithFallbacksOffTheErrorFailsThePage(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"held": holds, "500": says(500, ""), "400": says(400, ""), "429": says(429, ""),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, "all,-fallbacks")
			s.recommendations.now(answer)
			s.currency.now(answer)
			for _, target := range []string{
				"/books/moby-dick", "/books/moby-dick/related", "/offers", "/offers?currency=EUR", "/books?currency=EUR",
			} {
				if got := s.get(t, target); got.Status != 503 || got.Type != "/problems/unavailable" {
					t.Errorf("GET %s: got %d %s, want 503 unavailable", target, got.Status, got.Type)
				}
			}
			for _, target := range []string{"/books", "/books/moby-dick?related=none", "/prices?ids=typee"} {
				if got := s.get(t, target); got.Status != 200 {
					t.Errorf("GET %s, which needs no leaf: got %d", target, got.Status)
				}
			}
		})
	}
}

func TestAPanicInACallIsAnOutcomeOfIt(t *testing.T) {
	s := newShop(t, "all")
	s.recommendationsURL, s.currencyURL = new(service.Addresses), new(service.Addresses) // panics when asked for the next
	got := s.get(t, "/books/moby-dick?currency=EUR")
	if got.Status != 200 || !slices.Equal(got.Degraded, []string{"carousel", "prices"}) {
		t.Errorf("got %+v, want a page that says carousel and prices", got)
	}
}

func TestAPanicBesideACallEndsTheRequestOnly(t *testing.T) {
	s := newShop(t, "all")
	s.related = nil
	if got := s.get(t, "/books/moby-dick"); got.Status != 500 || got.Type != "/problems/internal" {
		t.Errorf("got %d %s, want 500 internal", got.Status, got.Type)
	}
}

func TestAnUnknownCurrencyIsNamedAndTheKnownOnesListed(t *testing.T) {
	s := newShop(t, "all")
	s.currency.now(says(500, ""))
	got := s.get(t, "/books?currency=XTS")
	if got.Status != 400 || got.Currencies != nil || !slices.Equal(got.fields(), []string{"currency"}) {
		t.Errorf("no rates at hand: got %+v, want 400 without a list", got)
	}
	s.currency.now(says(200, someRates))
	for _, code := range []string{"XTS", "CHF"} {
		got = s.get(t, "/books?currency="+code)
		listed := slices.Equal(got.Currencies, []string{"EUR", "JPY", "KWD", "USD"})
		named := len(got.Errors) == 1 && strings.Contains(got.Errors[0].Message, code)
		if got.Status != 400 || got.Type != "/problems/invalid-request" || !listed || !named {
			t.Errorf("rates at hand: got %+v, want 400 naming %s, with the list", got, code)
		}
	}
	s.currency.now(says(500, ""))
	if got = s.get(t, "/books/typee?currency=CHF"); got.Status != 400 || len(got.Currencies) != 4 {
		t.Errorf("last rates at hand: got %+v, want 400 with the list", got)
	}
}

func TestD11WhatNoRequestMayAsk(t *testing.T) {
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		target string
		status int
		fields []string
	}{
		{"/books?q=" + long, 400, []string{"q"}},
		{"/books?q=" + strings.Repeat("%C3%A9", 100), 200, nil}, // characters, not bytes
		{"/books?q=%FF", 400, []string{"q"}},
		{"/books?q=%00", 200, nil},
		{"/books?subject=" + long, 400, []string{"subject"}},
		{"/books?sort=popularity", 400, []string{"sort"}},
		{"/books?page=two", 400, []string{"page"}},
		{"/books?page=1.5", 400, []string{"page"}},
		{"/books?page=-1", 200, nil}, // pages clamp
		{"/books?page=99999999999999999999", 200, nil},
		{"/books?per_page=0", 400, []string{"per_page"}},
		{"/books?per_page=49", 400, []string{"per_page"}},
		{"/books?per_page=99999999999999999999", 400, []string{"per_page"}},
		{"/books?currency=EURO", 400, []string{"currency"}},
		{"/books?currency=E%20R", 400, []string{"currency"}},
		{"/books?sort=x&per_page=x&q=" + long, 400, []string{"q", "sort", "per_page"}},
		{"/books?ids=", 400, []string{"ids"}},
		{"/books?ids=" + url.QueryEscape("../typee"), 400, []string{"ids"}},
		{"/books?ids=" + strings.Repeat("typee,", 50) + "typee", 400, []string{"ids"}},
		{"/books?q=%ZZ", 400, []string{"query"}},
		{"/books/" + url.PathEscape("../../etc/passwd"), 404, nil},
		{"/books/" + strings.Repeat("x", 10<<10), 404, nil},
		{"/books/Moby-Dick", 404, nil},
		{"/books/moby-dick?related=later", 400, []string{"related"}},
		{"/books/moby-dick?currency=1", 400, []string{"currency"}},
		{"/books/moby-dick/related?currency=1", 400, []string{"currency"}},
		{"/books/unheard-of/related", 404, nil},
		{"/offers?currency=1", 400, []string{"currency"}},
		{"/prices", 400, []string{"ids"}},
		{"/prices?ids=", 400, []string{"ids"}},
		{"/prices?ids=typee,,moby-dick", 400, []string{"ids"}},
		{"/prices?ids=" + url.QueryEscape("../typee"), 400, []string{"ids"}},
		{"/prices?ids=" + strings.Repeat("typee,", 50) + "typee", 400, []string{"ids"}},
		{"/prices?ids=" + strings.Repeat("typee,", 49) + "typee", 200, nil},
		{"/prices?ids=" + long, 400, []string{"ids"}},
		{"/", 404, nil},
	} {
		name := c.target[:min(len(c.target), 60)]
		t.Run(name, func(t *testing.T) {
			got := newShop(t, "all").get(t, c.target)
			if got.Status != c.status || !slices.Equal(got.fields(), c.fields) {
				t.Errorf("got %d %v, want %d %v", got.Status, got.Errors, c.status, c.fields)
			}
		})
	}
}

func TestPricesAreInDollarsAndUnknownBooksAbsent(t *testing.T) {
	got := newShop(t, "all").get(t, "/prices?ids=moby-dick,unheard-of,typee,typee")
	want := map[string]money{"moby-dick": {"12.50", "USD"}, "typee": {"9.05", "USD"}}
	if diff := cmp.Diff(want, got.Prices); got.Status != 200 || diff != "" {
		t.Errorf("%d (-want +got)\n%s", got.Status, diff)
	}
}

// A cart is priced by one list of its books, in the currency that it is shown in.
func TestD6ListOfCertainBooks(t *testing.T) {
	got := newShop(t, "all").get(t, "/books?ids=typee,unheard-of,moby-dick&currency=EUR")
	prices := map[string]money{}
	for _, b := range got.Books {
		prices[b.ID] = b.Price
	}
	want := map[string]money{"moby-dick": {"11.00", "EUR"}, "typee": {"7.96", "EUR"}}
	if diff := cmp.Diff(want, prices); got.Status != 200 || got.Total != 2 || diff != "" {
		t.Errorf("%d, %d in total (-want +got)\n%s", got.Status, got.Total, diff)
	}
}

func TestListInAnotherCurrency(t *testing.T) {
	got := newShop(t, "all").get(t, "/books?sort=price&per_page=2&page=2&currency=JPY")
	if got.Status != 200 || got.Total != 6 || got.Currency != "JPY" || len(got.Books) != 2 {
		t.Fatalf("got %+v", got)
	}
	want := money{"1335", "JPY"} // 9.05 × 147.5 = 1334.875
	if got.Books[0].ID != "typee" || got.Books[0].Price != want {
		t.Errorf("got %+v, want typee at %v", got.Books[0], want)
	}
}

func TestHeadAndOtherMethods(t *testing.T) {
	s := newShop(t, "all")
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{http.MethodHead, "/books/moby-dick", 200}, {http.MethodHead, "/books/unheard-of", 404},
		{http.MethodPost, "/books", 405}, {http.MethodDelete, "/books/moby-dick", 405},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.target, nil))
		if w.Code != c.status || (c.status == 405 && w.Header().Get("Allow") != "GET, HEAD") {
			t.Errorf("%s %s: got %d, Allow %q; want %d", c.method, c.target, w.Code, w.Header().Get("Allow"), c.status)
		}
	}
}

// Over real listeners, with a caller who has 200 ms left and a recommendations that never answers.
func TestOverTheChassis(t *testing.T) {
	s := newShop(t, "all")
	s.recommendations.now(holds)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.chassis.Run(ctx, s) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("did not stop in order: %v", err)
		}
	}()
	select {
	case <-s.chassis.Ready():
	case err := <-ran:
		ran <- nil
		t.Fatal(err)
	}
	public, _ := s.chassis.Addrs()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()

	target := "http://" + public + "/books/moby-dick?currency=EUR"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	const left = 200 * time.Millisecond
	r.Header.Set("X-Request-Id", "reader-1")
	r.Header.Set(resilience.DeadlineHeader,
		fmt.Sprintf("%d; remaining=%d", time.Now().Add(left).UnixMilli(), left.Milliseconds()))
	start := time.Now()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got reply
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	if resp.StatusCode != 200 || !slices.Equal(got.Degraded, []string{"carousel"}) || took >= left {
		t.Errorf("after %v: %d, degraded %v; want 200, carousel, within %v",
			took, resp.StatusCode, got.Degraded, left)
	}

	for leaf, want := range map[*leaf]string{s.recommendations: "sheddable", s.currency: "default"} {
		asked := leaf.last.Load().Header
		if asked.Get("X-Request-Id") != "reader-1" || asked.Get(resilience.CriticalityHeader) != want {
			t.Errorf("asked with id %q and criticality %q, want reader-1 and %s",
				asked.Get("X-Request-Id"), asked.Get(resilience.CriticalityHeader), want)
		}
		_, remaining, _ := strings.Cut(asked.Get(resilience.DeadlineHeader), "remaining=")
		if ms, err := strconv.Atoi(remaining); err != nil || ms <= 0 || ms > int((left-reserve).Milliseconds()) {
			t.Errorf("asked with %q left, want at most %v", asked.Get(resilience.DeadlineHeader), left-reserve)
		}
	}
}

// storeFunc is a store that does what a test wants.
type storeFunc func(context.Context) ([]Book, error)

func (f storeFunc) All(ctx context.Context) ([]Book, error) { return f(ctx) }

func TestAStoreThatFailsCostsFreshnessOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := testBooks(t)
		rounds := []struct {
			what  string
			store storeFunc
			want  int // books on the shelf afterwards
		}{
			{"works", func(context.Context) ([]Book, error) { return slices.Clone(books), nil }, 6},
			{"fails", func(context.Context) ([]Book, error) { return nil, errors.New("disk on fire") }, 6},
			{"is broken", func(context.Context) ([]Book, error) { return make([]Book, 1), nil }, 6},
			{"works again", func(context.Context) ([]Book, error) { return slices.Clone(books[:4]), nil }, 4},
			{"hangs", func(ctx context.Context) ([]Book, error) { <-ctx.Done(); return nil, ctx.Err() }, 4},
			{"works after all", func(context.Context) ([]Book, error) { return slices.Clone(books[:5]), nil }, 5},
		}
		round := -1
		s := &Service{store: storeFunc(func(ctx context.Context) ([]Book, error) {
			round++
			return rounds[round].store(ctx)
		})}
		if err := s.copyStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var log bytes.Buffer
		ended := make(chan error)
		go func() { ended <- s.keepCopying(ctx, slog.New(slog.NewTextHandler(&log, nil))) }()
		for i, r := range rounds {
			if i > 0 {
				time.Sleep(copyEvery) // of the bubble's clock: no test waits for it
			}
			synctest.Wait()
			if got := len(s.shelf.Load().books); got != r.want {
				t.Errorf("store %s: %d books on the shelf, want %d", r.what, got, r.want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, want := range []string{"disk on fire", "not a slug", context.DeadlineExceeded.Error()} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not tell %q:\n%s", want, &log)
			}
		}
	})
}

func TestNewServesTheSeed(t *testing.T) {
	cfg := Config{Config: service.Defaults("catalogue")}
	cfg.RecommendationsURL = addresses(t, "http://127.0.0.1:1")
	cfg.CurrencyURL = addresses(t, "http://127.0.0.1:1")
	c, err := service.New("catalogue", cfg.Config, service.LogTo(io.Discard), service.AnnounceTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&shop{Service: s}).get(t, "/books?q=melville&sort=year"); got.Total < 5 {
		t.Errorf("the shop has %d books by Melville, want 5 at least", got.Total)
	}
}

func TestNewWantsToKnowWhereItsLeavesAre(t *testing.T) {
	cfg := Config{Config: service.Defaults("catalogue")}
	c, err := service.New("catalogue", cfg.Config, service.LogTo(io.Discard), service.AnnounceTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(cfg, c)
	for _, want := range []string{"RECOMMENDATIONS_URL", "CURRENCY_URL"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

// BenchmarkPage is one page of the list, from the request to the last byte.
func BenchmarkPage(b *testing.B) {
	s := newShop(b, "all")
	s.Service.shelf.Store(bigShelf(b))
	for _, target := range []string{"/books", "/books?q=melville+sea", "/books?currency=EUR"} {
		b.Run(target, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, target, nil))
				if w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
