package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/holdfast/internal/pgtest"
)

// testStore is what every Store must do, whatever it keeps its rows in. open returns a store with the given stock and
// room for at least a thousand orders.
func testStore(t *testing.T, open func(t pgtest.TB, stock map[string]int) Store) {
	const lease = time.Minute
	// claim takes a key that must be free.
	claim := func(t testing.TB, s Store, key string) Claim {
		t.Helper()
		c, stored, err := s.Claim(t.Context(), key, Fingerprint{1}, lease)
		if err != nil || stored != nil {
			t.Fatalf("claim %q: %v, %v; want a claim", key, stored, err)
		}
		return c
	}
	wantStock := func(t testing.TB, s Store, want map[string]int) {
		t.Helper()
		got, err := s.Stock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stock (-want +got):\n%s", diff)
		}
	}

	t.Run("an order is placed and found", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5, "dracula": 2})
		o := orderOf(line("emma", 3), line("dracula", 1))
		if err := s.Place(t.Context(), claim(t, s, "k"), o); err != nil {
			t.Fatal(err)
		}
		got, err := s.Order(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("order (-placed +found):\n%s", diff)
		}
		wantStock(t, s, map[string]int{"emma": 2, "dracula": 1})
	})

	t.Run("an unknown order is not found", func(t *testing.T) {
		s := open(t, nil)
		if _, err := s.Order(t.Context(), newOrderID()); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
	})

	t.Run("a completed key answers with its order", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		o := orderOf(line("emma", 1))
		if err := s.Place(t.Context(), claim(t, s, "k"), o); err != nil {
			t.Fatal(err)
		}
		_, stored, err := s.Claim(t.Context(), "k", Fingerprint{1}, lease)
		if err != nil || stored == nil {
			t.Fatalf("claim of a completed key: %v, %v", stored, err)
		}
		if diff := cmp.Diff(o, *stored); diff != "" {
			t.Errorf("order (-placed +stored):\n%s", diff)
		}
	})

	t.Run("a key of another fingerprint is reused, claimed or completed", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		c := claim(t, s, "k")
		if _, _, err := s.Claim(t.Context(), "k", Fingerprint{2}, lease); !errors.Is(err, ErrKeyReused) {
			t.Errorf("while claimed: %v, want ErrKeyReused", err)
		}
		if err := s.Place(t.Context(), c, orderOf(line("emma", 1))); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Claim(t.Context(), "k", Fingerprint{2}, lease); !errors.Is(err, ErrKeyReused) {
			t.Errorf("once completed: %v, want ErrKeyReused", err)
		}
	})

	t.Run("a claimed key is in progress until it is released", func(t *testing.T) {
		s := open(t, nil)
		c := claim(t, s, "k")
		if _, _, err := s.Claim(t.Context(), "k", Fingerprint{1}, lease); !errors.Is(err, ErrInProgress) {
			t.Errorf("second claim: %v, want ErrInProgress", err)
		}
		if err := s.Release(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Claim(t.Context(), "k", Fingerprint{2}, lease); err != nil {
			t.Errorf("claim of a freed key, for another order: %v", err)
		}
	})

	t.Run("a released claim cannot be completed, nor free its successor", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		old := claim(t, s, "k")
		if err := s.Release(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if err := s.Place(t.Context(), old, orderOf(line("emma", 1))); !errors.Is(err, ErrClaimLost) {
			t.Errorf("place: %v, want ErrClaimLost", err)
		}
		claim(t, s, "k")
		if err := s.Release(t.Context(), old); err != nil {
			t.Errorf("second release: %v, want no error", err)
		}
		if _, _, err := s.Claim(t.Context(), "k", Fingerprint{1}, lease); !errors.Is(err, ErrInProgress) {
			t.Errorf("the successor's claim: %v, want ErrInProgress", err)
		}
		wantStock(t, s, map[string]int{"emma": 5})
	})

	t.Run("a completed claim is not released", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		c := claim(t, s, "k")
		if err := s.Place(t.Context(), c, orderOf(line("emma", 1))); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, stored, err := s.Claim(t.Context(), "k", Fingerprint{1}, lease); err != nil || stored == nil {
			t.Errorf("claim: %v, %v; want the stored order", stored, err)
		}
	})

	t.Run("a claim is completed once", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		c := claim(t, s, "k")
		if err := s.Place(t.Context(), c, orderOf(line("emma", 1))); err != nil {
			t.Fatal(err)
		}
		if err := s.Place(t.Context(), c, orderOf(line("emma", 1))); !errors.Is(err, ErrClaimLost) {
			t.Errorf("second place: %v, want ErrClaimLost", err)
		}
		wantStock(t, s, map[string]int{"emma": 4})
	})

	t.Run("a lapsed claim can be taken over, and then no longer completed", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		lapsed, _, err := s.Claim(t.Context(), "k", Fingerprint{1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		next := claim(t, s, "k")
		if err := s.Place(t.Context(), lapsed, orderOf(line("emma", 1))); !errors.Is(err, ErrClaimLost) {
			t.Errorf("place under the lapsed claim: %v, want ErrClaimLost", err)
		}
		if err := s.Place(t.Context(), next, orderOf(line("emma", 1))); err != nil {
			t.Errorf("place under the next claim: %v", err)
		}
		wantStock(t, s, map[string]int{"emma": 4})
	})

	t.Run("a lapsed claim that nobody took over is completed", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		c, _, err := s.Claim(t.Context(), "k", Fingerprint{1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Place(t.Context(), c, orderOf(line("emma", 1))); err != nil {
			t.Error(err)
		}
	})

	t.Run("too little of one title takes nothing of the others, and the claim stands", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5, "dracula": 1, "ulysses": 0})
		c := claim(t, s, "k")
		o := orderOf(line("ulysses", 1), line("emma", 5), line("dracula", 2), line("never-heard-of", 1))
		err := s.Place(t.Context(), c, o)
		short, ok := errors.AsType[*ShortError](err)
		if !ok {
			t.Fatalf("error %v, want a ShortError", err)
		}
		want := []Shortage{{"dracula", 2, 1}, {"never-heard-of", 1, 0}, {"ulysses", 1, 0}}
		if diff := cmp.Diff(want, short.Short); diff != "" {
			t.Errorf("short (-want +got):\n%s", diff)
		}
		wantStock(t, s, map[string]int{"emma": 5, "dracula": 1, "ulysses": 0})
		if err := s.Place(t.Context(), c, orderOf(line("emma", 5))); err != nil {
			t.Errorf("under the same claim: %v", err)
		}
	})

	t.Run("two lines of one title cannot take more than there is", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 3})
		err := s.Place(t.Context(), claim(t, s, "k"), orderOf(line("emma", 2), line("emma", 2)))
		if _, ok := errors.AsType[*ShortError](err); !ok {
			t.Errorf("error %v, want a ShortError", err)
		}
		wantStock(t, s, map[string]int{"emma": 3})
	})

	t.Run("nothing happens once the context is over", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		c := claim(t, s, "k")
		over, cancel := context.WithCancel(t.Context())
		cancel()
		o := orderOf(line("emma", 1))
		if err := s.Place(over, c, o); !errors.Is(err, context.Canceled) {
			t.Errorf("place: %v, want context.Canceled", err)
		}
		if _, _, err := s.Claim(over, "other", Fingerprint{1}, lease); !errors.Is(err, context.Canceled) {
			t.Errorf("claim: %v, want context.Canceled", err)
		}
		if _, err := s.Order(t.Context(), o.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("order: %v, want ErrNotFound", err)
		}
		wantStock(t, s, map[string]int{"emma": 5})
		if err := s.Place(t.Context(), c, o); err != nil {
			t.Errorf("the claim did not stand: %v", err)
		}
		claim(t, s, "other")
	})

	t.Run("what a store hands out is the caller's", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 5})
		o := orderOf(line("emma", 1))
		if err := s.Place(t.Context(), claim(t, s, "k"), o); err != nil {
			t.Fatal(err)
		}
		o.Lines[0].Quantity = 7
		got, err := s.Order(t.Context(), o.ID)
		if err != nil || got.Lines[0].Quantity != 1 {
			t.Fatalf("the order changed with the caller's: %v, %v", got, err)
		}
		got.Lines[0].Quantity = 8
		stock, _ := s.Stock(t.Context())
		stock["emma"] = 100
		if again, _ := s.Order(t.Context(), o.ID); again.Lines[0].Quantity != 1 {
			t.Errorf("the order changed with what was handed out: %v", again)
		}
		wantStock(t, s, map[string]int{"emma": 4})
	})

	t.Run("one key claimed by a hundred at once is one claim", func(t *testing.T) {
		s := open(t, nil)
		var claims, inProgress atomic.Int32
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				switch _, _, err := s.Claim(t.Context(), "k", Fingerprint{1}, lease); {
				case err == nil:
					claims.Add(1)
				case errors.Is(err, ErrInProgress):
					inProgress.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if claims.Load() != 1 || inProgress.Load() != 99 {
			t.Errorf("%d claims, %d in progress; want 1 and 99", claims.Load(), inProgress.Load())
		}
	})

	t.Run("fifty buyers of the last copy are one order", func(t *testing.T) {
		s := open(t, map[string]int{"emma": 1})
		var placed, short atomic.Int32
		var claims []Claim
		for i := range 50 {
			claims = append(claims, claim(t, s, fmt.Sprint("k", i)))
		}
		var buyers sync.WaitGroup
		for _, c := range claims { // all at once
			buyers.Go(func() {
				err := s.Place(t.Context(), c, orderOf(line("emma", 1)))
				if _, ok := errors.AsType[*ShortError](err); ok {
					short.Add(1)
				} else if err == nil {
					placed.Add(1)
				} else {
					t.Error(err)
				}
			})
		}
		buyers.Wait()
		if placed.Load() != 1 || short.Load() != 49 {
			t.Errorf("%d placed, %d short; want 1 and 49", placed.Load(), short.Load())
		}
		wantStock(t, s, map[string]int{"emma": 0})
	})

	t.Run("orders of the same titles do not block each other", func(t *testing.T) {
		titles := []string{"dracula", "emma", "ulysses", "walden"}
		first := make(map[string]int)
		for _, title := range titles {
			first[title] = 100
		}
		s := open(t, first)
		want := maps.Clone(first)
		var claims []Claim
		for i := range 40 {
			claims = append(claims, claim(t, s, fmt.Sprint("k", i)))
		}
		var buyers sync.WaitGroup
		for i, c := range claims {
			a, b := titles[i%4], titles[(i+1+i/4%3)%4] // every pair, either way round
			want[a]--
			want[b]--
			buyers.Go(func() {
				if err := s.Place(t.Context(), c, orderOf(line(a, 1), line(b, 1))); err != nil {
					t.Error(err)
				}
			})
		}
		buyers.Wait()
		wantStock(t, s, want)
	})

	// Orders of several titles, in any sequence, many at once, some under a key that was used before: what left the
	// stock is what was ordered, and no title is oversold.
	t.Run("what is sold is what left the stock", rapid.MakeCheck(func(rt *rapid.T) {
		titles := []string{"dracula", "emma", "ulysses"}
		first := make(map[string]int)
		for _, title := range titles {
			first[title] = rapid.IntRange(0, 12).Draw(rt, "stock of "+title)
		}
		s := open(rt, first)
		type attempt struct {
			key   string
			order Order
		}
		attempts := make([]attempt, rapid.IntRange(1, 12).Draw(rt, "attempts"))
		for i := range attempts {
			var lines []Line
			for _, title := range rapid.Permutation(titles).Draw(rt, "sequence") {
				if n := rapid.IntRange(0, 4).Draw(rt, "copies of "+title); n > 0 {
					lines = append(lines, line(title, n))
				}
			}
			attempts[i] = attempt{fmt.Sprint("k", rapid.IntRange(0, 8).Draw(rt, "key")), orderOf(lines...)}
		}

		var buyers sync.WaitGroup
		placed := make([]bool, len(attempts))
		for i, a := range attempts {
			buyers.Go(func() {
				c, stored, err := s.Claim(t.Context(), a.key, Fingerprint{1}, lease)
				if err != nil || stored != nil {
					return // another attempt has the key
				}
				if s.Place(t.Context(), c, a.order) == nil {
					placed[i] = true
				} else if err := s.Release(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		buyers.Wait()

		want := maps.Clone(first)
		orders := make(map[string]int)
		for i, a := range attempts {
			_, err := s.Order(t.Context(), a.order.ID)
			if placed[i] != (err == nil) {
				rt.Fatalf("attempt %d: placed %v, found with error %v", i, placed[i], err)
			}
			if placed[i] {
				orders[a.key]++
				for _, l := range a.order.Lines {
					want[l.Book] -= l.Quantity
				}
			}
		}
		got, err := s.Stock(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("stock (-first less ordered +got):\n%s", diff)
		}
		for title, n := range got {
			if n < 0 {
				rt.Fatalf("%s: %d left", title, n)
			}
		}
		for key, n := range orders {
			if n > 1 {
				rt.Fatalf("%d orders under key %s", n, key)
			}
		}
	}))
}

// Every store, by name.
func TestStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		testStore(t, func(t pgtest.TB, stock map[string]int) Store { return memoryOf(t, stock, 1000) })
	})
	t.Run("postgres", func(t *testing.T) {
		p := postgresAt(t, database.Copy(t))
		testStore(t, func(t pgtest.TB, stock map[string]int) Store {
			restock(t, p, stock)
			return p
		})
	})
}

// A full store refuses what is new, and still answers what it has taken. Room that a claim has reserved is its own.
func TestMemoryRefusesWhenFull(t *testing.T) {
	m := memoryOf(t, map[string]int{"emma": 10}, 2)
	claim := func(key string) (Claim, *Order, error) { return m.Claim(t.Context(), key, Fingerprint{1}, time.Minute) }

	first, _, err := claim("first")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := claim("second")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim("third"); !errors.Is(err, ErrFull) {
		t.Fatalf("third claim: %v, want ErrFull", err)
	}
	if err := m.Place(t.Context(), first, orderOf(line("emma", 1))); err != nil {
		t.Errorf("an order whose room was reserved: %v", err)
	}
	if err := m.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	third, _, err := claim("third")
	if err != nil {
		t.Fatalf("room that was given back: %v", err)
	}
	if err := m.Place(t.Context(), third, orderOf(line("emma", 1))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim("fourth"); !errors.Is(err, ErrFull) {
		t.Errorf("fourth claim: %v, want ErrFull", err)
	}
	if _, stored, err := claim("first"); err != nil || stored == nil {
		t.Errorf("a completed key of a full store: %v, %v; want its order", stored, err)
	}
}

func TestNewMemoryNamesEveryFault(t *testing.T) {
	_, err := NewMemory(map[string]int{"emma": -1, "dracula": -2, "ulysses": 3}, 0)
	want := "memory store: the limit of orders must be positive\n" +
		"memory store: the stock of dracula is negative\nmemory store: the stock of emma is negative"
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
}

func memoryOf(t pgtest.TB, stock map[string]int, limit int) *Memory {
	t.Helper()
	m, err := NewMemory(stock, limit)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// line is n copies at 10.00 USD each.
func line(book string, n int) Line {
	return Line{Book: book, Quantity: n, UnitPrice: cents(1000), Total: cents(1000 * int64(n))}
}

func orderOf(lines ...Line) Order {
	var total int64
	for _, l := range lines {
		total += 1000 * int64(l.Quantity)
	}
	return Order{
		ID: newOrderID(), CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
		Lines: lines, Total: cents(total),
	}
}

func cents(n int64) currency.Amount {
	a, err := currency.NewAmountFromInt64(n, "USD")
	if err != nil {
		panic(err)
	}
	return a
}
