package currency

// The reference rates of one day, read from the European Central Bank's own document (eurofxref-daily.xml) and
// turned into rates for any base.

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"

	iso4217 "github.com/bojanz/currency"
	"github.com/cockroachdb/apd/v3"
)

// euro is the base of the ECB's rates. The document does not list it.
const euro = "EUR"

// firstRates are the ECB's reference rates of 2026-09-24: what the service starts with, and all it ever has
// without RATES_URL.
//
//go:embed rates.xml
var firstRates []byte

// The namespaces of the ECB's document. Another vocabulary may mean something else by a rate.
const (
	gesmesNamespace = "http://www.gesmes.org/xml/2002-08-01"
	ecbNamespace    = "http://www.ecb.int/vocabulary/2002-08-01/eurofxref"
)

// document is the part of the ECB's XML that carries the figures: Envelope > Cube > Cube time > Cube currency rate.
type document struct {
	XMLName xml.Name
	Outer   []struct {
		Days []struct {
			Time  string `xml:"time,attr"`
			Rates []struct {
				Currency string `xml:"currency,attr"`
				Rate     string `xml:"rate,attr"`
			} `xml:"http://www.ecb.int/vocabulary/2002-08-01/eurofxref Cube"`
		} `xml:"http://www.ecb.int/vocabulary/2002-08-01/eurofxref Cube"`
	} `xml:"http://www.ecb.int/vocabulary/2002-08-01/eurofxref Cube"`
}

// plainRate is how the ECB writes a rate. No sign, no exponent, and short enough that arithmetic on it is cheap
// whoever wrote the document.
var plainRate = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?$`)

// Rates are the reference rates of one day. They never change once read.
type Rates struct {
	day     time.Time               // midnight UTC
	perEuro map[string]*apd.Decimal // units of a currency for one euro, digits as published; the euro itself is 1
}

// Parse reads the ECB's daily document. It takes all of it or nothing, and its error names everything that is
// wrong: a missing or malformed date, a currency that ISO 4217 does not know, one listed twice, a rate that is
// not a positive decimal.
func Parse(doc []byte) (*Rates, error) {
	var d document
	decoder := xml.NewDecoder(bytes.NewReader(doc))
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("rates: not an XML document: %w", err)
	}
	if err := nothingAfter(decoder); err != nil {
		return nil, fmt.Errorf("rates: after the document: %w", err)
	}
	if want := (xml.Name{Space: gesmesNamespace, Local: "Envelope"}); d.XMLName != want {
		return nil, fmt.Errorf("rates: the document is a %q of %q, want an %q of %q",
			d.XMLName.Local, d.XMLName.Space, want.Local, want.Space)
	}
	if len(d.Outer) != 1 || len(d.Outer[0].Days) != 1 {
		return nil, errors.New("rates: want exactly one <Cube time=…> inside one <Cube> of " + ecbNamespace)
	}

	day := d.Outer[0].Days[0]
	rates := &Rates{perEuro: map[string]*apd.Decimal{euro: apd.New(1, 0)}}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("rates: "+format, args...)) }

	var err error
	if day.Time == "" {
		fault("the date (time=…) is missing")
	} else if rates.day, err = time.Parse(time.DateOnly, day.Time); err != nil {
		fault("the date %q is not a YYYY-MM-DD", day.Time)
	}
	if len(day.Rates) == 0 {
		fault("no currency is listed")
	}
	for _, r := range day.Rates {
		value, err := parseRate(r.Rate)
		switch {
		case r.Currency == euro:
			fault("EUR is listed, but is the base of all")
		case r.Currency == "" || !iso4217.IsValid(r.Currency): // IsValid allows ""
			fault("currency %q is unknown to ISO 4217", r.Currency)
		case rates.perEuro[r.Currency] != nil:
			fault("currency %q is listed twice", r.Currency)
		case err != nil:
			fault("currency %q: %w", r.Currency, err)
		default:
			rates.perEuro[r.Currency] = value
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return rates, nil
}

func parseRate(s string) (*apd.Decimal, error) {
	if !plainRate.MatchString(s) {
		return nil, fmt.Errorf("rate %q is not a plain decimal", s)
	}
	value, _, err := apd.NewFromString(s)
	if err != nil {
		return nil, fmt.Errorf("rate %q: %w", s, err)
	}
	if value.Sign() <= 0 {
		return nil, fmt.Errorf("rate %q is not positive", s)
	}
	return value, nil
}

// nothingAfter refuses a second element or text behind the first: a document glued to another is no document.
func nothingAfter(decoder *xml.Decoder) error {
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Comment, xml.ProcInst:
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text")
			}
		default:
			return fmt.Errorf("%T", token)
		}
	}
}

// AsOf is the day of the rates, YYYY-MM-DD.
func (r *Rates) AsOf() string { return r.day.Format(time.DateOnly) }

// Currencies lists the currencies that have a rate, EUR included, in alphabetical order.
func (r *Rates) Currencies() []string { return slices.Sorted(maps.Keys(r.perEuro)) }

// tenDigits is the arithmetic of a crossed rate: ten significant digits, a half rounded up (away from zero).
// It stays an error of at most 5·10⁻¹⁰ of the amount, below half a cent on anything under ten million.
var tenDigits = apd.Context{
	Precision:   10,
	Rounding:    apd.RoundHalfUp,
	MaxExponent: apd.MaxExponent,
	MinExponent: apd.MinExponent,
	Traps:       apd.DefaultTraps,
}

// For returns the units of each currency for one unit of base, as decimal strings, and false if base is unknown.
//
//   - base EUR: the published figures, digit for digit.
//   - any other base: perEuro[target] / perEuro[base], one division of the published figures, rounded once to ten
//     significant digits. A quotient that ends sooner is exact and has no trailing zeros; base to base is "1".
//     Toward EUR this is the reciprocal, by the same rule.
func (r *Rates) For(base string) (map[string]string, bool) {
	divisor, known := r.perEuro[base]
	if !known {
		return nil, false
	}
	table := make(map[string]string, len(r.perEuro))
	for target, perEuro := range r.perEuro {
		if base == euro {
			table[target] = perEuro.Text('f')
			continue
		}
		var quotient apd.Decimal
		// Parse bounds both to positive decimals of at most 18 digits: a division cannot fail.
		how, _ := tenDigits.Quo(&quotient, perEuro, divisor)
		if !how.Inexact() {
			quotient.Reduce(&quotient)
		}
		table[target] = quotient.Text('f')
	}
	return table, true
}
