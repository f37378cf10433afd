package checkout

// Money: bojanz amounts at the minor unit of their currency, and one rounding rule. No amount is ever a float.

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
)

// shopCurrency is the currency of the catalogue's prices. An order in it needs no rate.
const shopCurrency = "USD"

// plainDecimal is a decimal without sign, exponent or leading zeros, of bounded length. It keeps "NaN", "Infinity" and
// "1e99999" out, all of which a decimal library reads.
var plainDecimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,24})?$`)

func isPositiveDecimal(s string) bool {
	return plainDecimal.MatchString(s) && strings.ContainsAny(s, "123456789")
}

// parseTotal reads an amount that a person was shown: a plain decimal with at most the digits of its currency
// (two for USD, none for JPY, three for KWD).
func parseTotal(number, code string) (currency.Amount, error) {
	if !plainDecimal.MatchString(number) {
		return currency.Amount{}, errors.New(`must be a decimal number in a string, such as "21.40"`)
	}
	digits, known := currency.GetDigits(code)
	if !known {
		return currency.Amount{}, errors.New("cannot be read without a known currency")
	}
	if _, fraction, _ := strings.Cut(number, "."); len(fraction) > int(digits) {
		return currency.Amount{}, fmt.Errorf("has more than the %d decimals of %s", digits, code)
	}
	amount, err := currency.NewAmount(number, code)
	return amount.Round(), err
}

// convert turns a price into code: price × rate, rounded half up at code's minor unit. The rate is units of code for
// one unit of the price's currency. This is the only place where an amount is rounded.
func convert(price currency.Amount, code, rate string) (currency.Amount, error) {
	amount, err := price.Convert(code, rate)
	if err != nil {
		return currency.Amount{}, err
	}
	return amount.Round(), nil
}

// multiply returns unit × quantity, exact because unit has no more digits than its currency.
func multiply(unit currency.Amount, quantity int) (currency.Amount, error) {
	return unit.Mul(strconv.Itoa(quantity))
}

// sum adds up the lines of an order.
func sum(lines []Line, code string) (currency.Amount, error) {
	total, err := currency.NewAmountFromInt64(0, code)
	for _, l := range lines {
		if err == nil {
			total, err = total.Add(l.Total)
		}
	}
	return total, err
}
