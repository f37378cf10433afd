package checkout

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// These tests run the whole service, its listeners and its guarded calls included, beside a catalogue and a currency
// service that misbehave.

const (
	goodPrices = `{"prices":{"emma":{"number":"12.50","currency":"USD"}}}`
	goodRates  = `{"base":"USD","as_of":"2026-09-24","rates":{"EUR":"0.8797395971","USD":"1"}}`
)

// says answers every request with body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drips sends the headers, and then nothing.
func drips(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// leaf is another service, in name; nil is one that refuses connections.
func leaf(t *testing.T, h http.HandlerFunc) service.Addresses {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if h == nil {
		server.Close()
	}
	a, err := service.ParseAddresses(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// start runs checkout, its store in memory, and returns a handler that reaches it over HTTP.
func start(t *testing.T, defences string, catalogue, currency http.HandlerFunc) http.Handler {
	t.Helper()
	cfg := configOf(t, defences, catalogue, currency)
	shop, _ := run(t, cfg, func(c *service.Chassis) (*Service, error) {
		return newService(cfg, c, memoryOf(t, shelf(), 100))
	})
	return shop
}

// configOf is of a service on free ports, beside the given others.
func configOf(t *testing.T, defences string, catalogue, currency http.HandlerFunc) Config {
	t.Helper()
	cfg := Config{Config: service.Defaults("checkout")}
	cfg.CatalogueURL, cfg.CurrencyURL = leaf(t, catalogue), leaf(t, currency)
	cfg.Addr, cfg.AdminAddr, cfg.Defences, cfg.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", defences, 0
	return cfg
}

// run runs a service until the test ends, and returns handlers that reach it over HTTP.
func run(t *testing.T, cfg Config, build func(*service.Chassis) (*Service, error)) (shop, admin http.Handler) {
	t.Helper()
	c, err := service.New("checkout", cfg.Config, service.LogTo(io.Discard), service.AnnounceTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, s) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-c.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	public, adminAt := c.Addrs()
	return reach(transport, public), reach(transport, adminAt)
}

// reach is what listens at an address, as a handler.
func reach(transport *http.Transport, address string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: address}) },
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}

func TestAnOrderOverTheWholeService(t *testing.T) {
	var asked atomic.Value
	shop := start(t, "all", func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.RequestURI() + " " + r.Header.Get(resilience.CriticalityHeader))
		says(http.StatusOK, goodPrices)(w, r)
	}, says(http.StatusOK, goodRates))

	a := post(t.Context(), shop, "k", order("11.00", "EUR", "emma", 1))
	if a.status != http.StatusCreated || a.Total.String() != "11.00 EUR" {
		t.Fatal(a)
	}
	if want := "/prices?ids=emma critical"; asked.Load() != want {
		t.Errorf("the catalogue was asked %q, want %q", asked.Load(), want)
	}
	if again := post(t.Context(), shop, "k", order("11.00", "EUR", "emma", 1)); again.body != a.body {
		t.Errorf("again:\n%v\nwant\n%v", again, a)
	}
	if found := get(t, shop, "/orders/"+a.ID); found.body != a.body {
		t.Errorf("found:\n%v\nwant\n%v", found, a)
	}
}

// D1 and the blast radius: without prices there is no order, and the person knows within the second, whatever the way
// in which the catalogue fails. The key is free.
func TestWithoutTheCatalogueAnOrderIsRefusedWithinTheSecond(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"refuses":      nil,
		"hangs":        hangs,
		"drips":        drips,
		"fails":        says(http.StatusInternalServerError, `{}`),
		"is full":      says(http.StatusTooManyRequests, `{}`),
		"has no route": says(http.StatusNotFound, `{}`),
		"noise":        says(http.StatusOK, `<html>`),
		"no prices":    says(http.StatusOK, `{}`),
		"other money":  says(http.StatusOK, `{"prices":{"emma":{"number":"12.50","currency":"EUR"}}}`),
		"free":         says(http.StatusOK, `{"prices":{"emma":{"number":"0.00","currency":"USD"}}}`),
		"negative":     says(http.StatusOK, `{"prices":{"emma":{"number":"-12.50","currency":"USD"}}}`),
		"no number":    says(http.StatusOK, `{"prices":{"emma":{"number":"NaN","currency":"USD"}}}`),
		"no end":       says(http.StatusOK, `{"prices":{`+string(make([]byte, 128<<10))),
	}
	for name, behaviour := range tests {
		t.Run(name, func(t *testing.T) {
			var healed atomic.Bool
			catalogue := behaviour
			if behaviour != nil {
				catalogue = func(w http.ResponseWriter, r *http.Request) {
					if healed.Load() {
						says(http.StatusOK, goodPrices)(w, r)
					} else {
						behaviour(w, r)
					}
				}
			}
			shop := start(t, "all", catalogue, says(http.StatusOK, goodRates))
			began := time.Now()
			a := post(t.Context(), shop, "k", order("12.50", "USD", "emma", 1))
			if took := time.Since(began); took >= time.Second {
				t.Errorf("it took %v", took)
			}
			if !a.is(problem.Unavailable) || a.header.Get("Retry-After") != "1" {
				t.Fatal(a)
			}
			if behaviour == nil {
				return
			}
			healed.Store(true)
			if a := post(t.Context(), shop, "k", order("25.00", "USD", "emma", 2)); a.status != http.StatusCreated {
				t.Errorf("the same key once the catalogue is back: %v", a)
			}
		})
	}
}

