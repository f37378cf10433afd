package predict

import (
	"errors"
	"math"
)

// Amplification tells how many calls one request becomes at the dependency when its callers try again:
//
//	1 + f + f² + … + f^(N−1) = (1 − f^N) / (1 − f), N = n₁·n₂·…
//
// failing is f, the probability that an attempt fails, from 0 to 1, each for itself; attempts are the n of the loops
// that are wrapped around each other, the first tries counted. At f = 1 it is N: 4 attempts at each of two layers are
// 16 calls, at three 64 (Google, Site Reliability Engineering, chapter 22, "Addressing Cascading Failures"). An outer
// loop tries again when all attempts inside it have failed, with probability f^n, so that nested loops make one
// geometric series, and their order does not matter.
//
// Where a retry makes the next failure likelier, f is that of the day on which all is lost, not of a good one.
func Amplification(failing float64, attempts ...int) (float64, error) {
	err := within("failing", failing, 0, 1)
	all := 1.0
	for _, n := range attempts {
		err = errors.Join(err, within("attempts", float64(n), 1, most))
		all *= float64(n)
	}
	if err = errors.Join(err, within("the product of attempts", all, 1, most)); err != nil {
		return 0, err
	}
	if failing == 1 {
		return all, nil
	}
	return -math.Expm1(all*math.Log(failing)) / (1 - failing), nil // 1 − f^N, to all digits when f is nearly 1
}

// BudgetedAmplification bounds Amplification where one layer retries, out of a bucket of tokens into which each call
// puts a part of one and from which each retry takes one:
//
//	1 + ratio + bucket/calls
//
// ratio is the part, from 0 to 1; bucket how many tokens it holds, which may all be there at the start (in
// pkg/resilience 100 × ratio, 3 at least); calls how many the run makes, 1 at least. It holds whatever fails. In the
// long run it is 1 + ratio: 1.1 at the usual tenth (Site Reliability Engineering, chapter 21, "Handling Overload").
func BudgetedAmplification(ratio, bucket, calls float64) (float64, error) {
	err := errors.Join(within("ratio", ratio, 0, 1), within("bucket", bucket, 0, most), within("calls", calls, 1, most))
	if err != nil {
		return 0, err
	}
	return 1 + ratio + bucket/calls, nil
}
