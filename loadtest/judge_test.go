package loadtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bojanz/currency"
)

func TestJudge(t *testing.T) {
	html := func(id, title, price, code string) string { return bookHTML(id, title, amount{price, code}) }
	moby := html("moby-dick", "Moby-Dick; or, The Whale", "12.50", "USD")
	mobyEUR := html("moby-dick", "Moby-Dick; or, The Whale", "11.30", "EUR")
	typee := html("typee", "Typee <a peep>", "9.00", "USD")
	typeeEUR := html("typee", "Typee <a peep>", "8.14", "EUR")
	walden := html("walden", `"Walden" & more`, "7.25", "USD")
	dracula := html("dracula", "Dracula", "5.00", "USD")
	first, whole := pageHTML(moby, typee), pageHTML(typee, carouselHTML)
	browse := &ask{kind: Browse, path: "/books", currency: "USD", page: 1}
	euros := &ask{kind: Browse, path: "/books", currency: "EUR", page: 1}
	book := &ask{kind: Book, path: "/books/typee", currency: "USD", book: "typee"}
	prices, carousel := []string{"prices"}, []string{"carousel"}
	one := func(book, price string) line {
		return line{book: book, quantity: 1, unit: amountOf(t, price, "USD"), total: amountOf(t, price, "USD")}
	}
	order := &ask{kind: Order, path: "/api/v1/orders", currency: "USD", total: amountOf(t, "21.50", "USD"),
		lines: []line{one("moby-dick", "12.50"), one("typee", "9.00")}}
	storedLine := func(book, price string) string {
		return fmt.Sprintf(`{"book":%q,"quantity":1,"unit_price":{"number":%[2]q,"currency":"USD"},`+
			`"line_total":{"number":%[2]q,"currency":"USD"}}`, book, price)
	}
	with := func(a *ask, change func(*ask)) *ask {
		changed := *a
		change(&changed)
		return &changed
	}
	offered := func(a *ask) { a.offers = true }
	lookup := with(order, func(a *ask) { a.kind, a.order = Lookup, "ord_1" })
	stored := `{"id":"ord_1","total":{"number":"21.50","currency":"USD"},"currency":"USD","items":[` +
		storedLine("moby-dick", "12.50") + "," + storedLine("typee", "9.00") + "]}"

	for name, c := range map[string]struct {
		ask      *ask
		status   int
		body     string
		degraded string
		allowed  []string

		want     verdict
		fallback bool
		why      string
	}{
		"shelf":             {ask: browse, status: 200, body: first},
		"shelf, redirected": {ask: browse, status: 302, want: wrong, why: "status 302"},
		"shelf, not found":  {ask: browse, status: 404, body: first, want: wrong, why: "status 404"},
		"shelf, empty":      {ask: browse, status: 200, body: pageHTML(), want: wrong, why: "without a book"},
		"shelf, no page":    {ask: browse, status: 200, want: wrong, why: "ends after 0 bytes"},
		"shelf, half a page": {
			ask: browse, status: 200, body: strings.TrimSuffix(first, "</body>\n</html>\n"),
			want: wrong, why: "before its end",
		},
		"shelf, page 2": {
			ask: browse, status: 200, body: pageHTML(walden, dracula),
			want: wrong, why: "page 2 of the shelf, not page 1",
		},
		"shelf, one book": {
			ask: browse, status: 200, body: pageHTML(moby),
			want: wrong, why: "1 of the 2 books of page 1",
		},
		"shelf, one twice": {
			ask: browse, status: 200, body: pageHTML(moby, moby),
			want: wrong, why: "moby-dick stands twice",
		},
		"shelf, one too many": {
			ask: browse, status: 200, body: pageHTML(moby, typee, walden),
			want: wrong, why: "walden does not belong",
		},
		"shelf, backwards": {
			ask: browse, status: 200, body: pageHTML(typee, moby),
			want: wrong, why: "in another order",
		},
		"shelf, a stranger's book": {
			ask: browse, status: 200, body: strings.Replace(first, "moby-dick", "emma", 1),
			want: wrong, why: `no book "emma"`,
		},
		"shelf, one without a price": {
			ask: browse, status: 200, body: pageHTML(moby, `<article data-book="typee">`),
			want: wrong, why: "typee has no price",
		},
		"shelf, one at another price": {
			ask: browse, status: 200, body: strings.Replace(first, "12.50", "1.25", 1),
			want: wrong, why: "costs 1.25 USD, not 12.50 USD",
		},
		"shelf, 12.5": {ask: browse, status: 200, body: strings.Replace(first, "12.50", "12.5", 1)},
		"shelf, other currency": {
			ask: browse, status: 200, body: pageHTML(mobyEUR, typeeEUR),
			want: wrong, why: "moby-dick costs 11.30 EUR, not 12.50 USD",
		},
		"shelf, price is no number": {
			ask: browse, status: 200, body: strings.Replace(first, "12.50", "free", 1),
			want: wrong, why: "costs free USD",
		},
		"shelf, refused":         {ask: browse, status: 503, body: first, want: refused},
		"shelf, broken":          {ask: browse, status: 500, body: first, want: failed, why: "status 500"},
		"shelf, gateway timeout": {ask: browse, status: 504, want: failed, why: "status 504"},
		"shelf, a copy": {
			ask: browse, status: 200, body: first, degraded: "copy",
			want: wrong, why: "degraded copy",
		},
		"shelf, a copy, allowed": {
			ask: browse, status: 200, body: first, degraded: "copy",
			allowed: []string{"copy"}, fallback: true,
		},
		"shelf, a copy of something else": {
			ask: browse, status: 200, body: pageHTML(moby), degraded: "copy", allowed: []string{"copy"},
			want: wrong, fallback: false, why: "1 of the 2 books",
		},
		"shelf in euros":             {ask: euros, status: 200, body: pageHTML(mobyEUR, typeeEUR)},
		"shelf in euros, in dollars": {ask: euros, status: 200, body: first, want: wrong, why: "12.50 USD, not 11.30 EUR"},
		"shelf in euros, at the last rates": {
			ask: euros, status: 200, body: pageHTML(mobyEUR, typeeEUR), degraded: "prices", allowed: prices, fallback: true,
		},
		"shelf in euros, in the shop's own": {
			ask: euros, status: 200, body: first, degraded: "prices", allowed: prices, fallback: true,
		},
		"shelf in euros, in the shop's own, not allowed": {
			ask: euros, status: 200, body: first, degraded: "prices", want: wrong, why: "degraded prices",
		},
		"shelf in euros, some in dollars": {
			ask: euros, status: 200, body: pageHTML(mobyEUR, typee), degraded: "prices", allowed: prices,
			want: wrong, why: "typee costs 9.00 USD, not 8.14 EUR",
		},
		"shelf in euros, some in euros": {
			ask: euros, status: 200, body: pageHTML(moby, typeeEUR), degraded: "prices", allowed: prices,
			want: wrong, why: "typee costs 8.14 EUR, not 9.00 USD",
		},
		"shelf in euros, made up": {
			ask: euros, status: 200, body: strings.Replace(pageHTML(mobyEUR, typeeEUR), "8.14", "8.15", 1),
			degraded: "prices", allowed: prices, want: wrong, why: "typee costs 8.15 EUR, not 8.14 EUR",
		},
		"shelf in euros, made up in dollars": {
			ask: euros, status: 200, body: strings.Replace(first, "9.00", "9.01", 1),
			degraded: "prices", allowed: prices, want: wrong, why: "typee costs 9.01 USD, not 9.00 USD",
		},
		"shelf in euros, in a third currency": {
			ask: euros, status: 200, body: strings.ReplaceAll(first, "USD", "GBP"),
			degraded: "prices", allowed: prices, want: wrong, why: "12.50 GBP, not 11.30 EUR",
		},

		"book": {ask: book, status: 200, body: whole},
		"book, another": {
			ask: book, status: 200, body: pageHTML(walden, typee, carouselHTML),
			want: wrong, why: `the page of "walden"`,
		},
		"book, title not escaped": {
			ask: book, status: 200, body: strings.ReplaceAll(whole, "&lt;", "<"),
			want: wrong, why: "title",
		},
		"book, no price": {
			ask: book, status: 200, body: strings.Replace(whole, "data class", "span class", 1),
			want: wrong, why: "no price",
		},
		"book, the price of a related one": {
			ask: book, status: 200, body: strings.Replace(whole, "9.00", "12.50", 1),
			want: wrong, why: "costs 12.50 USD, not 9.00 USD",
		},
		"book, half a page": {
			ask: book, status: 200, body: whole[:len(whole)/2], want: wrong, why: "before its end",
		},
		"book, no carousel": {
			ask: book, status: 200, body: pageHTML(typee), allowed: carousel,
			want: wrong, why: "nothing says so",
		},
		"book, nothing in the carousel": {
			ask: book, status: 200, allowed: carousel,
			body: pageHTML(typee, `<section class="related" data-related="recommendations"><ul class="books"></ul></section>`),
			want: wrong, why: "nothing says so",
		},
		"book, carousel by a fallback": {
			ask: book, status: 200, body: pageHTML(typee), degraded: "carousel", allowed: carousel, fallback: true,
		},
		"book, fallback not allowed": {
			ask: book, status: 200, body: pageHTML(typee), degraded: "carousel",
			want: wrong, why: "degraded carousel",
		},
		"book, one of two allowed": {
			ask: book, status: 200, body: pageHTML(typee), degraded: "carousel, copy", allowed: carousel,
			want: wrong, why: "degraded copy",
		},
		"book, it lies about itself": {
			ask: book, status: 200, body: whole, degraded: "carousel", allowed: carousel,
			want: wrong, why: "says it has none",
		},

		"book, deferred": {ask: with(book, func(a *ask) { a.deferred = true }), status: 200, body: pageHTML(typee)},
		"book, deferred, and there": {
			ask: with(book, func(a *ask) { a.deferred = true }), status: 200, body: whole, want: wrong, why: "defers it",
		},

		"carousel": {ask: with(book, func(a *ask) { a.kind = Carousel }), status: 200, body: whole},
		"carousel, of another": {
			ask:    with(book, func(a *ask) { a.kind, a.book = Carousel, "dracula" }),
			status: 200, body: whole, want: wrong, why: `the title "Dracula" is not on it`,
		},
		"carousel, empty": {
			ask:    with(book, func(a *ask) { a.kind = Carousel }),
			status: 200, body: pageHTML(typee), want: wrong, why: "no carousel, and nothing says so",
		},
		"carousel, by a fallback": {
			ask:    with(book, func(a *ask) { a.kind = Carousel }),
			status: 200, body: pageHTML(typee), degraded: "carousel", allowed: carousel, fallback: true,
		},

		"offers": {ask: with(browse, offered), status: 200, body: pageHTML(moby, typee, `<aside data-offers="1"></aside>`)},
		"offers, none": {
			ask: with(browse, offered), status: 200, body: first, want: wrong, why: "no offers, and nothing says so",
		},
		"offers, by a fallback": {
			ask: with(browse, offered), status: 200, body: first, degraded: "offers", allowed: []string{"offers"},
			fallback: true,
		},

		"lookup": {ask: lookup, status: 200, body: stored},
		"lookup, of another": {
			ask: lookup, status: 200, body: strings.Replace(stored, "ord_1", "ord_2", 1), want: wrong, why: "order ord_2",
		},
		"lookup, gone": {ask: lookup, status: 404, body: `{}`, want: wrong, why: "status 404"},

		"order":       {ask: order, status: 201, body: stored},
		"order, 21.5": {ask: order, status: 201, body: strings.Replace(stored, "21.50", "21.5", 1)},
		"order, 200":  {ask: order, status: 200, body: stored, want: wrong, why: "status 200"},
		"order, conflict": {
			ask: order, status: 409, body: `{"type":"/problems/quote-changed"}`,
			want: wrong, why: "quote-changed",
		},
		"order, no id": {
			ask: order, status: 201, body: strings.Replace(stored, "ord_1", "", 1),
			want: wrong, why: "without an id",
		},
		"order, ten times": {
			ask: order, status: 201, body: strings.Replace(stored, "21.50", "215.00", 1),
			want: wrong, why: "costs 215.00 USD",
		},
		"order, another currency": {
			ask: order, status: 201, body: strings.ReplaceAll(stored, "USD", "EUR"),
			want: wrong, why: "costs 21.50 EUR",
		},
		"order, two currencies": {
			ask: order, status: 201, body: strings.Replace(stored, "USD", "EUR", 1),
			want: wrong, why: `is in "USD"`,
		},
		"order, a line too few": {
			ask: order, status: 201, body: strings.Replace(stored, ","+storedLine("typee", "9.00"), "", 1),
			want: wrong, why: "has 1 lines, not 2",
		},
		"order, another book": {
			ask: order, status: 201, body: strings.Replace(stored, "moby-dick", "walden", 1),
			want: wrong, why: "has 1 × walden, not 1 × moby-dick",
		},
		"order, two copies": {
			ask: order, status: 201, body: strings.Replace(stored, `"quantity":1`, `"quantity":2`, 1),
			want: wrong, why: "has 2 × moby-dick, not 1 × moby-dick",
		},
		"order, another unit price": {
			ask: order, status: 201,
			body: strings.Replace(stored, `"unit_price":{"number":"9.00"`, `"unit_price":{"number":"8.00"`, 1),
			want: wrong, why: "has typee at 8.00 USD, not at 9.00 USD",
		},
		"order, another line total": {
			ask: order, status: 201,
			body: strings.Replace(stored, `"line_total":{"number":"9.00"`, `"line_total":{"number":"8.00"`, 1),
			want: wrong, why: "has 1 × typee for 8.00 USD, not for 9.00 USD",
		},
		"order, noise":          {ask: order, status: 201, body: "<html>", want: wrong, why: "read the order"},
		"order, half an answer": {ask: order, status: 201, body: stored[:len(stored)/2], want: wrong, why: "read the order"},
		"order, refused":        {ask: order, status: 503, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			got := testShelf(t).judge(c.ask, c.allowed, answer{c.status, tokens([]string{c.degraded}), []byte(c.body)})
			if got.verdict != c.want || got.fallback != c.fallback {
				t.Errorf("verdict %d, fallback %t; want %d, %t (%v)", got.verdict, got.fallback, c.want, c.fallback, got.why)
			}
			if c.why == "" && got.why != nil || c.why != "" && (got.why == nil || !strings.Contains(got.why.Error(), c.why)) {
				t.Errorf("why: %v, want %q", got.why, c.why)
			}
			if c.ask == order && got.verdict == good && got.order != "ord_1" {
				t.Errorf("the order %q is not kept for the check", got.order)
			}
		})
	}
}

