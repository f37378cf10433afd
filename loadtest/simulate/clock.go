package simulate

import (
	"math"
	"time"
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// clock is the time of a simulation, from its start, and what is going to happen in it. Nothing else passes: between
// two events there is no time, and events of the same instant happen in the order in which they were foreseen.
type clock struct {
	now  time.Duration
	seen uint64   // events foreseen so far
	heap []*event // the next one first
}

// event is something that will happen, unless it is called off.
type event struct {
	at   time.Duration
	turn uint64
	do   func() // nil: called off
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.turn < o.turn }

// callOff makes the event not happen. Of a nil event, and of one that has happened, it does nothing.
func (e *event) callOff() {
	if e != nil {
		e.do = nil
	}
}

// after foresees that something is done after d, which is not negative.
func (c *clock) after(d time.Duration, do func()) *event {
	return c.at(c.now+d, do)
}

// at foresees that something is done at an instant that has not passed.
func (c *clock) at(t time.Duration, do func()) *event {
	c.seen++
	e := &event{at: t, turn: c.seen, do: do}
	i := len(c.heap)
	c.heap = append(c.heap, e)
	for i > 0 && e.before(c.heap[(i-1)/2]) {
		c.heap[i] = c.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	c.heap[i] = e
	return e
}

// run lets happen what happens until t, and stops there.
func (c *clock) run(t time.Duration) {
	for len(c.heap) > 0 && c.heap[0].at <= t {
		if e := c.next(); e.do != nil {
			c.now = e.at
			do := e.do
			e.do = nil
			do()
		}
	}
	c.now = t
}

// runTo lets happen what happens before t; what happens at that very instant is still to come.
func (c *clock) runTo(t time.Duration) {
	if t > c.now {
		c.run(t - 1)
		c.now = t
	}
}

// next takes the next event out of the heap, which is not empty.
func (c *clock) next() *event {
	first, n := c.heap[0], len(c.heap)-1
	last := c.heap[n]
	c.heap[n] = nil
	c.heap = c.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && c.heap[child+1].before(c.heap[child]) {
			child++
		}
		if !c.heap[child].before(last) {
			break
		}
		c.heap[i] = c.heap[child]
		i = child
	}
	c.heap[i] = last
	return first
}
