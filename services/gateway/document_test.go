package gateway

import (
	"errors"
	"html/template"
	"net/http"
	"testing"
)

// A page is made once of the same answer, and again as soon as anything that it shows is another.
func TestAPageIsMadeAgainWhenItShowsSomethingElse(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.get("/books/emma").want(http.StatusOK, "Emma", "$12.50", "In stock", "An Author")
	for _, c := range []struct {
		name   string
		change func()
		path   string
		says   string
	}{
		{"another currency", func() {}, "/books/emma?currency=EUR", "€11.00"},
		{"and back", func() {}, "/books/emma?currency=USD", "$12.50"},
		{"fewer copies", func() {
			g.fake.stock = map[string]int{"emma": 2}
		}, "/books/emma", "2 left"},
		{"fewer copies on the shelf", func() {}, "/books", "2 left"},
		{"another answer", func() {
			g.fake.books = func(w http.ResponseWriter, r *http.Request) {
				doc := bookDoc("emma", "USD")
				doc["author"] = "Another Author"
				send(w, http.StatusOK, map[string]any{"book": doc, "related": []any{}})
			}
		}, "/books/emma", "Another Author"},
		{"a copy", func() { g.fake.books = dead }, "/books/emma", "From a copy"},
		{"no stock known", func() { g.fake.stock = nil }, "/books/emma", "Add to cart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.fake.set(c.change)
			g.svc.stock.refresh(t.Context())
			b.get(c.path).want(http.StatusOK, c.says)
			b.get(c.path).want(http.StatusOK, c.says) // the one that was kept
		})
	}
}

// What is kept of a page is the same for everybody: nobody's cart is in it.
func TestNothingOfAPersonIsKept(t *testing.T) {
	g := open(t)
	buyer, other := g.browser(), g.browser()
	buyer.putInCart("emma")
	buyer.get("/books").want(http.StatusOK, "Cart (1)")
	other.get("/books").want(http.StatusOK).without("Cart (1)")
	buyer.get("/books").want(http.StatusOK, "Cart (1)")
}

// The same bytes are read once; others are another document. A degraded answer is known again too: when much is
// degraded there is the least time to read everything twice.
func TestTheSameAnswerIsTheSameDocument(t *testing.T) {
	g := open(t)
	ask := func() *document[shelfAnswer] {
		a, err := g.svc.catalogue.list(t.Context(), shelfQuery{Sort: "title", Page: 1, PerPage: perPage, Currency: "EUR"})
		if err != nil {
			t.Fatal(err)
		}
		return a.document
	}
	whole := ask()
	if ask() != whole {
		t.Error("the same answer was read twice")
	}
	g.fake.set(func() { g.fake.books = g.fake.degrade(pricesDegraded) })
	degraded := ask()
	if degraded == whole || ask() != degraded {
		t.Error("a degraded answer was taken for the whole one, or read twice")
	}
	g.fake.set(func() { g.fake.books = dead })
	if ask() != whole {
		t.Error("the copy that is served is not the whole one")
	}
}

func TestOnlyWhatCouldBeMadeIsKept(t *testing.T) {
	d, err := readDocument[bookAnswer]([]byte(`{"book":{"id":"emma"}}`))
	if err != nil {
		t.Fatal(err)
	}
	fail := func() (template.HTML, error) { return "", errors.New("not made") }
	if _, err := d.keep("", fail)(); err == nil {
		t.Error("no error")
	}
	made := func() (template.HTML, error) { return "page", nil }
	if html, err := d.keep("", made)(); html != "page" || err != nil {
		t.Errorf("%q, %v", html, err)
	}
	if html, err := d.keep("", fail)(); html != "page" || err != nil {
		t.Errorf("kept: %q, %v", html, err)
	}
	if _, err := d.keep("more", fail)(); err == nil {
		t.Error("what shows more was taken from what was kept")
	}
}
