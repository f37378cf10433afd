package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// What is foreseen happens in the order of its instants; of the same instant, in that in which it was foreseen.
func TestClockKeepsOrder(t *testing.T) {
	type happening struct {
		at   time.Duration
		turn int
	}
	chance := rand.New(rand.NewPCG(1, 1))
	var c clock
	var got []happening
	for turn := range 1000 {
		at := time.Duration(chance.IntN(100))
		c.at(at, func() { got = append(got, happening{c.now, turn}) })
		if turn%3 == 0 {
			c.at(at, func() { t.Error("what was called off has happened") }).callOff()
		}
	}
	c.runTo(50)
	if n := len(got); n == 0 || got[n-1].at != 49 || c.now != 50 {
		t.Fatalf("run to 50: the last of %d is %v, and it is %d", n, got[n-1], c.now)
	}
	c.run(100)
	if len(got) != 1000 {
		t.Fatalf("%d of 1000 have happened", len(got))
	}
	if !slices.IsSortedFunc(got, func(a, b happening) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.turn - b.turn
	}) {
		t.Error("they have happened out of order")
	}
}

// A scope ends with what it is part of, or sooner; and says by what.
func TestScopeEnds(t *testing.T) {
	var c clock
	whole := c.scope(never)
	short, long := whole.within(10), whole.within(30)
	var told []time.Duration
	for _, s := range []*scope{short, long, short.within(20)} {
		s.watch(func() { told = append(told, c.now) })
	}
	c.run(15)
	whole.end(false)
	if want := []time.Duration{10, 10, 15}; !slices.Equal(told, want) {
		t.Errorf("told at %v, want %v", told, want)
	}
	if !short.expired || long.expired {
		t.Errorf("short expired is %v, long %v", short.expired, long.expired)
	}
	waited := time.Duration(-1)
	c.scope(20).wait(10, func() { waited = c.now })
	c.run(40)
	if waited != 20 {
		t.Errorf("a wait of 10 in a scope that ends after 5 is over at %d, want 20", waited)
	}
}
