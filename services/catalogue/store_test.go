package catalogue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/pkg/resilience"
)

// usd is an amount written down in a test.
func usd(t testing.TB, number string) currency.Amount {
	t.Helper()
	a, err := currency.NewAmount(number, Home)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// testBooks are few, and each is there for a reason.
func testBooks(t testing.TB) []Book {
	return []Book{
		{ID: "moby-dick", Title: "Moby-Dick; or, The Whale", Author: "Herman Melville", Year: 1851, Language: "English",
			Subjects: []string{"Whaling", "Sea stories"}, Description: "A captain hunts a whale.", Price: usd(t, "12.50")},
		{ID: "typee", Title: "Typee", Author: "Herman Melville", Year: 1846, Language: "English",
			Subjects: []string{"Sea stories"}, Description: "A sailor stays.", Price: usd(t, "9.05")},
		{ID: "les-miserables", Title: "Les Misérables", Author: "Victor Hugo", Year: 1862, Language: "French",
			Subjects: []string{"Historical fiction", "Paris"}, Description: "A loaf of bread.", Price: usd(t, "19.99")},
		{ID: "the-time-machine", Title: "The Time Machine", Author: "H. G. Wells", Year: 1895, Language: "English",
			Subjects: []string{"Science fiction"}, Description: "Forward.", Price: usd(t, "7.00")},
		{ID: "alices-adventures-in-wonderland", Title: "Alice’s Adventures in Wonderland", Author: "Lewis Carroll",
			Year: 1865, Language: "English", Subjects: []string{"Children's stories"}, Description: "Down.", Price: usd(t, "0.05")},
		{ID: "an-odyssey", Title: "An Odyssey", Author: "Homer", Year: -700, Language: "Ancient Greek",
			Subjects: []string{"Epic poetry", "Sea stories"}, Description: "Home.", Price: usd(t, "12.50")},
	}
}

var equalAmounts = cmp.Comparer(func(a, b currency.Amount) bool { return a.Equal(b) })

// Every store, by name.
func TestStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		testStore(t, func(t *testing.T, books []Book) Store {
			m, err := NewMemory(books)
			if err != nil {
				t.Fatal(err)
			}
			return m
		})
	})
	t.Run("postgres", func(t *testing.T) {
		testStore(t, func(t *testing.T, books []Book) Store { return postgresAt(t, database.Copy(t), books) })
	})
}

// database is one with the tables, and nothing in them.
var database = pgtest.Template{Prepare: func(ctx context.Context, url string) error { return prepare(ctx, url, nil) }}

// postgresAt returns a store with all the time in the world, for many at once: the service's own bounds are for one.
func postgresAt(t *testing.T, url string, books []Book) *Postgres {
	t.Helper()
	if err := prepare(t.Context(), url, books); err != nil {
		t.Fatal(err)
	}
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

// testStore holds a store to the contract of Store. open returns one that holds books and nothing else.
func testStore(t *testing.T, open func(t *testing.T, books []Book) Store) {
	t.Run("returns every book as it was given, ordered by ID", func(t *testing.T) {
		got, err := open(t, testBooks(t)).All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := testBooks(t)
		slices.SortFunc(want, func(a, b Book) int { return strings.Compare(a.ID, b.ID) })
		if diff := cmp.Diff(want, got, equalAmounts); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})

	t.Run("may be empty", func(t *testing.T) {
		got, err := open(t, nil).All(t.Context())
		if err != nil || len(got) != 0 {
			t.Errorf("got %d books, error %v, want none of either", len(got), err)
		}
	})

	t.Run("what it returns is the caller's", func(t *testing.T) {
		s := open(t, testBooks(t))
		first, err := s.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first[0].Title, first[0].Subjects[0] = "scribbled", "scribbled"
		second, err := s.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if second[0].Title == "scribbled" || second[0].Subjects[0] == "scribbled" {
			t.Error("a change of what All returned changed the store")
		}
	})

	t.Run("ends with its context, and then returns no part", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := open(t, testBooks(t)).All(ctx)
		if !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("got %d books, error %v, want none and context.Canceled", len(got), err)
		}
	})

	t.Run("answers many at once", func(t *testing.T) {
		s := open(t, testBooks(t))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got, err := s.All(t.Context()); err != nil || len(got) != len(testBooks(t)) {
					t.Errorf("got %d books, error %v", len(got), err)
				}
			})
		}
		all.Wait()
	})
}

func TestNewMemoryTellsEveryBrokenBook(t *testing.T) {
	books := testBooks(t)
	books[0].Price = usd(t, "0")
	books[1].ID = "../typee"
	books[2].Price = usd(t, "1.005")
	books[4].ID = books[3].ID
	_, err := NewMemory(books)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"moby-dick": price 0 is not above zero`, `"../typee" is not a slug`, "parts of a cent",
		`"the-time-machine" comes twice`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not tell %q:\n%v", want, err)
		}
	}
}

func TestNewMemoryCopiesItsBooks(t *testing.T) {
	books := testBooks(t)
	m, err := NewMemory(books)
	if err != nil {
		t.Fatal(err)
	}
	books[0].Title = "scribbled"
	got, err := m.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(got, func(b Book) bool { return b.Title == "scribbled" }) {
		t.Error("a change of what was given changed the store")
	}
}
