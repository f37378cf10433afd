package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeShop stands for the catalogue and checkout: what the gateway calls, with a handler a test can replace.
type fakeShop struct {
	catalogue, checkout *httptest.Server

	mu     sync.Mutex
	books  http.HandlerFunc                                        // GET /books…
	order  func(w http.ResponseWriter, key string, o orderRequest) // POST /orders
	orders map[string]order                                        // GET /orders/{id}
	stock  map[string]int                                          // GET /stock
	asked  []string                                                // of the catalogue, in turn
	keys   []string                                                // of POST /orders, in turn
	last   http.Header                                             // of the last request to either
}

func newFakeShop(t testing.TB) *fakeShop {
	f := &fakeShop{orders: map[string]order{}, stock: map[string]int{"moby-dick": 1, "emma": 1_000_000, "walden": 0}}
	f.books, f.order = f.sell, f.accept
	f.catalogue = httptest.NewServer(http.HandlerFunc(f.serveCatalogue))
	f.checkout = httptest.NewServer(http.HandlerFunc(f.serveCheckout))
	t.Cleanup(f.catalogue.Close)
	t.Cleanup(f.checkout.Close)
	return f
}

// set changes the fake between requests.
func (f *fakeShop) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeShop) serveCatalogue(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.RequestURI())
	f.last = r.Header.Clone()
	books := f.books
	f.mu.Unlock()
	books(w, r)
}

func (f *fakeShop) serveCheckout(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path != "/stock" { // which is asked in the background
		f.last = r.Header.Clone()
	}
	id, one := strings.CutPrefix(r.URL.Path, "/orders/")
	switch o, known := f.orders[id]; {
	case r.URL.Path == "/stock":
		send(w, http.StatusOK, map[string]any{"stock": f.stock})
	case r.URL.Path == "/orders" && r.Method == http.MethodPost:
		var o orderRequest
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			problem.Write(w, r, problem.New(problem.InvalidRequest, err.Error()))
			return
		}
		key := r.Header.Get(keyHeader)
		f.keys = append(f.keys, key)
		f.order(w, key, o)
	case one && known:
		send(w, http.StatusOK, o)
	default:
		problem.Write(w, r, problem.New(problem.NotFound, "No such order."))
	}
}

// titlesSold are the books of the fake; every one costs 12.50 USD, 11.00 EUR or 1850 JPY.
var titlesSold = map[string]string{"moby-dick": "Moby-Dick", "emma": "Emma", "walden": "Walden"}

func costs(code string) map[string]string {
	number, ok := map[string]string{"USD": "12.50", "EUR": "11.00", "JPY": "1850"}[code]
	if !ok {
		number, code = "12.50", "USD"
	}
	return map[string]string{"number": number, "currency": code}
}

func bookDoc(id, code string) map[string]any {
	return map[string]any{
		"id": id, "title": titlesSold[id], "author": "An Author", "year": 1851, "language": "English",
		"subjects": []string{"sea"}, "description": "Two sentences. About a book.", "price": costs(code),
	}
}

// sell is the catalogue on a good day.
func (f *fakeShop) sell(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("currency")
	id := strings.TrimPrefix(r.URL.Path, "/books/")
	switch {
	case r.URL.Path == "/books":
		ids := []string{"emma", "moby-dick", "walden"}
		if list := r.URL.Query().Get("ids"); list != "" {
			ids = strings.Split(list, ",")
		}
		books := []any{}
		for _, id := range ids {
			if titlesSold[id] != "" {
				books = append(books, bookDoc(id, code))
			}
		}
		send(w, http.StatusOK, map[string]any{"books": books, "total": len(books), "page": 1, "pages": 1,
			"subjects": []any{map[string]any{"subject": "sea", "count": 3}}, "currency": code})
	case r.URL.Path == "/offers":
		send(w, http.StatusOK, map[string]any{"offers": []any{bookDoc("emma", code), bookDoc("walden", code)}})
	case strings.HasSuffix(id, "/related"):
		send(w, http.StatusOK, map[string]any{"related": []any{bookDoc("emma", code)}})
	case titlesSold[id] != "":
		doc := map[string]any{"book": bookDoc(id, code), "related": []any{}, "rates_as_of": "2026-09-24"}
		if r.URL.Query().Get("related") != "none" {
			doc["related"] = []any{bookDoc("emma", code), bookDoc("walden", code)}
		}
		send(w, http.StatusOK, doc)
	default:
		problem.Write(w, r, problem.New(problem.NotFound, "No such book."))
	}
}

