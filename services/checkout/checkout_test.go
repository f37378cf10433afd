package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// TestMain lets the test's own binary be a checkout that can be killed.
func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		os.Exit(beVictim())
	}
	goleak.VerifyTestMain(m)
}

// fakeMarket sells emma at 12.50, dracula at 9.99 and ulysses at 20.00 USD. Its hooks, if set, run first.
type fakeMarket struct {
	onPrices, onRates       func(context.Context) error
	noRates                 bool // the currency service cannot answer
	pricesCalls, ratesCalls atomic.Int32
	asked                   []string // by the last call of prices
}

var errMarket = errors.New("the market is closed")

func closed(context.Context) error { return errMarket }

func (f *fakeMarket) prices(ctx context.Context, books []string) (map[string]currency.Amount, error) {
	if f.pricesCalls.Add(1) == 1 {
		f.asked = slices.Clone(books)
	}
	if f.onPrices != nil {
		if err := f.onPrices(ctx); err != nil {
			return nil, err
		}
	}
	prices := map[string]currency.Amount{"emma": cents(1250), "dracula": cents(999), "ulysses": cents(2000)}
	maps.DeleteFunc(prices, func(book string, _ currency.Amount) bool { return !slices.Contains(books, book) })
	return prices, nil
}

func (f *fakeMarket) rates(ctx context.Context) (map[string]string, error) {
	f.ratesCalls.Add(1)
	if f.onRates != nil {
		if err := f.onRates(ctx); err != nil {
			return nil, err
		}
	}
	if f.noRates {
		return nil, nil
	}
	return map[string]string{"EUR": "0.8797395971", "JPY": "158.8545790", "USD": "1"}, nil
}

