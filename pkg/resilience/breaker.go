package resilience

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sony/gobreaker/v2"
)

// breaker decides when to stop calling one endpoint. gobreaker keeps the states, the half-open quota and the
// generations; what it cannot know is kept here, because its closed state counts one kind of failure and none of
// the calls in flight: the tallies of the window, the time of the next probe with its jitter, and the decision to
// open. So gobreaker is told nothing while closed but the one failure that opens it.
//
// Its State and Counts are never asked: State moves the state, and so does a late result. The state is noted when
// gobreaker tells of a change, under a lock of its own, and noting it asks gobreaker nothing. All fields are guarded
// by the endpoint's mutex.
type breaker struct {
	rules   Breaker
	slots   int
	flight  *flight // the endpoint's
	machine *gobreaker.TwoStepCircuitBreaker[struct{}]
	state   gobreaker.State
	// generation tells results of calls begun before a change of state from those after it.
	generation  uint64
	probesAt    time.Time // when an open breaker lets probes through
	settled     time.Time // until when results are ignored
	window      window
	consecutive int
}

var (
	errUnsuccessful = errors.New("unsuccessful")
	errNeutral      = errors.New("neither success nor failure")
)

func newBreaker(rules Breaker, slots int, flight *flight, now time.Time) *breaker {
	flight.forget()
	b := &breaker{rules: rules, slots: slots, flight: flight, window: window{start: now, length: rules.Window}}
	b.machine = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:   uint32(max(1, rules.Probes)),
		Timeout:       time.Nanosecond, // probesAt keeps the time
		ReadyToTrip:   func(gobreaker.Counts) bool { return true },
		IsExcluded:    func(err error) bool { return err == errNeutral },
		OnStateChange: func(_ string, _, to gobreaker.State) { b.enter(to, time.Now()) },
	})
	if rules.Mode == ForcedOpen {
		b.state, b.probesAt = gobreaker.StateOpen, now.Add(Unbounded)
	}
	return b
}

// ticket is the breaker's leave for one call, to be handed back with its result.
type ticket struct {
	breaker    *breaker // nil: none
	generation uint64
	probe      func(error) // gobreaker's done, at half-open
}

// admit gives leave for a call, or reports false while the breaker is open or has probes enough.
func (b *breaker) admit(now time.Time) (ticket, bool) {
	if b == nil {
		return ticket{}, true
	}
	if b.state == gobreaker.StateClosed {
		return ticket{breaker: b, generation: b.generation}, true
	}
	if !now.Before(b.probesAt) {
		if done, err := b.machine.Allow(); err == nil { // half-open now, if it was not
			return ticket{breaker: b, generation: b.generation, probe: done}, true
		}
	}
	return ticket{}, false
}

// verdict is what a result means to the breaker: healthy, or a sum of what was wrong with it, or nothing at all.
type verdict uint8

const (
	healthy   verdict = 0
	slow      verdict = 1 // timed out, or answered after SlowAfter
	failed    verdict = 2 // did not succeed
	permanent verdict = 4 // and no waiting heals it
	neutral   verdict = 8 // says nothing of the dependency
)

// report counts a result, once for each ticket, unless the breaker has changed its state, or the policy its breaker,
// since the call began.
func (b *breaker) report(t ticket, v verdict, slowAfter time.Duration, now time.Time) {
	if b == nil || t.breaker != b || t.generation != b.generation {
		return
	}
	if t.probe != nil {
		t.probe(v.err())
		return
	}
	if v == neutral || now.Before(b.settled) {
		return
	}
	b.window.add(v, now)
	switch {
	case v&permanent != 0:
		b.trip()
		return
	case v&failed != 0:
		b.consecutive++
	default:
		b.consecutive = 0
	}
	b.judge(b.flight.slow(now, slowAfter), now)
}

// err is how gobreaker is told of a probe.
func (v verdict) err() error {
	switch v {
	case healthy:
		return nil
	case neutral:
		return errNeutral // gives the place back
	default:
		return errUnsuccessful
	}
}

// look judges by the calls in flight, when no result has come in: all slots may be hung.
func (b *breaker) look(slowAfter time.Duration, now time.Time) {
	if b == nil || b.state != gobreaker.StateClosed {
		return
	}
	if n := b.flight.slow(now, slowAfter); n > 0 {
		b.judge(n, now)
	}
}

// judge opens a closed breaker if a rule says so.
func (b *breaker) judge(slowInFlight int, now time.Time) {
	if b.state != gobreaker.StateClosed || now.Before(b.settled) {
		return
	}
	sum := b.window.sum(now)
	all, enough := sum.total+slowInFlight, b.rules.MinRequests
	if slowInFlight > 0 {
		enough = min(enough, b.slots)
	}
	if b.rules.Consecutive > 0 && b.consecutive >= b.rules.Consecutive ||
		reached(b.rules.TimeoutRate, sum.slow+slowInFlight, all, enough) ||
		reached(b.rules.FailureRate, sum.failed, sum.total, b.rules.MinRequests) {
		b.trip()
	}
}

// reached tells whether n of total is at least the rate, where the total is enough to tell. One is never enough,
// however few the slots: a hiccup must not open a breaker.
func reached(rate float64, n, total, enough int) bool {
	return rate > 0 && n > 1 && total >= enough && float64(n) >= rate*float64(total)
}

func (b *breaker) trip() {
	if done, err := b.machine.Allow(); err == nil { // it is closed, so it allows
		done(errUnsuccessful)
	}
}

// enter notes the state that the machine is in now. Calls of the state before mean nothing in this one, those still
// in flight included: else the hung calls that opened a breaker would open it again when it has just closed.
func (b *breaker) enter(state gobreaker.State, now time.Time) {
	b.state = state
	b.generation++
	b.consecutive = 0
	b.window.clear()
	b.flight.forget()
	if state == gobreaker.StateOpen {
		b.probesAt = now.Add(jitter(b.rules.Cooldown))
	}
}

// jitter returns d give or take a tenth.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1))
}

func (b *breaker) read() (state string, probesAt time.Time) {
	if b == nil {
		return "none", time.Time{}
	}
	if b.state == gobreaker.StateOpen && b.rules.Mode != ForcedOpen {
		probesAt = b.probesAt
	}
	return b.state.String(), probesAt
}

// tally is what the results of a while come to.
type tally struct{ total, slow, failed int }

const windowBuckets = 10

// window sums results over the last length of time, in steps of a tenth of it.
type window struct {
	start   time.Time // steps are counted from here, so that only the monotonic clock matters
	length  time.Duration
	buckets [windowBuckets]tally
	step    int64 // of the newest bucket
}

func (w *window) clear() { w.buckets = [windowBuckets]tally{} }

func (w *window) add(v verdict, now time.Time) {
	w.advance(now)
	b := &w.buckets[w.step%windowBuckets]
	b.total++
	if v&slow != 0 {
		b.slow++
	}
	if v&failed != 0 {
		b.failed++
	}
}

func (w *window) sum(now time.Time) (sum tally) {
	w.advance(now)
	for _, b := range w.buckets {
		sum.total += b.total
		sum.slow += b.slow
		sum.failed += b.failed
	}
	return sum
}

// advance empties the buckets that have aged out.
func (w *window) advance(now time.Time) {
	step := int64(now.Sub(w.start) / max(1, w.length/windowBuckets))
	for behind := min(step-w.step, windowBuckets); behind > 0; behind-- {
		w.buckets[(step-behind+1)%windowBuckets] = tally{}
	}
	w.step = max(w.step, step)
}
