package gateway

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
	"github.com/go-chi/chi/v5"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// visitor is what a request for a page says about who asks.
type visitor struct {
	cart     cart
	currency string
	query    url.Values
	here     string
	notice   string
}

const cartEmptied = "Your cart could not be read, so it was emptied. We are sorry."

// visitor reads the cookies and the query. A cart that is not ours is dropped here, once, and the page says so. A
// currency named in the address is kept for the pages after it.
func (s *Service) visitor(w http.ResponseWriter, r *http.Request) (v visitor, err error) {
	v = visitor{currency: homeCurrency, here: "/cart"}
	var foreign bool
	if v.cart, foreign = s.carts.read(r); foreign {
		s.carts.write(w, cart{})
		v.notice = cartEmptied
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		v.here = r.URL.RequestURI()
	}
	if v.query, err = queryOf(r); err != nil {
		return v, err
	}
	code, err := currencyOf(r, v.query)
	if err != nil {
		return v, err
	}
	if v.currency = code; v.query.Has("currency") {
		s.keepCurrency(w, code)
	}
	return v, nil
}

// home is the shelf: a shop needs no entrance hall.
func (s *Service) home(w http.ResponseWriter, r *http.Request) error {
	to := url.URL{Path: "/books", RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusFound)
	return nil
}

type shelfPage struct {
	frame
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
	p := shelfPage{
		frame: frameOf(v, shelfTitle(q)), Books: s.bookViews(a.Body.Books), Query: q, Sorts: sorts,
		Total: a.Body.Total, Page: a.Body.Page, Pages: a.Body.Pages,
		Notes: notes(copyNote(a.CopiedAt)),
	}
	p.Search, p.Offers = q.Text, s.offersTo(v, offered)
	if len(a.Body.Books) > 0 {
		p.Notes = notes(copyNote(a.CopiedAt), priceNote(v.currency, a.Body.Books[0].Price, a.Body.Degraded, ""))
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
	markDegraded(w, a.degraded(), offered.Degraded)
	return s.show(w, r, http.StatusOK, "shelf", p)
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

type bookPage struct {
	frame
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
	p := bookPage{
		frame: frameOf(v, a.Body.Book.Title), Book: s.bookView(a.Body.Book), Related: s.bookViews(a.Body.Related),
		Notes:       notes(copyNote(a.CopiedAt)),
		PriceNote:   priceNote(v.currency, a.Body.Book.Price, a.Body.Degraded, a.Body.RatesAsOf),
		MaxQuantity: maxQuantity,
	}
	p.Offers = s.offersTo(v, offered)
	p.Book.Subjects = subjectViews(a.Body.Book.Subjects)
	if s.deferred {
		p.RelatedLink = "/books/" + id + "/related"
	}
	markDegraded(w, a.degraded(), offered.Degraded)
	return s.show(w, r, http.StatusOK, "book", p)
}

type relatedPage struct {
	frame
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
	p := relatedPage{
		frame: frameOf(v, title), ID: id, BookTitle: title, Related: s.bookViews(a.Related),
	}
	p.Offers = s.offersTo(v, offered)
	if len(a.Related) > 0 {
		p.Title = "Readers of " + title + " also bought"
		p.Notes = notes(priceNote(v.currency, a.Related[0].Price, a.Degraded, ""))
	}
	markDegraded(w, a.Degraded, offered.Degraded)
	return s.show(w, r, http.StatusOK, "related", p)
}

type cartPage struct {
	frame
	Lines       []lineView
	Total       price
	Key         string
	Orderable   bool
	MaxQuantity int
	Notes       []string
}

func (s *Service) cart(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	if v.query.Has("emptied") {
		v.notice = cartEmptied
	}
	p := cartPage{frame: frameOf(v, "Cart"), Key: v.cart.Key, MaxQuantity: maxQuantity}
	p.Here = "/cart"
	if len(v.cart.Lines) == 0 {
		if p.Offers, err = s.offersAlone(w, r, v); err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, "cart", p)
	}
	q := shelfQuery{IDs: v.cart.books(), Currency: v.currency}
	a, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (answer[shelfAnswer], error) { return s.catalogue.list(ctx, q) })
	if err != nil {
		return err
	}
	p.Offers = s.offersTo(v, offered)
	var totals []currency.Amount
	p.Notes = notes(copyNote(a.CopiedAt))
	for _, l := range v.cart.Lines {
		line := lineView{ID: l.Book, Title: s.titles.of(l.Book), Quantity: l.Quantity, Stock: s.availability(l.Book)}
		i := slices.IndexFunc(a.Body.Books, func(b book) bool { return b.ID == l.Book })
		if line.Gone = i < 0; !line.Gone {
			unit := a.Body.Books[i].Price
			total, err := lineTotal(unit, l.Quantity)
			if err != nil {
				return err
			}
			line.Unit, line.Total = priceOf(unit), priceOf(total)
			totals = append(totals, total)
		}
		p.Lines = append(p.Lines, line)
	}
	if len(totals) > 0 {
		total, err := sum(totals)
		if err != nil {
			return err
		}
		p.Total = priceOf(total)
		p.Notes = notes(copyNote(a.CopiedAt), priceNote(v.currency, total, a.Body.Degraded, ""))
	}
	p.Orderable = len(totals) == len(v.cart.Lines)
	markDegraded(w, a.degraded(), offered.Degraded)
	return s.show(w, r, http.StatusOK, "cart", p)
}

