package recommendations

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A small shop in which every rule of the order decides once.
func TestMuchBought(t *testing.T) {
	books := []Book{{ID: "b-tied"}, {ID: "once"}, {ID: "a-tied"}, {ID: "never"}, {ID: "most"}, {ID: "long-ago"}}
	var history []Order
	for range lately { // as many again as count
		history = append(history, Order{"long-ago"})
	}
	for i := range lately {
		switch {
		case i < 3:
			history = append(history, Order{"most", "a-tied", "no-longer-sold"})
		case i < 6:
			history = append(history, Order{"b-tied", "most"})
		case i == 6:
			history = append(history, Order{"once"})
		default:
			history = append(history, Order{"no-longer-sold"})
		}
	}
	want := []string{"most", "a-tied", "b-tied", "once"}
	if diff := cmp.Diff(want, muchBought(books, history)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"long-ago"}, muchBought(books, history[:lately])); diff != "" {
		t.Errorf("a history that ends earlier (-want +got)\n%s", diff)
	}
}

// However many books were bought, the list is bounded.
func TestMuchBoughtIsBounded(t *testing.T) {
	var books []Book
	var history []Order
	for i := range maxOffers + 5 {
		books = append(books, Book{ID: fmt.Sprintf("book-%d", i)})
		history = append(history, Order{books[i].ID})
	}
	if got := muchBought(books, history); len(got) != maxOffers {
		t.Errorf("%d offers, want %d", len(got), maxOffers)
	}
}

// For any shop: the order of the books means nothing, nor that of the history as far as it counts.
func TestMuchBoughtIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		books, history := shops(t)
		want := muchBought(books, history)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 0))
		rng.Shuffle(len(books), func(i, j int) { books[i], books[j] = books[j], books[i] })
		newest := slices.Clone(history[max(0, len(history)-lately):])
		rng.Shuffle(len(newest), func(i, j int) { newest[i], newest[j] = newest[j], newest[i] })
		if diff := cmp.Diff(want, muchBought(books, newest)); diff != "" {
			t.Fatalf("after a shuffle:\n%s", diff)
		}
	})
}
