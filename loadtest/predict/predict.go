// Package predict says when a service will have no worker left. Its functions are pure: what they are fed is measured
// in the healthy minutes before a fault, never assumed, and what they say is compared with what then happens.
//
// All of them are Little's law, L = λ·W (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations
// Research 9(3), 1961), read as a race: requests that wait for a held dependency arrive at a known rate, none of them
// ends, so the workers that they hold are a straight line, and the service dies where the line meets its last worker.
package predict

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Never is the answer for a service that does not saturate.
const Never = time.Duration(math.MaxInt64)

// Saturation tells how long after a dependency begins to hold its calls all workers of its caller are taken:
//
//	t = (W − busy) / λ
//
// workers is W, the workers there are; busy the mean number of them that requests not held keep taken (λ_ok·s by
// Little's law); held is λ, the requests a second that the dependency holds. It is Never where nothing is held, or
// where there is no limit (workers 0), and zero where the workers are gone before the fault.
func Saturation(workers int, busy, held float64) time.Duration {
	if workers == 0 || held <= 0 {
		return Never
	}
	return seconds((float64(workers) - busy) / held)
}

// A Hop is one service on the way from a held leaf to the person.
type Hop struct {
	Service string
	Workers int     // how many it has; 0: no limit
	Busy    float64 // mean workers that its requests keep taken, without the time that they wait for the held calls
	Held    float64 // its requests a second that are held once the hop it waits for is saturated

	// After names the hop whose saturation begins to hold this one's requests. The first hop has none: the leaf
	// itself holds it.
	After string
	// Early is the rate of its requests that the leaf holds from the start of the fault, by way of the first hop:
	// they take Early × t workers before the hop it waits for is gone.
	Early float64
}

// Cascade tells when each hop saturates, counted from the start of the fault:
//
//	first hop   t₁ = (W − busy) / λ_held
//	any other   t  = t_after + (W − busy − early·t_after) / λ
//
// It is Saturation applied hop by hop: a service without workers is, to its callers, a dependency that holds every
// call. Hops come in the order in which they wait for each other; an error names one that does not.
func Cascade(hops []Hop) (map[string]time.Duration, error) {
	at := make(map[string]time.Duration, len(hops))
	for i, h := range hops {
		if _, twice := at[h.Service]; twice {
			return nil, fmt.Errorf("predict: %s is two hops", h.Service)
		}
		if i == 0 {
			if h.After != "" || h.Early != 0 {
				return nil, errors.New("predict: the first hop waits for the leaf alone")
			}
			at[h.Service] = Saturation(h.Workers, h.Busy, h.Held)
			continue
		}
		start, ok := at[h.After]
		switch {
		case !ok:
			return nil, fmt.Errorf("predict: %s waits for %q, which is no hop before it", h.Service, h.After)
		case start == Never:
			at[h.Service] = Never
			continue
		}
		rest := Saturation(h.Workers, h.Busy+h.Early*start.Seconds(), h.Held)
		if rest == Never {
			at[h.Service] = Never
			continue
		}
		at[h.Service] = start + rest
	}
	return at, nil
}

// Descriptors tells how many file descriptors the held requests of a proxy take when nothing limits them: each is a
// connection in and a connection out for as long as it is held (2·λ·H, Little's law twice).
func Descriptors(held float64, hold time.Duration) float64 {
	return 2 * held * hold.Seconds()
}

// DescriptorDeath tells when a proxy without a limit on workers has no descriptor left: t = limit / (2·λ).
func DescriptorDeath(limit int, held float64) time.Duration {
	if limit == 0 || held <= 0 {
		return Never
	}
	return seconds(float64(limit) / (2 * held))
}

func seconds(s float64) time.Duration {
	return time.Duration(max(s, 0) * float64(time.Second))
}
