package simulate

import (
	"slices"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// overloadAfter is resilience.Admission's: a delay above TargetWait for so long is overload.
const overloadAfter = 100 * time.Millisecond

// admission hands out workers as resilience.Admission does, which tells why.
type admission struct {
	clock     *clock
	policy    resilience.AdmissionPolicy
	inUse     int
	highWater int
	saturated time.Duration // the first instant since the last mark at which all were in use; never: none
	lines     [3][]*waiter  // by rank, oldest first; some may have gone
	waiting   int
	late      time.Duration // since when the delay has been above TargetWait; never: it is not
}

type waiter struct {
	rank  int
	since time.Duration
	gone  bool // from the line, with a worker or without
	alarm *event
	then  func(admitted bool)
}

// rank orders the classes from the one refused last to the one refused first.
func rank(c resilience.Criticality) int {
	switch c {
	case resilience.Critical:
		return 0
	case resilience.Sheddable:
		return 2
	}
	return 1
}

func (a *admission) mark() {
	a.highWater, a.saturated = a.inUse, never
	a.work(0)
}

func (a *admission) work(change int) {
	a.inUse += change
	a.highWater = max(a.highWater, a.inUse)
	if a.inUse >= a.policy.Workers && a.saturated == never {
		a.saturated = a.clock.now
	}
}

// acquire calls then when a worker is there, to be given back by release, or when there is none to be had.
func (a *admission) acquire(within *scope, c resilience.Criticality, then func(admitted bool)) {
	switch {
	case within.over:
		then(false)
		return
	case a.waiting == 0 && a.inUse < a.policy.Workers:
		a.work(+1)
		a.late = never
		then(true)
		return
	}
	overloaded, patience := a.overloaded(), a.policy.MaxWait
	if overloaded && c != resilience.Critical {
		patience = a.policy.TargetWait
	}
	if overloaded && c == resilience.Sheddable || a.waiting >= a.policy.Queue && !a.makeRoom(rank(c), overloaded) {
		then(false)
		return
	}
	w := &waiter{rank: rank(c), since: a.clock.now, then: then}
	a.line(w)
	a.waiting++
	if patience != resilience.Unbounded {
		w.alarm = a.clock.after(patience, func() { a.leave(w) })
	}
	within.watch(func() { a.leave(w) })
}

func (a *admission) line(w *waiter) {
	r := w.rank
	if a.policy.Queue == resilience.Unlimited {
		r = 0 // one line, first come first served
	}
	a.lines[r] = append(a.lines[r], w)
}

// leave takes w out of the line, if it still stands there.
func (a *admission) leave(w *waiter) {
	if w.gone {
		return
	}
	a.remove(w)
	if delay := a.clock.now - w.since; delay > a.policy.TargetWait {
		a.observe(delay)
	}
	w.then(false)
}

func (a *admission) remove(w *waiter) {
	w.gone = true
	w.alarm.callOff()
	a.waiting--
}

func (a *admission) release() {
	a.work(-1)
	for a.waiting > 0 && a.inUse < a.policy.Workers {
		w := a.next()
		a.remove(w)
		a.observe(a.clock.now - w.since)
		a.work(+1)
		w.then(true)
	}
}

func (a *admission) next() *waiter {
	for r := range a.lines {
		if w := a.end(r, r == 0 || !a.overloaded()); w != nil {
			return w
		}
	}
	panic("simulate: nobody waits")
}

// end is the oldest of a line, or the newest; nil: it is empty.
func (a *admission) end(rank int, oldest bool) *waiter {
	line := a.lines[rank]
	for len(line) > 0 && line[0].gone {
		line = line[1:]
	}
	for len(line) > 0 && line[len(line)-1].gone {
		line = line[:len(line)-1]
	}
	a.lines[rank] = line
	switch {
	case len(line) == 0:
		return nil
	case oldest:
		return line[0]
	}
	return line[len(line)-1]
}

// makeRoom turns somebody away for the sake of one of a rank.
func (a *admission) makeRoom(r int, overloaded bool) bool {
	if overloaded && r == rank(resilience.Default) {
		return a.evict(rank(resilience.Critical), true)
	}
	return a.evict(r, overloaded)
}

func (a *admission) evict(below int, oldest bool) bool {
	for r := len(a.lines) - 1; r > below; r-- {
		if w := a.end(r, oldest); w != nil {
			a.remove(w)
			w.then(false)
			return true
		}
	}
	return false
}

func (a *admission) observe(delay time.Duration) {
	switch {
	case delay <= a.policy.TargetWait && a.waiting == 0:
		a.late = never
	case delay > a.policy.TargetWait && a.late == never:
		a.late = a.clock.now
	}
}

func (a *admission) overloaded() bool {
	return a.policy.TargetWait > 0 && a.late != never && a.clock.now-a.late >= overloadAfter
}

// apply swaps the policy, with those in line.
func (a *admission) apply(p resilience.AdmissionPolicy) {
	a.policy, a.late = p, never
	var waiting []*waiter
	for r, line := range a.lines {
		for _, w := range line {
			if !w.gone {
				waiting = append(waiting, w)
			}
		}
		a.lines[r] = nil
	}
	slices.SortStableFunc(waiting, func(v, w *waiter) int { return int(v.since - w.since) })
	for _, w := range waiting {
		a.line(w)
	}
	for a.waiting > p.Queue && a.evict(-1, true) {
	}
}
