package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/bojanz/currency"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"golang.org/x/sync/errgroup"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

func (s *Service) routes(within func(http.Handler) http.Handler) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.With(within).Get("/books", s.answer(s.list))
	r.With(within).Get("/books/{id}", s.answer(s.show))
	r.With(within).Get("/books/{id}/related", s.answer(s.carousel))
	r.With(within).Get("/offers", s.answer(s.header))
	r.With(within).Get("/prices", s.answer(s.prices))
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		p := problem.New(problem.NotFound,
			"The catalogue has /books, /books/{id}, /books/{id}/related, /offers and /prices.")
		problem.Write(w, r, p)
	})
	r.MethodNotAllowed(service.MethodNotAllowed)
	return r
}

// answer writes what of returns: the document or, on an error, the problem.
func (s *Service) answer(of func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.document(r, of)
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // fails only when the caller has left
	}
}

func (s *Service) document(r *http.Request, of func(*http.Request) (any, error)) ([]byte, error) {
	doc, err := of(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// What an answer lists as degraded: what came from a fallback.
const (
	degradedCarousel = "carousel"
	degradedOffers   = "offers"
	degradedPrices   = "prices"
)

// listed is a book as a list shows it.
type listed struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Author   string          `json:"author"`
	Year     int             `json:"year"`
	Language string          `json:"language"`
	Subjects []string        `json:"subjects"`
	Price    currency.Amount `json:"price"`
}

// shown is a book as its own page shows it.
type shown struct {
	listed
	Description string `json:"description"`
}

// suggested is a book as the carousel of another shows it, and the header of a page.
type suggested struct {
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	Author string          `json:"author"`
	Price  currency.Amount `json:"price"`
}

// footnotes say how much of an answer is what was asked for.
type footnotes struct {
	RatesAsOf string   `json:"rates_as_of,omitempty"` // the day of the rates that the prices were converted at
	Degraded  []string `json:"degraded,omitempty"`
}

// The answers of the five routes.
type (
	listAnswer struct {
		Books    []listed       `json:"books"`
		Total    int            `json:"total"`
		Page     int            `json:"page"`
		Pages    int            `json:"pages"`
		Subjects []SubjectCount `json:"subjects"`
		Currency string         `json:"currency"` // the shop's own where the one asked for is not to be had
		footnotes
	}
	bookAnswer struct {
		Book    shown       `json:"book"`
		Related []suggested `json:"related"`
		footnotes
	}
	carouselAnswer struct {
		Related []suggested `json:"related"`
		footnotes
	}
	offersAnswer struct {
		Offers []suggested `json:"offers"`
		footnotes
	}
	pricesAnswer struct {
		Prices map[string]currency.Amount `json:"prices"`
	}
)

func (s *Service) list(r *http.Request) (any, error) {
	p := parametersOf(r)
	q, code := p.query(), p.currency()
	if err := p.err(); err != nil {
		return nil, err
	}
	t, err := s.tariffIn(r.Context(), code)
	if err != nil {
		return nil, err
	}
	page := s.shelf.Load().find(q)
	books := make([]listed, len(page.Books))
	for i, b := range page.Books {
		if books[i], err = t.listed(b); err != nil {
			return nil, err
		}
	}
	return listAnswer{
		Books: books, Total: page.Total, Page: page.Page, Pages: page.Pages, Subjects: page.Subjects,
		Currency: t.currency, footnotes: footnote(t, suggestions{}, ""),
	}, nil
}

func (s *Service) show(r *http.Request) (any, error) {
	p := parametersOf(r)
	mode, code := oneOf(p, "related", "inline", "none"), p.currency()
	books := s.shelf.Load()
	book, err := books.named(r, p)
	if err != nil {
		return nil, err
	}
	var ids suggestions
	var t tariff
	if mode == "inline" {
		ids, t, err = s.both(r.Context(), code, s.suggest(book.ID))
	} else {
		t, err = s.tariffIn(r.Context(), code)
	}
	if err != nil {
		return nil, err
	}
	l, err := t.listed(book)
	if err != nil {
		return nil, err
	}
	carousel, err := t.suggested(books.pick(ids, maxRelated, book.ID))
	if err != nil {
		return nil, err
	}
	return bookAnswer{
		Book: shown{l, book.Description}, Related: carousel, footnotes: footnote(t, ids, degradedCarousel),
	}, nil
}

func (s *Service) carousel(r *http.Request) (any, error) {
	p := parametersOf(r)
	code := p.currency()
	books := s.shelf.Load()
	book, err := books.named(r, p)
	if err != nil {
		return nil, err
	}
	ids, t, err := s.both(r.Context(), code, s.suggest(book.ID))
	if err != nil {
		return nil, err
	}
	carousel, err := t.suggested(books.pick(ids, maxRelated, book.ID))
	if err != nil {
		return nil, err
	}
	return carouselAnswer{Related: carousel, footnotes: footnote(t, ids, degradedCarousel)}, nil
}

// header tells what the header of every page offers.
func (s *Service) header(r *http.Request) (any, error) {
	p := parametersOf(r)
	code := p.currency()
	if err := p.err(); err != nil {
		return nil, err
	}
	ids, t, err := s.both(r.Context(), code, s.offer)
	if err != nil {
		return nil, err
	}
	offers, err := t.suggested(s.shelf.Load().pick(ids, maxOffers, ""))
	if err != nil {
		return nil, err
	}
	return offersAnswer{Offers: offers, footnotes: footnote(t, ids, degradedOffers)}, nil
}

// prices tells what books cost in Home. It waits for nobody: an order hangs on it.
func (s *Service) prices(r *http.Request) (any, error) {
	p := parametersOf(r)
	ids := p.ids()
	if err := p.err(); err != nil {
		return nil, err
	}
	books := s.shelf.Load()
	prices := make(map[string]currency.Amount, len(ids))
	for _, id := range ids {
		if b := books.byID[id]; b != nil {
			prices[id] = b.Price
		}
	}
	return pricesAnswer{prices}, nil
}

// named returns the book that the path of r names, once the rest of the request is known to be right too.
func (s *shelf) named(r *http.Request, p *parameters) (*Book, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	id := chi.URLParam(r, "id")
	if b := s.byID[id]; b != nil {
		return b, nil
	}
	return nil, problem.New(problem.NotFound, "We have no such book. Search for it at /books?q=.")
}

// both asks the two leaves at once. When one fails the other is not waited for longer than it takes to call it off.
func (s *Service) both(ctx context.Context, code string, suggest suggesting) (ids suggestions, t tariff, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(caught(func() (err error) { ids, err = suggest(ctx); return err }))
	g.Go(caught(func() (err error) { t, err = s.tariffIn(ctx, code); return err }))
	err = g.Wait()
	return ids, t, err
}

// caught turns a panic of fn into an error. The server's own recovery guards the goroutine of the handler only; in any
// other, a panic is the end of the process.
func caught(fn func() error) func() error {
	return func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return fn()
	}
}

func (t tariff) listed(b *Book) (listed, error) {
	price, err := t.price(b)
	return listed{b.ID, b.Title, b.Author, b.Year, b.Language, b.Subjects, price}, err
}

func (t tariff) suggested(books []*Book) ([]suggested, error) {
	all := make([]suggested, len(books))
	for i, b := range books {
		price, err := t.price(b)
		if err != nil {
			return nil, err
		}
		all[i] = suggested{b.ID, b.Title, b.Author, price}
	}
	return all, nil
}

// footnote says what of an answer is degraded: the suggestions, by what they are called in it, and the prices.
func footnote(t tariff, ids suggestions, called string) footnotes {
	notes := footnotes{RatesAsOf: t.asOf}
	if ids.fallback {
		notes.Degraded = append(notes.Degraded, called)
	}
	if t.degraded {
		notes.Degraded = append(notes.Degraded, degradedPrices)
	}
	return notes
}
