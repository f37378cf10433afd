package gateway

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// The fields that the gateway reads of the catalogue's answers.
type (
	book struct {
		ID          string          `json:"id"`
		Title       string          `json:"title"`
		Author      string          `json:"author"`
		Year        int             `json:"year"`
		Language    string          `json:"language"`
		Subjects    []string        `json:"subjects"`
		Description string          `json:"description"`
		Price       currency.Amount `json:"price"`
	}

	shelfAnswer struct {
		Books    []book         `json:"books"`
		Total    int            `json:"total"`
		Page     int            `json:"page"`
		Pages    int            `json:"pages"`
		Subjects []subjectCount `json:"subjects"`
		Currency string         `json:"currency"`
		degradation
	}

	subjectCount struct {
		Subject string `json:"subject"`
		Count   int    `json:"count"`
	}

	bookAnswer struct {
		Book      book   `json:"book"`
		Related   []book `json:"related"`
		RatesAsOf string `json:"rates_as_of"`
		degradation
	}

	relatedAnswer struct {
		Related []book `json:"related"`
		degradation
	}

	// degradation lists what of an answer came from a fallback.
	degradation struct {
		Degraded []string `json:"degraded"`
	}
)

// The things that can be degraded, as they are called in X-Degraded and by the catalogue.
const (
	carouselDegraded = "carousel"
	pricesDegraded   = "prices"
	copyDegraded     = "copy"
	offersDegraded   = "offers"
)

func (d degradation) degraded() []string { return d.Degraded }

// An answer that lacks what it was asked for is none: {} counts as a failure of the catalogue.
func (a shelfAnswer) complete() bool { return a.Books != nil }
func (a bookAnswer) complete() bool  { return a.Book.ID != "" }

func (a shelfAnswer) named() []book { return a.Books }
func (a bookAnswer) named() []book  { return append([]book{a.Book}, a.Related...) }

// shelfQuery asks for a page of the shelf, or for certain books.
type shelfQuery struct {
	Text, Subject, Sort string
	Page, PerPage       int
	IDs                 []string
	Currency            string
}

// path is the query in its one normal form, which is also the key of its copy.
func (q shelfQuery) path() string {
	v := url.Values{"currency": {q.Currency}}
	if q.IDs != nil {
		v.Set("ids", strings.Join(slices.Sorted(slices.Values(q.IDs)), ","))
		return "/books?" + v.Encode()
	}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Subject != "" {
		v.Set("subject", q.Subject)
	}
	v.Set("sort", q.Sort)
	v.Set("page", strconv.Itoa(q.Page))
	v.Set("per_page", strconv.Itoa(q.PerPage))
	return "/books?" + v.Encode()
}

// catalogue asks the catalogue, keeps a copy of what it says, and answers from the copy when it says nothing.
type catalogue struct {
	to                   *service.Addresses
	books, book, related *resilience.Endpoint
	offers               *resilience.Endpoint // nil: HEADER_OFFERS is off
	copies               *copies
	titles               *titles
}

func (c *catalogue) list(ctx context.Context, q shelfQuery) (answer[shelfAnswer], error) {
	return ask[shelfAnswer](ctx, c, c.books, q.path())
}

// find returns one book in a currency, with its related books if inline.
func (c *catalogue) find(ctx context.Context, id, code string, inline bool) (answer[bookAnswer], error) {
	v := url.Values{"currency": {code}}
	if !inline {
		v.Set("related", "none")
	}
	return ask[bookAnswer](ctx, c, c.book, "/books/"+id+"?"+v.Encode())
}

// alsoBought returns the related books alone. Where they cannot be had there are none: no copy is kept of something
// that nobody misses.
func (c *catalogue) alsoBought(ctx context.Context, id, code string) (relatedAnswer, error) {
	none := relatedAnswer{degradation: degradation{Degraded: []string{carouselDegraded}}}
	a, err := service.GetJSON(ctx, c.related, c.to, "/books/"+id+"/related?currency="+code, resilience.FallbackTo(none))
	if err != nil {
		return a, catalogueError(err)
	}
	c.learn(a.Related)
	return a, nil
}

func (c *catalogue) learn(books []book) {
	for _, b := range books {
		c.titles.learn(b.ID, b.Title)
	}
}

// answer is what the catalogue said to one query, now or earlier.
type answer[T body] struct {
	*document[T]
	CopiedAt time.Time // when the copy was made that this is; zero: it is no copy
}

// degraded lists what in the answer is not as it should be, the answer itself included.
func (a answer[T]) degraded() []string {
	if a.CopiedAt.IsZero() {
		return a.Body.degraded()
	}
	return append(slices.Clone(a.Body.degraded()), copyDegraded)
}

// ask asks the catalogue, and the copies when it does not answer. An answer of the same bytes as the one before is the
// same document: it is not read again.
func ask[T body](ctx context.Context, c *catalogue, e *resilience.Endpoint, path string) (answer[T], error) {
	before, _ := c.copies.latest(path).(*document[T])
	read := func(doc []byte) (answer[T], error) {
		if before != nil && bytes.Equal(doc, before.raw) {
			return answer[T]{document: before}, nil
		}
		d, err := readDocument[T](doc)
		if err == nil {
			c.learn(d.Body.named())
		}
		return answer[T]{document: d}, err
	}
	lastGood := func(_ context.Context, cause error) (answer[T], error) {
		if d, at, ok := c.copies.lastGood(path); ok {
			return answer[T]{d.(*document[T]), at}, nil
		}
		return answer[T]{}, cause
	}
	a, err := service.Get(ctx, e, c.to, path, read, resilience.FallbackFunc(lastGood))
	if err != nil {
		return a, catalogueError(err)
	}
	if a.CopiedAt.IsZero() {
		c.copies.put(path, a.document, len(a.Body.degraded()) == 0)
	}
	return a, nil
}
