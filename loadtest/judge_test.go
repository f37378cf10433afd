package loadtest

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	moby := bookHTML("moby-dick", "Moby-Dick; or, The Whale", "12.50", "USD")
	typee := bookHTML("typee", "Typee <a peep>", "9.00", "USD")
	walden := bookHTML("walden", `"Walden" & more`, "7.25", "USD")
	browse := &ask{kind: Browse, path: "/books", currency: "USD"}
	book := &ask{kind: Book, path: "/books/typee", currency: "USD", book: "typee"}
	order := &ask{kind: Order, path: "/api/v1/orders", currency: "USD", total: usd(t, "21.50")}
	stored := `{"id":"ord_1","total":{"number":"21.50","currency":"USD"},"currency":"USD"}`

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
		"shelf":             {ask: browse, status: 200, body: moby + typee + walden},
		"shelf, redirected": {ask: browse, status: 302, want: wrong, why: "status 302"},
		"shelf, not found":  {ask: browse, status: 404, body: moby, want: wrong, why: "status 404"},
		"shelf, empty":      {ask: browse, status: 200, want: wrong, why: "without a book"},
		"shelf, one without a price": {
			ask: browse, status: 200, body: moby + `<article data-book="typee">`,
			want: wrong, why: "typee has no price",
		},
		"shelf, one at another price": {
			ask: browse, status: 200, body: strings.Replace(moby, "12.50", "1.25", 1),
			want: wrong, why: "costs 1.25 USD, not 12.50 USD",
		},
		"shelf, other currency": {
			ask: browse, status: 200, body: strings.Replace(moby, "USD", "EUR", 1),
			want: wrong, why: "12.50 EUR",
		},
		"shelf, price is no number": {
			ask: browse, status: 200, body: strings.Replace(moby, "12.50", "free", 1),
			want: wrong, why: "free",
		},
		"shelf, a stranger's book": {
			ask: browse, status: 200, body: strings.Replace(moby, "moby-dick", "emma", 1),
			want: wrong, why: "no book",
		},
		"shelf, refused":         {ask: browse, status: 503, body: moby, want: refused},
		"shelf, broken":          {ask: browse, status: 500, body: moby, want: failed, why: "status 500"},
		"shelf, gateway timeout": {ask: browse, status: 504, want: failed, why: "status 504"},
		"shelf, a copy": {
			ask: browse, status: 200, body: moby, degraded: "copy",
			want: wrong, why: "degraded copy",
		},
		"shelf, a copy, allowed": {
			ask: browse, status: 200, body: moby, degraded: "copy",
			allowed: []string{"copy"}, fallback: true,
		},
		"shelf, prices degraded": {
			ask: &ask{kind: Browse, currency: "EUR"}, status: 200, body: moby, degraded: "prices",
			allowed: []string{"prices"}, fallback: true,
		},

		"book": {ask: book, status: 200, body: typee + carouselHTML},
		"book, another": {
			ask: book, status: 200, body: walden + typee + carouselHTML,
			want: wrong, why: `the page of "walden"`,
		},
		"book, title not escaped": {
			ask: book, status: 200, body: strings.ReplaceAll(typee, "&lt;", "<") + carouselHTML,
			want: wrong, why: "title",
		},
		"book, no price": {
			ask: book, status: 200, body: strings.Replace(typee, "data class", "span class", 1) + carouselHTML,
			want: wrong, why: "no price",
		},
		"book, no carousel": {
			ask: book, status: 200, body: typee, allowed: []string{"carousel"},
			want: wrong, why: "nothing says so",
		},
		"book, carousel by a fallback": {
			ask: book, status: 200, body: typee, degraded: "carousel",
			allowed: []string{"carousel"}, fallback: true,
		},
		"book, fallback not allowed": {
			ask: book, status: 200, body: typee, degraded: "carousel",
			want: wrong, why: "degraded carousel",
		},
		"book, one of two allowed": {
			ask: book, status: 200, body: typee, degraded: "carousel, copy", allowed: []string{"carousel"},
			want: wrong, why: "degraded copy",
		},
		"book, it lies about itself": {
			ask: book, status: 200, body: typee + carouselHTML, degraded: "carousel", allowed: []string{"carousel"},
			want: wrong, why: "says it has none",
		},

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
		"order, noise":   {ask: order, status: 201, body: "<html>", want: wrong, why: "read the order"},
		"order, refused": {ask: order, status: 503, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			got := testShelf(t).judge(c.ask, c.allowed, answer{c.status, tokens([]string{c.degraded}), []byte(c.body)})
			if got.verdict != c.want || got.fallback != c.fallback {
				t.Errorf("verdict %d, fallback %t; want %d, %t (%v)", got.verdict, got.fallback, c.want, c.fallback, got.why)
			}
			if c.why == "" && got.why != nil || c.why != "" && (got.why == nil || !strings.Contains(got.why.Error(), c.why)) {
				t.Errorf("why: %v, want %q", got.why, c.why)
			}
			if c.ask == order && got.verdict == good && got.order.id != "ord_1" {
				t.Errorf("the order %q is not kept for the check", got.order.id)
			}
		})
	}
}
