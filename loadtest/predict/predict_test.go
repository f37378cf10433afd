package predict

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/holdfast/pkg/resilience"
)

const ms = time.Millisecond

// TestEveryFigureOfTheIncidents proves that the formulas give what five post-mortems tell, to the digits that they
// tell it with.
func TestEveryFigureOfTheIncidents(t *testing.T) {
	ninety := must(Cascade([]Hop{
		{Service: "catalogue", Workers: 200, Held: 40},
		{Service: "checkout", Workers: 200, Held: 40, After: "catalogue"},
		{Service: "gateway", Workers: 4000, Held: 440, After: "catalogue", Early: 40},
	}))
	calls := must(FanOut(3, 0.02, 3))
	internal := 200 * sum(calls)
	deepest := 200 * calls[2]
	leaf := math.Round(deepest / 10)
	pool := must(Survive(500, leaf, 0, 2*time.Second))
	slow := must(Survive(600, 400, 60*ms, 3*time.Second))
	doubled := must(Survive(1200, 400, 60*ms, 3*time.Second))
	header := must(Survive(60, 40, 0, 2*time.Second)) // our inputs: the story tells the outcome only

	for _, c := range []struct {
		incident, what string
		got            float64
		want           string
	}{
		{"ninety-seconds", "200 workers, 40/s held", Saturation(200, 0, 40).Seconds(), "5"},
		{"ninety-seconds", "catalogue, two workers busy besides", Saturation(200, 2, 40).Seconds(), "4.95"},
		{"ninety-seconds", "checkout", ninety["checkout"].Seconds(), "10"},
		{"ninety-seconds", "gateway", ninety["gateway"].Seconds(), "13.6"},
		{"ninety-seconds", "descriptors of plain Go at 40/s", Descriptors(40, 90*time.Second), "7200"},
		{"ninety-seconds", "plain Go dies at 400/s", must(DescriptorDeath(20_000, 400)).Seconds(), "25"},

		{"shared-pool", "calls, first level", calls[0], "3.06"},
		{"shared-pool", "calls, second level", calls[1], "9.36"},
		{"shared-pool", "calls, third level", calls[2], "28.65"},
		{"shared-pool", "calls in all", sum(calls), "41.08"},
		{"shared-pool", "internal calls/s", internal, "8215"},
		{"shared-pool", "calls/s at the deepest level", deepest, "5731"},
		{"shared-pool", "in flight at 9 ms", must(InFlight(internal, 9*ms)), "74"},
		{"shared-pool", "the pool over what is needed", 500 / must(InFlight(internal, 9*ms)), "7"},
		{"shared-pool", "six levels of three", sum(must(FanOut(3, 0, 6))), "1092"},
		{"shared-pool", "calls/s of the leaf", leaf, "573"},
		{"shared-pool", "slots that the leaf wants at 2 s", pool.Wanted, "1146"},
		{"shared-pool", "2 s over 9 ms, the demand", pool.Wanted / must(InFlight(leaf, 9*ms)), "222"},

		{"slow-currency", "tries in 10 s, refreshed every 3 s",
			float64(must(Sustain(200, 100, 80*ms, 3*time.Second, 10*time.Second)).Tries), "4"},

		{"slow-map", "workers wanted", slow.Wanted, "1224"},
		{"slow-map", "workers wanted of twice as many", doubled.Wanted, "1224"},
		{"slow-map", "pages/s served", slow.Throughput, "196"},
		{"slow-map", "the queue grows by", slow.Growth, "204"},
		{"slow-map", "the edge", must(LatencyEdge(600, 400, 60*ms)).Seconds(), "1.44"},
		{"slow-map", "calls of a page, 4 attempts at two layers", must(Amplification(1, 4, 4)), "16"},
		{"slow-map", "calls/s at the map", 400 * must(Amplification(1, 4, 4)), "6400"},
		{"slow-map", "in flight in health", must(InFlight(400, 80*ms)), "32"},
		{"slow-map", "shedding lets half through", 1 - must(LittleLoss(slow.Wanted, 600)), "0.5"},

		{"special-offers", "a thousand services", must(Availability(0.99999, 1000)), "0.990"},
		{"special-offers", "one is down, minutes a year", must(Downtime(0.99999)).Minutes(), "5"},
		{"special-offers", "a thousand are down, hours a year",
			must(Downtime(must(Availability(0.99999, 1000)))).Hours(), "87"},
		{"special-offers", "40 arrive, served", header.Throughput, "30"},
		{"special-offers", "slots, in flight", must(InFlight(40, 100*ms)), "4"},
		{"special-offers", "slots, with room of 3", float64(must(resilience.SlotsFor(40, 100*ms))), "7"},
	} {
		_, decimals, _ := strings.Cut(c.want, ".")
		if got := strconv.FormatFloat(c.got, 'f', len(decimals), 64); got != c.want {
			t.Errorf("%s: %s: got %s, want %s", c.incident, c.what, got, c.want)
		}
	}
	for what, survives := range map[string]bool{
		"500 slots, a leaf at 2 s":            pool.Survives,
		"slow-map":                            slow.Survives,
		"slow-map, with twice the workers":    doubled.Survives,
		"a header on every page":              header.Survives,
		"slow-map, just above the edge":       must(Survive(600, 400, 60*ms, 1441*ms)).Survives,
		"not slow-map, just below the edge":   !must(Survive(600, 400, 60*ms, 1440*ms)).Survives,
		"not slow-map with 250 ms of waiting": !must(Survive(600, 400, 60*ms, 250*ms)).Survives,
	} {
		if survives {
			t.Errorf("%s: survives: %t", what, !strings.HasPrefix(what, "not"))
		}
	}
}

