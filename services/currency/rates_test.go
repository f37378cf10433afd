package currency

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The embedded document is the ECB's of the day that the service claims, with all it lists.
func TestFirstRatesAreTheECBsOfTheDay(t *testing.T) {
	r, err := Parse(firstRates)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.AsOf(), "2026-09-24"; got != want {
		t.Errorf("as of %s, want %s", got, want)
	}
	want := strings.Fields("AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP " +
		"PLN RON SEK SGD THB TRY USD ZAR")
	if diff := cmp.Diff(want, r.Currencies()); diff != "" {
		t.Errorf("currencies (-want +got):\n%s", diff)
	}
}

// The expected figures were computed apart from this code: bc with scale 20, rounded by hand.
func TestRatesForABase(t *testing.T) {
	r, err := Parse(firstRates)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, base, target, want string }{
		{"published, digit for digit", "EUR", "USD", "1.1367"},
		{"published, trailing zeros kept", "EUR", "ISK", "138.00"},
		{"base to itself", "EUR", "EUR", "1"},
		{"base to itself, crossed", "USD", "USD", "1"},
		{"reciprocal", "USD", "EUR", "0.8797395971"},
		{"crossed", "USD", "GBP", "0.7564528899"},
		{"crossed, digits before the point count", "USD", "JPY", "158.8545790"},
		{"crossed, large", "USD", "IDR", "17932.69992"},
		{"crossed, small: ten significant digits, not ten decimals", "IDR", "EUR", "0.00004905784410"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, ok := r.For(tt.base)
			if !ok {
				t.Fatalf("base %s is unknown", tt.base)
			}
			if got := table[tt.target]; got != tt.want {
				t.Errorf("%s for one %s: %s, want %s", tt.target, tt.base, got, tt.want)
			}
		})
	}
	for _, base := range []string{"", "KWD", "usd", "XXX"} {
		if _, ok := r.For(base); ok {
			t.Errorf("base %q is known", base)
		}
	}
}

// Every crossed rate is within half a unit of its tenth digit of the exact quotient, whatever the figures.
func TestCrossedRatesAreTheQuotientRoundedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		figure := rapid.StringMatching(`[1-9][0-9]{0,5}(\.[0-9]{1,5})?`)
		base, target := figure.Draw(t, "base"), figure.Draw(t, "target")
		r, err := Parse(docOf("2026-09-24", "USD", base, "GBP", target))
		if err != nil {
			t.Fatal(err)
		}
		table, _ := r.For("USD")

		exact := new(big.Rat).Quo(rat(t, target), rat(t, base))
		got := rat(t, table["GBP"])
		slack := new(big.Rat).Sub(got, exact)
		slack.Abs(slack).Quo(slack, exact)
		if slack.Cmp(big.NewRat(5, 1e10)) > 0 {
			t.Fatalf("%s / %s = %s, off by %s of it", target, base, table["GBP"], slack.FloatString(15))
		}
		if digits := strings.TrimLeft(strings.ReplaceAll(table["GBP"], ".", ""), "0"); len(digits) > 10 &&
			strings.TrimRight(digits[10:], "0") != "" {
			t.Fatalf("%s has more than ten significant digits", table["GBP"])
		}
	})
}

func TestParseNamesEveryFault(t *testing.T) {
	tests := []struct {
		name string
		doc  []byte
		want []string
	}{
		{"not XML", []byte(`{"USD":"1.1"}`), []string{"not an XML document"}},
		{"empty", nil, []string{"not an XML document"}},
		{"cut short", firstRates[:len(firstRates)-40], []string{"not an XML document"}},
		{"two documents", bytes.Repeat(docOf("2026-09-24", "USD", "1.1"), 2), []string{"after the document"}},
		{"text behind", append(docOf("2026-09-24", "USD", "1.1"), "noise"...), []string{"after the document"}},
		{"another root", []byte(`<Envelope/>`), []string{`"Envelope"`, gesmesNamespace}},
		{
			"another vocabulary",
			bytes.ReplaceAll(firstRates, []byte(ecbNamespace), []byte("urn:other")),
			[]string{"exactly one", ecbNamespace},
		},
		{"no date", docOf("", "USD", "1.1"), []string{"the date (time=…) is missing"}},
		{"no such date", docOf("2026-02-30", "USD", "1.1"), []string{`date "2026-02-30"`}},
		{"no currency", docOf("2026-09-24"), []string{"no currency is listed"}},
		{"currency unknown", docOf("2026-09-24", "QQQ", "1.1"), []string{`"QQQ" is unknown to ISO 4217`}},
		{"currency empty", docOf("2026-09-24", "", "1.1"), []string{`"" is unknown to ISO 4217`}},
		{"the base listed", docOf("2026-09-24", "EUR", "1"), []string{"EUR is listed"}},
		{"listed twice", docOf("2026-09-24", "USD", "1.1", "USD", "1.2"), []string{`"USD" is listed twice`}},
		{"rate missing", docOf("2026-09-24", "USD", ""), []string{`"USD"`, `rate "" is not`}},
		{"rate zero", docOf("2026-09-24", "USD", "0.00"), []string{`"USD"`, `rate "0.00" is not positive`}},
		{"rate negative", docOf("2026-09-24", "USD", "-1.1"), []string{`"USD"`, `rate "-1.1"`}},
		{"rate with a comma", docOf("2026-09-24", "USD", "1,1"), []string{`rate "1,1"`}},
		{"rate no number", docOf("2026-09-24", "USD", "NaN"), []string{`rate "NaN"`}},
		{"rate with an exponent", docOf("2026-09-24", "USD", "1e99999"), []string{`rate "1e99999"`}},
		{
			"all at once",
			docOf("", "QQQ", "1", "JPY", "0", "GBP", "x"),
			[]string{"date", `"QQQ"`, `"JPY"`, `"GBP"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.doc)
			if err == nil {
				t.Fatal("taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(firstRates)
	f.Add(docOf("2026-09-24", "USD", "0.000000001", "IDR", "999999999.999999999"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := Parse(doc)
		if err != nil {
			return
		}
		for _, base := range r.Currencies() {
			table, ok := r.For(base)
			if !ok || len(table) != len(r.Currencies()) {
				t.Fatalf("base %s: %v, %v", base, table, ok)
			}
		}
	})
}

// docOf writes the ECB's form around pairs of currency and rate.
func docOf(day string, pairs ...string) []byte {
	var b strings.Builder
	b.WriteString(`<gesmes:Envelope xmlns:gesmes="` + gesmesNamespace + `" xmlns="` + ecbNamespace + `"><Cube>`)
	b.WriteString(`<Cube time='` + day + `'>`)
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString(`<Cube currency='` + pairs[i] + `' rate='` + pairs[i+1] + `'/>`)
	}
	b.WriteString(`</Cube></Cube></gesmes:Envelope>`)
	return []byte(b.String())
}

func rat(t *rapid.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return r
}
