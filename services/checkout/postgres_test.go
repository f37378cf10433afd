package checkout

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// These tests put a network between the whole service and its database, and break it.

// database is one with the tables, and nothing in them.
var database = pgtest.Template{Prepare: func(ctx context.Context, url string) error { return prepare(ctx, url, nil) }}

// postgresAt returns a store with all the time in the world, for a hundred at once: TestStore is of what it does, and
// not of how it is bounded.
func postgresAt(t testing.TB, url string) *Postgres {
	t.Helper()
	open := func(e defence.Edge) *postgres.DB {
		dep, err := resilience.New(e.Dependency, resilience.Policy{Timeout: time.Minute, Slots: resilience.Unlimited})
		if err != nil {
			t.Fatal(err)
		}
		db, err := postgres.Open(url, e.Policy.Slots, dep)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
	return &Postgres{open(Keeping), open(Reading)}
}

// restock forgets all orders and starts again with the given stock. A database of its own for each of hundreds of cases
// would take minutes.
func restock(t pgtest.TB, p *Postgres, stock map[string]int) {
	t.Helper()
	ctx := context.Background() // rapid's cases have none
	_, err := postgres.Write(ctx, p.orders, "restock", func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
		if _, err := tx.Exec(ctx, `truncate idempotency_keys, order_lines, orders, stock`); err != nil {
			return none, err
		}
		return none, seedStock(ctx, tx, stock)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runAt runs the whole service on a database.
func runAt(t *testing.T, url string, catalogue http.HandlerFunc) (shop, admin http.Handler) {
	t.Helper()
	cfg := configOf(t, "all", catalogue, nil)
	cfg.DatabaseURL = url
	return run(t, cfg, func(c *service.Chassis) (*Service, error) { return New(cfg, c) })
}

// ask runs a query of one value.
func ask[T any](t *testing.T, url, query string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lapse makes the time pass that a claim lasts.
func lapse(t *testing.T, url string) {
	t.Helper()
	ask[int](t, url, `with lapsed as (update idempotency_keys set lapses_at = clock_timestamp()
		where order_id is null returning 1) select count(*) from lapsed`)
}

// wantOrders holds the database to so many orders of one copy of emma, whole and under a key each.
func wantOrders(t *testing.T, url string, first, orders int) {
	t.Helper()
	for query, want := range map[string]int{
		`select count(*) from orders`:                                      orders,
		`select count(*) from order_lines`:                                 orders,
		`select count(*) from idempotency_keys where order_id is not null`: orders,
		`select copies from stock where book = 'emma'`:                     first - orders,
		`select count(*) from orders o join order_lines l on l.order_id = o.id
			join idempotency_keys k on k.order_id = o.id`: orders,
	} {
		if got := ask[int](t, url, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

const oneEmma = "12.50"

func emma() string { return order(oneEmma, "USD", "emma", 1) }

// stockOfEmma is what the shop starts with.
func stockOfEmma(t *testing.T, url string) int {
	t.Helper()
	return ask[int](t, url, `select copies from stock where book = 'emma'`)
}

// The blast radius of a database that is frozen or gone: an order is refused within the second, and told when to try
// again, as is a look at an order; the same key works afterwards.
func TestWithoutTheDatabaseOrdersAreRefusedWithinTheSecond(t *testing.T) {
	for name, broken := range map[string]func(*pgtest.Proxy){
		"frozen": (*pgtest.Proxy).Hold, "gone": (*pgtest.Proxy).Gone,
	} {
		t.Run(name, func(t *testing.T) {
			at := database.Copy(t)
			network := pgtest.NewProxy(t, at)
			shop, _ := runAt(t, network.URL(), says(http.StatusOK, goodPrices))
			placed := post(t.Context(), shop, "before", emma())
			if placed.status != http.StatusCreated {
				t.Fatal(placed)
			}
			first := stockOfEmma(t, at) + 1

			broken(network)
			refused := func(what string, ask func() answer) {
				t.Helper()
				began := time.Now()
				a := ask()
				if took := time.Since(began); took >= time.Second {
					t.Errorf("%s took %v", what, took)
				}
				if !a.is(problem.Unavailable) || a.header.Get("Retry-After") == "" {
					t.Errorf("%s: %v", what, a)
				}
			}
			refused("an order", func() answer { return post(t.Context(), shop, "k", emma()) })
			refused("a replay", func() answer { return post(t.Context(), shop, "before", emma()) })
			refused("an order's page", func() answer { return get(t, shop, "/orders/"+placed.ID) })
			refused("the stock", func() answer { return get(t, shop, "/stock") })

			network.Pass()
			if a := post(t.Context(), shop, "k", emma()); a.status != http.StatusCreated {
				t.Errorf("the same key afterwards: %v", a)
			}
			if a := post(t.Context(), shop, "before", emma()); a.body != placed.body {
				t.Errorf("the key from before: %v, want %v", a, placed)
			}
			wantOrders(t, at, first, 2)
		})
	}
}

// A database that stays away is not asked every time: after some tries, who orders is told at once.
func TestADatabaseThatHangsIsGivenUp(t *testing.T) {
	at := database.Copy(t)
	network := pgtest.NewProxy(t, at)
	shop, admin := runAt(t, network.URL(), says(http.StatusOK, goodPrices))
	network.Hold()
	defer network.Pass()
	var people sync.WaitGroup
	for range 2 { // there are fewer slots than a breaker wants to see calls
		for range Keeping.Policy.Slots {
			people.Go(func() { post(t.Context(), shop, rand.Text(), emma()) })
		}
		people.Wait()
	}
	if a := get(t, admin, "/admin/state"); !strings.Contains(a.body, `{"name":"claim","breaker":"open"`) {
		t.Errorf("no breaker is open: %s", a.body)
	}
	began := time.Now()
	a := post(t.Context(), shop, "late", emma())
	if took := time.Since(began); took > 100*time.Millisecond || !a.is(problem.Unavailable) {
		t.Errorf("refused after %v with %v, want at once", took, a)
	}
}

// D13: an order that is cut off between its pieces is not there at all; one whose commit was not answered is there
// whole. Neither is told to anybody, and the key tells what became of it.
func TestD13ACutOrderIsWholeOrNothing(t *testing.T) {
	tests := map[string]struct {
		trap   func(*pgtest.Proxy) <-chan struct{}
		stored bool
	}{
		"before its stock is taken": {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapBefore("update stock") }, false},
		"before the commit":         {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapBefore("commit") }, false},
		"after the commit":          {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapAfter("commit") }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at := database.Copy(t)
			network := pgtest.NewProxy(t, at)
			var sprung <-chan struct{}
			var once sync.Once
			// The catalogue is asked when the key is claimed: the next commit is the order's.
			shop, _ := runAt(t, network.URL(), func(w http.ResponseWriter, r *http.Request) {
				once.Do(func() { sprung = test.trap(network) })
				says(http.StatusOK, goodPrices)(w, r)
			})
			first := stockOfEmma(t, at)
			a := post(t.Context(), shop, "k", emma())
			<-sprung
			if !a.is(problem.Unavailable) {
				t.Errorf("cut: %v", a)
			}
			network.Cut()
			network.Pass()
			if !test.stored {
				wantOrders(t, at, first, 0)
				lapse(t, at)
			} else {
				wantOrders(t, at, first, 1)
			}
			a = post(t.Context(), shop, "k", emma())
			replayed := a.header.Get("Idempotent-Replay") == "true"
			if a.status != http.StatusCreated || replayed != test.stored {
				t.Errorf("the same key: replayed %t, %v", replayed, a)
			}
			wantOrders(t, at, first, 1)
		})
	}
}

// D14: nobody is asked while a connection is held: whatever a slow catalogue holds, it is not the pool.
func TestD14NoConnectionIsHeldWhileTheCatalogueIsAsked(t *testing.T) {
	var admin http.Handler
	var asked atomic.Bool
	at := database.Copy(t)
	shop, admin := runAt(t, at, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		state := get(t, admin, "/admin/state").body
		for _, name := range []string{Keeping.Dependency, Reading.Dependency} {
			_, of, found := strings.Cut(state, `"name":"`+name+`"`)
			if !found || !strings.Contains(of[:min(200, len(of))], `"in_use":0,`) {
				t.Errorf("%s: in use, or not told: %s", name, state)
			}
		}
		says(http.StatusOK, goodPrices)(w, r)
	})
	if a := post(t.Context(), shop, "k", emma()); a.status != http.StatusCreated || !asked.Load() {
		t.Errorf("asked %t: %v", asked.Load(), a)
	}
}

// Instances of the service share a database: one order a key, whoever is asked, and they may all start at once.
func TestInstancesShareADatabase(t *testing.T) {
	var empty pgtest.Template
	at := empty.Copy(t)
	var starting sync.WaitGroup
	for range 8 {
		starting.Go(func() {
			if err := prepare(t.Context(), at, shelf()); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if diff := cmp.Diff(shelf()["emma"], stockOfEmma(t, at)); diff != "" {
		t.Errorf("stock (-first +got):\n%s", diff)
	}

	var instances [3]http.Handler
	for i := range instances {
		instances[i], _ = runAt(t, at, says(http.StatusOK, goodPrices))
	}
	first := stockOfEmma(t, at)

	ids := make(chan string, 12)
	var people sync.WaitGroup
	for i := range cap(ids) {
		people.Go(func() {
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			for {
				a := post(t.Context(), instances[i%len(instances)], "k", emma())
				switch {
				case a.status == http.StatusCreated:
					ids <- a.ID
					return
				case a.is(problem.OrderInProgress), a.is(problem.Unavailable): // told to try again
					<-again.C
				default:
					t.Error(a)
					return
				}
			}
		})
	}
	people.Wait()
	close(ids)
	id := <-ids
	for other := range ids {
		if other != id {
			t.Errorf("orders %s and %s under one key", id, other)
		}
	}
	wantOrders(t, at, first, 1)
	if diff := cmp.Diff(get(t, instances[0], "/orders/"+id).body, get(t, instances[2], "/orders/"+id).body); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkOrder is the claim and the placing of one order, by as many at once as there are connections.
func BenchmarkOrder(b *testing.B) {
	p := postgresAt(b, database.Copy(b))
	restock(b, p, map[string]int{"emma": 1_000_000, "dracula": 1_000_000})
	b.SetParallelism(Keeping.Policy.Slots)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c, _, err := p.Claim(b.Context(), rand.Text(), Fingerprint{1}, time.Minute)
			if err == nil {
				err = p.Place(b.Context(), c, orderOf(line("emma", 1), line("dracula", 1)))
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}