// TestThreeSmallProcesses holds the cascade to what was measured when ninety-seconds was first tried.
func TestThreeSmallProcesses(t *testing.T) {
	at := must(Cascade([]Hop{
		{Service: "catalogue", Workers: 200, Busy: 2, Held: 40},
		{Service: "checkout", Workers: 200, Held: 40, After: "catalogue"},
		{Service: "gateway", Workers: 4000, Held: 440, After: "catalogue", Early: 40},
	}))
	for service, measured := range map[string]float64{"catalogue": 4.97, "checkout": 9.97, "gateway": 13.62} {
		if got := at[service].Seconds(); math.Abs(got-measured) > 0.06 {
			t.Errorf("%s: predicted %.2f s, measured %.2f s", service, got, measured)
		}
	}
}

func TestPooledSaturation(t *testing.T) {
	for _, c := range []struct {
		what          string
		pool, workers int
		busy          float64
		held, needing float64
		want          time.Duration
	}{
		{"50 connections at 40/s, then 150 workers at 400/s", 50, 200, 0, 40, 400, 1625 * ms},
		{"30 workers busy besides", 50, 200, 30, 40, 400, 1550 * ms},
		{"a pool as large as the service bounds nothing", 200, 200, 0, 40, 400, 5 * time.Second},
		{"nor does a larger one", 5000, 200, 0, 40, 400, 5 * time.Second},
		{"nor one without a limit", 0, 200, 0, 40, 400, 5 * time.Second},
		{"a pool that nobody else needs changes nothing", 50, 200, 0, 40, 40, 5 * time.Second},
		{"gone before the fault", 50, 200, 250, 40, 400, 0},
		{"nothing held", 50, 200, 0, 0, 400, Never},
		{"no limit on workers", 50, 0, 0, 40, 400, Never},
	} {
		if got := must(PooledSaturation(c.pool, c.workers, c.busy, c.held, c.needing)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		what                   string
		rate, served, capacity float64
		waiting                float64
		outlives               time.Duration
	}{
		{"40 arrive, 30 are served, for a minute", 40, 30, 50, 600, time.Minute},
		{"all are served", 40, 40, 50, 0, 0},
		{"more could be served", 40, 45, 50, 0, 0},
		{"no capacity is left over", 40, 30, 40, 600, Never},
		{"nothing waits, no capacity", 40, 40, 0, 0, 0},
	} {
		waiting, outlives, err := Backlog(c.rate, c.served, c.capacity, time.Minute)
		if waiting != c.waiting || outlives != c.outlives || err != nil {
			t.Errorf("%s: got %g, %s, %v; want %g, %s", c.what, waiting, outlives, err, c.waiting, c.outlives)
		}
	}
}

func TestErlangB(t *testing.T) {
	for _, c := range []struct {
		load  float64
		slots int
		want  float64
	}{
		{0, 3, 0},
		{1, 1, 0.5},            // 1 / (1 + 1)
		{2, 2, 0.4},            // 2 / (1 + 2 + 2)
		{10, 10, 0.214582},     // as in every printed table
		{2000, 1000, 0.500498}, // 2000^1000 and 1000! alone overflow; LittleLoss is 0.5
	} {
		if got := must(ErlangB(c.load, c.slots)); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("ErlangB(%g, %d) = %.7f, want %.7f", c.load, c.slots, got, c.want)
		}
	}
}

