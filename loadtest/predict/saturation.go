package predict

import (
	"errors"
	"time"
)

// Saturation tells how long after a dependency begins to hold its calls all workers of its caller are taken:
//
//	t = (W − busy) / λ
//
// workers is W, the workers there are; busy the mean number of them that requests not held keep taken (λ_ok·s by
// Little's law); held is λ, the requests a second that the dependency holds. It is zero where the workers are gone
// before the fault. It is Never where nothing is held, where there is no limit (workers 0), after more than 292 years,
// and where an input is no number.
func Saturation(workers int, busy, held float64) time.Duration {
	if held <= 0 {
		return Never
	}
	return seconds((limit(workers) - busy) / held)
}

// PooledSaturation is Saturation where the held calls go through a client whose connections are shared with calls to
// other dependencies, so many and no more:
//
//	t = P / λ_held + (W − busy − P) / λ
//
// pool is P, the shared connections, 0 for no limit; busy the workers that requests without need of the pool keep
// taken; held is λ_held; needing is λ, the rate of all requests that need the pool, the held ones among them. First
// the held calls fill the pool, then everybody who needs it waits, for whichever dependency: the line is the same as
// that of Saturation, and turns steeper at the pool's last connection. A pool that never fills bounds nothing.
//
// It takes the pool as empty before the fault: leave out of P what healthy calls keep taken.
func PooledSaturation(pool, workers int, busy, held, needing float64) (time.Duration, error) {
	err := errors.Join(
		within("pool", float64(pool), 0, most), within("workers", float64(workers), 0, most),
		within("busy", busy, 0, most), within("held", held, 0, most),
		within("needing, which counts the held ones too,", needing, held, most))
	if err != nil {
		return 0, err
	}
	if held == 0 || workers == 0 {
		return Never, nil
	}
	free := max(float64(workers)-busy, 0)
	pooled := min(limit(pool), free)
	return seconds(pooled/held + (free-pooled)/needing), nil
}

// LatencyEdge tells the longest latency of a dependency that a service bears: just below it nobody notices, just
// above it the queue grows without end.
//
//	λ·(s + t) ≤ W, so t = W/λ − s
//
// rate is λ, the requests that wait for the dependency; work is s, how long each of them keeps its worker besides. It
// is zero for a service that is overloaded whatever the dependency does, and Never for one without load or limit.
func LatencyEdge(workers int, rate float64, work time.Duration) (time.Duration, error) {
	err := errors.Join(within("workers", float64(workers), 0, most), within("rate", rate, 0, most),
		within("work in seconds", work.Seconds(), 0, most))
	if err != nil || rate == 0 {
		return Never, err
	}
	return seconds(limit(workers)/rate - work.Seconds()), nil
}