// BenchmarkJudge is what the judge costs, which shares the processors of the shop: pages of the size of the shop's own.
func BenchmarkJudge(b *testing.B) {
	const books = 24
	cost, err := currency.NewAmount("12.50", "USD")
	if err != nil {
		b.Fatal(err)
	}
	sh := &shelf{pages: make([][]string, 1), title: map[string]string{}, price: map[string]map[string]price{"USD": {}}}
	nav := strings.Repeat("<li><a href=\"/books?subject=Sea\">Sea</a> <span class=\"count\">7</span></li>\n", 30)
	shelf := []string{"<ul>" + nav + "</ul>"}
	for i := range books {
		id, title := fmt.Sprintf("book-%d", i), fmt.Sprintf("The Title of Book %d", i)
		sh.pages[0] = append(sh.pages[0], id)
		sh.title[id], sh.price["USD"][id] = title, priceOf(cost)
		shelf = append(shelf, bookHTML(id, title, amount{"12.50", "USD"}), `<p class="author">Some Author</p>`)
	}
	related := strings.Repeat(`<li data-book-related="book-7"><a href="/books/book-7"><cite>Another Title</cite></a>`+
		`<data class="price" value="12.50" data-currency="USD">$12.50</data></li>`, 5)
	for _, c := range []struct {
		name string
		ask  *ask
		body string
	}{
		{"shelf", &ask{kind: Browse, currency: "USD", page: 1}, pageHTML(shelf...)},
		{"book", &ask{kind: Book, currency: "USD", book: "book-0"}, pageHTML(shelf[1], "<ul>"+related+"</ul>")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			got := answer{status: 200, body: []byte(c.body)}
			for b.Loop() {
				if j := sh.judge(c.ask, nil, got); j.verdict != good {
					b.Fatal(j.why)
				}
			}
		})
	}
}
