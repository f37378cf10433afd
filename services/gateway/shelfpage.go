package gateway

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// home is the shelf: a shop needs no entrance hall.
func (s *Service) home(w http.ResponseWriter, r *http.Request) error {
	to := url.URL{Path: "/books", RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusFound)
	return nil
}

// shelfView is a page of the shelf, all of it made from the catalogue's answer and the count of the stock.
type shelfView struct {
	Title               string
	Books               []bookView
	Subjects            []subjectView
	Query               shelfQuery
	Sorts               []string
	Total, Page, Pages  int
	Previous, Next, All string // addresses; "" where there is none
	Notes               []string
}

func (s *Service) shelf(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	q, err := shelfQueryOf(v.query)
	if err != nil {
		return err
	}
	q.Currency, q.PerPage = v.currency, perPage
	a, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (answer[shelfAnswer], error) { return s.catalogue.list(ctx, q) })
	if err != nil {
		return err
	}
	f := frameOf(v, shelfTitle(q))
	f.Search, f.Offers = q.Text, s.offersTo(v, offered)
	markDegraded(w, a.degraded(), offered.Degraded)
	besides := copyNote(a.CopiedAt) + s.availabilities(a.Body.Books)
	return s.show(w, r, http.StatusOK, f, a.keep(besides, func() (template.HTML, error) {
		return s.render("shelf", s.shelfView(q, a))
	}))
}

func (s *Service) shelfView(q shelfQuery, a answer[shelfAnswer]) shelfView {
	p := shelfView{
		Title: shelfTitle(q), Books: s.bookViews(a.Body.Books), Query: q, Sorts: sorts,
		Total: a.Body.Total, Page: a.Body.Page, Pages: a.Body.Pages,
		Notes: notes(copyNote(a.CopiedAt)),
	}
	if len(a.Body.Books) > 0 {
		p.Notes = notes(copyNote(a.CopiedAt), priceNote(q.Currency, a.Body.Books[0].Price, a.Body.Degraded, ""))
	}
	turn := func(change func(*shelfQuery)) string {
		other := q
		change(&other)
		return other.address()
	}
	if p.Page > 1 {
		p.Previous = turn(func(q *shelfQuery) { q.Page = p.Page - 1 })
	}
	if p.Page < p.Pages {
		p.Next = turn(func(q *shelfQuery) { q.Page = p.Page + 1 })
	}
	if q.Subject != "" {
		p.All = turn(func(q *shelfQuery) { q.Subject, q.Page = "", 1 })
	}
	for _, c := range a.Body.Subjects {
		p.Subjects = append(p.Subjects, subjectView{
			Name: c.Subject, Count: c.Count, Current: strings.EqualFold(c.Subject, q.Subject),
			Address: turn(func(q *shelfQuery) { q.Subject, q.Page = c.Subject, 1 }),
		})
	}
	return p
}

func shelfTitle(q shelfQuery) string {
	switch {
	case q.Text != "":
		return "“" + q.Text + "”"
	case q.Subject != "":
		return q.Subject
	default:
		return "Books"
	}
}
