package checkout

// What an order costs now: prices from the catalogue, the rate from the currency service, both at once.

import (
	"context"
	"fmt"
	"sync"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/problem"
)

// quote is a priced request: exactly what the order would say.
type quote struct {
	lines  []Line
	total  currency.Amount
	reason string // why it may differ from what the person was shown
}

// Why a quote is not the one that was shown. The person is told.
const (
	priceChanged        = "price-changed"
	currencyUnavailable = "currency-unavailable"
)

// quote prices req in the currency it asks for, or in the shop's own if there is no rate to be had.
func (s *Service) quote(ctx context.Context, req Request) (quote, error) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		rates    map[string]string
		ratesErr error
		asking   sync.WaitGroup
	)
	defer asking.Wait()
	defer cancel() // without prices nobody waits for a rate
	foreign := req.Currency != shopCurrency
	if foreign {
		asking.Go(func() { rates, ratesErr = s.market.rates(ctx) })
	}

	books := make([]string, len(req.Items))
	for i, item := range req.Items {
		books[i] = item.Book
	}
	prices, err := s.market.prices(ctx, books)
	if err != nil {
		return quote{}, unavailable("The prices cannot be looked up right now.", err)
	}
	asking.Wait()
	if ratesErr != nil {
		return quote{}, unavailable("The exchange rate cannot be looked up right now.", ratesErr)
	}

	if !foreign {
		return priced(req.Items, prices, shopCurrency, "1", priceChanged)
	}
	if rates == nil {
		return priced(req.Items, prices, shopCurrency, "1", currencyUnavailable)
	}
	rate, listed := rates[req.Currency]
	if !listed {
		return quote{}, unprocessable(problem.FieldError{
			Field: "currency", Message: "the shop has no exchange rate for " + req.Currency,
		})
	}
	return priced(req.Items, prices, req.Currency, rate, priceChanged)
}

// priced computes the quote: each unit price converted and rounded, a line is unit × quantity, the total their sum.
func priced(items []Item, prices map[string]currency.Amount, code, rate, reason string) (quote, error) {
	q := quote{lines: make([]Line, 0, len(items)), reason: reason}
	var unknown []problem.FieldError
	for i, item := range items {
		price, known := prices[item.Book]
		if !known {
			unknown = append(unknown, problem.FieldError{
				Field:   fmt.Sprintf("items[%d].book", i),
				Message: "the shop has no book " + item.Book,
			})
			continue
		}
		unit, err := convert(price, code, rate)
		if err != nil {
			return quote{}, fmt.Errorf("price of %s: %w", item.Book, err)
		}
		total, err := multiply(unit, item.Quantity)
		if err != nil {
			return quote{}, err
		}
		q.lines = append(q.lines, Line{Book: item.Book, Quantity: item.Quantity, UnitPrice: unit, Total: total})
	}
	if len(unknown) > 0 {
		return quote{}, unprocessable(unknown...)
	}
	var err error
	q.total, err = sum(q.lines, code)
	return q, err
}
