package predict

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWhatDoesNotComeToPass holds the functions without an error to what they say of limits, of nothing, and of what
// is no number.
func TestWhatDoesNotComeToPass(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	hop := func(first, second Hop) time.Duration {
		first.Service, second.Service, second.After = "a", "b", "a"
		return must(Cascade([]Hop{first, second}))["b"]
	}
	sound := Hop{Workers: 9, Held: 1}
	long := Hop{Workers: 6e9, Held: 1} // 190 years
	for _, c := range []struct {
		what      string
		got, want time.Duration
	}{
		{"no limit on workers", Saturation(0, 10, 40), Never},
		{"nothing held", Saturation(200, 10, 0), Never},
		{"less than nothing held", Saturation(200, 10, -1), Never},
		{"a rate that is no number", Saturation(200, 10, nan), Never},
		{"workers busy that are no number", Saturation(200, nan, 40), Never},
		{"longer than a duration holds", Saturation(200, 10, 1e-300), Never},
		{"busy beyond its workers", Saturation(200, 250, 40), 0},
		{"fewer workers than none", Saturation(-1, 0, 40), 0},
		{"everything held at once", Saturation(200, 10, inf), 0},
		{"no limit on descriptors", must(DescriptorDeath(0, 40)), Never},
		{"no descriptor taken", must(DescriptorDeath(20_000, 0)), Never},
		{"an edge without load", must(LatencyEdge(600, 0, ms)), Never},
		{"an edge without limit", must(LatencyEdge(0, 400, ms)), Never},
		{"overloaded whatever the dependency does", must(LatencyEdge(600, 400, 2*time.Second)), 0},
		{"a hop behind a sound one", hop(Hop{}, sound), Never},
		{"a hop without a limit", hop(sound, Hop{Held: 1}), Never},
		{"a hop held at a rate that is no number", hop(sound, Hop{Workers: 9, Held: nan}), Never},
		{"two hops of 190 years", hop(long, long), Never},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
		}
	}
	for what, got := range map[string]float64{
		"no rate": Descriptors(nan, time.Second), "less than none": Descriptors(-1, time.Second),
		"no time": Descriptors(inf, 0), "less than no time": Descriptors(1, -time.Second),
	} {
		if got != 0 {
			t.Errorf("descriptors, %s: got %g, want 0", what, got)
		}
	}
}