// serviceOver is a service on the real chassis, whose calls to others are m's. It is asked without a listener.
func serviceOver(t testing.TB, store Store, m market) *Service {
	t.Helper()
	cfg := service.Defaults("checkout")
	cfg.Workers = 200
	c, err := service.New("checkout", cfg, service.LogTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s, err := assemble(c, store, m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shelf() map[string]int { return map[string]int{"emma": 100, "dracula": 100, "ulysses": 1} }

// answer is what came back, decoded as far as the tests look.
type answer struct {
	status int
	header http.Header
	body   string

	ID       string
	Status   any // "accepted" of an order, a number of a problem
	Currency string
	Total    currency.Amount
	Items    []lineJSON

	Type, Detail, Reason string
	Errors               []problem.FieldError
	Short                []Shortage
	Quote                quoteJSON
}

// is tells whether the answer is a problem of the kind, with its usual status.
func (a answer) is(kind problem.Type) bool { return a.status == kind.Status && a.Type == kind.URI }

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// post sends an order under a key; "" sends none.
func post(ctx context.Context, h http.Handler, key, order string) answer {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader(order))
	if key != "" {
		r.Header.Set(keyHeader, key)
	}
	return send(h, r)
}

func get(t testing.TB, h http.Handler, path string) answer {
	return send(h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
}

func send(h http.Handler, r *http.Request) answer {
	if r.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := answer{header: w.Header(), body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		panic(fmt.Sprintf("answer %q: %v", w.Body, err))
	}
	a.status = w.Code
	return a
}

// order writes an order of pairs of book and quantity.
func order(expected, code string, pairs ...any) string {
	items := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		items = append(items, fmt.Sprintf(`{"book":%q,"quantity":%v}`, pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf(`{"items":[%s],"currency":%q,"expected_total":%q}`, strings.Join(items, ","), code, expected)
}

func stockOf(t testing.TB, s *Service) map[string]int {
	t.Helper()
	stock, err := s.store.Stock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stock
}

func TestAnOrderIsPlacedAtTheTotalThatWasShown(t *testing.T) {
	tests := []struct {
		name, expected, code string
		pairs                []any
		wantUnit, wantTotal  string
	}{
		{"the shop's currency", "25.00", "USD", []any{"emma", 2}, "12.50", "25.00"},
		{"one decimal less is the same amount", "25", "USD", []any{"emma", 2}, "12.50", "25.00"},
		{"another currency", "22.00", "EUR", []any{"emma", 2}, "11.00", "22.00"}, // the unit is rounded, not the total
		{"a currency without cents", "3972", "JPY", []any{"emma", 2}, "1986", "3972"},
		{"several titles", "19.79", "EUR", []any{"emma", 1, "dracula", 1}, "11.00", "19.79"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
			a := post(t.Context(), s, "k", order(tt.expected, tt.code, tt.pairs...))
			if a.status != http.StatusCreated {
				t.Fatal(a)
			}
			if a.Total.String() != tt.wantTotal+" "+tt.code || a.Items[0].UnitPrice.Number() != tt.wantUnit ||
				a.Status != "accepted" {
				t.Errorf("want a unit of %s and a total of %s: %v", tt.wantUnit, tt.wantTotal, a)
			}
			if got := a.header.Get("Location"); got != "/orders/"+a.ID {
				t.Errorf("Location %q of order %s", got, a.ID)
			}
			if found := get(t, s, "/orders/"+a.ID); found.status != http.StatusOK || found.body != a.body {
				t.Errorf("found\n%v\nplaced\n%v", found, a)
			}
			want := shelf()
			for i := 0; i < len(tt.pairs); i += 2 {
				want[tt.pairs[i].(string)] -= tt.pairs[i+1].(int)
			}
			if diff := cmp.Diff(want, stockOf(t, s)); diff != "" {
				t.Errorf("stock (-want +got):\n%s", diff)
			}
		})
	}
}

// The same key with the same order is answered from the store, byte for byte; neither the sequence of the items nor
// the writing of the total makes another order of it.
func TestTheSameKeyIsAnsweredAgain(t *testing.T) {
	m := &fakeMarket{}
	s := serviceOver(t, memoryOf(t, shelf(), 10), m)
	first := post(t.Context(), s, "k", order("34.99", "USD", "emma", 2, "dracula", 1))
	if first.status != http.StatusCreated || first.header.Get("Idempotent-Replay") != "" {
		t.Fatal(first)
	}
	m.onPrices = closed // a stored answer needs nobody
	for _, again := range []string{
		order("34.99", "USD", "emma", 2, "dracula", 1),
		order("34.99", "USD", "dracula", 1, "emma", 2),
		`{"expected_total":"34.99", "currency":"USD",
		  "items":[{"quantity":2, "book":"emma"}, {"quantity":1, "book":"dracula"}]}`,
	} {
		a := post(t.Context(), s, "k", again)
		if a.status != http.StatusCreated || a.body != first.body {
			t.Errorf("%s:\n%v\nwant\n%v", again, a, first)
		}
		if a.header.Get("Location") != "/orders/"+first.ID || a.header.Get("Idempotent-Replay") != "true" {
			t.Errorf("header of the replay: %v", a.header)
		}
	}
	if got := stockOf(t, s)["emma"]; got != 98 {
		t.Errorf("%d copies left, want 98", got)
	}
}

func TestTheSameKeyWithAnotherOrderIsRefused(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
	if a := post(t.Context(), s, "k", order("12.50", "USD", "emma", 1)); a.status != http.StatusCreated {
		t.Fatal(a)
	}
	for _, other := range []string{
		order("25.00", "USD", "emma", 2),
		order("12.51", "USD", "emma", 1),
		order("12.50", "EUR", "emma", 1),
		order("12.50", "USD", "dracula", 1),
	} {
		a := post(t.Context(), s, "k", other)
		if !a.is(problem.KeyReused) {
			t.Errorf("%s: %v", other, a)
		}
	}
}

func TestAHundredTriesOfOneKeyAtOnceAreOneOrder(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 200), &fakeMarket{})
	answers := make([]answer, 100)
	var tries sync.WaitGroup
	for i := range answers {
		tries.Go(func() { answers[i] = post(t.Context(), s, "k", order("12.50", "USD", "emma", 1)) })
	}
	tries.Wait()
	var id string
	for _, a := range answers {
		switch {
		case a.status == http.StatusCreated && (id == "" || id == a.ID):
			id = a.ID
		case a.is(problem.OrderInProgress) && a.header.Get("Retry-After") == "1":
		default:
			t.Errorf("unexpected: %v", a)
		}
	}
	if id == "" {
		t.Error("no try was told of the order")
	}
	if got := stockOf(t, s)["emma"]; got != 99 {
		t.Errorf("%d copies left, want 99", got)
	}
}

func TestFiftyBuyersOfTheLastCopyAreOneOrder(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 200), &fakeMarket{})
	var placed, short atomic.Int32
	var buyers sync.WaitGroup
	for i := range 50 {
		buyers.Go(func() {
			a := post(t.Context(), s, "buyer-"+strconv.Itoa(i), order("32.50", "USD", "ulysses", 1, "emma", 1))
			switch {
			case a.status == http.StatusCreated:
				placed.Add(1)
			case a.is(problem.OutOfStock) &&
				slices.Equal(a.Short, []Shortage{{"ulysses", 1, 0}}):
				short.Add(1)
			default:
				t.Errorf("unexpected: %v", a)
			}
		})
	}
	buyers.Wait()
	if placed.Load() != 1 || short.Load() != 49 {
		t.Errorf("%d placed, %d short; want 1 and 49", placed.Load(), short.Load())
	}
	want := map[string]int{"emma": 99, "dracula": 100, "ulysses": 0}
	if diff := cmp.Diff(want, stockOf(t, s)); diff != "" {
		t.Errorf("stock (-want +got):\n%s", diff)
	}
}

