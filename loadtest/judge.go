package loadtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// verdict is how one person's visit ended: exactly one of these.
type verdict int

const (
	good    verdict = iota // right status, right body, in time
	late                   // right, but not in time
	wrong                  // answered, and not what was asked for
	refused                // 503
	failed                 // no answer, by the transport; or another 5xx
	gaveUp                 // nothing came before the person's patience was over
	unsent                 // the sender never got to it: nobody's fault but ours
	cut                    // the run was stopped while it was under way: it says nothing
)

// answer is what came back, before it is judged.
type answer struct {
	status   int
	degraded []string // the tokens of X-Degraded
	body     []byte
}

// judged is an answer that has been read.
type judged struct {
	verdict  verdict
	fallback bool   // right, by a fallback that the class allows
	why      error  // what was wrong
	order    string // the id of the order that the shop says it has stored …
	ask      *ask   // … and what it was for, the person having accepted another quote perhaps

	tries, errors int // the requests that it took, and those of them that ended in an error
}

// degradations are the tokens of X-Degraded.
var degradations = []string{"carousel", "prices", "copy", "offers"}

// judge reads an answer. It does not know the time: whoever does may find a good answer late.
func (sh *shelf) judge(a *ask, allowed []string, got answer) judged {
	switch {
	case got.status == http.StatusServiceUnavailable:
		return judged{verdict: refused}
	case got.status >= 500:
		return judged{verdict: failed, why: fmt.Errorf("status %d", got.status)}
	}
	j := judged{fallback: len(got.degraded) > 0}
	for _, token := range got.degraded {
		if !slices.Contains(allowed, token) {
			return judged{verdict: wrong, why: fmt.Errorf("%s: degraded %s, which is not allowed", a.path, token)}
		}
	}
	var err error
	switch a.kind {
	case Browse:
		err = sh.judgeShelf(a, got)
	case Book:
		err = sh.judgeBook(a, got)
	case Order:
		j.order, err = judgeOrder(a, got)
	case Carousel:
		err = sh.judgeCarousel(a, got)
	case Lookup:
		err = judgeLookup(a, got)
	}
	if err != nil {
		return judged{verdict: wrong, why: fmt.Errorf("%s: %w", a.path, err)}
	}
	return j
}

// judgeShelf wants the page of the shelf that was asked for, with a right price on each of its books.
func (sh *shelf) judgeShelf(a *ask, got answer) error {
	p, err := readPage(got)
	if err != nil {
		return err
	}
	on := func(id string, b pageBook) bool { return b.id == id }
	if !slices.EqualFunc(sh.pages[a.page-1], p.books, on) {
		return sh.anotherPage(a.page, p.books)
	}
	return errors.Join(sh.judgePrices(a, p.books, got), a.judgeOffers(p, got))
}

// anotherPage says what is wrong with the books on a page of the shelf.
func (sh *shelf) anotherPage(page int, books []pageBook) error {
	want := sh.pages[page-1]
	got := make([]string, len(books))
	for i, b := range books {
		got[i] = b.id
	}
	if len(books) == 0 {
		return fmt.Errorf("a shelf without a book")
	}
	for i, other := range sh.pages {
		if slices.Equal(got, other) {
			return fmt.Errorf("page %d of the shelf, not page %d", i+1, page)
		}
	}
	for i, id := range got {
		switch {
		case sh.title[id] == "":
			return fmt.Errorf("the shop has no book %q", id)
		case slices.Contains(got[:i], id):
			return fmt.Errorf("%s stands twice on page %d of the shelf", id, page)
		case !slices.Contains(want, id):
			return fmt.Errorf("%s does not belong on page %d of the shelf", id, page)
		}
	}
	if len(got) < len(want) {
		return fmt.Errorf("%d of the %d books of page %d of the shelf", len(got), len(want), page)
	}
	return fmt.Errorf("the books of page %d of the shelf in another order", page)
}