// TestInputsOutOfRange proves that every function names the input that it refuses.
func TestInputsOutOfRange(t *testing.T) {
	floats := []struct {
		names string
		call  func(x float64) error
	}{
		{"busy", func(x float64) error { return second(PooledSaturation(5, 9, x, 1, 2)) }},
		{"held", func(x float64) error { return second(PooledSaturation(5, 9, 0, x, 2)) }},
		{"needing", func(x float64) error { return second(PooledSaturation(5, 9, 0, 1, x)) }},
		{"rate", func(x float64) error { return second(LatencyEdge(9, x, 0)) }},
		{"held", func(x float64) error { return second(DescriptorDeath(9, x)) }},
		{"rate", func(x float64) error { return second(Survive(9, x, 0, 0)) }},
		{"rate", func(x float64) error { _, _, err := Backlog(x, 1, 1, 1); return err }},
		{"served", func(x float64) error { _, _, err := Backlog(1, x, 1, 1); return err }},
		{"capacity", func(x float64) error { _, _, err := Backlog(1, 1, x, 1); return err }},
		{"rate", func(x float64) error { return second(InFlight(x, 1)) }},
		{"load", func(x float64) error { return second(LittleLoss(x, 1)) }},
		{"load", func(x float64) error { return second(ErlangB(x, 1)) }},
		{"failing", func(x float64) error { return second(Amplification(x, 4)) }},
		{"ratio", func(x float64) error { return second(BudgetedAmplification(x, 1, 1)) }},
		{"bucket", func(x float64) error { return second(BudgetedAmplification(0, x, 1)) }},
		{"calls", func(x float64) error { return second(BudgetedAmplification(0, 1, x)) }},
		{"fan", func(x float64) error { return second(FanOut(x, 0, 1)) }},
		{"retried", func(x float64) error { return second(FanOut(3, x, 1)) }},
		{"each", func(x float64) error { return second(Availability(x, 1)) }},
		{"availability", func(x float64) error { return second(Downtime(x)) }},
		{"rate", func(x float64) error { return second(Sustain(9, x, 1, 1, 1)) }},
	}
	for _, f := range floats {
		for _, x := range []float64{-1, -1e-300, math.NaN(), math.Inf(1), math.Inf(-1), 1e13, math.MaxFloat64} {
			refused(t, f.names, x, f.call(x))
		}
	}
	whole := []struct {
		names string
		call  func(n int) error
	}{
		{"pool", func(n int) error { return second(PooledSaturation(n, 9, 0, 1, 1)) }},
		{"workers", func(n int) error { return second(PooledSaturation(9, n, 0, 1, 1)) }},
		{"workers", func(n int) error { return second(LatencyEdge(n, 1, 0)) }},
		{"limit", func(n int) error { return second(DescriptorDeath(n, 1)) }},
		{"workers", func(n int) error { return second(Survive(n, 1, 0, 0)) }},
		{"slots", func(n int) error { return second(LittleLoss(1, n)) }},
		{"slots", func(n int) error { return second(ErlangB(1, n)) }},
		{"attempts", func(n int) error { return second(Amplification(1, n)) }},
		{"the product", func(n int) error { return second(Amplification(1, 1e7, 1e7, max(n, 1))) }},
		{"levels", func(n int) error { return second(FanOut(3, 0, n)) }},
		{"the number of calls", func(n int) error { return second(FanOut(3, 0, min(max(n, 100), 100))) }},
		{"services", func(n int) error { return second(Availability(1, n)) }},
		{"workers", func(n int) error { return second(Sustain(n, 1, 1, 1, 1)) }},
		{"patience / refresh", func(n int) error { return second(Sustain(9, 1, 1, 1, Never)) }},
	}
	for _, f := range whole {
		for _, n := range []int{-1, math.MinInt, math.MaxInt} {
			refused(t, f.names, n, f.call(n))
		}
	}
	durations := []struct {
		names string
		call  func(d time.Duration) error
	}{
		{"work", func(d time.Duration) error { return second(LatencyEdge(9, 1, d)) }},
		{"work", func(d time.Duration) error { return second(Survive(9, 1, d, 0)) }},
		{"timeout", func(d time.Duration) error { return second(Survive(9, 1, 0, d)) }},
		{"duration", func(d time.Duration) error { _, _, err := Backlog(1, 1, 1, d); return err }},
		{"latency", func(d time.Duration) error { return second(InFlight(1, d)) }},
		{"work", func(d time.Duration) error { return second(Sustain(9, 1, d, 1, 1)) }},
		{"refresh", func(d time.Duration) error { return second(Sustain(9, 1, 1, d, 1)) }},
		{"patience", func(d time.Duration) error { return second(Sustain(9, 1, 1, 1, d)) }},
	}
	refused(t, "work in seconds", 0, second(Sustain(9, 1, 0, 1, 1)))
	for _, f := range durations {
		for _, d := range []time.Duration{-1, math.MinInt64} {
			refused(t, f.names+" in seconds", d, f.call(d))
		}
	}
}

