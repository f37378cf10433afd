package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testShelf(t testing.TB) *shelf {
	t.Helper()
	s, err := newShelf(testBooks(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func idsOf(books []*Book) []string {
	ids := []string{}
	for _, b := range books {
		ids = append(ids, b.ID)
	}
	return ids
}

func TestFind(t *testing.T) {
	const (
		alice, misery, moby  = "alices-adventures-in-wonderland", "les-miserables", "moby-dick"
		odyssey, time, typee = "an-odyssey", "the-time-machine", "typee"
	)
	for _, c := range []struct {
		name string
		ask  Query
		want []string
	}{
		{"everything, articles aside", Query{}, []string{alice, misery, moby, odyssey, time, typee}},
		{"by author, by surname, then by title", Query{Sort: ByAuthor}, []string{alice, odyssey, misery, moby, typee, time}},
		{"by year, BC first", Query{Sort: ByYear}, []string{odyssey, typee, moby, misery, alice, time}},
		{"by price, equal ones by title", Query{Sort: ByPrice}, []string{alice, time, typee, moby, odyssey, misery}},
		{"accents do not matter", Query{Text: "miserables"}, []string{misery}},
		{"not on either side", Query{Text: "MISÉRABLES"}, []string{misery}},
		{"nor as combining marks", Query{Text: "mise\u0301rables"}, []string{misery}},
		{"every word must match, in any field", Query{Text: "melville whaling"}, []string{moby}},
		{"one word that does not is enough", Query{Text: "melville paris"}, []string{}},
		{"words match from their beginning", Query{Text: "mel wha"}, []string{moby}},
		{"and not in their middle", Query{Text: "elville"}, []string{}},
		{"punctuation parts words", Query{Text: "moby-dick;or"}, []string{moby}},
		{"an apostrophe as in the title", Query{Text: "alice’s"}, []string{alice}},
		{"a typewriter's apostrophe", Query{Text: "Alice's"}, []string{alice}},
		{"no apostrophe", Query{Text: "alices"}, []string{alice}},
		{"no words at all", Query{Text: "?! …"}, []string{alice, misery, moby, odyssey, time, typee}},
		{"subject", Query{Subject: "Sea stories"}, []string{moby, odyssey, typee}},
		{"subject in another case", Query{Subject: "SEA STORIES"}, []string{moby, odyssey, typee}},
		{"a part of a subject is none", Query{Subject: "Sea"}, []string{}},
		{"subject and words", Query{Subject: "sea stories", Text: "melville"}, []string{moby, typee}},
		{"an unknown subject", Query{Subject: "Gardening"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ask.Sort == "" {
				c.ask.Sort = ByTitle
			}
			c.ask.PerPage = 48
			if diff := cmp.Diff(c.want, idsOf(testShelf(t).find(c.ask).Books)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFindCountsSubjectsOfWhatTheWordsFind(t *testing.T) {
	got := testShelf(t).find(Query{Text: "melville", Subject: "Whaling", Sort: ByTitle, PerPage: 48}).Subjects
	want := []SubjectCount{{"Sea stories", 2}, {"Whaling", 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFindClampsThePage(t *testing.T) {
	for _, c := range []struct{ page, wantPage, wantBooks int }{
		{-1 << 63, 1, 4}, {0, 1, 4}, {1, 1, 4}, {2, 2, 2}, {3, 2, 2}, {1<<63 - 1, 2, 2},
	} {
		got := testShelf(t).find(Query{Sort: ByTitle, Page: c.page, PerPage: 4})
		if got.Page != c.wantPage || got.Pages != 2 || got.Total != 6 || len(got.Books) != c.wantBooks {
			t.Errorf("page %d: got page %d of %d with %d of %d books, want page %d of 2 with %d of 6",
				c.page, got.Page, got.Pages, len(got.Books), got.Total, c.wantPage, c.wantBooks)
		}
	}
	empty := testShelf(t).find(Query{Text: "zzz", Sort: ByTitle, Page: 7, PerPage: 4})
	if empty.Page != 1 || empty.Pages != 1 || empty.Total != 0 || len(empty.Books) != 0 {
		t.Errorf("nothing found: got %+v, want an empty page 1 of 1", empty)
	}
}

// anyBooks draws shelves with many equal titles, authors, years and prices: what makes an order unstable.
func anyBooks(t *rapid.T) []Book {
	n := rapid.IntRange(0, 60).Draw(t, "books")
	some := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	books := make([]Book, n)
	for i := range books {
		books[i] = Book{
			ID: fmt.Sprintf("book-%d", i), Title: some("title", "The Sea", "A Sea", "Sea", "Émile", "Ulysses"),
			Author: some("author", "Ann Lee", "Bo Lee", "Honoré de Balzac"), Year: rapid.IntRange(-2, 2).Draw(t, "year"),
			Subjects: rapid.SliceOfN(rapid.SampledFrom([]string{"Sea", "Love", "Wär"}), 1, 3).Draw(t, "subjects"),
			Price:    anyPrice(t, 3),
		}
	}
	return books
}

// anyPrice draws from 1 to most cents.
func anyPrice(t *rapid.T, most int64) currency.Amount {
	price, err := currency.NewAmountFromInt64(rapid.Int64Range(1, most).Draw(t, "cents"), Home)
	if err != nil {
		t.Fatal(err)
	}
	return price
}

func TestPagesHoldEveryFoundBookOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := newShelf(anyBooks(t))
		if err != nil {
			t.Fatal(err)
		}
		q := Query{
			Text:    rapid.SampledFrom([]string{"", "sea", "LEE", "emile balzac", "zzz"}).Draw(t, "text"),
			Subject: rapid.SampledFrom([]string{"", "sea", "war", "none"}).Draw(t, "subject"),
			Sort:    rapid.SampledFrom([]Sort{ByTitle, ByAuthor, ByYear, ByPrice}).Draw(t, "sort"),
			PerPage: rapid.IntRange(1, 48).Draw(t, "per page"),
		}
		var want []string // by a loop too plain to be wrong
		for _, b := range s.books {
			all := fold(b.Title + " " + b.Author + " " + strings.Join(b.Subjects, " "))
			lacks := func(word string) bool { return !strings.Contains(all, word) }
			hasWords := !slices.ContainsFunc(strings.Fields(fold(q.Text)), lacks)
			same := func(subject string) bool { return fold(subject) == q.Subject }
			hasSubject := q.Subject == "" || slices.ContainsFunc(b.Subjects, same)
			if hasWords && hasSubject {
				want = append(want, b.ID)
			}
		}

		var got []string
		pages := 1
		for q.Page = 1; q.Page <= pages; q.Page++ {
			page := s.find(q)
			pages = page.Pages
			if page.Total != len(want) || page.Page != q.Page || len(page.Books) > q.PerPage {
				t.Fatalf("page %d: %d books of %d, says it is page %d", q.Page, len(page.Books), page.Total, page.Page)
			}
			got = append(got, idsOf(page.Books)...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("all pages hold %v, want %v", got, want)
		}
	})
}

func TestNewShelfRefusesABrokenCopyWhole(t *testing.T) {
	books := testBooks(t)
	books[2].Price = currency.Amount{}
	books[4].ID = books[3].ID
	_, err := newShelf(books)
	if err == nil || !strings.Contains(err.Error(), `price in ""`) || !strings.Contains(err.Error(), "comes twice") {
		t.Errorf("got %v, want an error that tells both broken books", err)
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Les Misérables", "les miserables"}, {"ÆSOP'S", "aesop's"}, {"Straße", "strasse"}, {"Søren", "soren"},
		{"Ÿ ﬁ Ｗ", "y fi w"}, {"Łódź", "lodz"}, {"ΟΔΥΣΣΕΥΣ", "οδυσσευσ"}, {"Ὀδυσσεύς", "οδυσσευσ"},
	} {
		if got := fold(c.in); got != c.want {
			t.Errorf("fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"The Odyssey", "odyssey"}, {"A Tale of Two Cities", "tale of two cities"},
		{"An Iceland Fisherman", "iceland fisherman"},
		{"Theatre", "theatre"}, {"A", "a"}, {"“The” Whale", "whale"},
	} {
		if got := titleKey(c.in); got != c.want {
			t.Errorf("titleKey(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	for _, c := range []struct{ in, want string }{
		{"Herman Melville", "melville herman"}, {"Homer", "homer"}, {"Honoré de Balzac", "balzac honore de"},
		{"Miguel de Cervantes Saavedra", "cervantes saavedra miguel de"}, {"Karl Marx and Friedrich Engels", "marx karl"},
		{"Johann Wolfgang von Goethe", "goethe johann wolfgang von"}, {"Alexandre Dumas, fils", "dumas alexandre"},
		{"H. G. Wells", "wells h g"}, {"van", "van"}, {"?", "?"},
	} {
		if got := authorKey(c.in); got != c.want {
			t.Errorf("authorKey(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		name string
		ids  []string
		want []string
	}{
		{"in the order suggested", []string{"typee", "an-odyssey"}, []string{"typee", "an-odyssey"}},
		{"never the book itself, never twice", []string{"moby-dick", "typee", "typee"}, []string{"typee"}},
		{"none that we do not have", []string{"omoo", "../etc", "", "typee"}, []string{"typee"}},
		{"no more than fit", []string{"typee", "an-odyssey", "les-miserables", "the-time-machine",
			"alices-adventures-in-wonderland", "typee"}, []string{"typee", "an-odyssey", "les-miserables", "the-time-machine",
			"alices-adventures-in-wonderland"}},
		{"nothing", nil, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, idsOf(testShelf(t).pick(suggestions{ids: c.ids}, maxRelated, "moby-dick"))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// BenchmarkBrowse is the shop's most common question on a shelf of the size of the shop's.
func BenchmarkBrowse(b *testing.B) {
	s := bigShelf(b)
	for _, q := range []Query{{}, {Text: "melville sea"}, {Subject: "sea stories", Page: 2}} {
		q.Sort, q.PerPage = ByTitle, 24
		b.Run(fmt.Sprintf("q=%s,subject=%s", q.Text, q.Subject), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.find(q)
			}
		})
	}
}

func bigShelf(t testing.TB) *shelf {
	t.Helper()
	var books []Book
	for i := range 25 {
		for _, b := range testBooks(t) {
			b.ID = fmt.Sprintf("%s-%d", b.ID, i)
			books = append(books, b)
		}
	}
	s, err := newShelf(books)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
