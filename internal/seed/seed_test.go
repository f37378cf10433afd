package seed

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The shop has enough books to browse, in one order, each once, and some that can sell out.
func TestBooksAreManyUniqueAndSorted(t *testing.T) {
	all := Books()
	if len(all) < 110 {
		t.Errorf("%d books, want at least 110", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b Book) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted by id")
	}
	ids, titles, stocks := map[string]bool{}, map[string]bool{}, map[int]int{}
	for _, b := range all {
		if ids[b.ID] || titles[b.Title] {
			t.Errorf("%s: id or title is there twice", b.ID)
		}
		ids[b.ID], titles[b.Title] = true, true
		stocks[b.Stock]++
	}
	for _, id := range []string{"moby-dick", "pride-and-prejudice", "frankenstein", "walden"} {
		if !ids[id] {
			t.Errorf("no %s", id)
		}
	}
	scarce := stocks[0] + stocks[1] + stocks[2] + stocks[3]
	if scarce < 12 || stocks[0] == 0 || stocks[1] == 0 || stocks[AlwaysInStock] < 100 {
		t.Errorf("stocks %v, want a dozen titles of 0 to 3, with a 0 and a 1 among them, and 100 of %d", stocks, AlwaysInStock)
	}
}

// Whatever an editor of the file lets slip, the rules of Book hold: they are said here once more, without the parser.
func TestEveryFieldOfEveryBook(t *testing.T) {
	for _, b := range Books() {
		t.Run(b.ID, func(t *testing.T) {
			if !ValidID(b.ID) || b.ID != slug(b.Title) {
				t.Errorf("id %q of title %q", b.ID, b.Title)
			}
			if b.Author == "" || b.Year < 1450 || b.Year > 1929 || !slices.Contains(Languages, b.Language) {
				t.Errorf("author %q, year %d, language %q", b.Author, b.Year, b.Language)
			}
			if n := len(b.Subjects); n < 1 || n > 4 || len(unique(b.Subjects)) != n {
				t.Errorf("subjects %q", b.Subjects)
			}
			for _, s := range b.Subjects {
				if !slices.Contains(Subjects, s) {
					t.Errorf("subject %q", s)
				}
			}
			if b.PriceCents < 500 || b.PriceCents > 9000 {
				t.Errorf("price %d", b.PriceCents)
			}
			if sentences(b.Description) != 2 || b.Description != strings.Join(strings.Fields(b.Description), " ") {
				t.Errorf("description %q", b.Description)
			}
		})
	}
}

// Shelves with one book on them help nobody, and recommendations by author need authors with several.
func TestListsAreUsedAndAuthorsShared(t *testing.T) {
	subjects, languages, authors := map[string]int{}, map[string]int{}, map[string]int{}
	for _, b := range Books() {
		for _, s := range b.Subjects {
			subjects[s]++
		}
		languages[b.Language]++
		authors[b.Author]++
	}
	for _, s := range Subjects {
		if subjects[s] < 5 {
			t.Errorf("subject %s has %d books, want 5 or more", s, subjects[s])
		}
	}
	for _, l := range Languages {
		if languages[l] == 0 {
			t.Errorf("no book in %s", l)
		}
	}
	if !slices.IsSorted(Subjects) || !slices.IsSorted(Languages) {
		t.Error("subjects or languages are not sorted")
	}
	for _, a := range []string{
		"Jane Austen", "Charles Dickens", "Herman Melville", "Fyodor Dostoevsky", "H. G. Wells", "Jules Verne",
	} {
		if authors[a] < 5 {
			t.Errorf("%s has %d books, want 5 or more", a, authors[a])
		}
	}
}

