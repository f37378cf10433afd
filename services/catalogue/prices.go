package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// lastRatesFor is how long after they were fetched the last rates may still price books. Why 72 h: the European Central
// Bank sets rates on working days, so that on a Monday Friday's are the newest there are.
const lastRatesFor = 72 * time.Hour

// rates are the parts of the currency service's answer that prices are made with.
type rates struct {
	asOf string            // the day they were set: 2026-09-24
	of   map[string]string // units of each currency for one unit of Home, decimal; nil: none at hand

	fallback bool // not answered now: the last ones, or none
}

// UnmarshalJSON reads an answer and refuses one that no price should be made with, so that a broken answer is a failed
// call and not a book for nothing. A currency that this shop could not write an amount in is left out.
func (r *rates) UnmarshalJSON(data []byte) error {
	var answer struct {
		Base  string            `json:"base"`
		AsOf  string            `json:"as_of"`
		Rates map[string]string `json:"rates"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	if answer.Base != Home {
		return fmt.Errorf("rates for one %q, want one %s", answer.Base, Home)
	}
	if _, err := time.Parse(time.DateOnly, answer.AsOf); err != nil {
		return fmt.Errorf("rates as of: %w", err)
	}
	if len(answer.Rates) == 0 {
		return fmt.Errorf("no rates")
	}
	for code, rate := range answer.Rates {
		if !isRate(rate) {
			return fmt.Errorf("rate of %q is %q, want a decimal above zero", code, rate)
		}
	}
	maps.DeleteFunc(answer.Rates, func(code, _ string) bool { return code == "" || !currency.IsValid(code) })
	*r = rates{asOf: answer.AsOf, of: answer.Rates}
	return nil
}

// isRate takes plain decimals above zero only: what reads numbers further on would take NaN and 1e400000 too.
func isRate(s string) bool {
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole + fraction
	return whole != "" && len(digits) <= 30 && strings.Trim(digits, "0123456789") == "" && strings.Trim(digits, "0") != ""
}

// keptRates are the rates of the last look-up that succeeded.
type keptRates struct {
	rates
	fetched time.Time
}

// tariff is how the prices of one answer are made: one look-up, however many books.
type tariff struct {
	currency string
	rate     string // of Home; "" where currency is Home
	asOf     string
	degraded bool // from the last rates, or not in the currency asked for
}

// tariffIn returns how to price in the currency of code, which is well-formed. A currency that is not known is a
// problem that lists those that are.
func (s *Service) tariffIn(ctx context.Context, code string) (tariff, error) {
	if code == Home {
		return tariff{currency: Home}, nil
	}
	now, err := s.lookUpRates(ctx)
	if err != nil {
		return tariff{}, err
	}
	rate, known := now.of[code]
	switch {
	case known:
		return tariff{currency: code, rate: rate, asOf: now.asOf, degraded: now.fallback}, nil
	case now.of == nil && currency.IsValid(code):
		return tariff{currency: Home, degraded: true}, nil
	}
	p := invalid(problem.FieldError{Field: "currency", Message: code + " is not a currency that we have a rate for"})
	if now.of != nil {
		p.With("currencies", slices.Sorted(maps.Keys(now.of)))
	}
	return tariff{}, p
}

func (s *Service) lookUpRates(ctx context.Context) (rates, error) {
	fallback := resilience.FallbackFunc(func(context.Context, error) (rates, error) { return s.lastRates(), nil })
	answer, err := service.GetJSON(ctx, s.rates, s.currencyURL, "/rates?base="+Home, fallback)
	if p := refusal(err); p != nil {
		answer, err = s.lastRates(), tolerate(s.rates, p)
	}
	if err != nil {
		return rates{}, fmt.Errorf("looking up the rates: %w", err)
	}
	if !answer.fallback {
		s.last.Store(&keptRates{answer, time.Now()})
	}
	return answer, nil
}

// lastRates is the fallback of a look-up: the last rates, or none when they are too old.
func (s *Service) lastRates() rates {
	if last := s.last.Load(); last != nil && time.Since(last.fetched) <= lastRatesFor {
		return rates{asOf: last.asOf, of: last.of, fallback: true}
	}
	return rates{fallback: true}
}

// price is b's unit price: converted, then rounded half up at the minor unit of the currency. Sums are made of it and
// are never rounded again.
func (t tariff) price(b *Book) (currency.Amount, error) {
	if t.rate == "" {
		return b.Price, nil
	}
	price, err := b.Price.Convert(t.currency, t.rate)
	if err != nil {
		return currency.Amount{}, fmt.Errorf("pricing %q in %s: %w", b.ID, t.currency, err)
	}
	return price.Round(), nil
}