// The total charged is the total shown, or the person is asked, and says yes under the same key.
func TestAnotherTotalNeedsAYes(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
	for _, shown := range []string{"21.99", "22.01", "219.90", "2200", "0"} {
		a := post(t.Context(), s, "k", order(shown, "EUR", "emma", 2))
		if !a.is(problem.QuoteChanged) || a.Reason != priceChanged {
			t.Fatalf("shown %s: %v", shown, a)
		}
		if a.Quote.Total.String() != "22.00 EUR" || a.Quote.Currency != "EUR" || len(a.Quote.Items) != 1 ||
			a.Quote.Items[0].UnitPrice.Number() != "11.00" || a.Quote.Items[0].Quantity != 2 {
			t.Errorf("shown %s: quote %+v", shown, a.Quote)
		}
	}
	if diff := cmp.Diff(shelf(), stockOf(t, s)); diff != "" {
		t.Errorf("stock (-before +after):\n%s", diff)
	}
	if a := post(t.Context(), s, "k", order("22.00", "EUR", "emma", 2)); a.status != http.StatusCreated {
		t.Errorf("the yes: %v", a)
	}
}

// Without a rate nobody is charged in dollars who was shown euros, until that person says so.
func TestAnotherCurrencyNeedsAYes(t *testing.T) {
	m := &fakeMarket{noRates: true}
	s := serviceOver(t, memoryOf(t, shelf(), 10), m)
	for _, shown := range []string{"22.00", "25.00"} { // the very number is no yes either
		a := post(t.Context(), s, "k", order(shown, "EUR", "emma", 2))
		if !a.is(problem.QuoteChanged) || a.Reason != currencyUnavailable ||
			a.Quote.Total.String() != "25.00 USD" || a.Quote.Currency != "USD" {
			t.Fatalf("shown %s EUR: %v", shown, a)
		}
	}
	a := post(t.Context(), s, "k", order("25.00", "USD", "emma", 2))
	if a.status != http.StatusCreated || a.Total.String() != "25.00 USD" {
		t.Errorf("the yes: %v", a)
	}
	if got := m.ratesCalls.Load(); got != 2 {
		t.Errorf("%d calls for rates, want 2: none for dollars", got)
	}
}

// D2: nothing optional follows the order. A person who leaves once it is stored finds it under the key.
func TestD2AnOrderThatIsStoredIsToldEvenIfThePersonLeft(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	s := serviceOver(t, leavingStore{memoryOf(t, shelf(), 10), leave}, &fakeMarket{})
	first := post(ctx, s, "k", order("12.50", "USD", "emma", 1))
	if ctx.Err() == nil || first.status != http.StatusCreated {
		t.Fatal(first)
	}
	again := post(t.Context(), s, "k", order("12.50", "USD", "emma", 1))
	if again.status != http.StatusCreated || again.body != first.body {
		t.Errorf("again:\n%v\nwant\n%v", again, first)
	}
}

// leavingStore ends the request as soon as its order is stored.
type leavingStore struct {
	Store
	leave context.CancelFunc
}

func (s leavingStore) Place(ctx context.Context, c Claim, o Order) error {
	defer s.leave()
	return s.Store.Place(ctx, c, o)
}