// judgeBook wants the book that was asked for, under its title, with a right price, and its carousel unless the answer
// says that it is without.
func (sh *shelf) judgeBook(a *ask, got answer) error {
	p, err := readPage(got)
	if err != nil {
		return err
	}
	if len(p.books) == 0 {
		return fmt.Errorf("a page without a book")
	}
	if id := p.books[0].id; id != a.book {
		return fmt.Errorf("the page of %q", id)
	}
	if title := sh.title[a.book]; !bytes.Contains(p.text, []byte(title)) {
		return fmt.Errorf("the title %q is not on it", title)
	}
	if err := sh.judgePrices(a, p.books[:1], got); err != nil {
		return err
	}
	if a.deferred {
		if p.related {
			return fmt.Errorf("a carousel on a page that defers it")
		}
		return a.judgeOffers(p, got)
	}
	return errors.Join(mayLack("carousel", p.related, got), a.judgeOffers(p, got))
}

// judgeCarousel wants the carousel of a book, unless the answer says that it is without.
func (sh *shelf) judgeCarousel(a *ask, got answer) error {
	p, err := readPage(got)
	if err != nil {
		return err
	}
	if title := html.EscapeString(sh.title[a.book]); !bytes.Contains(got.body, []byte(title)) {
		return fmt.Errorf("the title %q is not on it", sh.title[a.book])
	}
	return errors.Join(mayLack("carousel", p.related, got), a.judgeOffers(p, got))
}

// judgeOffers wants offers on the pages of those who expect them.
func (a *ask) judgeOffers(p page, got answer) error {
	if !a.offers {
		return nil
	}
	return mayLack("offers", p.offers, got)
}

// mayLack wants a part of a page to be there, or the answer to say that it is not.
func mayLack(part string, there bool, got answer) error {
	switch said := slices.Contains(got.degraded, part); {
	case said && there:
		return fmt.Errorf("%s on a page that says it has none", part)
	case !said && !there:
		return fmt.Errorf("no %s, and nothing says so", part)
	}
	return nil
}

// judgeLookup wants the order that was placed before, line for line.
func judgeLookup(a *ask, got answer) error {
	if got.status != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", got.status, got.body)
	}
	id, err := a.readOrder(got.body)
	if err == nil && id != a.order {
		err = fmt.Errorf("order %s", id)
	}
	return err
}

// judgePrices wants the prices that the shop showed before the act, in the currency asked for; or all of them in the
// shop's own, from an answer that says that its prices come from a fallback.
//
// There is no third kind. The fallback converts at the last rates, and those are the rates of before the act: the
// currency service has one set for its life, unless RATES_URL gives it newer ones, about once an hour. Without last
// rates, or with some that are older than 72 hours, there are only the shop's own prices.
func (sh *shelf) judgePrices(a *ask, books []pageBook, got answer) error {
	code := a.currency
	if books[0].currency == home && slices.Contains(got.degraded, "prices") {
		code = home
	}
	prices := sh.price[code]
	for _, b := range books {
		if b.price == "" {
			return fmt.Errorf("%s has no price", b.id)
		}
		if want := prices[b.id]; !want.is(b.price, b.currency) {
			return fmt.Errorf("%s costs %s %s, not %s", b.id, b.price, b.currency, want)
		}
	}
	return nil
}

// judgeOrder wants a new order that says what was asked for. It returns the order's id.
func judgeOrder(a *ask, got answer) (string, error) {
	if got.status != http.StatusCreated {
		return "", fmt.Errorf("status %d: %.200s", got.status, got.body)
	}
	return a.readOrder(got.body)
}

// isQuotedAtHome tells whether the answer to an order is a new quote: the same in the shop's own currency, at the prices
// that the shop showed before the act. Any other is none that a person would accept.
func (a *ask) isQuotedAtHome(got answer) bool {
	if a.atHome == nil || got.status != http.StatusConflict {
		return false
	}
	var p struct {
		Type  string      `json:"type"`
		Quote orderAnswer `json:"quote"`
	}
	return json.Unmarshal(got.body, &p) == nil && strings.HasSuffix(p.Type, "/quote-changed") &&
		p.Quote.Total.is(a.atHome.total)
}

// orderAnswer is an order as the shop tells it. Amounts stay texts until one differs from what is wanted.
type orderAnswer struct {
	ID    string `json:"id"`
	Items []struct {
		Book      string `json:"book"`
		Quantity  int    `json:"quantity"`
		UnitPrice amount `json:"unit_price"`
		LineTotal amount `json:"line_total"`
	} `json:"items"`
	Total    amount `json:"total"`
	Currency string `json:"currency"`
}

type amount struct {
	Number   string `json:"number"`
	Currency string `json:"currency"`
}

