package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

func withOffers(c *Config) { c.HeaderOffers = "on" }

// offering answers a request for offers and leaves every other to sell.
func (f *fakeShop) offering(answer http.HandlerFunc) {
	f.set(func() {
		f.books = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/offers" {
				answer(w, r)
				return
			}
			f.sell(w, r)
		}
	})
}

// held answers nothing for as long as its caller waits.
func held(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// offersAsked are the requests for offers that the catalogue got since the last look.
func (f *fakeShop) offersAsked() (asked []string) {
	f.set(func() {
		for _, path := range f.asked {
			if strings.HasPrefix(path, "/offers") {
				asked = append(asked, path)
			}
		}
		f.asked = nil
	})
	return asked
}

// offersOn returns the header of offers; nil where the page has none.
func (p page) offersOn() *html.Node {
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && hasAttr(n, "data-offers") {
			return n
		}
	}
	return nil
}

// shopping brings a person to every kind of page, with something in the cart and something ordered, and returns the
// addresses.
func shopping(b *browser) []string {
	b.putInCart("emma")
	order := b.get("/cart").submit("/orders", nil, nil).want(http.StatusOK).path
	b.putInCart("emma")
	return []string{
		"/books", "/books?q=whale", "/books/moby-dick", "/books/moby-dick/related", "/cart", order, "/orders", "/currency",
	}
}

// Every page offers books in the reader's currency, once, and in marks that nobody takes for the page's own book.
func TestOffersOnEveryPage(t *testing.T) {
	g := open(t, withOffers)
	b := g.browser()
	b.get("/currency?currency=EUR").want(http.StatusOK)
	paths := append(shopping(b), "/cart") // the last of them emptied
	for i, path := range paths {
		if i == len(paths)-1 {
			b.post("/cart", url.Values{"action": {"remove"}, "book": {"emma"}})
		}
		g.fake.offersAsked()
		p := b.get(path).want(http.StatusOK, "Much bought lately", "Emma", "€11.00").wantHeader("X-Degraded", "")
		if asked := g.fake.offersAsked(); !slices.Equal(asked, []string{"/offers?currency=EUR"}) {
			t.Errorf("%s: the catalogue was asked for %q", path, asked)
		}
		aside := p.offersOn()
		if aside == nil || aside.Data != "aside" || attr(aside, "data-offers") != "2" {
			t.Fatalf("%s: no aside with two offers:\n%s", path, p.text)
		}
		var links []string
		for n := range aside.Descendants() {
			if n.Data == "article" || n.Data == "data" || hasAttr(n, "data-book") || hasAttr(n, "data-book-related") {
				t.Errorf("%s: an offer is marked as <%s> %v, as a page's book is", path, n.Data, n.Attr)
			}
			if n.Data == "a" {
				links = append(links, attr(n, "href"))
			}
		}
		if !slices.Equal(links, []string{"/books/emma", "/books/walden"}) {
			t.Errorf("%s: the offers link to %q", path, links)
		}
	}
	b.get("/books").follow("/books/walden").want(http.StatusOK, "Walden")
}

// What is not a page for people to shop on offers nothing and asks for nothing: the API, and pages that say no.
func TestOffersOnPagesOnly(t *testing.T) {
	g := open(t, withOffers)
	b := g.browser()
	for path, status := range map[string]int{
		"/api/v1/books": 200, "/api/v1/books/emma": 200, "/api/v1/books/emma/related": 200, "/nothing": 404,
		"/books?page=0": 400,
	} {
		b.get(path).want(status).without("data-offers", "Much bought")
	}
	if asked := g.fake.offersAsked(); asked != nil {
		t.Errorf("the catalogue was asked for %q", asked)
	}
}

