package resilience

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// SlotsFor returns how many slots a dependency needs: the calls in flight at the peak rate (calls a second of one
// instance of the caller) and the healthy latency, by Little's law L = λW (Operations Research 9(3), 1961), and room
// of 1.5 √L for arrivals that bunch (square-root staffing: Halfin & Whitt, Operations Research 29(3), 1981). 40/s at
// 100 ms are 4 + 3. Take the latency's p99 for the room to hold: then fewer than one in a hundred calls is turned
// away on a good day. It is 2 at least, so that one slow call is not an outage.
//
// Instances that are added need as many each: slots bound what one caller loses. The callee sees slots × instances.
func SlotsFor(peakRate float64, healthyP99 time.Duration) (int, error) {
	switch {
	case !(peakRate > 0) || math.IsInf(peakRate, 0):
		return 0, fmt.Errorf("peak rate is %v a second: must be positive and finite", peakRate)
	case healthyP99 <= 0 || healthyP99 == Unbounded:
		return 0, fmt.Errorf("healthy p99 is %v: must be positive and bounded", healthyP99)
	}
	inFlight := peakRate * healthyP99.Seconds()
	slots := math.Ceil(inFlight + 1.5*math.Sqrt(inFlight))
	if slots > math.MaxInt32 {
		return 0, fmt.Errorf("%v calls a second of %v are %.3g in flight: no process holds so many", peakRate, healthyP99, inFlight)
	}
	return max(2, int(slots)), nil
}

// ErrNoRoom is what TimeoutFrom returns for a call that does not belong on its path: make it optional and take it off
// the path, make it faster, or give the path more time.
var ErrNoRoom = errors.New("the call does not belong on this path")

// TimeoutFrom returns the timeout of a call. The budget is the ceiling: what the caller has left for it, from its own
// objective, not from the callee's habits. The callee's healthy p99.9 is the floor: one call in a thousand may be cut
// off on a good day, not more (Brooker, Timeouts, retries and backoff with jitter, Amazon Builders' Library, 2019).
// Between them the timeout is a fifth to a half above p99, more where p50 is close to p99, since there a small change
// of latency moves all calls over the line at once; 99 % under 300 ms make 360 to 450 ms. It is a whole number of
// milliseconds.
func TimeoutFrom(budget, p50, p99, p999 time.Duration) (time.Duration, error) {
	if !(0 < p50 && p50 <= p99 && p99 <= p999) || p999 == Unbounded {
		return 0, fmt.Errorf("p50 %v, p99 %v, p99.9 %v: must be positive and in this order", p50, p99, p999)
	}
	if budget < p999 {
		return 0, fmt.Errorf("the budget of %v is below the healthy p99.9 of %v: %w", budget, p999, ErrNoRoom)
	}
	closeness := float64(p50) / float64(p99)
	ample := time.Duration(float64(p99) * (1.2 + 0.3*closeness))
	timeout := max(p999, ample).Round(time.Millisecond)
	return min(budget, max(timeout, p999)), nil
}
