package seed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = `
- id: moby-dick
  title: Moby-Dick
  author: Herman Melville
  year: 1851
  language: English
  subjects: [sea, adventure]
  price_cents: 4500
  description: >-
    A whale is hunted "to the end."
    The ship is lost!
- id: emma
  title: Emma
  author: Jane Austen
  year: 1815
  language: English
  subjects:
    - love
  price_cents: 500
  stock: 0
  description: A match is made. It is the wrong one.
`

// A good file gives its books sorted, with a stock that is left out as one that never runs out.
func TestParseGood(t *testing.T) {
	got, err := parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := []Book{{
		ID: "emma", Title: "Emma", Author: "Jane Austen", Year: 1815, Language: "English", Subjects: []string{"love"},
		Description: "A match is made. It is the wrong one.", PriceCents: 500, Stock: 0,
	}, {
		ID: "moby-dick", Title: "Moby-Dick", Author: "Herman Melville", Year: 1851, Language: "English",
		Subjects: []string{"sea", "adventure"}, Description: `A whale is hunted "to the end." The ship is lost!`,
		PriceCents: 4500, Stock: AlwaysInStock,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// One change to the good file, and the error names line, book, field and what is allowed.
func TestParseTellsBookFieldAndRule(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"year out of range", "year: 1851", "year: 2051",
			"books.yaml:5: moby-dick: year: is 2051, must be a whole number, 1450 to 1929"},
		{"year in words", "year: 1851", "year: long ago",
			`books.yaml:5: moby-dick: year: is "long ago", must be a whole number, 1450 to 1929`},
		{"year with a fraction", "year: 1851", "year: 1851.5",
			"books.yaml:5: moby-dick: year: is 1851.5, must be a whole number, 1450 to 1929"},
		{"price in dollars", "price_cents: 4500", "price_cents: 45",
			"books.yaml:8: moby-dick: price_cents: is 45, must be a whole number, 500 to 9000"},
		{"price beyond any integer", "price_cents: 4500", "price_cents: 99999999999999999999999",
			"books.yaml:8: moby-dick: price_cents: is \"99999999999999999999999\", must be a whole number, 500 to 9000"},
		{"stock empty is not stock zero", "stock: 0", "stock:",
			"books.yaml:20: emma: stock: is empty, must be a whole number, 0 to 1000000"},
		{"stock negative", "stock: 0", "stock: -1",
			"books.yaml:20: emma: stock: is -1, must be a whole number, 0 to 1000000"},
		{"language unknown", "language: English\n  subjects: [", "language: Whalish\n  subjects: [",
			`books.yaml:6: moby-dick: language: is "Whalish", must be one of Danish, `},
		{"subject unknown", "[sea, adventure]", "[sea, whales]",
			`books.yaml:7: moby-dick: subjects: is "whales", must be one of adventure, `},
		{"subject twice", "[sea, adventure]", "[sea, sea]",
			`books.yaml:7: moby-dick: subjects: has "sea" twice, must have it once`},
		{"subjects too many", "[sea, adventure]", "[sea, adventure, nature, travel, society]",
			"books.yaml:7: moby-dick: subjects: is [sea, adventure, nature, travel, society], must be a list of 1 to 4 of "},
		{"subjects none", "[sea, adventure]", "[]",
			"books.yaml:7: moby-dick: subjects: is [], must be a list of 1 to 4 of adventure, "},
		{"subjects no list", "[sea, adventure]", "sea",
			`books.yaml:7: moby-dick: subjects: is "sea", must be a list of 1 to 4 of adventure, `},
		{"one sentence", "The ship is lost!", "",
			"books.yaml:9: moby-dick: description: has 1 sentences, must have 2"},
		{"a sentence that trails off", "The ship is lost!", "The ship is lost! And then",
			"books.yaml:9: moby-dick: description: has 3 sentences, must have 2"},
		{"id is not the title's slug", "id: emma", "id: emmas",
			`books.yaml:12: emmas: id: is "emmas", must be "emma", the title's slug`},
		{"id twice", "id: emma\n  title: Emma", "id: moby-dick\n  title: Moby-Dick",
			"books.yaml:12: moby-dick: id: is taken by the book at line 2, must be unique"},
		{"author empty", "author: Jane Austen", "author: ''",
			`books.yaml:14: emma: author: is "", must be one line of text`},
		{"title that looks like a number", "title: Emma", "title: 1815",
			"books.yaml:13: emma: title: is 1815, must be text (in quotes"},
		{"field missing", "  author: Jane Austen\n", "",
			"books.yaml:12: emma: author: is missing"},
		{"field unknown", "stock: 0", "stok: 0",
			"books.yaml:20: emma: stok: is no field of a book, must be one of id, title, "},
		{"field twice", "stock: 0", "stock: 0\n  stock: 1",
			"books.yaml:21: emma: stock: is given twice, must be given once"},
		{"id missing: the title says which book", "- id: emma\n  title", "- title",
			"books.yaml:12: Emma: id: is missing"},
		{"no book", "- id: emma", "- just a line\n- id: emma",
			"books.yaml:12: entry 2: must be a book: lines of field: value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("the good file has no %q", tt.old)
			}
			books, err := parse([]byte(strings.Replace(good, tt.old, tt.new, 1)))
			if err == nil || books != nil {
				t.Fatalf("parsed %v, want an error", books)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], tt.want) {
				t.Errorf("error\n%v\nwant one line that begins with\n%s", err, tt.want)
			}
		})
	}
}

// A person who has made several mistakes is told all of them at once, in the order of the file.
func TestParseTellsAllMistakesAtOnce(t *testing.T) {
	bad := strings.NewReplacer("year: 1851", "year: 3000", "[sea, adventure]", "[ships]", "stock: 0", "stock: few",
		"  price_cents: 500\n", "").Replace(good)
	_, err := parse([]byte(bad))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v, want a joined one", err)
	}
	want := []string{"moby-dick: year", "moby-dick: subjects", "emma: stock", "emma: price_cents: is missing"}
	if got := joined.Unwrap(); len(got) != len(want) {
		t.Fatalf("%d mistakes told, want %d:\n%v", len(got), len(want), err)
	}
	for i, e := range joined.Unwrap() {
		if !strings.Contains(e.Error(), want[i]) {
			t.Errorf("mistake %d is %v, want %s", i, e, want[i])
		}
	}
}

// What is no list of books at all is told without a panic.
func TestParseOfSomethingElse(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a word": "books", "a mapping": "id: emma", "two documents": good + "---" + good, "no YAML": "- id: [",
		"an empty list": "[]", "an unknown alias": "- *nobody", "a list of nulls": "-\n-\n",
	} {
		t.Run(name, func(t *testing.T) {
			if books, err := parse([]byte(text)); err == nil {
				t.Errorf("parsed %v, want an error", books)
			}
		})
	}
}
