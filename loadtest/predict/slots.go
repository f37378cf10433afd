package predict

import (
	"errors"
	"time"
)

// InFlight tells how many calls are under way at once: L = λ·W, Little's law itself, rate being λ and latency W. As
// the load that a number of servers is offered its unit is the erlang. How many slots that takes is what
// resilience.SlotsFor answers: room has to be left for arrivals that bunch.
func InFlight(rate float64, latency time.Duration) (float64, error) {
	err := errors.Join(within("rate", rate, 0, most), within("latency in seconds", latency.Seconds(), 0, most))
	if err != nil {
		return 0, err
	}
	return rate * latency.Seconds(), nil
}

// LittleLoss tells the share of calls turned away where there are fewer slots than calls in flight, arrivals evenly
// spaced and calls of one length:
//
//	max(0, 1 − m/E)
//
// load is E, from InFlight; slots is m, from 1 to a million. By Little's law m slots finish m/W calls a second, W being
// the latency: the rest of λ finds none. It is the least that any pattern of arrivals loses; ErlangB is what random
// ones do.
func LittleLoss(load float64, slots int) (float64, error) {
	err := errors.Join(within("load", load, 0, most), within("slots", float64(slots), 1, maxSlots))
	if err != nil {
		return 0, err
	}
	return max(0, 1-float64(slots)/load), nil
}

// ErlangB tells the share of calls turned away where none waits for a slot and calls arrive at random (a Poisson
// process), whatever the distribution of their latency:
//
//	B(E, m) = (E^m / m!) / Σ E^k / k!, k from 0 to m
//
// load is E, from InFlight; slots is m, from 1 to a million (A. K. Erlang, "Solution of some problems in the theory of
// probabilities of significance in automatic telephone exchanges", 1917). Powers and factorials overflow at some
// hundred slots, so it is computed slot by slot: B(E, 0) = 1, B(E, k) = E·B(E, k−1) / (k + E·B(E, k−1)) (D. L.
// Jagerman, "Some Properties of the Erlang Loss Function", Bell System Technical Journal 53(3), 1974). All terms are
// positive, so that no error grows.
func ErlangB(load float64, slots int) (float64, error) {
	err := errors.Join(within("load", load, 0, most), within("slots", float64(slots), 1, maxSlots))
	if err != nil {
		return 0, err
	}
	b := 1.0
	for k := 1.0; k <= float64(slots); k++ {
		b = load * b / (k + load*b)
	}
	return b, nil
}

const maxSlots = 1e6 // some milliseconds of ErlangB
