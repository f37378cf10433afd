package gateway

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/net/html"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// Every route that may call somebody is declared with what it may spend, and nothing is declared that is not there.
func TestRoutesAreDeclared(t *testing.T) {
	g := open(t)
	there := map[string]bool{}
	note := func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		there[method+" "+route] = true
		return nil
	}
	if err := chi.Walk(g.svc.Handler.(chi.Routes), note); err != nil {
		t.Fatal(err)
	}
	for _, r := range Routes {
		if !there[r.Name] {
			t.Errorf("%s is declared and not served", r.Name)
		}
	}
	if err := defence.CheckRoutes(Routes); err != nil {
		t.Error(err)
	}
}

func TestConfigurationIsToldWhole(t *testing.T) {
	cfg := Config{Config: service.Defaults("gateway"), Carousel: "sometimes", HeaderOffers: "1", CartKey: "abcd"}
	_, err := cfg.validate()
	for _, want := range []string{"CATALOGUE_URL", "CHECKOUT_URL", "CAROUSEL", `HEADER_OFFERS="1": must be on or off`, "CART_KEY has 2 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell of %s:\n%v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "abcd") {
		t.Errorf("the error tells the key:\n%v", err)
	}
}

// What another site makes a browser send does nothing.
func TestCrossOriginPostIsRefused(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.putInCart("emma")
	form := b.get("/cart").form("/orders", nil)
	add := url.Values{"action": {"add"}, "book": {"walden"}, "quantity": {"1"}}
	b.do(http.MethodPost, "/cart", add, "Sec-Fetch-Site", "cross-site").
		want(http.StatusForbidden, "came from another site")
	b.do(http.MethodPost, "/orders", form, "Origin", "https://elsewhere.example").
		want(http.StatusForbidden, "nothing was done")
	b.do(http.MethodPost, "/api/v1/orders", form, "Sec-Fetch-Site", "same-site").want(http.StatusForbidden).
		wantHeader("Content-Type", problem.ContentType)
	if len(g.fake.orders) != 0 {
		t.Error("an order was placed by another site")
	}
	b.do(http.MethodPost, "/cart", add, "Sec-Fetch-Site", "same-origin").want(http.StatusOK, "Cart (2)")
}

// Every page, whatever its status, forbids what the shop never does.
func TestSecurityHeaders(t *testing.T) {
	g := open(t)
	b := g.browser()
	for _, path := range []string{"/books", "/cart", "/books/none", "/nothing", "/api/v1/books", assetURLs["shop.css"]} {
		p := b.get(path)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'self'",
			"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := p.header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if csp := p.header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
	}
}

// No page has a script, a style of its own, or anything from another host, and every field has a label.
func TestD12PagesAreSelfContained(t *testing.T) {
	g := open(t, withOffers)
	b := g.browser()
	b.putInCart("emma")
	for _, path := range []string{"/books", "/books/moby-dick", "/books/moby-dick/related", "/cart", "/orders", "/currency",
		"/nothing"} {
		p := b.get(path)
		if len(p.text) > 60<<10 {
			t.Errorf("%s has %d bytes", path, len(p.text))
		}
		labelled := map[string]bool{}
		for n := range p.root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "label" {
				labelled[attr(n, "for")] = true
			}
			if n.Data == "script" || n.Data == "style" {
				t.Errorf("%s has a <%s>", path, n.Data)
			}
			for _, a := range n.Attr {
				address := a.Key == "href" || a.Key == "src" || a.Key == "action"
				external := address && (!strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "//"))
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || external && a.Val != "#main" {
					t.Errorf(`%s has %s="%s"`, path, a.Key, a.Val)
				}
			}
		}
		for n := range p.root.Descendants() {
			field := n.Data == "select" || n.Data == "input" && attr(n, "type") != "hidden"
			if n.Type == html.ElementNode && field && !labelled[attr(n, "id")] && !hasAttr(n, "aria-label") {
				t.Errorf("%s: the field %s has no label", path, attr(n, "name"))
			}
		}
	}
}