// changeCart adds to the cart, sets a quantity or removes a title, and sends the browser back to the cart, so that
// reloading it changes nothing.
func (s *Service) changeCart(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(r); err != nil {
		return err
	}
	c, foreign := s.carts.read(r)
	id := r.PostForm.Get("book")
	if !validBook(id) {
		return invalid("book", "is not one of the shop’s")
	}
	quantity, err := strconv.Atoi(r.PostForm.Get("quantity"))
	switch action := r.PostForm.Get("action"); action {
	case "add", "set":
		change := c.set
		if action == "add" {
			change = c.add
		}
		if err != nil {
			err = errQuantity
		} else {
			err = change(id, quantity)
		}
		if err != nil {
			return err
		}
	case "remove":
		c.remove(id)
	default:
		return invalid("action", "must be add, set or remove")
	}
	s.carts.write(w, c)
	to := "/cart"
	if foreign {
		to = "/cart?emptied"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

type findPage struct {
	frame
}

// findOrder is the small form that asks for the number of an order, and its answer: the way there.
func (s *Service) findOrder(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	number := strings.TrimSpace(v.query.Get("number"))
	if number == "" {
		p := findPage{frameOf(v, "Look up an order")}
		if p.Offers, err = s.offersAlone(w, r, v); err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, "find", p)
	}
	if !orderID.MatchString(number) {
		return errNoOrder
	}
	http.Redirect(w, r, "/orders/"+number, http.StatusSeeOther)
	return nil
}

type orderPage struct {
	frame
	ID, Status, Placed, PlacedAt string
	Lines                        []lineView
	Total                        price
}

func (s *Service) order(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	o, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (order, error) { return s.checkout.find(ctx, chi.URLParam(r, "id")) })
	if err != nil {
		return err
	}
	at := o.CreatedAt.UTC()
	p := orderPage{
		frame: frameOf(v, "Your order"), ID: o.ID, Status: o.Status,
		Placed: at.Format("2 January 2006, 15:04 UTC"), PlacedAt: at.Format("2006-01-02T15:04:05Z"),
		Lines: s.orderLines(o.Items), Total: priceOf(o.Total),
	}
	p.Offers = s.offersTo(v, offered)
	markDegraded(w, offered.Degraded)
	return s.show(w, r, http.StatusOK, "order", p)
}

type currencyPage struct {
	frame
}

func (s *Service) currency(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	p := currencyPage{frameOf(v, "Currency")}
	p.Here = "/books"
	if p.Offers, err = s.offersAlone(w, r, v); err != nil {
		return err
	}
	return s.show(w, r, http.StatusOK, "currency", p)
}

// chooseCurrency keeps the choice in a cookie and sends the browser back to where it was made.
func (s *Service) chooseCurrency(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(r); err != nil {
		return err
	}
	code := r.PostForm.Get("currency")
	if !validCurrency(code) {
		return errCurrency
	}
	s.keepCurrency(w, code)
	http.Redirect(w, r, backTo(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// backTo is next if it is an address of the shop, else the shelf; never another site. What it says of the currency
// is dropped, or it would win over what was just chosen.
func backTo(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsRune(u.Path, '\\') {
		return "/books"
	}
	q := u.Query()
	q.Del("currency")
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

type problemView struct {
	frame
	Heading, Detail string
	Errors          []problem.FieldError
	RequestID       string
	Safe            bool // there is something in the cart, and it stays there
}

// problemPage says what went wrong and what to do, in the words of the problem document that held has kept.
func (s *Service) problemPage(w http.ResponseWriter, r *http.Request, held *problemHolder) {
	var p problem.Problem
	if err := p.UnmarshalJSON(held.doc.Bytes()); err != nil {
		p = *problem.New(problem.Internal, "Something broke on our side. It has been noted.")
	}
	v, _ := s.visitor(w, r) // what is wrong with the request is said already
	page := problemView{
		frame: frameOf(v, p.Title), Heading: p.Title, Detail: p.Detail,
		Errors: extra[[]problem.FieldError](&p, "errors"), RequestID: service.RequestID(r.Context()),
		Safe: held.status >= http.StatusInternalServerError && len(v.cart.Lines) > 0,
	}
	if len(page.Errors) == 1 && strings.Contains(page.Detail, page.Errors[0].Message) {
		page.Errors = nil // said already
	}
	if err := s.show(w, r, held.status, "problem", page); err != nil {
		http.Error(w, p.Title, http.StatusInternalServerError)
	}
}
