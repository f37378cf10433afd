package loadtest

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"
)

func amountOf(t *testing.T, number, code string) price {
	t.Helper()
	a, err := currency.NewAmount(number, code)
	if err != nil {
		t.Fatal(err)
	}
	return priceOf(a)
}

// testShelf is what readShelf reads of a fakeShop, but that there is plenty of three books.
func testShelf(t *testing.T) *shelf {
	s := &shelf{title: map[string]string{}, price: map[string]map[string]price{"USD": {}, "EUR": {}}}
	for _, b := range fakeBooks {
		s.books = append(s.books, b.id)
		s.title[b.id] = b.title
		s.price["USD"][b.id] = amountOf(t, b.usd, "USD")
		s.price["EUR"][b.id] = amountOf(t, b.eur, "EUR")
	}
	s.pages = [][]string{s.books[:fakePage], s.books[fakePage:]}
	s.stock = s.books[:3]
	return s
}

func ninetySeconds(t *testing.T) *Scenario {
	t.Helper()
	s, err := Load("ninety-seconds")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The same seed asks the same people for the same things at the same instants.
func TestTheScheduleIsItsSeed(t *testing.T) {
	s, sh := ninetySeconds(t), testShelf(t)
	for _, arrivals := range []Arrivals{Even, Poisson} {
		s.Arrivals = arrivals
		flat := func(seed uint64) (all []string) {
			for _, h := range newSchedule(s, sh, lasting(2*time.Second), seed).hits {
				all = append(all, h.at.String()+h.ask.path+string(h.ask.body))
			}
			return all
		}
		first, again, other := flat(1), flat(1), flat(2)
		if d := cmp.Diff(first, again); d != "" {
			t.Errorf("%s: the same seed gave another schedule: %s", arrivals, d)
		}
		if slices.Equal(first, other) {
			t.Errorf("%s: another seed gave the same schedule", arrivals)
		}
	}
}

func TestEvenArrivals(t *testing.T) {
	s := ninetySeconds(t)
	sched := newSchedule(s, testShelf(t), lasting(10*time.Second), 1)
	if got := len(sched.hits); got != 4400 {
		t.Errorf("%d people in 10 s, want 4400", got)
	}
	byClass := make([][]time.Duration, len(sched.names))
	for i, h := range sched.hits {
		if i > 0 && h.at <= sched.hits[i-1].at {
			t.Fatalf("hit %d comes at %s, the one before at %s: classes coincide", i, h.at, sched.hits[i-1].at)
		}
		byClass[h.class] = append(byClass[h.class], h.at)
	}
	for class, times := range byClass {
		want := time.Duration(float64(time.Second) / float64(s.Classes[sched.names[class]].Rate))
		for i := 1; i < len(times); i++ {
			if d := times[i] - times[i-1] - want; d < -2 || d > 2 {
				t.Fatalf("%s: a gap of %s, want %s", sched.names[class], times[i]-times[i-1], want)
			}
		}
	}
}

// The gaps of a Poisson process have their standard deviation equal to their mean.
func TestPoissonArrivals(t *testing.T) {
	s := ninetySeconds(t)
	s.Arrivals = Poisson
	var gaps []float64
	last := time.Duration(0)
	for _, h := range newSchedule(s, testShelf(t), lasting(60*time.Second), 1).hits {
		if h.class == 0 {
			gaps = append(gaps, (h.at - last).Seconds())
			last = h.at
		}
	}
	mean, square := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
		square += g * g / float64(len(gaps))
	}
	if rate := 1 / mean; math.Abs(rate-360) > 10 {
		t.Errorf("rate %.0f/s, want 360", rate)
	}
	if cv := math.Sqrt(square-mean*mean) / mean; math.Abs(cv-1) > 0.05 {
		t.Errorf("standard deviation / mean = %.3f, want 1", cv)
	}
}

func TestOrdersAreForOneOrTwoTitlesAndTheirSum(t *testing.T) {
	s, sh := ninetySeconds(t), testShelf(t)
	totals := map[string]bool{}
	for _, h := range newSchedule(s, sh, lasting(5*time.Second), 1).hits {
		if h.ask.kind == Order {
			totals[h.ask.total.Number()] = true
		}
	}
	for _, want := range []string{"12.50", "9.00", "7.25", "21.50", "19.75", "16.25"} {
		if !totals[want] {
			t.Errorf("nobody ordered for %s", want)
		}
		delete(totals, want)
	}
	if len(totals) > 0 {
		t.Errorf("totals that no order of one or two titles has: %v", totals)
	}
}

func TestCurrenciesAreAskedForByTheirShares(t *testing.T) {
	s := ninetySeconds(t)
	c := s.Classes["browse"]
	c.Currencies = map[string]Share{"USD": 0.75, "EUR": 0.25}
	s.Classes["browse"] = c
	euros, all := 0.0, 0.0
	for _, h := range newSchedule(s, testShelf(t), lasting(10*time.Second), 1).hits {
		if h.ask.kind == Browse {
			all++
			if h.ask.currency == "EUR" {
				euros++
			}
		}
	}
	if share := euros / all; math.Abs(share-0.25) > 0.05 {
		t.Errorf("%.2f asked for euros, want about 0.25", share)
	}
}

// lasting is an act of one phase.
func lasting(length time.Duration) []Phase { return []Phase{{Name: "all", For: Duration(length)}} }

// A phase may have rates of its own: more people come, or nobody; and where the rate stays, the arrivals run on.
func TestRatesOfAPhase(t *testing.T) {
	phases := []Phase{
		{Name: "a", For: Duration(time.Second)},
		{Name: "b", For: Duration(1500 * time.Millisecond)},
		{Name: "more", For: Duration(2 * time.Second), Rates: map[string]Rate{"browse": 30}},
		{Name: "nobody", For: Duration(time.Second), Rates: map[string]Rate{"browse": 0}},
		{Name: "again", For: Duration(time.Second)},
	}
	want := []int{10, 15, 60, 0, 10}
	for how, near := range map[Arrivals]float64{Even: 0, Poisson: 0.6} {
		s := &Scenario{Arrivals: how, Classes: map[string]Class{"browse": {Kind: Browse, Rate: 10}}}
		s.complete()
		sched := newSchedule(s, testShelf(t), phases, 1)
		from := time.Duration(0)
		for i, ph := range phases {
			to, n := from+time.Duration(ph.For), 0
			for _, h := range sched.hits {
				if h.at >= from && h.at < to {
					n++
				}
			}
			if math.Abs(float64(n-want[i])) > near*float64(want[i]) {
				t.Errorf("%s: %d people came in %s, want %d", how, n, ph.Name, want[i])
			}
			from = to
		}
		if sched.fastest[0] != 30 {
			t.Errorf("%s: the fastest is %v/s", how, sched.fastest[0])
		}
	}
}
