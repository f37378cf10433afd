package predict

import (
	"errors"
	"time"
)

// A Survival is what becomes of a service whose every request waits for a timeout.
type Survival struct {
	Wanted     float64 // workers that the requests take: λ·(s + T), by Little's law
	Survives   bool    // there are as many
	Throughput float64 // requests finished a second: λ, and at most W/(s + T)
	Growth     float64 // requests a second by which the line before the workers grows: λ − throughput
}

// Survive tells whether a timeout alone keeps a service up while its dependency holds every call. A service has
//
//	W/(s + T) requests a second to give, and λ·(s + T) ≤ W where that is enough
//
// workers is W; rate is λ; work is s, how long a request keeps its worker besides the wait; timeout is T, the sum
// over the calls that a request waits for in turn, attempts counted. The same holds of slots, of a pool of connections
// as of a bulkhead: they are the workers, and work is zero.
//
// It says how many requests finish, not how many people are still there.
func Survive(workers int, rate float64, work, timeout time.Duration) (Survival, error) {
	err := errors.Join(within("workers", float64(workers), 0, most), within("rate", rate, 0, most),
		within("work in seconds", work.Seconds(), 0, most), within("timeout in seconds", timeout.Seconds(), 0, most))
	if err != nil {
		return Survival{}, err
	}
	each := work.Seconds() + timeout.Seconds()
	s := Survival{Wanted: rate * each, Throughput: rate}
	s.Survives = s.Wanted <= limit(workers)
	if !s.Survives {
		s.Throughput = limit(workers) / each
		s.Growth = rate - s.Throughput
	}
	return s, nil
}

// Backlog tells how many requests wait in line when a fault ends, and for how long the line outlives it:
//
//	(λ − served)·duration waiting, gone after waiting / (capacity − λ)
//
// rate is λ, before and after; served what was finished a second meanwhile; capacity what can be finished a second
// when all is well again. Nobody leaves the line: with people who give up, and whose requests are taken out of it, it
// is shorter; with people who try again, see Sustain. outlives is Never where the capacity leaves nothing over.
func Backlog(rate, served, capacity float64, duration time.Duration) (
	waiting float64, outlives time.Duration, err error,
) {
	err = errors.Join(within("rate", rate, 0, most), within("served", served, 0, most),
		within("capacity", capacity, 0, most), within("duration in seconds", duration.Seconds(), 0, most))
	if err != nil {
		return 0, 0, err
	}
	waiting = max(rate-served, 0) * duration.Seconds()
	switch {
	case waiting == 0:
		return 0, 0, nil
	case capacity <= rate:
		return waiting, Never, nil
	}
	return waiting, seconds(waiting / (capacity - rate)), nil
}
