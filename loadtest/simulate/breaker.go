package simulate

import (
	"math/rand/v2"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// breaker opens and closes as that of package resilience does, which tells why. The nil breaker admits everything.
type breaker struct {
	clock      *clock
	chance     *rand.Rand
	rules      resilience.Breaker
	slots      int
	noJitter   bool
	state      string // closed, open or half-open
	changes    func(state string)
	generation int
	probesAt   time.Duration // when open: from when on it lets probes through
	probes     int           // let through since it is half-open
	successes  int           // of them, in a row
	settled    time.Duration // until when results are ignored
	window     window
	row        int        // consecutive failures
	young      []*attempt // in flight and not known to be slow, oldest first; some may have ended
	slow       int        // in flight and known to be
}

func newBreaker(c *clock, chance *rand.Rand, rules resilience.Breaker, slots int, changes func(string)) *breaker {
	if rules == (resilience.Breaker{}) {
		return nil
	}
	b := &breaker{clock: c, chance: chance, rules: rules, slots: slots, state: "closed", changes: changes}
	b.window = window{start: c.now, length: rules.Window}
	return b
}

// ticket is the leave for one attempt.
type ticket struct {
	breaker    *breaker
	generation int
	probe      bool
}

func (b *breaker) admit() (ticket, bool) {
	switch {
	case b == nil:
		return ticket{}, true
	case b.state == "closed":
		return ticket{breaker: b, generation: b.generation}, true
	case b.clock.now < b.probesAt:
		return ticket{}, false
	case b.state == "open":
		b.enter("half-open")
	}
	if b.probes >= max(1, b.rules.Probes) {
		return ticket{}, false
	}
	b.probes++
	return ticket{breaker: b, generation: b.generation, probe: true}, true
}

// verdict is what a result means to the breaker.
type verdict struct{ slow, failed, neutral bool }

func (b *breaker) report(t ticket, v verdict, slowAfter time.Duration) {
	if b == nil || t.breaker != b || t.generation != b.generation {
		return
	}
	switch {
	case t.probe && v.neutral:
		b.probes--
	case t.probe && (v.slow || v.failed):
		b.enter("open")
	case t.probe:
		if b.successes++; b.successes >= max(1, b.rules.Probes) {
			b.enter("closed")
		}
	case v.neutral || b.clock.now < b.settled:
	default:
		b.window.add(v, b.clock.now)
		b.row++
		if !v.failed {
			b.row = 0
		}
		b.judge(b.slowInFlight(slowAfter))
	}
}

// look judges by the calls in flight: all slots may be hung.
func (b *breaker) look(slowAfter time.Duration) {
	if b == nil || b.state != "closed" {
		return
	}
	if n := b.slowInFlight(slowAfter); n > 0 {
		b.judge(n)
	}
}

func (b *breaker) judge(slow int) {
	if b.state != "closed" || b.clock.now < b.settled {
		return
	}
	sum := b.window.sum(b.clock.now)
	all, enough := sum.total+slow, b.rules.MinRequests
	if slow > 0 {
		enough = min(enough, b.slots)
	}
	if b.rules.Consecutive > 0 && b.row >= b.rules.Consecutive ||
		reached(b.rules.TimeoutRate, sum.slow+slow, all, enough) ||
		reached(b.rules.FailureRate, sum.failed, sum.total, b.rules.MinRequests) {
		b.enter("open")
	}
}

func reached(rate float64, n, total, enough int) bool {
	return rate > 0 && n > 1 && total >= enough && float64(n) >= rate*float64(total)
}

func (b *breaker) enter(state string) {
	b.state = state
	b.generation++
	b.row, b.probes, b.successes = 0, 0, 0
	b.window.buckets = [windowBuckets]tally{}
	b.young, b.slow = nil, 0 // those in flight mean nothing to this state
	if state == "open" {
		cooldown := b.rules.Cooldown
		if !b.noJitter {
			cooldown += time.Duration(b.chance.Int64N(int64(cooldown/5)+1)) - cooldown/10
		}
		b.probesAt = b.clock.now + cooldown
	}
	b.changes(state)
}

// begun notes an attempt in flight, ended takes it out again.
func (b *breaker) begun(a *attempt) {
	if b != nil {
		b.young = append(b.young, a)
	}
}

func (b *breaker) ended(a *attempt) {
	if b != nil && a.slow && a.ticket.generation == b.generation {
		b.slow--
	}
}

// slowInFlight counts the attempts that have been in flight for at least after.
func (b *breaker) slowInFlight(after time.Duration) int {
	for len(b.young) > 0 && (b.young[0].settled || b.clock.now-b.young[0].began >= after) {
		if a := b.young[0]; !a.settled {
			a.slow = true
			b.slow++
		}
		b.young[0] = nil
		b.young = b.young[1:]
	}
	return b.slow
}

// tally is what the results of a while come to.
type tally struct{ total, slow, failed int }

const windowBuckets = 10

// window sums results over the last length of time, in steps of a tenth of it.
type window struct {
	start, length time.Duration
	buckets       [windowBuckets]tally
	step          int64
}

func (w *window) add(v verdict, now time.Duration) {
	w.advance(now)
	b := &w.buckets[w.step%windowBuckets]
	b.total++
	if v.slow {
		b.slow++
	}
	if v.failed {
		b.failed++
	}
}

func (w *window) sum(now time.Duration) (sum tally) {
	w.advance(now)
	for _, b := range w.buckets {
		sum.total += b.total
		sum.slow += b.slow
		sum.failed += b.failed
	}
	return sum
}

func (w *window) advance(now time.Duration) {
	step := int64((now - w.start) / max(1, w.length/windowBuckets))
	for behind := min(step-w.step, windowBuckets); behind > 0; behind-- {
		w.buckets[(step-behind+1)%windowBuckets] = tally{}
	}
	w.step = max(w.step, step)
}
