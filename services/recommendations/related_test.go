package recommendations

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/holdfast/internal/seed"
)

// A small shop in which every rule of the ranking decides once.
func TestRelateRanks(t *testing.T) {
	books := []Book{
		{"the-one", "A", []string{"sea", "travel"}},
		{"close", "B", nil},                              // always bought with the one: cosine √(5/10)
		{"bestseller", "C", nil},                         // bought with it as often, but with everything else too
		{"rare", "D", nil},                               // only ever bought with it, but four times: too few
		{"z-same-author", "A", []string{"sea"}},          // no sale: same author and one subject
		{"a-same-author", "A", nil},                      // same author, no subject
		{"two-subjects", "E", []string{"travel", "sea"}}, // no sale: two subjects
		{"b-one-subject", "F", []string{"sea"}},
		{"a-one-subject", "G", []string{"travel", "love"}},
		{"stranger", "H", []string{"love"}},
	}
	var history []Order
	for range 5 {
		history = append(history, Order{"the-one", "close"}, Order{"bestseller", "the-one"})
		history = append(history, Order{"bestseller"}, Order{"bestseller"}, Order{"no-longer-sold", "stranger"})
	}
	for range minSupport - 1 {
		history = append(history, Order{"rare", "the-one"})
	}
	want := []string{
		"close", "bestseller", // by cosine
		"z-same-author", "a-same-author", // by author, the more subjects first
		"two-subjects", "a-one-subject", "b-one-subject", // by subjects, then id
	}
	if diff := cmp.Diff(want, relate(books, history)["the-one"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Two books whose cosine is the same, from different numbers, tie exactly and come by id: in floats 7/√(21·7) and
// 14/√(21·28) need not be equal.
func TestRelateTiesExactly(t *testing.T) {
	books := []Book{{ID: "a"}, {ID: "c"}, {ID: "b"}}
	var history []Order
	add := func(n int, order ...string) {
		for range n {
			history = append(history, order)
		}
	}
	add(7, "a", "b")  // 7² / 7 = 7
	add(14, "a", "c") // 14² / 28 = 7
	add(14, "c")
	for range 3 {
		books[1], books[2] = books[2], books[1]
		if got := relate(books, history)["a"]; !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("related %q, want b before c", got)
		}
	}
}

// shops draws a small shop and its history: few books and authors, so that everything collides.
func shops(t *rapid.T) ([]Book, []Order) {
	someSubjects := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"sea", "love", "crime"}), 0, 2, rapid.ID)
	n := rapid.IntRange(1, 30).Draw(t, "books")
	books := make([]Book, n)
	for i := range books {
		books[i] = Book{
			ID:       fmt.Sprintf("book-%d", i),
			Author:   rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "author"),
			Subjects: someSubjects.Draw(t, "subjects"),
		}
	}
	orders := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, n), 1, 5), 0, 60).Draw(t, "orders")
	var history []Order
	for _, picked := range orders {
		var order Order
		for _, i := range picked {
			order = append(order, fmt.Sprintf("book-%d", i)) // book-n is none of the shop's; one may come twice
		}
		for range rapid.IntRange(1, 6).Draw(t, "times") {
			history = append(history, order)
		}
	}
	return books, history
}

// For any shop: known books only, never the book itself, none twice, at most maxRelated; and as many as there is any
// reason for.
func TestRelateIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		books, history := shops(t)
		related := relate(books, history)
		if len(related) != len(books) {
			t.Fatalf("answers for %d books, want %d", len(related), len(books))
		}
		for _, a := range books {
			reasons := 0
			for _, b := range books {
				if a.ID != b.ID && (count(history, a.ID, b.ID) >= minSupport || kinship(a, b) != [2]int{}) {
					reasons++
				}
			}
			ids := related[a.ID]
			if ids == nil || len(ids) != min(reasons, maxRelated) {
				t.Fatalf("%s: %d related of %d with a reason: %v", a.ID, len(ids), reasons, ids)
			}
			for i, id := range ids {
				known := slices.ContainsFunc(books, func(b Book) bool { return b.ID == id })
				if !known || id == a.ID || slices.Contains(ids[:i], id) {
					t.Fatalf("%s: related %v", a.ID, ids)
				}
			}
		}
	})
}

