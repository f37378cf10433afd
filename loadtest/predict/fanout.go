package predict

import (
	"errors"
	"math"
)

// FanOut tells how many calls one request becomes at each level of a tree of services, the first level first:
//
//	(n·(1 + r))^k at level k
//
// fan is n, the calls that each call makes to the level below; retried is r, the share of them tried once more, from 0
// to 1; levels is 100 at most. It is multiplication, and no more than that: three a level, two in a hundred retried,
// are 3.06, 9.36 and 28.65, and 41.08 together.
func FanOut(fan, retried float64, levels int) ([]float64, error) {
	err := errors.Join(within("fan", fan, 0, most), within("retried", retried, 0, 1),
		within("levels", float64(levels), 1, 100))
	if err != nil {
		return nil, err
	}
	each := fan * (1 + retried)
	if err := within("the number of calls at the deepest level", math.Pow(each, float64(levels)), 0, most); err != nil {
		return nil, err
	}
	calls := make([]float64, levels)
	for i := range calls {
		calls[i] = math.Pow(each, float64(i+1))
	}
	return calls, nil
}
