package gateway

import (
	"net/http"
	"net/url"
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
