package predict

import (
	"errors"
	"time"
)

// Descriptors tells how many file descriptors the held requests of a proxy take when nothing limits them: each is a
// connection in and a connection out for as long as it is held (2·λ·H, Little's law twice). It is zero where nothing
// is held, for no time, or at a rate that is no number.
func Descriptors(held float64, hold time.Duration) float64 {
	if !(held > 0) || hold <= 0 {
		return 0
	}
	return 2 * held * hold.Seconds()
}

// DescriptorDeath tells when a proxy without a limit on workers has no descriptor left, as long as its calls are held
// for longer than that: t = limit / (2·λ). It is Never where nothing is held, or nothing limits it (0).
func DescriptorDeath(limit int, held float64) (time.Duration, error) {
	err := errors.Join(within("limit", float64(limit), 0, most), within("held", held, 0, most))
	if err != nil || limit == 0 || held == 0 {
		return Never, err
	}
	return seconds(float64(limit) / (2 * held)), nil
}
