package checkout

import (
	"math/big"
	"strings"
	"testing"

	"github.com/bojanz/currency"
	"pgregory.net/rapid"
)

// D4: amounts with cents, currencies of no and of three minor digits, nothing that is no plain decimal.
func TestD4ShownTotals(t *testing.T) {
	tests := []struct {
		number, code string
		want         string // "" is an error
	}{
		{"21.40", "EUR", "21.40"},
		{"21.4", "EUR", "21.40"},
		{"21", "EUR", "21.00"},
		{"0", "EUR", "0.00"},
		{"0.01", "USD", "0.01"},
		{"999999999999.99", "USD", "999999999999.99"},
		{"2140", "JPY", "2140"},
		{"6.705", "KWD", "6.705"},
		{"6.7", "KWD", "6.700"},

		{"21.401", "EUR", ""},
		{"21.400", "EUR", ""},
		{"2140.0", "JPY", ""},
		{"6.7051", "KWD", ""},
		{"1000000000000", "USD", ""},
		{"", "EUR", ""},
		{"-21.40", "EUR", ""},
		{"+21.40", "EUR", ""},
		{"021.40", "EUR", ""},
		{"21,40", "EUR", ""},
		{"21.", "EUR", ""},
		{".40", "EUR", ""},
		{"2.14e1", "EUR", ""},
		{"0x15", "EUR", ""},
		{"NaN", "EUR", ""},
		{"Infinity", "EUR", ""},
		{" 21.40", "EUR", ""},
		{"21.40", "QQQ", ""},
		{"21.40", "", ""},
	}
	for _, tt := range tests {
		got, err := parseTotal(tt.number, tt.code)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%q %s is taken as %v", tt.number, tt.code, got)
		case tt.want != "" && err != nil:
			t.Errorf("%q %s: %v", tt.number, tt.code, err)
		case tt.want != "" && got.String() != tt.want+" "+tt.code:
			t.Errorf("%q %s is %v, want %s", tt.number, tt.code, got, tt.want)
		}
	}
}

// D4: a converted price is rounded half up, at the minor unit of the currency that it is converted to.
func TestD4ConvertedPrices(t *testing.T) {
	tests := []struct{ cents, code, rate, want string }{
		{"12.50", "USD", "1", "12.50"},
		{"12.50", "EUR", "0.8797395971", "11.00"},   // 10.9967…
		{"12.50", "JPY", "158.8545790", "1986"},     // 1985.68…
		{"10.00", "KWD", "0.3054500000", "3.055"},   // 3.0545
		{"10.00", "EUR", "0.8795", "8.80"},          // 8.795: the half goes up
		{"10.00", "EUR", "0.8794999999", "8.79"},    // 8.794999999: just below the half
		{"9.99", "IDR", "17932.69992", "179147.67"}, // IDR has two digits in ISO 4217
	}
	for _, tt := range tests {
		price, err := currency.NewAmount(tt.cents, "USD")
		if err != nil {
			t.Fatal(err)
		}
		got, err := convert(price, tt.code, tt.rate)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != tt.want+" "+tt.code {
			t.Errorf("%s USD at %s: %v, want %s %s", tt.cents, tt.rate, got, tt.want, tt.code)
		}
	}
}

// D4: whatever is bought, a unit is the exact product rounded half up once, a line is unit × quantity and the total
// is their sum, without any digit below the minor unit. Checked against rational arithmetic.
func TestD4TotalsAreSumsOfRoundedUnits(t *testing.T) {
	minor := map[string]int64{"USD": 100, "EUR": 100, "JPY": 1, "KWD": 1000}
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"USD", "EUR", "JPY", "KWD"}).Draw(t, "currency")
		rate := rapid.StringMatching(`[1-9][0-9]{0,4}\.[0-9]{1,9}`).Draw(t, "rate")
		prices := make(map[string]currency.Amount)
		var items []Item
		want := new(big.Int)
		for i := range rapid.IntRange(1, maxItems).Draw(t, "items") {
			book := "book-" + strings.Repeat("i", i+1)
			price := rapid.Int64Range(1, 1_000_000).Draw(t, "cents")
			quantity := rapid.IntRange(1, maxQuantity).Draw(t, "quantity")
			prices[book] = cents(price)
			items = append(items, Item{book, quantity})

			exact, _ := new(big.Rat).SetString(rate)
			exact.Mul(exact, big.NewRat(price*minor[code], 100))
			exact.Add(exact, big.NewRat(1, 2)) // half up is floor(x + ½)
			unit := new(big.Int).Quo(exact.Num(), exact.Denom())
			want.Add(want, unit.Mul(unit, big.NewInt(int64(quantity))))
		}
		q, err := priced(items, prices, code, rate, priceChanged)
		if err != nil {
			t.Fatal(err)
		}
		if q.total.BigInt().Cmp(want) != 0 || !q.total.Equal(q.total.Round()) {
			t.Fatalf("total %v, want %v minor units", q.total, want)
		}
		if again, err := parseTotal(q.total.Number(), code); err != nil || !again.Equal(q.total) {
			t.Fatalf("total %v cannot be sent back: %v, %v", q.total, again, err)
		}
	})
}