// D3: a try that fails, however it fails, leaves no trace but its answer, and the same key can order afterwards.
func TestD3AFailedTryFreesItsKey(t *testing.T) {
	failing := func(fail func() error) func(Store) Store {
		return func(s Store) Store { return brokenStore{s, fail} }
	}
	inDollars, inEuros := order("12.50", "USD", "emma", 1), order("11.00", "EUR", "emma", 1)
	tests := []struct {
		name   string
		order  string
		market *fakeMarket
		broken func(Store) Store
		want   problem.Type // zero: a panic
		status int          // 0: the usual one of want
	}{
		{name: "no prices", order: inDollars, market: &fakeMarket{onPrices: closed}, want: problem.Unavailable},
		{name: "no rate, no fallback", order: inEuros, market: &fakeMarket{onRates: closed}, want: problem.Unavailable},
		{name: "no rate", order: inEuros, market: &fakeMarket{noRates: true}, want: problem.QuoteChanged},
		{name: "another quote", order: order("12.51", "USD", "emma", 1), want: problem.QuoteChanged},
		{name: "out of stock", order: order("40.00", "USD", "ulysses", 2), want: problem.OutOfStock},
		{name: "unknown book", order: order("1.00", "USD", "no-such-book", 1), want: problem.InvalidRequest, status: 422},
		{name: "no such rate", order: order("3.815", "KWD", "emma", 1), want: problem.InvalidRequest, status: 422},
		{
			name: "the store fails", order: inDollars, want: problem.Internal,
			broken: failing(func() error { return errors.New("disk on fire") }),
		},
		{
			name: "panic in the market", order: inDollars,
			market: &fakeMarket{onPrices: func(context.Context) error { panic("market") }},
		},
		{name: "panic in the store", order: inDollars, broken: failing(func() error { panic("store") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := Store(memoryOf(t, shelf(), 10))
			m := tt.market
			if m == nil {
				m = &fakeMarket{}
			}
			s := serviceOver(t, store, m)
			if tt.broken != nil {
				s.store = tt.broken(store)
			}
			a, panicked := postOrPanic(t, s, tt.order)
			if wantPanic := tt.want == (problem.Type{}); panicked != wantPanic {
				t.Fatalf("panicked %v: %v", panicked, a)
			}
			if tt.status != 0 {
				tt.want.Status = tt.status
			}
			if !panicked && !a.is(tt.want) {
				t.Fatalf("want %v: %v", tt.want, a)
			}
			if tt.want == problem.Unavailable && a.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q, want 1", a.header.Get("Retry-After"))
			}
			for _, secret := range []string{errMarket.Error(), "disk on fire"} {
				if strings.Contains(a.body, secret) {
					t.Errorf("the answer tells what is nobody's business: %v", a)
				}
			}
			if diff := cmp.Diff(shelf(), stockOf(t, s)); diff != "" {
				t.Errorf("stock (-before +after):\n%s", diff)
			}

			*m, s.store = fakeMarket{}, store
			if a := post(t.Context(), s, "k", order("25.00", "USD", "emma", 2)); a.status != http.StatusCreated {
				t.Errorf("the next order under the same key: %v", a)
			}
		})
	}
}

// postOrPanic survives a panic, as the chassis does.
func postOrPanic(t *testing.T, s *Service, body string) (a answer, panicked bool) {
	defer func() { panicked = recover() != nil }()
	return post(t.Context(), s, "k", body), false
}

// brokenStore is a store that fails when an order is to be placed.
type brokenStore struct {
	Store
	fail func() error
}

func (s brokenStore) Place(context.Context, Claim, Order) error { return s.fail() }

// D3: a person who leaves before the order is stored has ordered nothing, and can come back with the same key.
func TestD3LeavingBeforeTheOrderIsStoredFreesItsKey(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	m := &fakeMarket{onPrices: func(ctx context.Context) error { leave(); return nil }}
	s := serviceOver(t, memoryOf(t, shelf(), 10), m)
	if a := post(ctx, s, "k", order("12.50", "USD", "emma", 1)); a.status != http.StatusServiceUnavailable {
		t.Error(a)
	}
	if diff := cmp.Diff(shelf(), stockOf(t, s)); diff != "" {
		t.Errorf("stock (-before +after):\n%s", diff)
	}
	if a := post(t.Context(), s, "k", order("12.50", "USD", "emma", 1)); a.status != http.StatusCreated {
		t.Errorf("the same key afterwards: %v", a)
	}
}

