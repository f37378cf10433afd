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
// Its State and Counts are never asked by a scrape: State moves the state. All fields are guarded by the endpoint's
// mutex; gobreaker's callbacks, which run under a lock of its own, are not used for anything but constants.
type breaker struct {
	rules   Breaker
	slots   int
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

func newBreaker(rules Breaker, slots int, now time.Time) *breaker {
	return &breaker{
		rules: rules,
		slots: slots,
		machine: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests: uint32(max(1, rules.Probes)),
			Timeout:     1, // ns: probesAt keeps the time
			ReadyToTrip: func(gobreaker.Counts) bool { return true },
			IsExcluded:  func(err error) bool { return err == errNeutral },
		}),
		window: window{start: now, length: rules.Window},
	}
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
	t := ticket{breaker: b, generation: b.generation}
	if b.state == gobreaker.StateClosed {
		return t, true
	}
	if now.Before(b.probesAt) {
		return ticket{}, false
	}
	done, err := b.machine.Allow()
	if err != nil {
		return ticket{}, false
	}
	b.enter(gobreaker.StateHalfOpen, now)
	t.generation, t.probe = b.generation, done
	return t, true
}

// verdict is what a result means to the breaker: healthy, or a sum of what was wrong with it, or nothing at all.
type verdict uint8

const (
	healthy verdict = 0
	slow    verdict = 1 // timed out, or answered after SlowAfter
	failed  verdict = 2 // did not succeed
	neutral verdict = 4 // says nothing of the dependency
)

// report counts a result, once for each ticket. slowInFlight is how many calls are older than SlowAfter and not back.
func (b *breaker) report(t ticket, v verdict, slowInFlight int, now time.Time) {
	if b == nil || t.breaker != b {
		return // the policy got another breaker since
	}
	if t.probe != nil {
		b.reportProbe(t, v, now)
		return
	}
	if t.generation != b.generation || v == neutral || now.Before(b.settled) {
		return
	}
	b.window.add(v, now)
	switch {
	case v == healthy:
		b.consecutive = 0
	case v&failed != 0:
		b.consecutive++
	}
	b.judge(slowInFlight, now)
}

func (b *breaker) reportProbe(t ticket, v verdict, now time.Time) {
	var err error
	switch v {
	case healthy:
	case neutral:
		err = errNeutral // gives the place back
	default:
		err = errUnsuccessful
	}
	t.probe(err)
	if t.generation == b.generation {
		b.enter(b.machine.State(), now)
	}
}

// judge opens a closed breaker if a rule says so.
func (b *breaker) judge(slowInFlight int, now time.Time) {
	if b == nil || b.state != gobreaker.StateClosed || now.Before(b.settled) {
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
		b.trip(now)
	}
}

// reached tells whether n of total is at least the rate, where the total is enough to tell.
func reached(rate float64, n, total, enough int) bool {
	return rate > 0 && n > 0 && total >= enough && float64(n) >= rate*float64(total)
}

func (b *breaker) trip(now time.Time) {
	done, err := b.machine.Allow()
	if err != nil {
		return // not closed after all
	}
	done(errUnsuccessful)
	b.enter(gobreaker.StateOpen, now)
}

// enter notes the state that the machine is in.
func (b *breaker) enter(state gobreaker.State, now time.Time) {
	if state == b.state {
		return
	}
	b.state = state
	b.generation++
	b.consecutive = 0
	b.window.clear()
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
	if b.state == gobreaker.StateOpen {
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
