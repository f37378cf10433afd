package predict

import (
	"errors"
	"math"
	"time"
)

// Year is one of 365 days, over which availability is promised.
const Year = 365 * 24 * time.Hour

// Availability tells the share of time for which all of a number of services are up, when each fails by itself and one
// that is down takes the rest with it: aⁿ, the product rule for independent events. each is a, from 0 to 1; services
// is n. What fails together, a rack or a release, makes it better than that; what a fallback answers for does not
// count among them.
func Availability(each float64, services int) (float64, error) {
	err := errors.Join(within("each", each, 0, 1), within("services", float64(services), 1, most))
	if err != nil {
		return 0, err
	}
	return math.Pow(each, float64(services)), nil
}

// Downtime tells how much of a year is lost at an availability from 0 to 1: (1 − a) of it.
func Downtime(availability float64) (time.Duration, error) {
	if err := within("availability", availability, 0, 1); err != nil {
		return 0, err
	}
	return seconds((1 - availability) * Year.Seconds()), nil
}
