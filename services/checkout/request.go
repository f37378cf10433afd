package checkout

// What comes in with POST /orders, and what is wrong with it.

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
)

// The bounds of an order.
const (
	maxItems    = 30
	maxQuantity = 99
	maxKey      = 64       // bytes of an Idempotency-Key
	maxRequest  = 16 << 10 // bytes of a body; thirty of the longest items take 5 KiB
)

// orderShape is what the body of an order must be.
const orderShape = "must be one JSON object: items, currency and expected_total"

// keyHeader carries the key that makes repeating an order harmless.
const keyHeader = "Idempotency-Key"

// readKey returns the one idempotency key of the request: 1 to 64 printable ASCII characters.
func readKey(h http.Header) (string, error) {
	keys := h.Values(keyHeader)
	if len(keys) == 0 || keys[0] == "" {
		return "", problem.New(problem.KeyRequired,
			"Send an "+keyHeader+" header of 1 to 64 characters: new for a new order, the same when this one is tried again.")
	}
	key := keys[0]
	unprintable := strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if len(keys) > 1 || len(key) > maxKey || unprintable {
		return "", problem.Invalid("The "+keyHeader+" header cannot be used as it is.",
			problem.FieldError{Field: keyHeader, Message: "must be given once, as 1 to 64 printable ASCII characters"})
	}
	return key, nil
}

// readRequest decodes and checks an order. Its error is a problem that names everything that is wrong with the order.
func readRequest(w http.ResponseWriter, r *http.Request) (Request, error) {
	var body struct {
		Items []struct {
			Book     string `json:"book"`
			Quantity int    `json:"quantity"`
		} `json:"items"`
		Currency string `json:"currency"`
		Expected string `json:"expected_total"`
	}
	if err := service.RequireJSON(r); err != nil {
		return Request{}, err
	}
	doc, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil { // the chassis has read it whole: only its length can be wrong
		return Request{}, problem.New(problem.TooLarge, fmt.Sprintf("An order has at most %d bytes.", maxRequest))
	}
	if broken := service.DecodeJSON(doc, &body, orderShape); broken != nil {
		return Request{}, problem.Invalid("The order cannot be read. Nothing was ordered.", *broken)
	}

	var faults []problem.FieldError
	fault := func(field, format string, args ...any) {
		faults = append(faults, problem.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	switch n := len(body.Items); {
	case n == 0:
		fault("items", "must name at least one book")
	case n > maxItems:
		fault("items", "has %d entries, at most %d are taken", n, maxItems)
		body.Items = nil // or the answer would have as many faults as the order has entries
	}
	req := Request{Currency: body.Currency}
	seen := make(map[string]bool, len(body.Items))
	for i, item := range body.Items {
		switch {
		case !seed.ValidID(item.Book):
			fault(fmt.Sprintf("items[%d].book", i), "is not the id of a book")
		case seen[item.Book]:
			fault(fmt.Sprintf("items[%d].book", i), "%s is already in this order: ask for more copies instead", item.Book)
		}
		seen[item.Book] = true
		if item.Quantity < 1 || item.Quantity > maxQuantity {
			fault(fmt.Sprintf("items[%d].quantity", i), "must be from 1 to %d", maxQuantity)
		}
		req.Items = append(req.Items, Item(item))
	}
	if body.Currency == "" || !currency.IsValid(body.Currency) { // IsValid allows ""
		fault("currency", "must be the three capital letters of a currency (ISO 4217), such as USD")
	}
	expected, err := parseTotal(body.Expected, body.Currency)
	if err != nil {
		fault("expected_total", "%s", err)
	}
	if len(faults) > 0 {
		return Request{}, problem.Invalid("The order cannot be taken as it is. Nothing was ordered.", faults...)
	}
	req.Expected = expected
	return req, nil
}
