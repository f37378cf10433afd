package predict

import (
	"errors"
	"fmt"
	"time"
)

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
		at[h.Service] = start + min(rest, Never-start)
	}
	return at, nil
}