func (a amount) is(p price) bool { return p.is(a.Number, a.Currency) }
func (a amount) String() string  { return a.Number + " " + a.Currency }

// readOrder reads an order, which must say line for line what was asked for, and returns its id.
func (a *ask) readOrder(body []byte) (string, error) {
	var o orderAnswer
	if err := json.Unmarshal(body, &o); err != nil {
		return "", fmt.Errorf("read the order: %w", err)
	}
	switch {
	case o.ID == "":
		return "", fmt.Errorf("an order without an id")
	case o.Currency != o.Total.Currency:
		return "", fmt.Errorf("order %s is in %q, its total in %q", o.ID, o.Currency, o.Total.Currency)
	case !o.Total.is(a.total):
		return "", fmt.Errorf("order %s costs %s, not %s", o.ID, o.Total, a.total)
	case len(o.Items) != len(a.lines):
		return "", fmt.Errorf("order %s has %d lines, not %d", o.ID, len(o.Items), len(a.lines))
	}
	for i, want := range a.lines {
		switch got := o.Items[i]; {
		case got.Book != want.book || got.Quantity != want.quantity:
			return "", fmt.Errorf("order %s has %d × %s, not %d × %s",
				o.ID, got.Quantity, got.Book, want.quantity, want.book)
		case !got.UnitPrice.is(want.unit):
			return "", fmt.Errorf("order %s has %s at %s, not at %s", o.ID, want.book, got.UnitPrice, want.unit)
		case !got.LineTotal.is(want.total):
			return "", fmt.Errorf("order %s has %d × %s for %s, not for %s",
				o.ID, want.quantity, want.book, got.LineTotal, want.total)
		}
	}
	return o.ID, nil
}

// page is what machines read of an HTML page.
type page struct {
	books   []pageBook
	text    []byte // of the first book, up to its price
	related bool   // it has a carousel, with a book in it
	offers  bool   // it has offers
}

// pageBook is one <article data-book> and the first <data class="price"> in it.
type pageBook struct{ id, price, currency string }

// readPage finds the marks that the gateway leaves for machines. It reads tags, not bytes: where an attribute stands,
// and how a title is escaped, is the page's own affair. It is frugal, for the judge shares the processors of the shop.
func readPage(got answer) (page, error) {
	var p page
	if got.status != http.StatusOK {
		return p, fmt.Errorf("status %d", got.status)
	}
	if !bytes.HasSuffix(bytes.TrimRight(got.body, "\r\n"), []byte("</html>")) {
		return p, fmt.Errorf("a page that ends after %d bytes, before its end", len(got.body))
	}
	var book *pageBook // whose price has not come yet
	z := html.NewTokenizer(bytes.NewReader(got.body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return p, nil // the end
		case html.TextToken:
			if book != nil && len(p.books) == 1 {
				p.text = append(p.text, z.Text()...)
			}
		case html.EndTagToken:
			if book == nil {
				continue
			}
			if name, _ := z.TagName(); string(name) == "article" {
				book = nil // it has no price: one that comes later is another's
			}
		case html.StartTagToken:
			name, more := z.TagName()
			if !more {
				continue
			}
			switch string(name) {
			case "article":
				if id := attributes(z)[attrBook]; id != "" {
					p.books = append(p.books, pageBook{id: id})
					book = &p.books[len(p.books)-1]
				}
			case "aside":
				p.offers = p.offers || attributes(z)[attrOffers] != ""
			case "li":
				p.related = p.related || attributes(z)[attrRelated] != ""
			case "data":
				if book == nil {
					continue
				}
				if a := attributes(z); slices.Contains(strings.Fields(a[attrClass]), "price") {
					book.price, book.currency = a[attrValue], a[attrCurrency]
					book = nil
				}
			}
		}
	}
}

// The attributes that the judge cares for.
const (
	attrBook = iota
	attrRelated
	attrOffers
	attrCurrency
	attrClass
	attrValue
	attrs
)

func attributes(z *html.Tokenizer) (values [attrs]string) {
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "data-book":
			values[attrBook] = string(value)
		case "data-book-related":
			values[attrRelated] = string(value)
		case "data-offers":
			values[attrOffers] = string(value)
		case "data-currency":
			values[attrCurrency] = string(value)
		case "class":
			values[attrClass] = string(value)
		case "value":
			values[attrValue] = string(value)
		}
	}
	return values
}
