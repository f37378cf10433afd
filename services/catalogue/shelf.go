package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sort is an order of the list, ascending.
type Sort string

// The orders that a list may be asked for in.
const (
	ByTitle  Sort = "title"  // without a leading The, A or An
	ByAuthor Sort = "author" // by surname
	ByYear   Sort = "year"
	ByPrice  Sort = "price"
)

// Query is what a list is asked for.
type Query struct {
	Text    string   // every word of it must begin a word of title, author or subjects; no words: all books
	IDs     []string // these books alone; nil: any
	Subject string   // one of the subjects, in any case and with or without accents; "": any
	Sort    Sort
	Page    int // from 1; a page that is not there gives the nearest that is
	PerPage int // from 1
}

// Page is one page of a list.
type Page struct {
	Books    []*Book
	Total    int // books on all pages
	Page     int // from 1 to Pages
	Pages    int // at least 1
	Subjects []SubjectCount
}

// SubjectCount says how many books there are of a subject, among those that the text and the ids of the query find: what a person
// gets who chooses it now. Ordered by count, then by name.
type SubjectCount struct {
	Subject string `json:"subject"`
	Count   int    `json:"count"`
}

// shelf is one copy of the whole store, never changed once made. All that can be worked out without the query is worked
// out here, once a copy, so that looking at a page costs the page.
type shelf struct {
	books    []Book
	byID     map[string]*Book
	texts    []string       // of each book, as words are looked for in it
	orders   map[Sort][]int // positions in books
	subjects []string
	numbers  map[string]int // of a folded subject, its position in subjects
	subjOf   [][]int        // of each book, positions in subjects
	counts   []SubjectCount // of all books
}

// newShelf makes a shelf of books, which it keeps. A copy with a broken book in it is refused whole: the copy before it
// is worth more than a shop with a hole.
func newShelf(books []Book) (*shelf, error) {
	s := &shelf{
		books:   books,
		byID:    make(map[string]*Book, len(books)),
		texts:   make([]string, len(books)),
		numbers: map[string]int{},
		subjOf:  make([][]int, len(books)),
	}
	var broken []error
	for i := range books {
		b := &books[i]
		broken = append(broken, b.Validate())
		if s.byID[b.ID] != nil {
			broken = append(broken, fmt.Errorf("book %q comes twice", b.ID))
		}
		s.byID[b.ID] = b
		s.texts[i] = searchText(*b)
		s.subjOf[i] = s.number(b.Subjects)
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	s.counts = s.count(positions(len(books)))
	s.orders = orders(books)
	return s, nil
}

// number gives each subject its position, a new one to a subject not seen before.
func (s *shelf) number(subjects []string) []int {
	var numbers []int
	for _, subject := range subjects {
		key := fold(subject)
		n, known := s.numbers[key]
		if !known {
			n = len(s.subjects)
			s.subjects = append(s.subjects, subject)
			s.numbers[key] = n
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// orders sorts the positions of books in every way. Equal ones go by title, then by ID, which no two books share: so an
// order is total, and no book is on two pages or on none.
func orders(books []Book) map[Sort][]int {
	titles, authors := make([]string, len(books)), make([]string, len(books))
	for i, b := range books {
		titles[i], authors[i] = titleKey(b.Title), authorKey(b.Author)
	}
	compare := map[Sort]func(a, b int) int{
		ByTitle:  func(a, b int) int { return 0 },
		ByAuthor: func(a, b int) int { return strings.Compare(authors[a], authors[b]) },
		ByYear:   func(a, b int) int { return cmp.Compare(books[a].Year, books[b].Year) },
		ByPrice: func(a, b int) int {
			c, _ := books[a].Price.Cmp(books[b].Price) // of one currency: Validate
			return c
		},
	}
	sorted := make(map[Sort][]int, len(compare))
	for by, first := range compare {
		sorted[by] = positions(len(books))
		slices.SortFunc(sorted[by], func(a, b int) int {
			return cmp.Or(first(a, b), strings.Compare(titles[a], titles[b]), strings.Compare(books[a].ID, books[b].ID))
		})
	}
	return sorted
}

func positions(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// find answers a query.
func (s *shelf) find(q Query) Page {
	found, counts := s.orders[q.Sort], s.counts
	if wanted := words(q.Text); len(wanted) > 0 {
		for i := range wanted {
			wanted[i] = " " + wanted[i] // where a word begins: searchText
		}
		found = keep(found, func(i int) bool {
			return !slices.ContainsFunc(wanted, func(w string) bool { return !strings.Contains(s.texts[i], w) })
		})
		counts = s.count(found)
	}
	if q.IDs != nil {
		found = keep(found, func(i int) bool { return slices.Contains(q.IDs, s.books[i].ID) })
		counts = s.count(found)
	}
	if q.Subject != "" {
		n, known := s.numbers[fold(q.Subject)]
		found = keep(found, func(i int) bool { return known && slices.Contains(s.subjOf[i], n) })
	}

	pages := max(1, (len(found)+q.PerPage-1)/q.PerPage)
	page := min(max(1, q.Page), pages)
	from := (page - 1) * q.PerPage
	on := found[from:min(from+q.PerPage, len(found))]
	books := make([]*Book, len(on))
	for i, at := range on {
		books[i] = &s.books[at]
	}
	return Page{Books: books, Total: len(found), Page: page, Pages: pages, Subjects: counts}
}

// count counts the subjects of the books at positions.
func (s *shelf) count(positions []int) []SubjectCount {
	n := make([]int, len(s.subjects))
	for _, i := range positions {
		for _, subject := range s.subjOf[i] {
			n[subject]++
		}
	}
	counts := []SubjectCount{}
	for i, subject := range s.subjects {
		if n[i] > 0 {
			counts = append(counts, SubjectCount{subject, n[i]})
		}
	}
	slices.SortFunc(counts, func(a, b SubjectCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Subject, b.Subject))
	})
	return counts
}

// keep returns those of all that ok, in their order, and leaves all as it is.
func keep(all []int, ok func(int) bool) []int {
	var kept []int
	for _, i := range all {
		if ok(i) {
			kept = append(kept, i)
		}
	}
	return kept
}
