package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/bojanz/currency"
)

type cartPage struct {
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
	f := frameOf(v, "Cart")
	f.Here = "/cart"
	p := cartPage{Key: v.cart.Key, MaxQuantity: maxQuantity}
	if len(v.cart.Lines) == 0 {
		if f.Offers, err = s.offersAlone(w, r, v); err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, f, s.page("cart", p))
	}
	q := shelfQuery{IDs: v.cart.books(), Currency: v.currency}
	a, offered, err := beside(r.Context(), s.catalogue, v.currency,
		func(ctx context.Context) (answer[shelfAnswer], error) { return s.catalogue.list(ctx, q) })
	if err != nil {
		return err
	}
	f.Offers = s.offersTo(v, offered)
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
	return s.show(w, r, http.StatusOK, f, s.page("cart", p))
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