// While one try is at work, another with its key is told so; with another order it is refused.
func TestAnOrderInProgressIsToldSo(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	m := &fakeMarket{onPrices: func(context.Context) error { close(asked); <-goOn; return nil }}
	s := serviceOver(t, memoryOf(t, shelf(), 10), m)
	first := make(chan answer)
	go func() { first <- post(t.Context(), s, "k", order("12.50", "USD", "emma", 1)) }()
	<-asked

	a := post(t.Context(), s, "k", order("12.50", "USD", "emma", 1))
	if !a.is(problem.OrderInProgress) || a.header.Get("Retry-After") != "1" {
		t.Errorf("the same order: %v", a)
	}
	a = post(t.Context(), s, "k", order("25.00", "USD", "emma", 2))
	if !a.is(problem.KeyReused) {
		t.Errorf("another order: %v", a)
	}
	close(goOn)
	if a := <-first; a.status != http.StatusCreated {
		t.Errorf("the first: %v", a)
	}
}

// D5: the calls carry the request's deadline, and end when the person leaves.
func TestD5CallsEndWithTheRequest(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	waits := func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("a call without a deadline")
		}
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{onPrices: waits, onRates: waits})
	if a := post(ctx, s, "k", order("11.00", "EUR", "emma", 1)); a.status != http.StatusServiceUnavailable {
		t.Error(a)
	}
}

// Nobody waits for the rate of an order that has no prices.
func TestTheRateIsNotWaitedForWithoutPrices(t *testing.T) {
	var end error
	m := &fakeMarket{onPrices: closed, onRates: func(ctx context.Context) error {
		<-ctx.Done()
		end = ctx.Err()
		return end
	}}
	s := serviceOver(t, memoryOf(t, shelf(), 10), m)
	if a := post(t.Context(), s, "k", order("11.00", "EUR", "emma", 1)); a.status != http.StatusServiceUnavailable {
		t.Error(a)
	}
	if !errors.Is(end, context.Canceled) { // the deadline of the request would be another error
		t.Errorf("the call for rates ended by %v", end)
	}
}

// D6: one call for the prices of all books, one for the rate, and none to turn dollars into dollars.
func TestD6OneCallForAllPricesAndNoneForDollars(t *testing.T) {
	for code, shown := range map[string]string{"USD": "42.49", "EUR": "37.38"} {
		m := &fakeMarket{}
		s := serviceOver(t, memoryOf(t, shelf(), 10), m)
		a := post(t.Context(), s, "k", order(shown, code, "emma", 1, "dracula", 1, "ulysses", 1))
		if a.status != http.StatusCreated {
			t.Fatal(a)
		}
		wantRates := int32(1)
		if code == shopCurrency {
			wantRates = 0
		}
		if m.pricesCalls.Load() != 1 || m.ratesCalls.Load() != wantRates {
			t.Errorf("%s: %d calls for prices, want 1; %d for rates, want %d",
				code, m.pricesCalls.Load(), m.ratesCalls.Load(), wantRates)
		}
		if want := []string{"emma", "dracula", "ulysses"}; !slices.Equal(m.asked, want) {
			t.Errorf("asked for %v, want %v", m.asked, want)
		}
	}
}

