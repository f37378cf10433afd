// Package predict says what a slow dependency will do to the service that calls it. Its functions are pure: what they
// are fed is measured in the healthy minutes before a fault, never assumed, and what they say is compared with what
// then happens.
//
// Most of them are Little's law, L = λ·W (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations
// Research 9(3), 1961): what is in progress is the rate at which it arrives times how long it stays. Where a
// dependency holds its calls, the law is read as a race: requests arrive at a known rate, none of them ends, so the
// workers that they hold are a straight line, and the service dies where the line meets its last worker. The others
// count, and say so.
//
// Rates are a second. Workers 0 is no limit, as everywhere in the shop. Inputs run from zero to a million million;
// what is outside, or no number, is an error, and where a function has none, it says what it answers.
package predict

import (
	"fmt"
	"math"
	"time"
)

// Never is the answer for what does not come to pass.
const Never = time.Duration(math.MaxInt64)

// most bounds every input, so that no product of a few of them overflows.
const most = 1e12

// within refuses an input below least, above greatest or that is no number, by its name.
func within(name string, value, least, greatest float64) error {
	if value >= least && value <= greatest {
		return nil
	}
	return fmt.Errorf("predict: %s is %v: must be from %g to %g", name, value, least, greatest)
}

// limit is W, for which 0 stands for no limit.
func limit(workers int) float64 {
	if workers == 0 {
		return math.Inf(1)
	}
	return float64(workers)
}

// seconds is a duration, zero if negative, and Never if it is no number or above what a duration holds, 292 years.
func seconds(s float64) time.Duration {
	if ns := s * float64(time.Second); ns < math.MaxInt64 {
		return time.Duration(max(ns, 0))
	}
	return Never
}
