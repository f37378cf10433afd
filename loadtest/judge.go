package loadtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bojanz/currency"
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
	fallback bool  // right, by a fallback that the class allows
	why      error // what was wrong
	order    storedOrder
}

// storedOrder is an order that the shop says it has stored.
type storedOrder struct {
	id    string
	total currency.Amount
}

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
	}
	if err != nil {
		return judged{verdict: wrong, why: fmt.Errorf("%s: %w", a.path, err)}
	}
	return j
}

// judgeShelf wants at least one book of the shop, and a right price on each.
func (sh *shelf) judgeShelf(a *ask, got answer) error {
	p, err := readPage(got)
	if err != nil {
		return err
	}
	if len(p.books) == 0 {
		return fmt.Errorf("a shelf without a book")
	}
	for _, b := range p.books {
		if err := sh.judgePrice(a, b, got); err != nil {
			return err
		}
	}
	return nil
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
	b := p.books[0]
	if b.id != a.book {
		return fmt.Errorf("the page of %q", b.id)
	}
	if title := sh.title[a.book]; !bytes.Contains(p.text, []byte(title)) {
		return fmt.Errorf("the title %q is not on it", title)
	}
	if err := sh.judgePrice(a, b, got); err != nil {
		return err
	}
	switch said := slices.Contains(got.degraded, "carousel"); {
	case said && p.related:
		return fmt.Errorf("a carousel on a page that says it has none")
	case !said && !p.related:
		return fmt.Errorf("no carousel, and nothing says so")
	}
	return nil
}

// judgePrice wants the price that the shop showed before the act, unless the answer says that its prices come from a
// fallback: then any price in the currency asked for or in the shop's own.
func (sh *shelf) judgePrice(a *ask, b pageBook, got answer) error {
	if b.price == "" {
		return fmt.Errorf("%s has no price", b.id)
	}
	price, err := currency.NewAmount(b.price, b.currency)
	if err != nil {
		return fmt.Errorf("%s: price %q %q: %w", b.id, b.price, b.currency, err)
	}
	if slices.Contains(got.degraded, "prices") && price.IsPositive() && (b.currency == a.currency || b.currency == "USD") {
		return nil
	}
	want, known := sh.price[a.currency][b.id]
	if !known {
		return fmt.Errorf("the shop has no book %q", b.id)
	}
	if !price.Equal(want) {
		return fmt.Errorf("%s costs %s, not %s", b.id, price, want)
	}
	return nil
}

// judgeOrder wants an order of the total that was asked for.
func judgeOrder(a *ask, got answer) (storedOrder, error) {
	if got.status != http.StatusCreated {
		return storedOrder{}, fmt.Errorf("status %d: %.200s", got.status, got.body)
	}
	o, err := readOrder(got.body)
	if err != nil {
		return o, err
	}
	if !o.total.Equal(a.total) {
		return o, fmt.Errorf("order %s costs %s, not %s", o.id, o.total, a.total)
	}
	return o, nil
}

func readOrder(body []byte) (storedOrder, error) {
	var o struct {
		ID       string          `json:"id"`
		Total    currency.Amount `json:"total"`
		Currency string          `json:"currency"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return storedOrder{}, fmt.Errorf("read the order: %w", err)
	}
	if o.ID == "" {
		return storedOrder{}, fmt.Errorf("an order without an id")
	}
	if o.Currency != o.Total.CurrencyCode() {
		return storedOrder{}, fmt.Errorf("order %s is in %q, its total in %q", o.ID, o.Currency, o.Total.CurrencyCode())
	}
	return storedOrder{o.ID, o.Total}, nil
}

// page is what machines read of an HTML page.
type page struct {
	books   []pageBook
	text    []byte // of the first book, up to its price
	related bool   // it has a carousel; the gateway leaves out an empty one
}

// pageBook is one <article data-book> and the first <data class="price"> after it.
type pageBook struct{ id, price, currency string }

// readPage finds the marks that the gateway leaves for machines. It reads tags, not bytes: where an attribute stands,
// and how a title is escaped, is the page's own affair. It is frugal, for the judge shares the processors of the shop.
func readPage(got answer) (page, error) {
	var p page
	if got.status != http.StatusOK {
		return p, fmt.Errorf("status %d", got.status)
	}
	z := html.NewTokenizer(bytes.NewReader(got.body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return p, nil // the end: what is cut short lacks its marks
		case html.TextToken:
			if len(p.books) == 1 && p.books[0].price == "" {
				p.text = append(p.text, z.Text()...)
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
				}
			case "section":
				p.related = p.related || attributes(z)[attrRelated] == "recommendations"
			case "data":
				a, n := attributes(z), len(p.books)
				if n > 0 && p.books[n-1].price == "" && slices.Contains(strings.Fields(a[attrClass]), "price") {
					p.books[n-1].price, p.books[n-1].currency = a[attrValue], a[attrCurrency]
				}
			}
		}
	}
}

// The attributes that the judge cares for.
const (
	attrBook = iota
	attrRelated
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
		case "data-related":
			values[attrRelated] = string(value)
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
