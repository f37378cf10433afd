package gateway

import (
	"errors"
	"net"
	"net/http"
	"time"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

// When it is worth trying again. The catalogue's breaker lets the next call through after its cooldown; for an order
// a person is better told something that can be done once.
const (
	retryPage  = 5 * time.Second
	retryOrder = time.Minute
)

// try serves h, and a failure of h as problem details; of those problemPages makes a page where people read it.
func try(h func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			problem.Write(w, r, err)
		}
	}
}

// record lets the log know why a page says no, as problem.Write does for the others.
func record(r *http.Request, err error) { problem.Write(nowhere{}, r, err) }

// nowhere is where an answer goes that nobody gets.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

// because is a problem with the error behind it: the log sees both, the caller the problem.
type because struct {
	*problem.Problem
	cause error
}

func (b because) Error() string { return b.Problem.Error() + ": " + b.cause.Error() }
func (b because) Unwrap() error { return b.Problem }

// invalid is a request of which one field breaks a rule.
func invalid(field, message string) error {
	return problem.Invalid("The "+field+" "+message+".", problem.FieldError{Field: field, Message: message})
}

var (
	errNoBook  = problem.New(problem.NotFound, "The shop has no such book.")
	errNoOrder = problem.New(problem.NotFound,
		"The shop has no order of that number. Look at it again, letter by letter.")

	errCrossOrigin = problem.New(problem.Forbidden,
		"That came from another site, so nothing was done. If you meant it, do it again from the shop's own pages.")
	errCartChanged = problem.New(problem.InvalidRequest,
		"Your cart has changed since that page was shown, so nothing was ordered. "+
			"Look at your cart and order from there.")
	errCartEmpty = problem.New(problem.InvalidRequest, "Your cart is empty, so there is nothing to order.")
)

func notFound(http.ResponseWriter, *http.Request) error {
	return problem.New(problem.NotFound, "There is nothing at this address.")
}

// refused returns the problem in err that the called service answered on purpose (a 4xx), or nil.
func refused(err error) *problem.Problem {
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Status < http.StatusInternalServerError {
		return p
	}
	return nil
}

// catalogueError tells the caller of a call to the catalogue why there is no answer.
func catalogueError(err error) error {
	switch p := refused(err); {
	case p == nil:
		return because{problem.New(problem.Unavailable,
			"The shelves cannot be reached just now. Try again in 5 seconds.").After(retryPage), err}
	case p.Status == http.StatusNotFound:
		return because{errNoBook, err}
	default:
		return err
	}
}

// orderError is catalogueError for a call that would have placed an order.
func orderError(err error) error {
	if refused(err) != nil {
		return err
	}
	detail := "Orders are not being taken just now. Try again in a minute."
	if unsure(err) {
		detail = "We could not learn whether your order was taken. " +
			"Place it again in a minute: the same order is never taken twice."
	}
	return because{problem.New(problem.Unavailable, detail).After(retryOrder), err}
}

// unsure tells whether a failed call may have had its effect nonetheless: it was sent, and nothing that could be
// believed came back. A 503 is checkout's word that nothing was ordered.
func unsure(err error) bool {
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Status == http.StatusServiceUnavailable {
		return false
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return false
	}
	switch resilience.OutcomeOf(err) {
	case resilience.Rejected, resilience.ShortCircuited, resilience.Expired:
		return false
	default:
		return true
	}
}

// ordersError is catalogueError for a call that looks up an order.
func ordersError(err error) error {
	switch p := refused(err); {
	case p == nil:
		return because{problem.New(problem.Unavailable,
			"Orders cannot be looked up just now. Yours is safe; try again in 5 seconds.").After(retryPage), err}
	case p.Status == http.StatusNotFound:
		return because{errNoOrder, err}
	default:
		return err
	}
}