// D11: what cannot be an order is refused before it costs anybody a call, and every fault of it is named.
func TestD11WhatCannotBeAnOrder(t *testing.T) {
	var tooMany []any
	for i := range maxItems + 1 {
		tooMany = append(tooMany, "book-"+strconv.Itoa(i), 1)
	}
	tests := []struct {
		name, body string
		status     int
		fields     []string
	}{
		{"no items", `{"currency":"USD","expected_total":"0"}`, 400, []string{"items"}},
		{"empty cart", order("0", "USD"), 400, []string{"items"}},
		{"items null", `{"items":null,"currency":"USD","expected_total":"0"}`, 400, []string{"items"}},
		{
			"an item null", `{"items":[null],"currency":"USD","expected_total":"0"}`, 400,
			[]string{"items[0].book", "items[0].quantity"},
		},
		{"too many items", order("1", "USD", tooMany...), 400, []string{"items"}},
		{"a book twice", order("25", "USD", "emma", 1, "emma", 1), 400, []string{"items[1].book"}},
		{"quantity 0", order("0", "USD", "emma", 0), 400, []string{"items[0].quantity"}},
		{"quantity -1", order("12.50", "USD", "emma", -1), 400, []string{"items[0].quantity"}},
		{"quantity 100", order("1250", "USD", "emma", 100), 400, []string{"items[0].quantity"}},
		{"quantity 10⁹", order("1", "USD", "emma", 1_000_000_000), 400, []string{"items[0].quantity"}},
		{"quantity 10³⁰", order("1", "USD", "emma", "1"+strings.Repeat("0", 30)), 400, []string{"items.quantity"}},
		{"quantity 1.5", order("1", "USD", "emma", 1.5), 400, []string{"items.quantity"}},
		{"quantity a string", order("1", "USD", "emma", `"1"`), 400, []string{"items.quantity"}},
		{"book with dots", order("1", "USD", "../emma", 1), 400, []string{"items[0].book"}},
		{"book with a comma", order("1", "USD", "emma,dracula", 1), 400, []string{"items[0].book"}},
		{"book of 10 KB", order("1", "USD", strings.Repeat("a", 10<<10), 1), 400, []string{"items[0].book"}},
		{"book empty", order("1", "USD", "", 1), 400, []string{"items[0].book"}},
		{"currency unknown", order("1", "QQQ", "emma", 1), 400, []string{"currency", "expected_total"}},
		{"currency empty", order("1", "", "emma", 1), 400, []string{"currency", "expected_total"}},
		{"currency in small letters", order("1", "usd", "emma", 1), 400, []string{"currency", "expected_total"}},
		{"no total", `{"items":[{"book":"emma","quantity":1}],"currency":"USD"}`, 400, []string{"expected_total"}},
		{"total a number", `{"items":[],"currency":"USD","expected_total":12.50}`, 400, []string{"expected_total"}},
		{"total negative", order("-12.50", "USD", "emma", 1), 400, []string{"expected_total"}},
		{"total with too many digits", order("12.500", "USD", "emma", 1), 400, []string{"expected_total"}},
		{"a wish that is not known", `{"items":[],"coupon":"FREE"}`, 400, []string{"body"}},
		{"a field twice", `{"items":[],"items":[]}`, 400, []string{"items"}},
		{"no JSON", `items=emma`, 400, []string{"body"}},
		{"nothing", ``, 400, []string{"body"}},
		{"an array", `[]`, 400, []string{"body"}},
		{"two orders", order("12.50", "USD", "emma", 1) + order("12.50", "USD", "emma", 1), 400, []string{"body"}},
		{"17 KiB", order("1", "USD", strings.Repeat("a", 17<<10), 1), 413, nil},
		{
			"all at once", order("x", "QQQ", "../emma", 0, "emma", 100), 400,
			[]string{"items[0].book", "items[0].quantity", "items[1].quantity", "currency", "expected_total"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &fakeMarket{}
			s := serviceOver(t, memoryOf(t, shelf(), 10), m)
			a := post(t.Context(), s, "k", tt.body)
			var fields []string
			for _, e := range a.Errors {
				fields = append(fields, e.Field)
			}
			if a.status != tt.status || !slices.Equal(fields, tt.fields) {
				t.Errorf("want %d naming %q: %v", tt.status, tt.fields, a)
			}
			if len(a.body) > 4<<10 {
				t.Errorf("the refusal has %d bytes", len(a.body))
			}
			if m.pricesCalls.Load() != 0 {
				t.Error("prices were asked for")
			}
			if a := post(t.Context(), s, "k", order("12.50", "USD", "emma", 1)); a.status != http.StatusCreated {
				t.Errorf("the key is not free: %v", a)
			}
		})
	}
}

func TestTheLargestOrderIsTaken(t *testing.T) {
	stock := make(map[string]int)
	var pairs []any
	for i := range maxItems {
		book := fmt.Sprintf("%s-%d", strings.Repeat("a", 97), 10+i) // 100 bytes, the longest id
		stock[book] = maxQuantity
		pairs = append(pairs, book, maxQuantity)
	}
	s := serviceOver(t, memoryOf(t, stock, 10), anyBook{})
	total := fmt.Sprintf("%d.00", 10*maxItems*maxQuantity)
	a := post(t.Context(), s, strings.Repeat("~", maxKey), order(total, "USD", pairs...))
	if a.status != http.StatusCreated {
		t.Error(a)
	}
}

// anyBook sells every book at 10.00 USD.
type anyBook struct{}

func (anyBook) prices(_ context.Context, books []string) (map[string]currency.Amount, error) {
	prices := make(map[string]currency.Amount)
	for _, b := range books {
		prices[b] = cents(1000)
	}
	return prices, nil
}

