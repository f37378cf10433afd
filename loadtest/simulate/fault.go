package simulate

import (
	"math/rand/v2"
	"time"

	"example.com/holdfast/internal/fault"
)

// strike is a fault in force, as the fault injector has it: before admission, so that a held request has no worker.
type strike struct {
	fault.Fault
	since time.Duration
	drawn uint64
	over  *scope // ends when the fault does
}

// hits draws for one request. The n-th draw is that of the injector.
func (s *strike) hits(now time.Duration) bool {
	if up, _ := s.wave(now); !up {
		return false
	}
	if s.Share == 1 {
		return true
	}
	s.drawn++
	return rand.New(rand.NewPCG(s.Seed, s.drawn)).Float64() < s.Share
}

// wave tells whether the square wave is up, and for how long it stays so.
func (s *strike) wave(now time.Duration) (up bool, left time.Duration) {
	if s.Every == 0 || s.For == s.Every {
		return true, never
	}
	at := (now - s.since) % s.Every
	return at < s.For, s.For - at
}

// struck does to a request what the faults do to it, and then has it served: late, or never.
func (i *instance) struck(connection *scope, answer func(reply), serve func()) {
	for _, s := range i.faults {
		if !s.hits(i.clock.now) {
			continue
		}
		if s.Hold == 0 {
			answer(reply{status: broken})
			return
		}
		_, left := s.wave(i.clock.now)
		held := s.over.within(never)
		connection.watch(func() { held.end(false) })
		held.wait(min(s.Hold, left), func() {
			held.close()
			if !connection.over {
				serve()
			}
		})
		return
	}
	serve()
}

// inflict replaces the faults. Who was held goes on.
func (i *instance) inflict(faults []fault.Fault) {
	was := i.faults
	i.faults = nil
	for _, f := range faults {
		i.faults = append(i.faults, &strike{Fault: f, since: i.clock.now, over: i.clock.scope(never)})
	}
	for _, s := range was {
		s.over.end(false)
	}
}