func refused(t *testing.T, names string, input any, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "predict: "+names) || !strings.Contains(err.Error(), "must be from") {
		t.Errorf("%s = %v: got %v, want an error that names it and what is allowed", names, input, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestNoAnswerIsNoNumber feeds every function all that it takes.
func TestNoAnswerIsNoNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, most}), rapid.Float64Range(0, most))
		share := rapid.Float64Range(0, 1)
		wait := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Min(0).Draw(t, "nanoseconds"))
		})
		number := rapid.IntRange(0, most)
		x := func(name string) float64 { return amount.Draw(t, name) }
		d := func(name string) time.Duration { return wait.Draw(t, name) }
		n := func(name string) int { return number.Draw(t, name) }

		held := x("held")
		survival := must(Survive(n("workers"), x("rate"), d("work"), d("timeout")))
		waiting, outlives, err := Backlog(x("rate"), x("served"), x("capacity"), d("duration"))
		if err != nil {
			t.Fatal(err)
		}
		slots := rapid.IntRange(1, 3000).Draw(t, "slots")
		for what, got := range map[string]float64{
			"Saturation":            Saturation(n("workers"), x("busy"), held).Seconds(),
			"PooledSaturation":      must(PooledSaturation(n("pool"), n("workers"), x("busy"), held, most)).Seconds(),
			"LatencyEdge":           must(LatencyEdge(n("workers"), x("rate"), d("work"))).Seconds(),
			"Descriptors":           Descriptors(held, d("hold")),
			"DescriptorDeath":       must(DescriptorDeath(n("limit"), held)).Seconds(),
			"Wanted":                survival.Wanted,
			"Throughput":            survival.Throughput,
			"Growth":                survival.Growth,
			"waiting":               waiting,
			"outlives":              outlives.Seconds(),
			"InFlight":              must(InFlight(x("rate"), d("latency"))),
			"LittleLoss":            must(LittleLoss(x("load"), slots)),
			"ErlangB":               must(ErlangB(x("load"), slots)),
			"Amplification":         must(Amplification(share.Draw(t, "f"), rapid.IntRange(1, most).Draw(t, "attempts"))),
			"BudgetedAmplification": must(BudgetedAmplification(share.Draw(t, "ratio"), x("bucket"), max(1, x("calls")))),
			"FanOut":                sum(must(FanOut(rapid.Float64Range(0, 60).Draw(t, "fan"), share.Draw(t, "r"), 5))),
			"Availability":          must(Availability(share.Draw(t, "each"), max(1, n("services")))),
			"Downtime":              must(Downtime(share.Draw(t, "availability"))).Seconds(),
		} {
			if !(got >= 0) || math.IsInf(got, 1) {
				t.Fatalf("%s: got %g", what, got)
			}
		}
	})
}

func TestErlangBIsAShareThatFallsWithSlotsAndRisesWithLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := rapid.Float64Range(0, 5000).Draw(t, "load")
		more := load + rapid.Float64Range(0, 5000).Draw(t, "more")
		slots := rapid.IntRange(1, 5000).Draw(t, "slots")
		b := must(ErlangB(load, slots))
		switch {
		case !(b >= 0 && b <= 1):
			t.Fatalf("got %g", b)
		case must(ErlangB(load, slots+1)) > b:
			t.Fatal("a slot more turns away more")
		case must(ErlangB(more, slots)) < b*(1-1e-12):
			t.Fatal("a greater load is turned away less")
		case b < must(LittleLoss(load, slots))-1e-12:
			t.Fatal("random arrivals lose less than even ones")
		}
	})
}

func TestSaturationComesLaterWithMoreWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 1e6).Draw(t, "workers")
		busy := rapid.Float64Range(0, 1e6).Draw(t, "busy")
		held := rapid.Float64Range(0, 1e6).Draw(t, "held")
		pool := rapid.IntRange(0, 1e6).Draw(t, "pool")
		needing := held + rapid.Float64Range(0, 1e6).Draw(t, "needing besides")
		alone := Saturation(workers, busy, held)
		pooled := must(PooledSaturation(pool, workers, busy, held, needing))
		switch {
		case Saturation(workers+1, busy, held) < alone:
			t.Fatal("a worker more saturates sooner")
		case must(PooledSaturation(pool, workers+1, busy, held, needing)) < pooled-time.Microsecond:
			t.Fatal("a worker more saturates sooner behind a pool")
		case pooled > alone+alone/1e9+time.Microsecond && alone != Never:
			t.Fatalf("a shared pool puts it off: %s, without %s", pooled, alone)
		}
	})
}

// TestAmplificationIsThatOfTheLoops plays the nested loops out: an outer loop fails when all attempts inside failed.
func TestAmplificationIsThatOfTheLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failing := rapid.Float64Range(0, 1).Draw(t, "failing")
		attempts := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 4).Draw(t, "attempts")
		calls, fails := 1.0, failing
		for _, n := range attempts {
			tries := 0.0
			for k := range n {
				tries += math.Pow(fails, float64(k))
			}
			calls, fails = calls*tries, math.Pow(fails, float64(n))
		}
		if got := must(Amplification(failing, attempts...)); math.Abs(got-calls) > 1e-9*calls {
			t.Fatalf("got %g, the loops make %g", got, calls)
		}
	})
}