func (anyBook) rates(context.Context) (map[string]string, error) { return nil, nil }

func TestTheKeyOfAnOrder(t *testing.T) {
	tests := []struct {
		name string
		keys []string
		want problem.Type // zero: taken
	}{
		{"one character", []string{"k"}, problem.Type{}},
		{"64 characters", []string{strings.Repeat("k", 64)}, problem.Type{}},
		{"printable", []string{`a b~!"#$%/\`}, problem.Type{}},
		{"none", nil, problem.KeyRequired},
		{"empty", []string{""}, problem.KeyRequired},
		{"65 characters", []string{strings.Repeat("k", 65)}, problem.InvalidRequest},
		{"a tab", []string{"a\tb"}, problem.InvalidRequest},
		{"not ASCII", []string{"clé"}, problem.InvalidRequest},
		{"not UTF-8", []string{"a\xff"}, problem.InvalidRequest},
		{"twice", []string{"a", "b"}, problem.InvalidRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
			body := strings.NewReader(order("12.50", "USD", "emma", 1))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", body)
			r.Header[keyHeader] = tt.keys
			a := send(s, r)
			if tt.want == (problem.Type{}) {
				if a.status != http.StatusCreated {
					t.Error(a)
				}
				return
			}
			if !a.is(tt.want) || !strings.Contains(a.body, keyHeader) {
				t.Errorf("want 400 %s naming the header: %v", tt.want.URI, a)
			}
		})
	}
}

// A full store refuses a new order and says so; the orders that it has are still told.
func TestAFullStoreRefuses(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 1), &fakeMarket{})
	first := post(t.Context(), s, "a", order("12.50", "USD", "emma", 1))
	if first.status != http.StatusCreated {
		t.Fatal(first)
	}
	if a := post(t.Context(), s, "b", order("12.50", "USD", "emma", 1)); !a.is(problem.StoreFull) {
		t.Error(a)
	}
	if a := post(t.Context(), s, "a", order("12.50", "USD", "emma", 1)); a.body != first.body {
		t.Errorf("the order that it has: %v", a)
	}
}

func TestUnknownOrdersAndPaths(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
	for _, path := range []string{
		"/orders/" + newOrderID(), "/orders/" + strings.Repeat("a", 10<<10), "/orders/..%2Fstock", "/orders/1",
		"/orders/", "/nothing",
	} {
		if a := get(t, s, path); !a.is(problem.NotFound) {
			t.Errorf("GET %.40s: %v", path, a)
		}
	}
	if a := get(t, s, "/orders"); !a.is(problem.MethodNotAllowed) || a.header.Get("Allow") != "POST" {
		t.Errorf("GET /orders: %v", a)
	}
}

func TestStockIsTold(t *testing.T) {
	s := serviceOver(t, memoryOf(t, map[string]int{"emma": 3, "ulysses": 0}, 10), &fakeMarket{})
	a := get(t, s, "/stock")
	want := `{"stock":{"emma":3,"ulysses":0}}`
	if a.body != want || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v, want %s", a, want)
	}
}

// How every order ended is counted, under words of a closed list.
func TestOrdersAreCounted(t *testing.T) {
	s := serviceOver(t, memoryOf(t, shelf(), 10), &fakeMarket{})
	one, two := order("12.50", "USD", "emma", 1), order("25.00", "USD", "emma", 2)
	for _, body := range []string{one, one, two, "nonsense"} {
		post(t.Context(), s, "k", body)
	}
	post(t.Context(), s, "other", order("12.51", "USD", "emma", 1))
	for result, want := range map[string]float64{
		"accepted": 1, "replayed": 1, "out-of-stock": 0,
		"idempotency-key-reused": 1, "invalid-request": 1, "quote-changed": 1,
	} {
		var m dto.Metric
		if err := s.orders.WithLabelValues(result).Write(&m); err != nil || m.GetCounter().GetValue() != want {
			t.Errorf("%s: %v, want %v (%v)", result, m.GetCounter().GetValue(), want, err)
		}
	}
}

func TestOrderIDsAreUnguessable(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := newOrderID()
		if !plainOrderID.MatchString(id) || seen[id] {
			t.Fatalf("id %s", id)
		}
		seen[id] = true
	}
}

func TestRoutesFitTheirBudgets(t *testing.T) {
	if err := defence.CheckRoutes(Routes); err != nil {
		t.Error(err)
	}
}
