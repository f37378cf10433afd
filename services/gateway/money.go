package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bojanz/currency"
)

// homeCurrency is the shop's own: what a price is in when nobody has chosen, or when no rate is at hand.
const homeCurrency = "USD"

// currencies is what a person may choose from: the euro, and what the European Central Bank publishes a rate for.
var currencies = []string{
	"AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK",
	"JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB", "TRY", "USD", "ZAR",
}

const (
	currencyCookie    = "currency"
	currencyCookieAge = 365 * 24 * time.Hour
)

func validCurrency(code string) bool { return slices.Contains(currencies, code) }

var errCurrency = invalid("currency", "is not one that the shop has a rate for; try EUR, GBP or USD")

// currencyAsked returns the currency that a query names, which must be known, else the shop's own.
func currencyAsked(query url.Values) (string, error) {
	code := query.Get("currency")
	switch {
	case code == "":
		return homeCurrency, nil
	case !validCurrency(code):
		return "", errCurrency
	default:
		return code, nil
	}
}

// currencyOf is currencyAsked for a person: where the address names none, it is the one chosen before.
func currencyOf(r *http.Request, query url.Values) (string, error) {
	if query.Get("currency") != "" {
		return currencyAsked(query)
	}
	if c, err := r.Cookie(currencyCookie); err == nil && validCurrency(c.Value) {
		return c.Value, nil
	}
	return homeCurrency, nil
}

func (s *Service) keepCurrency(w http.ResponseWriter, code string) {
	http.SetCookie(w, &http.Cookie{
		Name: currencyCookie, Value: code, Path: "/", HttpOnly: true, Secure: s.carts.secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(currencyCookieAge / time.Second),
	})
}

// lineTotal is unit × quantity, exactly: the unit price is rounded already.
func lineTotal(unit currency.Amount, quantity int) (currency.Amount, error) {
	total, err := unit.Mul(strconv.Itoa(quantity))
	if err != nil {
		return total, fmt.Errorf("total of %d × %s: %w", quantity, unit, err)
	}
	return total.Round(), nil
}

// sum adds amounts of one currency, of which there is at least one.
func sum(amounts []currency.Amount) (currency.Amount, error) {
	total := amounts[0]
	for _, a := range amounts[1:] {
		var err error
		if total, err = total.Add(a); err != nil {
			return total, fmt.Errorf("total of the cart: %w", err)
		}
	}
	return total, nil
}

// price is an amount for people and, in its attributes, for machines.
type price struct {
	Value, Currency, Text string
}

var formatter = currency.NewFormatter(currency.NewLocale("en"))

func priceOf(a currency.Amount) price {
	return price{Value: a.Number(), Currency: a.CurrencyCode(), Text: formatter.Format(a)}
}

// currencyName is how a sentence calls a currency.
func currencyName(code string) string {
	if code == homeCurrency {
		return "US dollars"
	}
	return code
}
