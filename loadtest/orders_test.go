package loadtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/pipenet"
)

// checked lets so many people order from a shop, all of them well, and then checks their orders, in fake time.
func checked(t *testing.T, people int, shop *fakeShop) (p *act, took time.Duration, progress string) {
	t.Helper()
	var network pipenet.Network
	listener, err := network.Listen("shop:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: shop}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	transport := &http.Transport{DialContext: network.DialContext, MaxIdleConnsPerHost: checkers}
	defer func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	}()

	phases := []Phase{{Name: "all", For: Duration(time.Duration(people) * time.Second)}}
	s := &Scenario{Classes: map[string]Class{"people": {Kind: Order, Rate: 1}}}
	s.complete()
	var log bytes.Buffer
	p = &act{Act: &Act{Name: "act", Phases: phases}, scenario: s, shop: shop, shelf: testShelf(t)}
	p.show = newProgress(&log)
	p.phases = []playedPhase{{Phase: phases[0], to: time.Duration(phases[0].For)}}
	p.admin = &admin{shop, &http.Client{Transport: transport}}
	p.shelf.stock = p.shelf.stock[:2]
	if p.shelf.left, err = readStock(t.Context(), p.admin, shop); err != nil {
		t.Fatal(err)
	}
	p.sender = &sender{schedule: schedule{names: []string{"people"}}, run0: "run"}
	chance := rand.New(rand.NewPCG(1, 1))
	for i := range people {
		come := hit{at: time.Duration(i) * time.Second, ask: newAsk(s.Classes["people"], p.shelf, chance)}
		p.sender.hits = append(p.sender.hits, come)
	}
	p.tally = newTally(s, p.phases, p.sender.schedule, 1)
	lie := shop.lie
	shop.lie = nil // until all have ordered
	for seq := range p.sender.hits {
		h := &p.sender.hits[seq]
		got, err := p.tryOnce(t.Context(), "gateway", h.ask, p.sender.key(uint64(seq)))
		if err != nil {
			t.Fatal(err)
		}
		p.tally.record(h, p.shelf.judge(h.ask, nil, got), 0, 0)
	}
	shop.lie = lie
	began := time.Now()
	p.orders = p.checkOrders(t.Context())
	return p, time.Since(began), log.String()
}

// Every order is checked, however many there are, and no more at once than the shop has slots for.
func TestEveryOrderIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		slow := func(_ *fakeShop, _ http.ResponseWriter, r *http.Request) bool {
			if on(ordersRead, r) {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(20 * time.Millisecond)
				now.Add(-1)
			}
			return false
		}
		p, took, progress := checked(t, 1000, fakeHandler(slow))
		read, sent := findings{asked: 1000, found: 1000}, findings{asked: maxRepeats, found: maxRepeats}
		if p.orders.findings != read || p.orders.repeats != sent || p.void != nil {
			t.Errorf("%+v, void %q", p.orders, p.void)
		}
		if s := p.orders.stock; s.wrong != nil || s.open != 0 || s.sold < 1000 || s.sold != s.ordered {
			t.Errorf("stock %+v", s)
		}
		if most.Load() != checkers {
			t.Errorf("%d orders were asked for at once, want %d", most.Load(), checkers)
		}
		if took != 5*time.Second { // 1000 × 20 ms by four
			t.Errorf("took %s, want 5s", took)
		}
		want := "act: orders read back: 400 of 1000\nact: orders read back: 800 of 1000\n"
		if progress != want {
			t.Errorf("progress %q, want %q", progress, want)
		}
	})
}

// A shop that comes to itself is waited for; one that never tells of its orders has proved nothing, and does not keep
// the runner for ever.
func TestAShopThatDoesNotTellOfItsOrders(t *testing.T) {
	for name, c := range map[string]struct {
		silent time.Duration
		want   int // orders found
		void   string
	}{
		"for five seconds": {5 * time.Second, 20, ""},
		"to the end": {time.Hour, 0,
			"20 of 20 accepted orders could not be read back within 30s, the last for: /orders/ord_"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var until time.Time
				silent := func(_ *fakeShop, w http.ResponseWriter, r *http.Request) bool {
					if until.IsZero() {
						until = time.Now().Add(c.silent)
					}
					if !on(ordersRead, r) || time.Now().After(until) {
						return false
					}
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				}
				p, took, _ := checked(t, 20, fakeHandler(silent))
				got, void := p.orders, p.void
				if got.asked != c.want || got.found != c.want || got.missing != nil {
					t.Errorf("%d of %d found: %v", got.found, got.asked, got.missing)
				}
				if all := strings.Join(void, "\n"); (c.void == "") != (all == "") || !strings.Contains(all, c.void) {
					t.Errorf("void %q, want %q", void, c.void)
				}
				if took > checkFor+time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

// Of people who got no right answer nobody knows whether they were sold something, unless they were never sent.
func TestWhatPeopleWereToldOfTheirOrders(t *testing.T) {
	h := hit{ask: &ask{kind: Order, lines: []line{{book: "typee", quantity: 1}, {book: "walden", quantity: 2}}}}
	for v, want := range map[verdict]string{
		good: "1 accepted, open map[]", late: "1 accepted, open map[]", unsent: "0 accepted, open map[]",
		wrong: "0 accepted, open map[typee:1 walden:2]", refused: "0 accepted, open map[typee:1 walden:2]",
		failed: "0 accepted, open map[typee:1 walden:2]", gaveUp: "0 accepted, open map[typee:1 walden:2]",
	} {
		o := newOrders(1)
		o.record(&h, judged{verdict: v, order: "ord_1"})
		if got := fmt.Sprintf("%d accepted, open %v", len(o.accepted), o.open); got != want {
			t.Errorf("verdict %d: %s, want %s", v, got, want)
		}
	}
}

func TestWhatLeftTheStockWasOrdered(t *testing.T) {
	for sold, want := range map[int]string{
		1: "typee: 1 copies left the stock, 2 to 5 were ordered",
		2: "", 3: "", 5: "",
		6: "typee: 6 copies left the stock, 2 to 5 were ordered",
	} {
		left := func(typee int) map[string]int { return map[string]int{"typee": typee, "walden": 2} }
		s := compareStock(left(9), left(9-sold), map[string]int{"typee": 2}, map[string]int{"typee": 3})
		if got := because("", s.wrong); strings.TrimPrefix(got, "; ") != want {
			t.Errorf("%d sold: %q, want %q", sold, got, want)
		}
		if s.sold != sold || s.ordered != 2 || s.open != 3 {
			t.Errorf("%d sold: %+v", sold, s)
		}
	}
}