// degrade is sell with something from a fallback: the carousel, the prices (then in USD), or both.
func (f *fakeShop) degrade(what ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		healthy := httptest.NewRecorder()
		for _, w := range what {
			if w == pricesDegraded {
				q := r.URL.Query()
				q.Set("currency", "USD")
				r.URL.RawQuery = q.Encode()
			}
		}
		f.sell(healthy, r)
		var doc map[string]any
		if err := json.Unmarshal(healthy.Body.Bytes(), &doc); err != nil {
			panic(err)
		}
		for _, w := range what {
			if w == carouselDegraded {
				doc["related"] = []any{}
			}
		}
		doc["degraded"] = what
		send(w, http.StatusOK, doc)
	}
}

// dead answers every request with a 503.
func dead(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, problem.New(problem.Unavailable, "Out of order."))
}

// accept is checkout on a good day: it takes every order at the total that was expected.
func (f *fakeShop) accept(w http.ResponseWriter, key string, o orderRequest) {
	id := fmt.Sprintf("ord_%d", len(f.orders)+1)
	doc := map[string]any{
		"id": id, "status": "accepted", "created_at": "2026-09-24T12:00:00Z", "items": linesDoc(o, o.Currency),
		"total": map[string]string{"number": o.ExpectedTotal, "currency": o.Currency}, "currency": o.Currency,
	}
	f.orders[id] = decodeAs[order](doc)
	send(w, http.StatusCreated, doc)
}

// refuse answers every order with p.
func refuse(p *problem.Problem) func(http.ResponseWriter, string, orderRequest) {
	return func(w http.ResponseWriter, _ string, _ orderRequest) {
		problem.Write(w, httptest.NewRequest(http.MethodPost, "/orders", nil), p)
	}
}

func linesDoc(o orderRequest, code string) []any {
	lines := []any{}
	for _, i := range o.Items {
		lines = append(lines, map[string]any{
			"book": i.Book, "quantity": i.Quantity, "unit_price": costs(code), "line_total": costs(code),
		})
	}
	return lines
}

func send(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

func decodeAs[T any](doc any) (v T) {
	body, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		panic(err)
	}
	return v
}

// gate is a gateway on its real chassis.
type gate struct {
	t    testing.TB
	fake *fakeShop
	svc  *Service
	url  string
}

func open(t testing.TB, configure ...func(*Config)) *gate {
	t.Helper()
	f := newFakeShop(t)
	cfg := Config{Config: service.Defaults("gateway"), Carousel: "inline", HeaderOffers: "off"}
	cfg.CartKey = strings.Repeat("5a", 32)
	cfg.Addr, cfg.AdminAddr, cfg.DrainDelay, cfg.LogLevel = "127.0.0.1:0", "127.0.0.1:0", 0, "error"
	for _, c := range configure {
		c(&cfg)
	}
	cfg.CatalogueURL, cfg.CheckoutURL = address(t, f.catalogue.URL), address(t, f.checkout.URL)
	c, err := service.New("gateway", cfg.Config, service.AnnounceTo(io.Discard), service.LogTo(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, svc) }()
	select {
	case <-c.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	})
	public, _ := c.Addrs()
	svc.stock.refresh(t.Context()) // the background's first count may be still on its way
	return &gate{t: t, fake: f, svc: svc, url: "http://" + public}
}