// A title is text, whatever it holds.
func TestHostileTitlesAreText(t *testing.T) {
	g := open(t, withOffers)
	hostile := `<script>alert(1)</script>"><img src=x onerror=alert(1)>`
	g.fake.set(func() {
		g.fake.books = func(w http.ResponseWriter, r *http.Request) {
			book := bookDoc("emma", "USD")
			book["title"], book["author"], book["description"] = hostile, hostile, hostile
			book["subjects"] = []string{hostile}
			send(w, http.StatusOK, map[string]any{"books": []any{book}, "book": book, "related": []any{book},
				"offers": []any{book}, "total": 1, "page": 1, "pages": 2, "subjects": []any{map[string]any{"subject": hostile, "count": 1}}})
		}
	})
	b := g.browser()
	b.putInCart("emma")
	search := "/books?q=" + url.QueryEscape("<script>x")
	for _, path := range []string{search, "/books/emma", "/books/emma/related", "/cart"} {
		p := b.get(path).want(http.StatusOK)
		if !strings.Contains(p.words(), hostile) {
			t.Errorf("%s does not show the title as it is", path)
		}
		for n := range p.root.Descendants() {
			if n.Type == html.ElementNode && (n.Data == "script" || n.Data == "img") {
				t.Errorf("%s has a <%s> made of a title", path, n.Data)
			}
		}
	}
}

// Whatever is asked wrongly is answered with what to do: a page for people, problem details at the API.
func TestD11BadRequestsAreTold(t *testing.T) {
	g := open(t)
	b := g.browser()
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/books/..%2f..%2fetc%2fpasswd", http.StatusNotFound, "no such book"},
		{"/books/" + strings.Repeat("a", 10<<10), http.StatusNotFound, "no such book"},
		{"/books/NO", http.StatusNotFound, "no such book"},
		{"/books/unheard-of", http.StatusNotFound, "no such book"},
		{"/books/unheard-of/related/more", http.StatusNotFound, "nothing at this address"},
		{"/books?page=0", http.StatusBadRequest, "whole number from 1"},
		{"/books?page=1000000000", http.StatusBadRequest, "whole number from 1"},
		{"/books?sort=colour", http.StatusBadRequest, "must be one of"},
		{"/books?q=" + strings.Repeat("a", 101), http.StatusBadRequest, "at most 100 characters"},
		{"/books?q=%ff", http.StatusBadRequest, "at most 100 characters"},
		{"/books?q=%zz", http.StatusBadRequest, "cannot be read"},
		{"/books?currency=XTS", http.StatusBadRequest, "not one that the shop has a rate for"},
		{"/books/emma?currency=usd", http.StatusBadRequest, "not one that the shop has a rate for"},
		{"/orders/ord_none", http.StatusNotFound, "no order of that number"},
		{"/orders/..%2fstock", http.StatusNotFound, "no order of that number"},
		{"/nothing", http.StatusNotFound, "nothing at this address"},
		{"/assets/shop.css", http.StatusNotFound, "nothing at this address"},
	} {
		b.get(c.path).want(c.status, c.says, "Request").wantHeader("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(c.path, "/assets") {
			continue
		}
		p := b.get("/api/v1"+c.path).want(c.status).wantHeader("Content-Type", problem.ContentType)
		if p.header.Get(service.RequestIDHeader) == "" || !strings.Contains(p.text, `"detail"`) {
			t.Errorf("%s: %s", p.path, p.text)
		}
	}
	b.do(http.MethodDelete, "/books", nil).want(http.StatusMethodNotAllowed, "does not take DELETE")
	b.do(http.MethodHead, "/books", nil).want(http.StatusOK)
	b.post("/currency", url.Values{"currency": {"XXX"}}).
		want(http.StatusBadRequest, "not one that the shop has a rate for")
}

