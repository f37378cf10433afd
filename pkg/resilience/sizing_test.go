package resilience_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"example.com/holdfast/pkg/resilience"
)

func TestSlotsFor(t *testing.T) {
	tests := []struct {
		rate float64
		p99  time.Duration
		want int
	}{
		{40, 100 * time.Millisecond, 7},  // 4 + 3
		{400, 80 * time.Millisecond, 41}, // 32 + 8.5
		{0.1, time.Millisecond, 2},       // never a single one
	}
	for _, tt := range tests {
		if got, err := resilience.SlotsFor(tt.rate, tt.p99); err != nil || got != tt.want {
			t.Errorf("SlotsFor(%v, %v) = %d, %v; want %d", tt.rate, tt.p99, got, err, tt.want)
		}
	}
}

func TestSlotsForRefusesWhatIsNoRateOrLatency(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		if got, err := resilience.SlotsFor(rate, time.Second); err == nil {
			t.Errorf("a rate of %v gave %d slots", rate, got)
		}
	}
	for _, p99 := range []time.Duration{0, -1, resilience.Unbounded} {
		if got, err := resilience.SlotsFor(1, p99); err == nil {
			t.Errorf("a p99 of %v gave %d slots", p99, got)
		}
	}
}

func TestTimeoutFrom(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name                   string
		budget, p50, p99, p999 time.Duration
		atLeast, atMost        time.Duration
	}{
		{"99 % under 300 ms", time.Second, 80 * ms, 300 * ms, 340 * ms, 350 * ms, 400 * ms},
		{"more slack where p50 is close to p99", time.Second, 280 * ms, 300 * ms, 340 * ms, 400 * ms, 450 * ms},
		{"a long tail is the floor", time.Second, 20 * ms, 100 * ms, 700 * ms, 700 * ms, 700 * ms},
		{"the budget is the ceiling", 350 * ms, 80 * ms, 300 * ms, 340 * ms, 350 * ms, 350 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resilience.TimeoutFrom(tt.budget, tt.p50, tt.p99, tt.p999)
			if err != nil || got < tt.atLeast || got > tt.atMost {
				t.Errorf("got %v, %v; want %v to %v", got, err, tt.atLeast, tt.atMost)
			}
		})
	}
}

func TestTimeoutFromSaysWhenACallDoesNotBelong(t *testing.T) {
	if _, err := resilience.TimeoutFrom(300*time.Millisecond, 80e6, 300e6, 340e6); !errors.Is(err, resilience.ErrNoRoom) {
		t.Errorf("a ceiling below the floor gave %v", err)
	}
	if _, err := resilience.TimeoutFrom(time.Second, 2, 1, 3); err == nil || errors.Is(err, resilience.ErrNoRoom) {
		t.Errorf("p50 above p99 gave %v", err)
	}
}
