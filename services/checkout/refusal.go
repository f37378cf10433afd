package checkout

// Every way in which an order is refused, in words for the person who wanted it.

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/holdfast/internal/problem"
)

// tryAgainAfter is long enough for an order in progress to end, and for a hiccup to pass.
const tryAgainAfter = time.Second

// refusal turns what a Store refuses into a problem. Other errors pass unchanged: they are nobody's business but the
// log's.
func refusal(err error) error {
	short, isShort := errors.AsType[*ShortError](err)
	switch {
	case isShort:
		return problem.New(problem.OutOfStock, "Nothing was ordered. "+short.sentence()).With("short", short.Short)
	case errors.Is(err, ErrKeyReused):
		return problem.New(problem.KeyReused,
			"Another order came with this Idempotency-Key. Nothing was changed: send a new order with a new key.")
	case errors.Is(err, ErrInProgress), errors.Is(err, ErrClaimLost):
		return problem.New(problem.OrderInProgress,
			"This order is being placed at this moment. Ask again with the same key to learn how it ended.").
			After(tryAgainAfter)
	case errors.Is(err, ErrFull):
		return problem.New(problem.StoreFull, "The shop cannot keep any more orders. Nothing was ordered.")
	case errors.Is(err, ErrNotFound):
		return problem.New(problem.NotFound, "There is no order with this id.")
	default:
		return err
	}
}

// unavailable refuses an order that cannot be priced. The cause is for the log, not for the person.
func unavailable(what string, cause error) error {
	p := problem.New(problem.Unavailable, what+" Nothing was ordered: try again with the same key.").After(tryAgainAfter)
	// %v, not %w: the problem decides the answer, whatever the cause is.
	return fmt.Errorf("%w (%v)", p, cause)
}

// unprocessable refuses an order that is well formed but names what the shop does not have.
func unprocessable(faults ...problem.FieldError) error {
	p := problem.Invalid("The order names something that the shop does not have. Nothing was ordered.", faults...)
	p.Status = http.StatusUnprocessableEntity
	return p
}

// changed tells a person the new quote, and asks for a yes.
func changed(q quote) error {
	detail := "The total is now " + q.total.String() + ". "
	if q.reason == currencyUnavailable {
		detail = "Prices cannot be converted right now, so the total is " + q.total.String() + ". "
	}
	detail += "Nothing was ordered: to accept, send this total and currency with the same key."
	return problem.New(problem.QuoteChanged, detail).
		With("reason", q.reason).
		With("quote", quoteJSON{Items: linesJSON(q.lines), Total: q.total, Currency: q.total.CurrencyCode()})
}