func address(t testing.TB, list string) service.Addresses {
	t.Helper()
	a, err := service.ParseAddresses(list)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// browser is a person's: it keeps cookies, follows redirects, reads pages and sends forms, and runs no script.
type browser struct {
	t    testing.TB
	gate *gate
	http *http.Client
}

func (g *gate) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	transport := &http.Transport{}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &browser{g.t, g, &http.Client{Jar: jar, Transport: transport, Timeout: 10 * time.Second}}
}

// page is an answer, read.
type page struct {
	t       testing.TB
	status  int
	header  http.Header
	path    string // where it ended up
	text    string // as it came
	root    *html.Node
	browser *browser
}

func (b *browser) do(method, path string, form url.Values, header ...string) page {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.gate.url+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		b.t.Fatal(err)
	}
	return page{b.t, resp.StatusCode, resp.Header, resp.Request.URL.RequestURI(), string(text), root, b}
}

func (b *browser) get(path string) page {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil)
}

func (b *browser) post(path string, form url.Values) page {
	b.t.Helper()
	return b.do(http.MethodPost, path, form)
}

// putInCart is what a person does who knows the way.
func (b *browser) putInCart(books ...string) page {
	b.t.Helper()
	var p page
	for _, id := range books {
		p = b.post("/cart", url.Values{"action": {"add"}, "book": {id}, "quantity": {"1"}}).want(http.StatusOK)
	}
	return p
}

func (p page) want(status int, says ...string) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: status %d, want %d\n%s", p.path, p.status, status, p.text)
	}
	for _, s := range says {
		if !strings.Contains(p.words(), s) {
			p.t.Errorf("%s does not say %q:\n%s", p.path, s, p.words())
		}
	}
	return p
}

func (p page) without(never ...string) page {
	p.t.Helper()
	for _, s := range never {
		if strings.Contains(p.text, s) {
			p.t.Errorf("%s has %q, which it should not:\n%s", p.path, s, p.text)
		}
	}
	return p
}

func (p page) wantHeader(name, value string) page {
	p.t.Helper()
	if got := p.header.Get(name); got != value {
		p.t.Errorf("%s: %s is %q, want %q", p.path, name, got, value)
	}
	return p
}

// words is what a person reads on the page: its text, spaces folded.
func (p page) words() string {
	var b strings.Builder
	for n := range p.root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// find returns the first element that matches.
func (p page) find(what string, match func(*html.Node) bool) *html.Node {
	p.t.Helper()
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && match(n) {
			return n
		}
	}
	p.t.Fatalf("%s has no %s:\n%s", p.path, what, p.text)
	return nil
}

// follow clicks the link to path.
func (p page) follow(path string) page {
	p.t.Helper()
	p.find("link to "+path, func(n *html.Node) bool { return n.Data == "a" && attr(n, "href") == path })
	return p.browser.get(path)
}

// form returns what the form to action would send that has these fields, as a browser reads them.
func (p page) form(action string, having url.Values) url.Values {
	p.t.Helper()
	var fields url.Values
	p.find("form to "+action, func(n *html.Node) bool {
		if n.Data != "form" || attr(n, "action") != action {
			return false
		}
		fields = fieldsOf(n)
		for name := range having {
			if fields.Get(name) != having.Get(name) {
				return false
			}
		}
		return true
	})
	return fields
}

func fieldsOf(form *html.Node) url.Values {
	fields := url.Values{}
	for n := range form.Descendants() {
		switch {
		case n.Data == "input":
			fields.Set(attr(n, "name"), attr(n, "value"))
		case n.Data == "option" && hasAttr(n, "selected"):
			fields.Set(attr(n.Parent, "name"), n.FirstChild.Data)
		}
	}
	return fields
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// submit fills in and sends a form.
func (p page) submit(action string, having, fill url.Values) page {
	p.t.Helper()
	fields := p.form(action, having)
	maps.Copy(fields, fill)
	return p.browser.post(action, fields)
}
