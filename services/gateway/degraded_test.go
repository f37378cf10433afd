package gateway

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every degraded state says so in one line where the thing would be, and in X-Degraded for machines.
func TestDegradedPagesSaySo(t *testing.T) {
	for _, c := range []struct {
		name, path string
		degraded   []string
		says       []string
		never      []string
		header     string
	}{
		{"whole", "/books/moby-dick", nil, []string{"Readers also bought", "€11.00"},
			[]string{"rates are not at hand"}, ""},
		{"no carousel leaves no gap", "/books/moby-dick", []string{"carousel"}, []string{"€11.00"},
			[]string{"also bought", `class="related"`, `data-related`}, "carousel"},
		{"no rates on a book", "/books/moby-dick", []string{"prices"},
			[]string{"Prices in US dollars: today’s rates are not at hand.", "$12.50", "Readers also bought"},
			nil, "prices"},
		{"no rates on the shelf", "/books", []string{"prices"},
			[]string{"Prices in US dollars: today’s rates are not at hand.", "$12.50"}, nil, "prices"},
		{"both", "/books/moby-dick", []string{"carousel", "prices"},
			[]string{"Prices in US dollars"}, []string{"also bought"}, "carousel, prices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t)
			if c.degraded != nil {
				g.fake.set(func() { g.fake.books = g.fake.degrade(c.degraded...) })
			}
			b := g.browser()
			b.get(c.path+"?currency=EUR").want(http.StatusOK, c.says...).without(c.never...).
				wantHeader("X-Degraded", c.header)
			b.get("/api/v1"+c.path+"?currency=EUR").want(http.StatusOK).wantHeader("X-Degraded", c.header)
		})
	}
}

// A cart whose prices fell back to dollars is ordered in dollars: the price shown is the price charged.
func TestCartInTheCurrencyThatIsShown(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.putInCart("emma")
	g.fake.set(func() { g.fake.books = g.fake.degrade("prices") })
	cart := b.get("/cart?currency=EUR").want(http.StatusOK, "Prices in US dollars", "Total $12.50").
		wantHeader("X-Degraded", "prices")
	if form := cart.form("/orders", nil); form.Get("currency") != "USD" || form.Get("total") != "12.50" {
		t.Errorf("the form would order for %s %s", form.Get("total"), form.Get("currency"))
	}
}

// When the catalogue dies, what has been seen can still be seen, and says how old it is; the rest says when to
// come back.
func TestLastGoodCopyWhenTheCatalogueDies(t *testing.T) {
	g := open(t)
	b := g.browser()
	seen := []string{"/books", "/books/moby-dick", "/books?q=whale"}
	for _, path := range seen {
		b.get(path).want(http.StatusOK).without("From a copy").wantHeader("X-Degraded", "")
	}
	b.putInCart("emma")
	g.fake.set(func() { g.fake.books = dead })
	for _, path := range seen {
		b.get(path).want(http.StatusOK, "From a copy made less than a minute ago.", "$12.50").
			wantHeader("X-Degraded", "copy")
	}
	b.get("/books?sort=title&page=1").want(http.StatusOK, "From a copy") // the same query, said otherwise
	b.get("/cart").want(http.StatusOK, "From a copy", "Order for $12.50")
	b.get("/books/emma").want(http.StatusServiceUnavailable, "The shelves cannot be reached just now",
		"Try again in 5 seconds", "Your cart is safe", "Request").wantHeader("Retry-After", "5").wantHeader("X-Degraded", "")
	b.get("/api/v1/books/moby-dick").want(http.StatusOK).wantHeader("X-Degraded", "copy")
	b.get("/api/v1/books/emma").want(http.StatusServiceUnavailable).wantHeader("Retry-After", "5").
		wantHeader("Content-Type", "application/problem+json")
}

// A book that is not there is not there: no copy of better days answers for it, and none is missed.
func TestNoCopyForANotFound(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.get("/books/moby-dick").want(http.StatusOK)
	g.fake.set(func() { g.fake.books = http.NotFound })
	b.get("/books/moby-dick").want(http.StatusNotFound, "The shop has no such book").wantHeader("X-Degraded", "")
}

// An answer of 200 that is no answer is a failure, and the copy stands in for it.
func TestD1NonsenseFromTheCatalogueIsAFailure(t *testing.T) {
	for name, body := range map[string]string{
		"empty object": `{}`, "noise": `<html>`, "null": `null`, "error inside": `{"error":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t)
			b := g.browser()
			b.get("/books/moby-dick").want(http.StatusOK)
			g.fake.set(func() {
				g.fake.books = func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) }
			})
			b.get("/books/moby-dick").want(http.StatusOK, "Moby-Dick").wantHeader("X-Degraded", "copy")
			b.get("/books").want(http.StatusServiceUnavailable)
		})
	}
}

// Without the defence there is no copy: the error fails the page.
func TestFallbacksOffFailsThePage(t *testing.T) {
	g := open(t, func(c *Config) { c.Defences = "all,-fallbacks" })
	b := g.browser()
	b.get("/books/moby-dick").want(http.StatusOK)
	g.fake.set(func() { g.fake.books = dead })
	b.get("/books/moby-dick").want(http.StatusServiceUnavailable)
}

// CAROUSEL=deferred takes the carousel off the path of the page and gives it one of its own.
func TestDeferredCarousel(t *testing.T) {
	g := open(t, func(c *Config) { c.Carousel = "deferred" })
	b := g.browser()
	book := b.get("/books/moby-dick").want(http.StatusOK, "What readers also bought").without(`class="related"`)
	if asked := g.fake.asked[0]; !strings.Contains(asked, "related=none") {
		t.Errorf("the catalogue was asked %s, with the carousel", asked)
	}
	book.follow("/books/moby-dick/related").want(http.StatusOK, "Readers of Moby-Dick also bought", "Emma", "$12.50")
	g.fake.set(func() { g.fake.books = dead })
	b.get("/books/moby-dick/related").want(http.StatusOK, "nothing to suggest").without("also bought", `data-related`).
		wantHeader("X-Degraded", "carousel")
	b.get("/books/moby-dick").want(http.StatusOK, "What readers also bought", "From a copy")
	b.get("/api/v1/books/moby-dick/related").want(http.StatusOK).wantHeader("X-Degraded", "carousel")
}

// A page says of the stock what was last counted, and nothing of a book that was not.
func TestStockOnPages(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.get("/books/moby-dick").want(http.StatusOK, "1 left")
	b.get("/books/emma").want(http.StatusOK, "In stock")
	b.get("/books/walden").want(http.StatusOK, "Sold out").without("Add to cart")
	b.get("/books").want(http.StatusOK, "1 left", "Sold out")
	g.svc.stock.latest.Store(nil)
	b.get("/books/walden").want(http.StatusOK, "Add to cart").without("Sold out", "left")
}

// After two minutes without a count nothing is said.
func TestStockIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stock
		s.latest.Store(&stockCount{map[string]int{"emma": 3}, time.Now()})
		time.Sleep(maxStockAge)
		if n, known := s.left("emma"); !known || n != 3 {
			t.Errorf("after %v: %d, %t; want 3", maxStockAge, n, known)
		}
		time.Sleep(time.Second)
		if _, known := s.left("emma"); known {
			t.Errorf("after more than %v the count is still told", maxStockAge)
		}
	})
}

func TestAgeOfACopyInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than a minute ago", 59 * time.Second: "less than a minute ago", 61 * time.Second: "a minute ago",
		3*time.Minute + 59*time.Second: "3 minutes ago", 10 * time.Minute: "10 minutes ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
