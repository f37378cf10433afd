package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// findOrder is the small form that asks for the number of an order, and its answer: the way there.
func (s *Service) findOrder(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	number := strings.TrimSpace(v.query.Get("number"))
	if number == "" {
		f := frameOf(v, "Look up an order")
		if f.Offers, err = s.offersAlone(w, r, v); err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, f, s.page("find", nil))
	}
	if !orderID.MatchString(number) {
		return errNoOrder
	}
	http.Redirect(w, r, "/orders/"+number, http.StatusSeeOther)
	return nil
}

type orderPage struct {
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
		ID: o.ID, Status: o.Status,
		Placed: at.Format("2 January 2006, 15:04 UTC"), PlacedAt: at.Format("2006-01-02T15:04:05Z"),
		Lines: s.orderLines(o.Items), Total: priceOf(o.Total),
	}
	f := frameOf(v, "Your order")
	f.Offers = s.offersTo(v, offered)
	markDegraded(w, offered.Degraded)
	return s.show(w, r, http.StatusOK, f, s.page("order", p))
}