// A caller may do what it likes with its books.
func TestBooksAreTheCallersOwn(t *testing.T) {
	mine := Books()
	mine[0].Title, mine[0].Subjects[0] = "changed", "changed"
	if again := Books(); again[0].Title == "changed" || again[0].Subjects[0] == "changed" {
		t.Error("a change by one caller is seen by the next")
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Moby-Dick":               "moby-dick",
		"Les Misérables":          "les-miserables",
		"Gulliver's Travels":      "gullivers-travels",
		"Swann’s Way":             "swanns-way",
		"O Pioneers!":             "o-pioneers",
		"  R. U. R. -- a  drama ": "r-u-r-a-drama",
		"Ὀδύσσεια":                "",
	} {
		if got := slug(title); got != want {
			t.Errorf("slug(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestD11ValidID(t *testing.T) {
	long := strings.Repeat("a", MaxIDLength)
	for id, want := range map[string]bool{
		"moby-dick": true, "1984": true, long: true,
		"": false, long + "a": false, strings.Repeat("a", 10<<10): false, "../moby-dick": false, "moby--dick": false,
		"-moby": false, "moby-": false, "Moby": false, "moby dick": false, "moby-dick\n": false, "möby": false,
		"moby%2Fdick": false,
	} {
		if got := ValidID(id); got != want {
			t.Errorf("ValidID(%.20q) = %t, want %t", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if id := slug(rapid.StringN(0, 50, 90).Draw(t, "title")); id != "" && !ValidID(id) {
			t.Fatalf("slug %q is no valid id", id)
		}
	})
}

func unique(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// One seed is one history, on every machine and in every version: the first orders are written down here.
func TestOrdersAreDeterministic(t *testing.T) {
	history := Orders(1, 2000)
	if diff := cmp.Diff(history, Orders(1, 2000)); diff != "" {
		t.Errorf("same seed, other history:\n%s", diff)
	}
	if diff := cmp.Diff(history[:50], Orders(1, 50)); diff != "" {
		t.Errorf("a longer history does not begin with the shorter one:\n%s", diff)
	}
	if cmp.Equal(history, Orders(2, 2000)) {
		t.Error("another seed, same history")
	}
	golden := [][]string{{"kim", "omoo", "persuasion"}, {"persuasion"}, {"typee", "omoo", "kim"}, {"kim"}}
	if diff := cmp.Diff(golden, orders(goldenBooks, 1, 4)); diff != "" {
		t.Errorf("not the history that seed 1 has always given:\n%s", diff)
	}
}

// goldenBooks are apart from books.yaml, so that editing the shop does not change what they give.
var goldenBooks = []Book{
	{ID: "emma", Author: "Jane Austen", Subjects: []string{"love"}},
	{ID: "kim", Author: "Rudyard Kipling", Subjects: []string{"travel"}},
	{ID: "omoo", Author: "Herman Melville", Subjects: []string{"sea", "travel"}},
	{ID: "persuasion", Author: "Jane Austen", Subjects: []string{"love", "sea"}},
	{ID: "typee", Author: "Herman Melville", Subjects: []string{"sea", "travel"}},
}

// Orders of any list of books and any seed are well-formed: 1 to 5 known books, each once.
func TestOrdersAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.IntRange(1, 12).Draw(t, "books")
		n := rapid.IntRange(-1, 40).Draw(t, "n")
		all := Books()[:some]
		history := orders(all, rapid.Uint64().Draw(t, "seed"), n)
		if len(history) != max(n, 0) {
			t.Fatalf("%d orders, want %d", len(history), n)
		}
		for _, order := range history {
			if len(order) < 1 || len(order) > 5 || len(unique(order)) != len(order) {
				t.Fatalf("order %q", order)
			}
			for _, id := range order {
				if !slices.ContainsFunc(all, func(b Book) bool { return b.ID == id }) {
					t.Fatalf("order of an unknown book %q", id)
				}
			}
		}
	})
	if got := orders(nil, 1, 3); got != nil {
		t.Errorf("no books, but orders %q", got)
	}
}

// The history looks like a shop's: a few books sell most, every book is known (the scarce ones too), small orders
// prevail, and readers stay with an author.
func TestOrdersHaveTheShapeOfAShop(t *testing.T) {
	const n = 20_000
	byID := map[string]Book{}
	for _, b := range Books() {
		byID[b.ID] = b
	}
	sold, sizes, pairs, sameAuthor := map[string]int{}, map[int]int{}, 0, 0
	for _, order := range Orders(1, n) {
		sizes[len(order)]++
		for i, id := range order {
			sold[id]++
			if i > 0 {
				pairs++
				if byID[id].Author == byID[order[0]].Author {
					sameAuthor++
				}
			}
		}
	}
	for id := range byID {
		if sold[id] < 5 {
			t.Errorf("%s was sold %d times in %d orders, want 5 or more", id, sold[id], n)
		}
	}
	for i, percent := range orderSizes {
		if got := 100 * float64(sizes[i+1]) / n; got < float64(percent)-2 || got > float64(percent)+2 {
			t.Errorf("%.1f %% of orders have %d books, want about %d %%", got, i+1, percent)
		}
	}
	// By Zipf's law the first of 222 has 1/H(222) = 17 % of the first picks; taste flattens the others.
	counts := slices.Sorted(maps.Values(sold))
	total := 0
	for _, c := range counts {
		total += c
	}
	top := 0
	for _, c := range counts[len(counts)-len(counts)/5:] {
		top += c
	}
	if share := float64(top) / float64(total); share < 0.5 || share > 0.9 {
		t.Errorf("the most popular fifth has %.0f %% of the sales, want 50 to 90 %%", 100*share)
	}
	if share := float64(sameAuthor) / float64(pairs); share < 0.2 || share > 0.7 {
		t.Errorf("%.0f %% of further books are by the first one's author, want 20 to 70 %%", 100*share)
	}
}