// An order that is none goes no further than the gateway.
func TestD11OrdersThatAreNone(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.post("/orders", url.Values{"key": {"k"}, "total": {"0"}, "currency": {"USD"}}).
		want(http.StatusBadRequest, "Your cart is empty")
	one := func(book, quantity, currency, total string) string {
		return `{"items":[{"book":"` + book + `","quantity":` + quantity + `}],` +
			`"currency":"` + currency + `","expected_total":"` + total + `"}`
	}
	for name, body := range map[string]string{
		"no items":           `{"items":[],"currency":"USD","expected_total":"0"}`,
		"quantity 0":         one("emma", "0", "USD", "12.50"),
		"quantity −1":        one("emma", "-1", "USD", "12.50"),
		"quantity 10⁹":       one("emma", "1000000000", "USD", "12.50"),
		"half a book":        one("emma", "0.5", "USD", "12.50"),
		"unknown currency":   one("emma", "1", "XTS", "12.50"),
		"no total":           one("emma", "1", "USD", ""),
		"total that is none": one("emma", "1", "USD", "1e9"),
		"id with ../":        one("../stock", "1", "USD", "12.50"),
		"id of 10 KB":        one(strings.Repeat("a", 10<<10), "1", "USD", "12.50"),
		"31 titles": `{"items":[` + strings.Repeat(`{"book":"emma","quantity":1},`, 30) +
			`{"book":"emma","quantity":1}],"currency":"USD","expected_total":"1"}`,
		"a wish we know not": strings.Replace(one("emma", "1", "USD", "12.50"), `{`, `{"gift":true,`, 1),
		"two orders":         one("emma", "1", "USD", "12.50") + one("emma", "1", "USD", "12.50"),
		"nothing":            ``,
	} {
		t.Run(name, func(t *testing.T) {
			answer := g.api(t, http.MethodPost, "/api/v1/orders", body, keyHeader, "k")
			if answer.Code != http.StatusBadRequest || answer.Header().Get("Content-Type") != problem.ContentType {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
		})
	}
	answer := g.api(t, http.MethodPost, "/api/v1/orders", one("emma", "1", "USD", "12.50"))
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), problem.KeyRequired.URI) {
		t.Errorf("without a key: %d %s", answer.Code, answer.Body)
	}
	if len(g.fake.keys) != 0 {
		t.Errorf("checkout was asked for %d of them", len(g.fake.keys))
	}
}

// What keeps an order from being read is told by its field; and nothing but JSON under one key is an order.
func TestTheAPITellsWhatIsWrong(t *testing.T) {
	g := open(t)
	right := `{"items":[{"book":"emma","quantity":1}],"currency":"USD","expected_total":"12.50"}`
	for _, tt := range []struct {
		name, body, keys, media string
		status                  int
		says                    string
	}{
		{"half a book", strings.Replace(right, ":1}", ":0.5}", 1), "k", "", 400, `"field":"items.quantity"`},
		{"total a number", strings.Replace(right, `"12.50"`, `12.50`, 1), "k", "", 400, `"field":"expected_total"`},
		{"a wish", strings.Replace(right, `{`, `{"gift":true,`, 1), "k", "", 400, `gift`},
		{"items twice", strings.Replace(right, `{`, `{"items":[],`, 1), "k", "", 400, `"field":"items"`},
		{"no such currency", strings.Replace(right, `USD`, `XTS`, 1), "k", "", 400, "EUR, GBP"},
		{"two keys", right, "k l", "", 400, `"field":"Idempotency-Key"`},
		{"a form", right, "k", "application/x-www-form-urlencoded", 415, "application/json"},
		{"plain text", right, "k", "text/plain", 415, "application/json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/api/v1/orders", strings.NewReader(tt.body)).WithContext(t.Context())
			r.Header.Set("Content-Type", cmp.Or(tt.media, "application/json"))
			r.Header[keyHeader] = strings.Fields(tt.keys)
			w := httptest.NewRecorder()
			g.svc.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, tt.status, tt.says)
			}
		})
	}
	if len(g.fake.keys) != 0 {
		t.Errorf("checkout was asked for %d of them", len(g.fake.keys))
	}
}