// For any shop: every book stands before the next for a reason, worked out here the slow way and in exact fractions.
func TestRelateOrderIsTheFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		books, history := shops(t)
		byID := map[string]Book{}
		for _, b := range books {
			byID[b.ID] = b
		}
		for a, ids := range relate(books, history) {
			for i := 1; i < len(ids); i++ {
				x, y := ids[i-1], ids[i]
				if by := slowCompare(byID[a], byID[x], byID[y], history); by >= 0 {
					t.Fatalf("%s: %s stands before %s, but compares %d", a, x, y, by)
				}
			}
		}
	})
}

// For any shop: the order of the books and of the history means nothing, and nothing is remembered from call to call.
func TestRelateIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		books, history := shops(t)
		want := relate(books, history)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 0))
		rng.Shuffle(len(books), func(i, j int) { books[i], books[j] = books[j], books[i] })
		rng.Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
		if diff := cmp.Diff(want, relate(books, history)); diff != "" {
			t.Fatalf("after a shuffle:\n%s", diff)
		}
	})
}

// slowCompare is the rule of relate, said a second time: below 0 when x is closer to a than y is.
func slowCompare(a, x, y Book, history []Order) int {
	cx, cy := cosineSquared(history, a.ID, x.ID), cosineSquared(history, a.ID, y.ID)
	if by := cy.Cmp(cx); by != 0 {
		return by
	}
	if cx.Sign() == 0 {
		kx, ky := kinship(a, x), kinship(a, y)
		if by := slices.Compare(ky[:], kx[:]); by != 0 {
			return by
		}
	}
	if x.ID < y.ID {
		return -1
	}
	return 1
}

// cosineSquared is 0 where there is too little support.
func cosineSquared(history []Order, a, b string) *big.Rat {
	together := int64(count(history, a, b))
	if together < minSupport {
		return new(big.Rat)
	}
	return big.NewRat(together*together, int64(count(history, a))*int64(count(history, b)))
}

// count is the number of orders that have all of ids.
func count(history []Order, ids ...string) int {
	n := 0
	for _, order := range history {
		all := true
		for _, id := range ids {
			all = all && slices.Contains(order, id)
		}
		if all {
			n++
		}
	}
	return n
}

// kinship is whether two books share their author, and how many subjects they share.
func kinship(a, b Book) (kin [2]int) {
	if a.Author == b.Author {
		kin[0] = 1
	}
	for _, s := range a.Subjects {
		if slices.Contains(b.Subjects, s) {
			kin[1]++
		}
	}
	return kin
}

// In the shop as it is: every book has at least a row of a page to show, and nearly all have one that readers made.
func TestRelateOfTheShop(t *testing.T) {
	var history []Order
	for _, order := range seed.Orders(historySeed, historyOrders) {
		history = append(history, order)
	}
	books := booksOnSale()
	related := relate(books, history)
	alone := 0
	for _, b := range books {
		if len(related[b.ID]) < defaultLimit {
			t.Errorf("%s has %d related books, want %d or more", b.ID, len(related[b.ID]), defaultLimit)
		}
		if len(related[b.ID]) == 0 || count(history, b.ID, related[b.ID][0]) < minSupport {
			alone++
		}
	}
	if alone > len(books)/20 {
		t.Errorf("%d of %d books have no neighbour of readers' making, want 5 %% at most", alone, len(books))
	}
	if !slices.Contains(related["moby-dick"][:defaultLimit], "typee") {
		t.Errorf("readers of Moby-Dick also bought %q, want Typee among the first five", related["moby-dick"])
	}
}
