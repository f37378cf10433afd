package recommendations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/pkg/resilience"
)

// Every store, by name.
func TestStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testStore(t, func(*testing.T) Store { return new(Memory) }) })
	t.Run("postgres", func(t *testing.T) {
		testStore(t, func(t *testing.T) Store { return postgresAt(t, database.Copy(t)) })
	})
}

// database is one with the tables, and nothing in them.
var database = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
	return postgres.Prepare(ctx, url, "recommendations", migrations, nil)
}}

// postgresAt returns a store with all the time in the world, for many at once: the service's own bounds are for one.
func postgresAt(t *testing.T, url string) *Postgres {
	t.Helper()
	dep, err := resilience.New(Database.Dependency, resilience.Policy{Timeout: time.Minute, Slots: resilience.Unlimited})
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(url, 4, dep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Postgres{db}
}

// testStore holds a store to the contract of Store. open returns an empty one that nobody else uses.
func testStore(t *testing.T, open func(t *testing.T) Store) {
	some := func() []Order { return []Order{{"moby-dick", "typee"}, {"emma"}, {"moby-dick", "typee"}} }
	holds := func(t *testing.T, s Store, want []Order) {
		t.Helper()
		got, err := s.Orders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("orders (-want +got)\n%s", diff)
		}
	}

	t.Run("is empty at first", func(t *testing.T) {
		holds(t, open(t), nil)
	})

	t.Run("keeps the history as it was given", func(t *testing.T) {
		s := open(t)
		if err := s.Seed(t.Context(), some()); err != nil {
			t.Fatal(err)
		}
		holds(t, s, some())
	})

	t.Run("keeps the first history", func(t *testing.T) {
		s := open(t)
		for _, history := range [][]Order{nil, some(), {{"walden"}}, nil} {
			if err := s.Seed(t.Context(), history); err != nil {
				t.Fatal(err)
			}
		}
		holds(t, s, some())
	})

	t.Run("shares nothing with its caller", func(t *testing.T) {
		s := open(t)
		given := some()
		if err := s.Seed(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		given[0][0], given[1] = "changed", Order{"changed"}
		got, err := s.Orders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got[0][1], got[2] = "changed", Order{"changed"}
		holds(t, s, some())
	})

	t.Run("takes the longest history there may be", func(t *testing.T) {
		s := open(t)
		if err := s.Seed(t.Context(), many(MaxOrders)); err != nil {
			t.Fatal(err)
		}
		got, err := s.Orders(t.Context())
		if err != nil || len(got) != MaxOrders {
			t.Errorf("%d orders and error %v, want %d and none", len(got), err, MaxOrders)
		}
	})

	// The rollback: whatever is wrong, nothing of the history is kept, the good orders before the bad one included.
	wide := make(Order, MaxOrderBooks+1)
	for i := range wide {
		wide[i] = fmt.Sprintf("book-%d", i)
	}
	for name, history := range map[string][]Order{
		"too many orders":           many(MaxOrders + 1),
		"an order without a book":   append(some(), Order{}),
		"an order of too many":      append(some(), wide),
		"a book twice in one order": append(some(), Order{"emma", "walden", "emma"}),
		"an id that is none":        append(some(), Order{"emma", "../walden"}),
		"an id that is too long":    append(some(), Order{strings.Repeat("a", 10<<10)}),
	} {
		t.Run("refuses whole a history with "+name, func(t *testing.T) {
			s := open(t)
			if err := s.Seed(t.Context(), history); !errors.Is(err, ErrBadHistory) {
				t.Errorf("error %v, want ErrBadHistory", err)
			}
			holds(t, s, nil)
		})
	}

	t.Run("does nothing for a caller who has left", func(t *testing.T) {
		s := open(t)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := s.Seed(gone, some()); !errors.Is(err, context.Canceled) {
			t.Errorf("Seed: error %v, want context.Canceled", err)
		}
		if _, err := s.Orders(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("Orders: error %v, want context.Canceled", err)
		}
		holds(t, s, nil)
	})

	// The race: several instances start on one empty store. One history wins whole, and every reader sees none or all of it.
	t.Run("keeps one whole history of several at once", func(t *testing.T) {
		s := open(t)
		var wg sync.WaitGroup
		for i := range 8 {
			own := make([]Order, 50)
			for j := range own {
				own[j] = Order{fmt.Sprintf("by-%d", i)}
			}
			wg.Go(func() {
				if err := s.Seed(t.Context(), own); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				got, err := s.Orders(t.Context())
				if err != nil || len(got) != 0 && len(got) != 50 {
					t.Errorf("read %d orders and error %v, want 0 or 50 and none", len(got), err)
				}
			})
		}
		wg.Wait()
		got, err := s.Orders(t.Context())
		if err != nil || len(got) != 50 {
			t.Fatalf("%d orders and error %v, want 50 and none", len(got), err)
		}
		for _, order := range got {
			if order[0] != got[0][0] {
				t.Fatalf("orders of %s and of %s, want those of one", got[0][0], order[0])
			}
		}
	})
}

// many returns a history of n orders.
func many(n int) []Order {
	history := make([]Order, n)
	for i := range history {
		history[i] = Order{"emma"}
	}
	return history
}
