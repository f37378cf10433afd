package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/fault"
	"example.com/holdfast/pkg/resilience"
)

// Scale is a shop that no single machine holds: so many instances of the catalogue, each with its own slots and
// breakers, that ask one recommendations for a carousel on every page. It is held for a while, and the defences are on.
type Scale struct {
	Instances int     // of the catalogue, 1 to MaxInstances
	Rate      float64 // pages a second of each, evenly spaced, above 0 and at most MaxRate
	NoJitter  bool    // as if all breakers waited for exactly their cooldown
	Seed      uint64
}

// The bounds of a Scale.
const (
	MaxInstances = 10_000
	MaxRate      = 1_000.0
)

// The phases of a Scale. A breaker opens when half of the calls of ten seconds hang, slots at a time, and looks again
// after a cooldown: the hold outlasts that, and the recovery another cooldown.
const (
	ScaleHealthy  = 500 * time.Millisecond
	ScaleHeld     = 7500 * time.Millisecond
	ScaleRecovery = 6 * time.Second
	// ScaleTick is the grain in which calls to recommendations are counted.
	ScaleTick = 10 * time.Millisecond

	scaleWork = 80 * time.Millisecond // of recommendations
	scaleHold = 90 * time.Second
)

// Scaled is what becomes of a Scale.
type Scaled struct {
	Pages, Good int // good: 200, be it without its carousel
	Bare        int // of the good: without it
	InFlight    int // calls to recommendations at once, at most
	Slots       int // of all instances
	Healthy     int // most calls that came in one tick while it was well

	Opened time.Duration // when the last breaker opened, from the beginning of the hold
	Probes int           // calls that came when the breakers looked for the first time
	Most   int           // of them, in one tick
	Back   time.Duration // when the last breaker closed, from the end of the hold; 0: some did not
}

// Run plays it. Its error is a field out of bounds, or ctx's.
func (g Scale) Run(ctx context.Context, house Shop) (Scaled, error) {
	if g.Instances < 1 || g.Instances > MaxInstances {
		return Scaled{}, fmt.Errorf("instances are %d: must be 1 to %d", g.Instances, MaxInstances)
	}
	if !(g.Rate > 0 && g.Rate <= MaxRate) {
		return Scaled{}, fmt.Errorf("the rate is %g: must be above 0 and at most %g", g.Rate, MaxRate)
	}
	c := &clock{}
	s := &shop{clock: c, chance: rand.New(rand.NewPCG(g.Seed, 0)), house: house, fleets: map[string]*fleet{}, on: defence.All}
	leaf := &fleet{clock: c, name: "recommendations", out: make([]int, 1)}
	// The leaf is as large as it must be: what it holds is counted, not refused.
	leaf.instances = []*instance{s.instance(leaf.name, settings{ownWork: scaleWork})}
	s.fleets[leaf.name] = leaf
	s.fleets["currency"] = &fleet{clock: c, name: "currency"} // nobody asks for it
	r := &scaling{Scale: g, clock: c, leaf: leaf}
	leaf.came = r.came
	one := settings{}
	one.Workers = 200
	for range g.Instances {
		s.machine = &machine{c, make([]time.Duration, processors)} // each has its own
		i := s.instance("catalogue", one)
		r.callers = append(r.callers, i)
		r.Slots += i.calls["recommendations"].policy.Slots
		i.calls["recommendations"].straight(g.NoJitter)
	}
	return r.play(ctx, s.chance)
}

// straight takes the jitter from the breakers of d.
func (d *dependency) straight(yes bool) {
	for _, b := range d.breakers {
		b.noJitter = yes
	}
}

// scaling is a Scale that is being played.
type scaling struct {
	Scale
	Scaled
	clock   *clock
	leaf    *fleet
	callers []*instance
	ticks   []int // calls that came to the leaf, by tick
}

func (r *scaling) play(ctx context.Context, chance *rand.Rand) (Scaled, error) {
	end := ScaleHealthy + ScaleHeld + ScaleRecovery
	r.ticks = make([]int, end/ScaleTick+1)
	gap := time.Duration(float64(time.Second) / r.Rate)
	for _, i := range r.callers {
		first := time.Duration(chance.Int64N(int64(gap)))
		r.clock.at(first, func() { r.page(i, gap, end) })
	}
	r.clock.at(ScaleHealthy, func() { r.leaf.instances[0].inflict([]fault.Fault{{Kind: "hold", Hold: scaleHold, Share: 1}}) })
	r.clock.at(ScaleHealthy+ScaleHeld, func() { r.leaf.instances[0].inflict(nil) })
	for t := time.Duration(0); t < end; t += ScaleTick {
		if ctx.Err() != nil {
			return Scaled{}, ctx.Err()
		}
		r.clock.run(t)
		r.look()
	}
	r.clock.run(end + time.Second)
	r.count()
	return r.Scaled, nil
}

// page has one page asked for, and the next one later.
func (r *scaling) page(i *instance, gap, end time.Duration) {
	connection := r.clock.scope(never)
	r.Pages++
	a := ask{route: "GET /books/{id}", class: resilience.Default, deadline: never, inline: true}
	i.serve(connection, a, func(answer reply) {
		if answer.status == served {
			r.Good++
			if answer.lacks != 0 {
				r.Bare++
			}
		}
	})
	if r.clock.now+gap < end {
		r.clock.after(gap, func() { r.page(i, gap, end) })
	}
}

func (r *scaling) came() { r.ticks[min(int(r.clock.now/ScaleTick), len(r.ticks)-1)]++ }

func (r *scaling) look() {
	now := 0
	for _, i := range r.callers {
		now += i.calls["recommendations"].inUse
	}
	r.InFlight = max(r.InFlight, now)
}

// count looks at what the breakers did, and at what came to the leaf meanwhile.
func (r *scaling) count() {
	for _, n := range r.ticks[:ScaleHealthy/ScaleTick] {
		r.Healthy = max(r.Healthy, n)
	}
	opened, looked, closed := time.Duration(0), time.Duration(0), time.Duration(0)
	for _, i := range r.callers {
		first := map[string]time.Duration{}
		for _, c := range i.calls["recommendations"].changes["related"] {
			if _, known := first[c.state]; !known {
				first[c.state] = c.at
			}
		}
		opened, looked = max(opened, first["open"]), max(looked, first["half-open"])
		if at, ok := first["closed"]; ok {
			closed = max(closed, at)
		} else {
			closed = never
		}
	}
	r.Opened = opened - ScaleHealthy
	if closed != never {
		r.Back = closed - ScaleHealthy - ScaleHeld
	}
	// The last to look looks a moment later, too: its second probe comes with its next page.
	for _, n := range r.ticks[opened/ScaleTick+1 : looked/ScaleTick+5] {
		r.Probes += n
		r.Most = max(r.Most, n)
	}
}
