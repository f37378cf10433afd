package gateway

import (
	"net/http"
	"net/url"
	"strings"
)

func (s *Service) currency(w http.ResponseWriter, r *http.Request) error {
	v, err := s.visitor(w, r)
	if err != nil {
		return err
	}
	f := frameOf(v, "Currency")
	f.Here = "/books"
	if f.Offers, err = s.offersAlone(w, r, v); err != nil {
		return err
	}
	return s.show(w, r, http.StatusOK, f, s.page("currency", f))
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
