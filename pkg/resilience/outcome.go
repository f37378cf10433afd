package resilience

import (
	"context"
	"errors"
	"time"
)

// Outcome is how an attempt ended: exactly one of a closed list. Metrics, logs and breakers all use it.
type Outcome uint8

const (
	// Success: the dependency answered, be it with a 404.
	Success Outcome = iota
	// Failure: it answered with an error, or not in full.
	Failure
	// Timeout: the attempt was sent and its time, its own or its caller's, ran out.
	Timeout
	// Rejected: no slot was free; nothing was sent.
	Rejected
	// ShortCircuited: the breaker is open; nothing was sent.
	ShortCircuited
	// Cancelled: the caller left.
	Cancelled
	// Expired: no time was left to try; nothing was sent.
	Expired
	// Panicked: the call's own function panicked.
	Panicked
)

// Outcomes lists every outcome in the order of their values.
var Outcomes = [...]Outcome{Success, Failure, Timeout, Rejected, ShortCircuited, Cancelled, Expired, Panicked}

var outcomeNames = [len(Outcomes)]string{
	"success", "failure", "timeout", "rejected", "short_circuited", "cancelled", "expired", "panicked",
}

func (o Outcome) String() string { return outcomeNames[o] }

// Error is what a guarded call returns when it did not succeed. It unwraps to the function's own error; whatever that
// is, a timeout is context.DeadlineExceeded to errors.Is, and a cancelled call context.Canceled.
type Error struct {
	Dependency string
	Endpoint   string
	Outcome    Outcome
	Err        error
	// RetryAfter is how long the dependency asked to be left alone, at most an hour; 0: it did not.
	RetryAfter time.Duration

	final bool // must not be repeated
}

func (e *Error) Error() string {
	s := e.Dependency + "/" + e.Endpoint + ": " + e.Outcome.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes the outcome count where the error that came with it is of another kind: a cancel's cause, for instance.
func (e *Error) Is(target error) bool {
	return e.Outcome == Timeout && target == context.DeadlineExceeded ||
		e.Outcome == Cancelled && target == context.Canceled
}

// Timeout reports whether the call ran out of time, for code that asks net.Error.
func (e *Error) Timeout() bool { return e.Outcome == Timeout }

// OutcomeOf tells how the call that returned err ended: Success where no guarded call failed.
func OutcomeOf(err error) Outcome {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Outcome
	}
	return Success
}

// Why nothing was sent.
var (
	errNoSlot  = errors.New("no slot is free")
	errOpen    = errors.New("the breaker is open")
	errExpired = errors.New("no time is left for an attempt")
)

// Expected marks err as an answer of a healthy dependency, no rows for instance: Call counts a success and returns
// err itself, without fallback or retry. The status codes 400 to 499 seen by a joined Client need no mark; 429 is a
// failure all the same, since it says that the dependency has not the capacity.
func Expected(err error) error {
	if err == nil {
		return nil
	}
	return &expectedError{err}
}

type expectedError struct{ error }

func (e *expectedError) Unwrap() error { return e.error }

// Permanent marks err as one that no waiting heals, a revoked key for instance: Call counts a failure and does not
// repeat it, and the endpoint's breaker opens at once, whatever its rules.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// endedBy tells who ended an attempt that was sent, by asking its context and not the error. Only its caller cancels
// it; a caller that leaves after its time was over changes nothing.
func endedBy(attempt context.Context) Outcome {
	switch {
	case errors.Is(attempt.Err(), context.Canceled):
		return Cancelled
	case isOver(attempt, time.Now()):
		return Timeout
	default:
		return Failure
	}
}

// isOver tells whether ctx has ended, or is about to: a context's timer may ring a moment after its deadline, and
// who heeds the deadline by a timer of its own is then before it.
func isOver(ctx context.Context, now time.Time) bool {
	if ctx.Err() != nil {
		return true
	}
	latest, ok := ctx.Deadline()
	return ok && !now.Before(latest)
}
