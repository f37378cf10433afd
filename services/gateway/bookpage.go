package gateway

import (
	"context"
	"html/template"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// bookView and what else is on the page of a book.
type bookPage struct {
	Book        bookView
	Related     []bookView
	RelatedLink string // where the carousel is when it is not on the page
	Notes       []string
	PriceNote   string
	MaxQuantity int
}

func (s *Service) book(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	if !validBook(id) {
		return errNoBook
	}
	a, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (answer[bookAnswer], error) {
			return s.catalogue.find(ctx, id, v.currency, !s.deferred)
		})
	if err != nil {
		return err
	}
	f := frameOf(v, a.Body.Book.Title)
	f.Offers = s.offersTo(v, offered)
	markDegraded(w, a.degraded(), offered.Degraded)
	besides := copyNote(a.CopiedAt) + s.availability(id).Text
	return s.show(w, r, http.StatusOK, f, a.keep(besides, func() (template.HTML, error) {
		return s.render("book", s.bookPage(v.currency, a))
	}))
}

func (s *Service) bookPage(asked string, a answer[bookAnswer]) bookPage {
	p := bookPage{
		Book: s.bookView(a.Body.Book), Related: s.bookViews(a.Body.Related),
		Notes:       notes(copyNote(a.CopiedAt)),
		PriceNote:   priceNote(asked, a.Body.Book.Price, a.Body.Degraded, a.Body.RatesAsOf),
		MaxQuantity: maxQuantity,
	}
	p.Book.Subjects = subjectViews(a.Body.Book.Subjects)
	if s.deferred {
		p.RelatedLink = "/books/" + a.Body.Book.ID + "/related"
	}
	return p
}

type relatedPage struct {
	ID, BookTitle string
	Related       []bookView
	Notes         []string
}

func (s *Service) related(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	if !validBook(id) {
		return errNoBook
	}
	a, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (relatedAnswer, error) { return s.catalogue.alsoBought(ctx, id, v.currency) })
	if err != nil {
		return err
	}
	title := s.titles.of(id)
	f := frameOf(v, title)
	f.Offers = s.offersTo(v, offered)
	p := relatedPage{ID: id, BookTitle: title, Related: s.bookViews(a.Related)}
	if len(a.Related) > 0 {
		f.Title = "Readers of " + title + " also bought"
		p.Notes = notes(priceNote(v.currency, a.Related[0].Price, a.Degraded, ""))
	}
	markDegraded(w, a.Degraded, offered.Degraded)
	return s.show(w, r, http.StatusOK, f, s.page("related", p))
}
