package problem

import (
	"net/http"
	"time"
)

// Type is one kind of problem: a stable URI reference, a title and the status it usually has.
type Type struct {
	URI    string
	Title  string
	Status int
}

// The kinds of problem, all of them. A URI once published never changes its meaning. InvalidRequest has the extra
// member "errors", a list of FieldError, where fields are to blame.
var (
	// Any service.
	InvalidRequest   = Type{"/problems/invalid-request", "The request is not valid", http.StatusBadRequest}
	NotFound         = Type{"/problems/not-found", "There is no such thing here", http.StatusNotFound}
	MethodNotAllowed = Type{"/problems/method-not-allowed", "This cannot be done here", http.StatusMethodNotAllowed}
	TooLarge         = Type{"/problems/too-large", "The request is too large", http.StatusRequestEntityTooLarge}
	UnsupportedMedia = Type{"/problems/unsupported-media-type", "The request must be JSON", http.StatusUnsupportedMediaType}
	Forbidden        = Type{"/problems/forbidden", "This is not allowed", http.StatusForbidden}
	Overloaded       = Type{"/problems/overloaded", "Too much is being asked at once", http.StatusServiceUnavailable}
	Unavailable      = Type{"/problems/unavailable", "This cannot be done right now", http.StatusServiceUnavailable}
	Internal         = Type{"/problems/internal", "Something broke on our side", http.StatusInternalServerError}

	// Orders.
	KeyRequired     = Type{"/problems/idempotency-key-required", "An order needs an Idempotency-Key", http.StatusBadRequest}
	KeyReused       = Type{"/problems/idempotency-key-reused", "This key belongs to another order", http.StatusUnprocessableEntity}
	OrderInProgress = Type{"/problems/order-in-progress", "This order is being placed", http.StatusConflict}
	QuoteChanged    = Type{"/problems/quote-changed", "The total has changed", http.StatusConflict}
	OutOfStock      = Type{"/problems/out-of-stock", "Not enough copies are left", http.StatusConflict}
	StoreFull       = Type{"/problems/store-full", "No more orders can be kept", http.StatusServiceUnavailable}
)

// Types lists every kind, for documentation and tests.
var Types = []Type{
	InvalidRequest, NotFound, MethodNotAllowed, TooLarge, UnsupportedMedia, Forbidden, Overloaded, Unavailable, Internal,
	KeyRequired, KeyReused, OrderInProgress, QuoteChanged, OutOfStock, StoreFull,
}

// New returns a problem of kind t; detail tells this occurrence.
func New(t Type, detail string) *Problem {
	return &Problem{Type: t.URI, Title: t.Title, Status: t.Status, Detail: detail}
}

// Invalid returns an InvalidRequest that tells every broken rule at once.
func Invalid(detail string, errs ...FieldError) *Problem {
	p := New(InvalidRequest, detail)
	if len(errs) > 0 { // else the detail is all that is known
		p = p.With("errors", errs)
	}
	return p
}

// With adds a member to p and returns p.
func (p *Problem) With(name string, value any) *Problem {
	if p.Extra == nil {
		p.Extra = make(map[string]any, 1)
	}
	p.Extra[name] = value
	return p
}

// After sets p's RetryAfter and returns p.
func (p *Problem) After(d time.Duration) *Problem {
	p.RetryAfter = d
	return p
}

// Is tells whether p is of kind t: problem.QuoteChanged.Is(p).
func (t Type) Is(p *Problem) bool { return p != nil && p.Type == t.URI }