func TestAmplification(t *testing.T) {
	for _, c := range []struct {
		what     string
		failing  float64
		attempts []int
		want     float64
	}{
		{"nothing fails", 0, []int{4, 4}, 1},
		{"one attempt", 1, []int{1}, 1},
		{"no loop at all", 1, nil, 1},
		{"half fail, three attempts: 1 + 1/2 + 1/4", 0.5, []int{3}, 1.75},
		{"half fail, two loops of two: 1 + 1/2 + 1/4 + 1/8", 0.5, []int{2, 2}, 1.875},
		{"three layers", 1, []int{4, 4, 4}, 64},
	} {
		if got := must(Amplification(c.failing, c.attempts...)); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: got %g, want %g", c.what, got, c.want)
		}
	}
	if got := must(BudgetedAmplification(0.1, 10, 400)); got != 1.125 {
		t.Errorf("a budget of a tenth, a bucket of 10, 400 calls: got %g, want 1.125", got)
	}
}

func TestSustain(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		what              string
		workers           int
		rate              float64
		refresh, patience time.Duration
		tries             int
		recovers          float64
		want              Stability
	}{ // work is 100 ms: 100 workers are 1,000 requests a second
		{"four tries are borne", 100, 250, 3 * second, 10 * second, 4, 250, Stable},
		{"four tries are not", 100, 251, 3 * second, 10 * second, 4, 250, Vulnerable},
		{"they need no refresh", 100, 1001, 3 * second, 10 * second, 4, 250, Overloaded},
		{"nobody refreshes", 100, 1000, 0, 10 * second, 1, 1000, Stable},
		{"who leaves at 9 s does not ask again then", 100, 300, 3 * second, 9 * second, 3, 1000. / 3, Stable},
		{"who leaves at once asks once", 100, 300, 3 * second, 0, 1, 1000, Stable},
		{"no limit on workers", 0, 1e6, 3 * second, 10 * second, 4, math.Inf(1), Stable},
	} {
		got := must(Sustain(c.workers, c.rate, 100*ms, c.refresh, c.patience))
		if got.Stability != c.want || got.Tries != c.tries || got.Recovers != c.recovers {
			t.Errorf("%s: got %+v, want %s, %d tries, %g", c.what, got, c.want, c.tries, c.recovers)
		}
	}
}

func TestCascadeRefusesHopsOutOfOrder(t *testing.T) {
	for what, hops := range map[string][]Hop{
		"waits for a later one": {{Service: "a"}, {Service: "b", After: "c"}, {Service: "c", After: "a"}},
		"waits for nothing":     {{Service: "a"}, {Service: "b"}},
		"first waits":           {{Service: "a", After: "b"}},
		"twice":                 {{Service: "a"}, {Service: "a", After: "a"}},
	} {
		if _, err := Cascade(hops); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}