// What checkout refuses is told at the address that was asked, not at checkout's.
func TestARefusalNamesTheAddressThatWasAsked(t *testing.T) {
	g := open(t)
	g.fake.set(func() { g.fake.order = refuse(problem.New(problem.KeyReused, "Another order came with this key.")) })
	body := `{"items":[{"book":"emma","quantity":1}],"currency":"USD","expected_total":"12.50"}`
	answer := g.api(t, http.MethodPost, "/api/v1/orders", body, keyHeader, "k")
	if answer.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Body.String(), `"instance":"/api/v1/orders"`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// Whoever asks by the wrong method is told the right ones, and by the wrong kind of body the right kind.
func TestWrongMethodsAndForms(t *testing.T) {
	g := open(t)
	b := g.browser()
	for path, allow := range map[string]string{
		"/books": "GET, HEAD", "/books/emma": "GET, HEAD", "/cart": "GET, HEAD, POST", "/api/v1/orders": "POST",
	} {
		b.do(http.MethodDelete, path, nil).want(http.StatusMethodNotAllowed, "only "+allow).wantHeader("Allow", allow)
	}
	for _, path := range []string{"/cart", "/currency", "/orders"} {
		form := url.Values{"book": {"emma"}, "quantity": {"1"}, "action": {"add"}, "currency": {"EUR"}}
		b.do(http.MethodPost, path, form, "Content-Type", "text/plain").
			want(http.StatusBadRequest, "must be sent as application/x-www-form-urlencoded")
	}
}

// api asks the handler without a network: what the API takes and gives is all that matters.
func (g *gate) api(t *testing.T, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(t.Context())
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.svc.ServeHTTP(w, r)
	return w
}

// An order over the API: made, found again, and refused in checkout's own words.
func TestAPIOrders(t *testing.T) {
	g := open(t)
	body := `{"items":[{"book":"emma","quantity":1}],"currency":"EUR","expected_total":"11.00"}`
	made := g.api(t, http.MethodPost, "/api/v1/orders", body, keyHeader, "key-1")
	if made.Code != http.StatusCreated || made.Header().Get("Location") != "/api/v1/orders/ord_1" {
		t.Fatalf("%d, Location %q: %s", made.Code, made.Header().Get("Location"), made.Body)
	}
	if g.fake.keys[0] != "key-1" {
		t.Errorf("checkout got the key %q", g.fake.keys[0])
	}
	found := g.api(t, http.MethodGet, "/api/v1/orders/ord_1", "")
	if found.Code != http.StatusOK || found.Body.String() != made.Body.String() {
		t.Errorf("made %s, found %d %s", made.Body, found.Code, found.Body)
	}
	g.fake.set(func() {
		p := problem.New(problem.QuoteChanged, "The total is now 12.00 EUR.")
		g.fake.order = refuse(p.With("quote", map[string]any{"currency": "EUR"}))
	})
	changed := g.api(t, http.MethodPost, "/api/v1/orders", body, keyHeader, "key-2")
	if changed.Code != http.StatusConflict || !strings.Contains(changed.Body.String(), `"quote":{"currency":"EUR"}`) {
		t.Errorf("%d %s", changed.Code, changed.Body)
	}
}

// The stylesheet is asked for once: its address changes with its content.
func TestStylesheetIsCachedForGood(t *testing.T) {
	g := open(t)
	b := g.browser()
	var css string
	b.get("/books").find("stylesheet", func(n *html.Node) bool {
		css = attr(n, "href")
		return n.Data == "link" && attr(n, "rel") == "stylesheet"
	})
	b.get(css).want(http.StatusOK).wantHeader("Content-Type", "text/css; charset=utf-8").
		wantHeader("Cache-Control", "public, max-age=31536000, immutable")
}

// The currency chosen is kept; the one in the address wins; going back never leaves the shop.
func TestCurrencyChoice(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.get("/books/emma").want(http.StatusOK, "$12.50")
	b.get("/books/emma?currency=EUR").want(http.StatusOK, "€11.00")
	b.get("/books/emma").want(http.StatusOK, "€11.00")
	back := b.get("/books/emma?currency=EUR").submit("/currency", nil, url.Values{"currency": {"JPY"}}).
		want(http.StatusOK, "¥1,850")
	if back.path != "/books/emma" {
		t.Errorf("back at %s", back.path)
	}
	for next, want := range map[string]string{
		"/books?q=whale&currency=EUR": "/books?q=whale", "//elsewhere.example/x": "/books",
		"https://elsewhere.example": "/books",
		`/\elsewhere.example`:       "/books", "": "/books", "books": "/books", "/cart": "/cart",
		"javascript:alert(1)":   "/books",
		"/%2felsewhere.example": "/books", "/a\r\nX: y": "/books",
	} {
		if got := backTo(next); got != want {
			t.Errorf("back to %q goes to %q, want %q", next, got, want)
		}
	}
}

// The gateway says itself how critical a request is and how long it may take, whatever a stranger says of it; the
// request id goes along.
func TestB26HeadersOfTheHouse(t *testing.T) {
	g := open(t, func(c *Config) { c.Carousel = "deferred" })
	b := g.browser()
	form := b.putInCart("emma").form("/orders", nil)
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, c := range []struct {
		method, path string
		form         url.Values
		class        resilience.Criticality
		budget       time.Duration
	}{
		{http.MethodGet, "/books/emma", nil, resilience.Default, pageBudget},
		{http.MethodGet, "/books/emma/related", nil, resilience.Sheddable, carouselBudget},
		{http.MethodPost, "/orders", form, resilience.Critical, orderBudget},
		{http.MethodGet, "/orders/ord_1", nil, resilience.Default, pageBudget},
	} {
		b.do(c.method, c.path, c.form,
			resilience.CriticalityHeader, "sheddable", resilience.DeadlineHeader, "1; remaining=1",
			service.RequestIDHeader, "a-request")
		g.fake.set(func() {
			if got := g.fake.last.Get(resilience.CriticalityHeader); got != c.class.String() {
				t.Errorf("%s %s went out as %s, want %s", c.method, c.path, got, c.class)
			}
			if got := g.fake.last.Get(service.RequestIDHeader); got != "a-request" {
				t.Errorf("%s %s went out as request %q", c.method, c.path, got)
			}
			_, remaining, _ := strings.Cut(g.fake.last.Get(resilience.DeadlineHeader), "remaining=")
			ms, err := strconv.Atoi(remaining)
			if left := time.Duration(ms) * time.Millisecond; err != nil || left <= 0 || left > c.budget-reserve {
				t.Errorf("%s %s went out with %q left of %v", c.method, c.path, remaining, c.budget)
			}
		})
	}
}

// The class is known before the admission asks for it: everything outside of it has been passed by then.
func TestClassIsSetBeforeAdmission(t *testing.T) {
	g := open(t)
	want := map[string]resilience.Criticality{
		"POST /orders": resilience.Critical, "POST /api/v1/orders": resilience.Critical,
		"GET /books/{id}/related": resilience.Sheddable, "GET /api/v1/books/{id}/related": resilience.Sheddable,
	}
	walk := func(method, route string, _ http.Handler, middlewares ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/assets/") {
			return nil // not admitted
		}
		var got resilience.Criticality
		outside := middlewares[:len(middlewares)-1] // the last is Within
		h := chi.Chain(outside...).HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = resilience.CriticalityFrom(r.Context())
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/", nil))
		if got != want[method+" "+route] {
			t.Errorf("%s %s is admitted as %s, want %s", method, route, got, want[method+" "+route])
		}
		return nil
	}
	if err := chi.Walk(g.svc.Handler.(chi.Routes), walk); err != nil {
		t.Fatal(err)
	}
}

// A refusal of the admission, which knows nothing of pages, is a page all the same where people read it.
func TestOverloadIsAPage(t *testing.T) {
	g := open(t)
	busy := g.svc.problemPages(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.Overloaded, "The shop is busier than it can serve."))
	}))
	for path, want := range map[string]string{"/books": "text/html; charset=utf-8", "/api/v1/books": problem.ContentType} {
		w := httptest.NewRecorder()
		busy.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != want {
			t.Errorf("%s: %d as %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
}
