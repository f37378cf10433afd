package recommendations

import (
	"cmp"
	"slices"

	"example.com/holdfast/internal/seed"
)

// maxRelated is how many related books are kept for each, and so the largest limit that a request may ask for.
const maxRelated = 20

// minSupport is how often two books must have been bought together before that says anything. Two books that sold once
// each, in one order, have the highest cosine there is; five times is no accident.
const minSupport = 5

// Book is what a book must tell to be recommended.
type Book struct {
	ID       string
	Author   string
	Subjects []string
}

// relate returns, for the id of every book, the ids of at most maxRelated others, best first: never the book itself,
// none twice. It depends on nothing but its input, and neither on the order of the books nor on that of the history.
//
// First come the books that were bought together with it at least minSupport times, by the cosine of the two books
// seen as vectors over the orders, 1 where the order has the book and 0 where not:
//
//	cosine(a, b) = together(a, b) / √(bought(a) · bought(b))
//
// as in Linden, Smith and York, "Amazon.com Recommendations: Item-to-Item Collaborative Filtering", IEEE Internet
// Computing 7(1), 2003, with orders in the place of customers. Why the cosine: a plain count recommends the bestseller
// everywhere, and lift, together / (bought · bought), the rarest books, of which the least is known. The cosine lies
// between: it is the geometric mean of "of those who bought a, how many bought b" and of the reverse.
//
// Where these are too few, other books by the same author follow, then others that share a subject, each of the two by
// how many subjects they share. What ties then is ordered by id.
//
// A book that is twice in one order counts once; ids that are no book's, because it is no longer sold, are passed over.
func relate(books []Book, history []Order) map[string][]string {
	index := make(map[string]int, len(books))
	for i, b := range books {
		index[b.ID] = i
	}
	bought := make([]int, len(books))
	together := make([]map[int]int, len(books))
	for i := range together {
		together[i] = make(map[int]int)
	}
	for _, order := range history {
		var basket []int
		for _, id := range order {
			if i, sold := index[id]; sold && !slices.Contains(basket, i) {
				basket = append(basket, i)
			}
		}
		for _, a := range basket {
			bought[a]++
			for _, b := range basket {
				if a != b {
					together[a][b]++
				}
			}
		}
	}
	related := make(map[string][]string, len(books))
	for a := range books {
		related[books[a].ID] = best(books, a, bought, together[a])
	}
	return related
}

// candidate is a book that may be related to another, and why.
type candidate struct {
	id             string
	bought         int // in how many orders it is
	together       int // in how many of them with the other; 0 where that is below minSupport
	sameAuthor     int // 1 or 0
	sharedSubjects int
}

// best ranks all books but a and returns those that have anything to do with it.
func best(books []Book, a int, bought []int, together map[int]int) []string {
	var candidates []candidate
	for b, book := range books {
		if b == a {
			continue
		}
		c := candidate{id: book.ID, bought: bought[b]}
		if together[b] >= minSupport {
			c.together = together[b]
		}
		if book.Author == books[a].Author {
			c.sameAuthor = 1
		}
		for _, s := range book.Subjects {
			if slices.Contains(books[a].Subjects, s) {
				c.sharedSubjects++
			}
		}
		if c.together > 0 || c.sameAuthor > 0 || c.sharedSubjects > 0 {
			candidates = append(candidates, c)
		}
	}
	slices.SortFunc(candidates, byRelation)
	ids := make([]string, min(len(candidates), maxRelated))
	for i := range ids {
		ids[i] = candidates[i].id
	}
	return ids
}

// byRelation puts the closer related of two candidates for the same book first.
func byRelation(x, y candidate) int {
	switch {
	case x.together > 0 && y.together > 0:
		return cmp.Or(byCosine(x, y), cmp.Compare(x.id, y.id))
	case x.together != y.together: // only one was bought together with the book often enough
		return cmp.Compare(y.together, x.together)
	default:
		return cmp.Or(
			cmp.Compare(y.sameAuthor, x.sameAuthor),
			cmp.Compare(y.sharedSubjects, x.sharedSubjects),
			cmp.Compare(x.id, y.id))
	}
}

// byCosine puts the higher cosine first. It compares the squares, which is the same, without dividing or taking a root:
// what ties, ties exactly, on every processor. The number of orders of the book itself is in both and cancels out.
// MaxOrders cubed is 10¹⁵: nothing overflows.
func byCosine(x, y candidate) int {
	return cmp.Compare(
		int64(y.together)*int64(y.together)*int64(x.bought),
		int64(x.together)*int64(x.together)*int64(y.bought))
}

// booksOnSale are the shop's books.
func booksOnSale() []Book {
	var books []Book
	for _, b := range seed.Books() {
		books = append(books, Book{b.ID, b.Author, b.Subjects})
	}
	return books
}