// Without a rate the order is quoted in the shop's currency, whatever the way in which the currency service fails; with
// fallbacks off it is refused.
func TestWithoutARateTheOrderIsQuotedInDollars(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"refuses":    nil,
		"hangs":      hangs,
		"drips":      drips,
		"fails":      says(http.StatusServiceUnavailable, `{}`),
		"noise":      says(http.StatusOK, `nothing`),
		"no rates":   says(http.StatusOK, `{"base":"USD"}`),
		"other base": says(http.StatusOK, `{"base":"EUR","rates":{"EUR":"1","USD":"1.1367"}}`),
		"zero":       says(http.StatusOK, `{"base":"USD","rates":{"EUR":"0.000"}}`),
		"negative":   says(http.StatusOK, `{"base":"USD","rates":{"EUR":"-0.88"}}`),
		"no number":  says(http.StatusOK, `{"base":"USD","rates":{"EUR":"Infinity"}}`),
	}
	for name, behaviour := range tests {
		t.Run(name, func(t *testing.T) {
			shop := start(t, "all", says(http.StatusOK, goodPrices), behaviour)
			began := time.Now()
			a := post(t.Context(), shop, "k", order("11.00", "EUR", "emma", 1))
			if took := time.Since(began); took >= time.Second {
				t.Errorf("it took %v", took)
			}
			if !a.is(problem.QuoteChanged) || a.Reason != currencyUnavailable ||
				a.Quote.Total.String() != "12.50 USD" {
				t.Fatal(a)
			}
			if a := post(t.Context(), shop, "k", order("12.50", "USD", "emma", 1)); a.status != http.StatusCreated {
				t.Errorf("the yes: %v", a)
			}
		})
	}
	t.Run("fallbacks off", func(t *testing.T) {
		shop := start(t, "all,-fallbacks", says(http.StatusOK, goodPrices), nil)
		a := post(t.Context(), shop, "k", order("11.00", "EUR", "emma", 1))
		if !a.is(problem.Unavailable) {
			t.Error(a)
		}
	})
}

// One hiccup of a dependency is not the person's business: the call is tried once more.
func TestOneHiccupIsTriedOver(t *testing.T) {
	once := func(good string) http.HandlerFunc {
		var calls atomic.Int32
		return func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 {
				says(http.StatusInternalServerError, `{}`)(w, r)
				return
			}
			says(http.StatusOK, good)(w, r)
		}
	}
	shop := start(t, "all", once(goodPrices), once(goodRates))
	if a := post(t.Context(), shop, "k", order("11.00", "EUR", "emma", 1)); a.status != http.StatusCreated {
		t.Error(a)
	}
}

// D3: a person who hangs up while the catalogue is asked has ordered nothing; the call ends and the key is free.
func TestD3HangingUpFreesTheKey(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	shop := start(t, "all", func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			says(http.StatusOK, goodPrices)(w, r)
			return
		}
		close(asked)
		<-r.Context().Done()
		close(ended)
	}, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", nil)
		body := order("12.50", "USD", "emma", 1)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set(keyHeader, "k")
		r.Header.Set("Content-Type", "application/json")
		shop.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-asked
	hangUp()
	<-left
	<-ended
	// The handler is on its way out when its call has ended: until it is, the key is in progress.
	for {
		a := post(t.Context(), shop, "k", order("12.50", "USD", "emma", 1))
		if a.Type == problem.OrderInProgress.URI {
			continue
		}
		if a.status != http.StatusCreated {
			t.Error(a)
		}
		break
	}
}

// New sells what the shop starts with.
func TestNewStartsWithTheFirstStock(t *testing.T) {
	cfg := Config{Config: service.Defaults("checkout"), CatalogueURL: leaf(t, nil), CurrencyURL: leaf(t, nil)}
	c, err := service.New("checkout", cfg.Config, service.LogTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	for _, b := range seed.Books() {
		want[b.ID] = b.Stock
	}
	if diff := cmp.Diff(want, stockOf(t, s)); diff != "" {
		t.Errorf("stock (-seed +got):\n%s", diff)
	}
}

func TestNewNamesEveryAddressThatIsMissing(t *testing.T) {
	cfg := Config{Config: service.Defaults("checkout")}
	c, err := service.New("checkout", cfg.Config, service.LogTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(cfg, c)
	if got, want := fmt.Sprint(err), "CATALOGUE_URL is empty\nCURRENCY_URL is empty"; got != want {
		t.Errorf("error:\n%s\nwant:\n%s", got, want)
	}
}
