package predict

import (
	"errors"
	"math"
	"time"
)

// A Stability says what a service does once a fault that it could not bear is over.
type Stability string

const (
	Stable     Stability = "stable"     // it recovers by itself, however bad the fault was
	Vulnerable Stability = "vulnerable" // it serves its load, but a fault that is bad enough leaves it down for good
	Overloaded Stability = "overloaded" // it needs no fault
)

// A Sustained is the load that people who are not served keep up.
type Sustained struct {
	Tries     int     // how often one person asks, until patience ends
	Load      float64 // requests a second when nobody is served: λ·tries
	Capacity  float64 // requests a second that the workers can finish: W/s; +Inf without limit
	Recovers  float64 // people a second up to whom the service is stable: W/(s·tries)
	Stability Stability
}

// Sustain tells whether people who refresh keep a service down after the trigger is gone:
//
//	λ·tries > W/s ≥ λ, tries = ⌈patience / refresh⌉
//
// workers is W; rate is λ, people a second, each with one page to see; work is s, how long a request keeps its worker
// when all is well, more than nothing; refresh is after how long a person closes the connection and asks again, 0 for
// never; patience is when they leave for good. With patience 10 s and refresh 3 s, people ask at 0, 3, 6 and 9 s.
//
// It is the vulnerable state of N. Bronson, A. Aghayev, A. Charapko, T. Zhu, "Metastable Failures in Distributed
// Systems", HotOS 2021: a load that is borne, a trigger, and a sustaining effect that is more than the capacity; here
// the effect is, in the terms of L. Huang et al., "Metastable Failures in the Wild", OSDI 2022, workload amplification.
// The arithmetic is ours, a balance of rates between two states only: everybody served at the first try, or nobody.
//
// The model is a line without end, served in order, in which the server does all the work of a request whose person is
// gone. Deadlines that end such work, or a bounded line, break it, and that is what they are for. It cannot say
// whether a given trigger is bad enough (the line must grow until a person who joins it waits longer than refresh),
// when the service tips, or what it serves in between; nor whether the work grows under load, as with cold caches,
// which makes it worse.
func Sustain(workers int, rate float64, work, refresh, patience time.Duration) (Sustained, error) {
	err := errors.Join(within("workers", float64(workers), 0, most), within("rate", rate, 0, most),
		within("work in seconds", work.Seconds(), 1e-9, most), within("refresh in seconds", refresh.Seconds(), 0, most),
		within("patience in seconds", patience.Seconds(), 0, most))
	if err != nil {
		return Sustained{}, err
	}
	tries := 1.0
	if refresh > 0 {
		tries = max(1, math.Ceil(float64(patience)/float64(refresh)))
	}
	if err := within("patience / refresh", tries, 1, most); err != nil {
		return Sustained{}, err
	}
	s := Sustained{Tries: int(tries), Load: rate * tries, Capacity: limit(workers) / work.Seconds()}
	s.Recovers = s.Capacity / tries
	switch {
	case rate > s.Capacity:
		s.Stability = Overloaded
	case s.Load > s.Capacity:
		s.Stability = Vulnerable
	default:
		s.Stability = Stable
	}
	return s, nil
}