// Off, which is the default, no page says a byte more and nobody is asked; nor does a page that has nothing to offer.
func TestWithoutOffersPagesAreAsEver(t *testing.T) {
	off, on := open(t), open(t, withOffers)
	on.fake.offering(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"offers":[]}`) })
	plain, empty := off.browser(), on.browser()
	paths := shopping(plain)
	shopping(empty)
	same := strings.NewReplacer() // but for the keys of the two carts
	for _, path := range paths {
		p, q := plain.get(path).want(http.StatusOK), empty.get(path).want(http.StatusOK)
		if path == "/cart" {
			same = strings.NewReplacer(q.form("/orders", nil).Get("key"), p.form("/orders", nil).Get("key"))
		}
		if p.text != same.Replace(q.text) {
			t.Errorf("%s differs:\n%s\n%s", path, p.text, q.text)
		}
		p.without("offers", "aside").wantHeader("X-Degraded", "")
	}
	if asked := off.fake.offersAsked(); asked != nil {
		t.Errorf("the catalogue was asked for %q", asked)
	}
}

// Whatever becomes of the offers, every page is there in time, without them, and says so.
func TestD1OffersAreNeverWorthAPage(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, answer := range map[string]http.HandlerFunc{
		"held": held, "dead": dead, "400": status(400), "an older catalogue": http.NotFound, "429": status(429),
		"nothing": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) },
		"the catalogue's own fallback": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"offers":[],"degraded":["offers"]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, withOffers)
			b := g.browser()
			g.fake.offering(answer)
			for _, path := range shopping(b) {
				start := time.Now()
				p := b.get(path).want(http.StatusOK).without("data-offers", "Much bought").wantHeader("X-Degraded", "offers")
				if took := time.Since(start); took >= pageBudget {
					t.Errorf("%s took %v, which is not inside %v", p.path, took, pageBudget)
				}
			}
		})
	}
}

// A page and its offers degrade apart and are told together, each thing once.
func TestOffersDegradeWithThePage(t *testing.T) {
	g := open(t, withOffers)
	b := g.browser()
	g.fake.set(func() { g.fake.books = g.fake.degrade(pricesDegraded) })
	inDollars := b.get("/books/moby-dick?currency=EUR").want(http.StatusOK, "$12.50").wantHeader("X-Degraded", "prices")
	aside := page{t: t, root: inDollars.offersOn()}
	aside.want(0, "Prices in US dollars: today’s rates are not at hand.")
	g.fake.set(func() { g.fake.books = g.fake.degrade(carouselDegraded) })
	b.get("/books/moby-dick").want(http.StatusOK, "Much bought lately").wantHeader("X-Degraded", "carousel")
	g.fake.offering(dead)
	b.get("/books/moby-dick").want(http.StatusOK).wantHeader("X-Degraded", "offers")
	g.fake.set(func() { g.fake.books = dead })
	b.get("/books/moby-dick").want(http.StatusOK).wantHeader("X-Degraded", "copy, offers")
}

// Without the defence the offers take the page with them.
func TestFallbacksOffFailsThePageForItsOffers(t *testing.T) {
	g := open(t, withOffers, func(c *Config) { c.Defences = "all,-fallbacks" })
	b := g.browser()
	for _, answer := range []http.HandlerFunc{dead, http.NotFound} {
		g.fake.offering(answer)
		b.get("/orders").want(http.StatusServiceUnavailable, "Try again in 5 seconds").wantHeader("Retry-After", "5")
		b.get("/books").want(http.StatusServiceUnavailable)
	}
}

// The offers are asked for beside the page's own call, whichever of the two comes first. A page that is none does not
// wait for its offers, and they are called off.
func TestOffersOfAPageThatFailsAreCalledOff(t *testing.T) {
	g := open(t, withOffers, func(c *Config) { c.Defences = "all,-timeouts,-deadlines" })
	asked, left := make(chan struct{}), make(chan struct{})
	g.fake.set(func() {
		g.fake.books = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/offers" {
				select {
				case <-asked:
				case <-r.Context().Done():
				}
				http.NotFound(w, r)
				return
			}
			close(asked)
			held(w, r)
			close(left)
		}
	})
	g.browser().get("/books/moby-dick").want(http.StatusNotFound, "no such book")
	<-left
}

// Held offers take their own slots and no more: who comes then gets a page at once, without offers.
func TestHeldOffersTakeTheirSlotsOnly(t *testing.T) {
	g := open(t, withOffers, func(c *Config) { c.Defences = "all,-timeouts,-deadlines" }) // or the held would be ended
	asked, letGo := make(chan struct{}), make(chan struct{})
	g.fake.offering(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-letGo
		g.fake.sell(w, r)
	})
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.svc.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/books", nil))
		return w
	}
	slow := make(chan *httptest.ResponseRecorder)
	for range toOffers.Policy.Slots {
		go func() { slow <- get() }()
		<-asked
	}
	if w := get(); w.Code != http.StatusOK || w.Header().Get("X-Degraded") != "offers" {
		t.Errorf("one more: %d, degraded %q; want a page without offers", w.Code, w.Header().Get("X-Degraded"))
	}
	close(letGo)
	for range toOffers.Policy.Slots {
		if w := <-slow; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "data-offers") {
			t.Errorf("let in: %d, want a page with offers", w.Code)
		}
	}
}

// The numbers in dependencies.go are what their reasons say, and the workers can spare them.
func TestSlotsForOffers(t *testing.T) {
	want, err := resilience.SlotsFor(40, 100*time.Millisecond)
	if got := toOffers.Policy.Slots; err != nil || got != want {
		t.Errorf("%d slots, want %d (%v)", got, want, err)
	}
	capacity := service.Capacity{Workers: service.Defaults("gateway").Workers}
	if err := service.CheckLedger(capacity, Dependencies); err != nil {
		t.Error(err)
	}
}
