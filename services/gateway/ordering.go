package gateway

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

var decimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,4})?$`)

// refusedPage is the answer to an order that was not taken, and how to go on.
type refusedPage struct {
	Heading   string
	Detail    []string
	Lines     []lineView // of the new quote
	Total     price
	Again     *againForm // nil: it makes no sense to send it again as it is
	RequestID string
}

// againForm sends an order again, under the key that it was sent with.
type againForm struct {
	Key, Total, Currency, Button string
}

// placeOrder orders what is in the cart, for the total that the page has shown. The key comes from the cart and
// stays with it, so that sending it twice, or again after a refusal, never makes two orders.
func (s *Service) placeOrder(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	form, err := againOf(r)
	switch {
	case err != nil:
		return err
	case len(v.cart.Lines) == 0:
		return errCartEmpty
	case form.Key != v.cart.Key:
		return errCartChanged
	}
	placed, err := s.checkout.place(r.Context(), form.Key, v.cart.order(form.Currency, form.Total))
	if err != nil {
		return s.refuseOrder(w, r, v, form, err)
	}
	s.carts.write(w, cart{})
	http.Redirect(w, r, "/orders/"+placed.ID, http.StatusSeeOther)
	return nil
}

func againOf(r *http.Request) (againForm, error) {
	if err := readForm(r); err != nil {
		return againForm{}, err
	}
	f := againForm{Key: r.PostForm.Get("key"), Total: r.PostForm.Get("total"), Currency: r.PostForm.Get("currency")}
	switch {
	case !decimal.MatchString(f.Total):
		return f, invalid("total", "must be the amount that the cart shows, such as 21.40")
	case !validCurrency(f.Currency):
		return f, errCurrency
	}
	return f, nil
}

// refuseOrder shows why the order was not taken. The cart is as it was, and so is its key.
func (s *Service) refuseOrder(w http.ResponseWriter, r *http.Request, v visitor, form againForm, why error) error {
	p, ok := errors.AsType[*problem.Problem](why)
	if !ok {
		return why
	}
	page := refusedPage{
		Heading: p.Title, Detail: []string{p.Detail},
		RequestID: service.RequestID(r.Context()),
	}
	form.Button = "Place the order again"
	switch {
	case problem.QuoteChanged.Is(p):
		q := extra[quote](p, "quote")
		if !validCurrency(q.Total.CurrencyCode()) {
			return why // nothing that a person could agree to
		}
		page.Lines, page.Total = s.orderLines(q.Items), priceOf(q.Total)
		page.Detail = []string{"The price changed while you were deciding. Nothing was ordered. " +
			"This is what it would cost now:"}
		if q.Total.CurrencyCode() != form.Currency {
			page.Detail = []string{"Today’s rates are not at hand, so the order can only be taken in " +
				currencyName(q.Total.CurrencyCode()) + ". Nothing was ordered. This is what it would cost:"}
		}
		form = againForm{form.Key, q.Total.Number(), q.Total.CurrencyCode(), "Agree and order for " + page.Total.Text}
		page.Again = &form
	case problem.OutOfStock.Is(p):
		page.Detail = []string{"Nothing was ordered, and your cart is as it was. Change it and try again."}
		for _, short := range extra[[]shortage](p, "short") {
			page.Detail = append(page.Detail, s.shortageNote(short))
		}
	case problem.OrderInProgress.Is(p):
		page.Detail = []string{"This order is being placed at this moment. " +
			"Send it once more to see how it ended: it is never taken twice."}
		page.Again = &form
	case problem.KeyReused.Is(p):
		page.Detail = []string{"An earlier try with this cart was taken, for another total or in another currency, " +
			"so this one was not. " +
			"Send it as you did then to see that order; change the cart to begin a new one."}
	case p.Status >= http.StatusInternalServerError:
		page.Detail = append(page.Detail, "Your cart is safe.")
		page.Again = &form
		w.Header().Set("Retry-After", strconv.Itoa(int(retryOrder.Seconds())))
	default:
		return why
	}
	record(r, why)
	return s.show(w, r, p.Status, frameOf(v, p.Title), s.page("refused", page))
}

func (s *Service) shortageNote(short shortage) string {
	title := s.titles.of(short.Book)
	switch {
	case short.Left <= 0:
		return title + " is sold out."
	case short.Left == 1:
		return "Of " + title + " only one copy is left."
	default:
		return "Of " + title + " only " + strconv.Itoa(short.Left) + " copies are left."
	}
}

// order is what the cart becomes when it is ordered for a total that was shown.
func (c *cart) order(code, total string) orderRequest {
	o := orderRequest{Currency: code, ExpectedTotal: total}
	for _, l := range c.Lines {
		o.Items = append(o.Items, orderItem(l))
	}
	return o
}
