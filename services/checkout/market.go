package checkout

// The calls to the other services, and what is believed of their answers.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// market tells what books cost, and what that is in other money.
type market interface {
	// prices returns the price of each book that the catalogue knows, in the shop's currency. Others are absent.
	prices(ctx context.Context, books []string) (map[string]currency.Amount, error)
	// rates returns the units of each currency for one of the shop's; nil if they cannot be had now.
	rates(ctx context.Context) (map[string]string, error)
}

// remoteMarket is the market as the catalogue and the currency service tell it.
type remoteMarket struct {
	pricesEndpoint, ratesEndpoint *resilience.Endpoint
	catalogue, currency           *service.Addresses
}

// prices asks once for all books: an order of thirty titles is one call, not thirty.
func (m *remoteMarket) prices(ctx context.Context, books []string) (map[string]currency.Amount, error) {
	path := "/prices?ids=" + url.QueryEscape(strings.Join(books, ","))
	answer, err := service.GetJSON[pricesAnswer](ctx, m.pricesEndpoint, m.catalogue, path)
	return answer, err
}

func (m *remoteMarket) rates(ctx context.Context) (map[string]string, error) {
	noRates := resilience.FallbackTo[ratesAnswer](nil)
	answer, err := service.GetJSON(ctx, m.ratesEndpoint, m.currency, "/rates?base="+shopCurrency, noRates)
	return answer, err
}

// The answers check themselves while they are decoded, inside the guarded call: an answer that makes no sense is then
// a failure of whoever gave it, to the breaker as to the person.

// pricesAnswer is the price by book, positive and in the shop's currency.
type pricesAnswer map[string]currency.Amount

func (p *pricesAnswer) UnmarshalJSON(doc []byte) error {
	var answer struct {
		Prices map[string]currency.Amount `json:"prices"`
	}
	if err := json.Unmarshal(doc, &answer); err != nil {
		return err
	}
	if answer.Prices == nil {
		return errors.New("no prices in the answer")
	}
	for book, price := range answer.Prices {
		if price.CurrencyCode() != shopCurrency || !isPositiveDecimal(price.Number()) {
			return fmt.Errorf("the price of %.100q is %.100q", book, price)
		}
	}
	*p = answer.Prices
	return nil
}

// ratesAnswer is the rate by currency, units for one of the shop's.
type ratesAnswer map[string]string

func (r *ratesAnswer) UnmarshalJSON(doc []byte) error {
	var answer struct {
		Base  string            `json:"base"`
		Rates map[string]string `json:"rates"`
	}
	if err := json.Unmarshal(doc, &answer); err != nil {
		return err
	}
	if answer.Base != shopCurrency || answer.Rates == nil {
		return fmt.Errorf("the answer has no rates for %s", shopCurrency)
	}
	for code, rate := range answer.Rates {
		if !isPositiveDecimal(rate) {
			return fmt.Errorf("the rate of %.100q is %.100q", code, rate)
		}
	}
	*r = answer.Rates
	return nil
}
