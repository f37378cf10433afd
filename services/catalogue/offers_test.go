package catalogue

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

func (r reply) offers() []string {
	ids := []string{}
	for _, b := range r.Offers {
		ids = append(ids, b.ID)
	}
	return ids
}

func TestOffersInAnotherCurrency(t *testing.T) {
	s := newShop(t, "all")
	got := s.get(t, "/offers?currency=EUR")
	want := []string{"an-odyssey", "typee", "the-time-machine", "moby-dick"} // known books, each once, maxOffers of them
	if diff := cmp.Diff(want, got.offers()); got.Status != 200 || diff != "" {
		t.Fatalf("%d (-want +got)\n%s", got.Status, diff)
	}
	typee, price := got.Offers[1], money{"7.96", "EUR"} // 9.05 × 0.8797396 = 7.96164338
	if typee.Title != "Typee" || typee.Author != "Herman Melville" || typee.Price != price {
		t.Errorf("got %+v", typee)
	}
	if got.RatesAsOf != "2026-09-24" || got.Degraded != nil {
		t.Errorf("rates as of %q, degraded %v, want 2026-09-24 and nothing", got.RatesAsOf, got.Degraded)
	}
	if asked := s.recommendations.last.Load().URL.String(); asked != "/offers?limit=4" {
		t.Errorf("recommendations was asked for %s", asked)
	}
}

// Whatever recommendations does, there is an answer, which says when the offers are not the real ones.
func TestD1NoOffersIsAnAnswer(t *testing.T) {
	degraded := []string{"offers"}
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		degraded []string
	}{
		{"held", holds, degraded},
		{"500", says(500, "oops"), degraded},
		{"429", says(429, ""), degraded},
		{"noise", says(200, "<html>"), degraded},
		{"no list", says(200, `{"related":["typee"]}`), degraded},
		{"null", says(200, "null"), degraded},
		{"too long", says(200, `{"offers":["`+strings.Repeat("x", 65<<10)+`"]}`), degraded},
		{"an older one, which has no offers", says(404, ""), degraded},
		{"an empty list", says(200, `{"offers":[]}`), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, "all")
			s.recommendations.now(c.answer)
			start := time.Now()
			got := s.get(t, "/offers?currency=EUR")
			if got.Status != 200 || len(got.Offers) != 0 || !slices.Equal(got.Degraded, c.degraded) {
				t.Errorf("got %d, offers %v, degraded %v; want 200, none, %v",
					got.Status, got.offers(), got.Degraded, c.degraded)
			}
			if took := time.Since(start); took >= routeBudget {
				t.Errorf("took %v, which is not inside the route's %v", took, routeBudget)
			}
		})
	}
}

func TestOffersWithoutRatesAreInDollars(t *testing.T) {
	s := newShop(t, "all")
	s.currency.now(says(500, ""))
	got := s.get(t, "/offers?currency=EUR")
	if len(got.Offers) != maxOffers || !slices.Equal(got.Degraded, []string{"prices"}) {
		t.Fatalf("got %+v, want %d offers, marked", got, maxOffers)
	}
	if want := (money{"12.50", "USD"}); got.Offers[0].Price != want {
		t.Errorf("price %v, want %v", got.Offers[0].Price, want)
	}
}

// Offers and carousel ask the same service and cannot turn each other away: the slots that held offers take are theirs.
func TestHeldOffersCostTheCarouselNothing(t *testing.T) {
	s := newShop(t, "all,-timeouts,-deadlines") // or the held would be ended
	asked, letGo := make(chan struct{}), make(chan struct{})
	answer := *s.recommendations.answer.Load()
	s.recommendations.now(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/offers" {
			asked <- struct{}{}
			<-letGo
		}
		answer(w, r)
	})
	held := make(chan reply)
	for range offering.Policy.Slots {
		go func() { held <- s.get(t, "/offers") }()
		<-asked
	}
	if got := s.get(t, "/offers"); len(got.Offers) != 0 || !slices.Equal(got.Degraded, []string{"offers"}) {
		t.Errorf("one more: offers %v, degraded %v; want to be turned away", got.offers(), got.Degraded)
	}
	if got := s.get(t, "/books/moby-dick"); len(got.Related) == 0 || got.Degraded != nil {
		t.Errorf("carousel %v, degraded %v; want it whole", got.related(), got.Degraded)
	}
	close(letGo)
	for range offering.Policy.Slots {
		if got := <-held; len(got.Offers) != maxOffers {
			t.Errorf("offers %v after all, want %d", got.offers(), maxOffers)
		}
	}
}

// The numbers in dependencies.go are what their reasons say.
func TestSlotsForOffers(t *testing.T) {
	want, err := resilience.SlotsFor(40, 100*time.Millisecond)
	if got := offering.Policy.Slots; err != nil || got != want {
		t.Errorf("%d slots, want %d (%v)", got, want, err)
	}
	capacity := service.Capacity{Workers: service.Defaults("catalogue").Workers}
	if err := service.CheckLedger(capacity, Dependencies); err != nil {
		t.Error(err)
	}
}
