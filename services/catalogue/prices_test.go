package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestD4Price(t *testing.T) {
	for _, c := range []struct{ usd, currency, rate, want string }{
		{"12.50", "USD", "", "12.50"},
		{"0.05", "USD", "", "0.05"},
		{"12.50", "EUR", "0.88", "11.00"},
		{"0.05", "EUR", "0.9", "0.05"},   // 0.045: half goes up
		{"0.05", "EUR", "0.89", "0.04"},  // 0.0445: not rounded twice
		{"10.01", "EUR", "0.5", "5.01"},  // 5.005
		{"9.05", "JPY", "147.5", "1335"}, // no minor unit
		{"1.00", "JPY", "147.5", "148"},
		{"12.50", "KWD", "0.3051", "3.814"}, // three digits: 3.81375
		{"90.00", "IDR", "16543.2109876543", "1488888.99"},
	} {
		got, err := tariff{currency: c.currency, rate: c.rate}.price(&Book{ID: "b", Price: usd(t, c.usd)})
		if err != nil || got.Number() != c.want || got.CurrencyCode() != c.currency {
			t.Errorf("%s USD at %s: got %v, error %v; want %s %s", c.usd, c.rate, got, err, c.want, c.currency)
		}
	}
}

func TestRatesRefuseWhatNoPriceShouldBeMadeWith(t *testing.T) {
	answer := func(rate string) string {
		return `{"base":"USD","as_of":"2026-09-24","rates":{"USD":"1","EUR":` + rate + `}}`
	}
	for _, doc := range []string{
		answer(`"0"`), answer(`"0.000"`), answer(`"-1"`), answer(`"+1"`), answer(`""`), answer(`"."`), answer(`".5"`),
		answer(`"NaN"`), answer(`"Infinity"`), answer(`"1e400000"`), answer(`"1,5"`), answer(`"1.2.3"`), answer(`"0x1"`),
		answer(`"` + strings.Repeat("9", 31) + `"`), answer(`0.88`), answer(`null`),
		`{}`, `null`, `[]`, `{"base":"USD","as_of":"2026-09-24"}`, `{"base":"USD","as_of":"2026-09-24","rates":{}}`,
		strings.Replace(someRates, `"base":"USD"`, `"base":"EUR"`, 1),
		strings.Replace(someRates, "2026-09-24", "yesterday", 1),
	} {
		var r rates
		if err := json.Unmarshal([]byte(doc), &r); err == nil {
			t.Errorf("accepted %s", doc)
		}
	}
}

func TestRatesLeaveOutWhatNoAmountCanBeWrittenIn(t *testing.T) {
	var r rates
	doc := `{"base":"USD","as_of":"2026-09-24","rates":{"USD":"1","EUR":"0.88","":"1","eur":"1","QQQ":"7"}}`
	if err := json.Unmarshal([]byte(doc), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.of) != 2 || r.of["EUR"] != "0.88" || r.of["USD"] != "1" {
		t.Errorf("got %v, want USD and EUR", r.of)
	}
}

// A rate that is accepted always makes a price, and one of whole minor units.
func TestEveryAcceptedRateMakesAPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{0,18})?`).Filter(isRate).Draw(t, "rate")
		code := rapid.SampledFrom([]string{"EUR", "JPY", "KWD"}).Draw(t, "currency")
		book := Book{ID: "b", Price: anyPrice(t, 1_000_000)}
		got, err := tariff{currency: code, rate: rate}.price(&book)
		if err != nil || !got.Round().Equal(got) || got.IsNegative() {
			t.Fatalf("%v at %s: got %v, error %v", book.Price, rate, got, err)
		}
	})
}
