package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Memory is a Store of books given once, for a shop without a database and for tests.
type Memory struct {
	books []Book // ordered by ID, never changed
}

// NewMemory returns a store of a copy of books. The error tells every book that breaks a rule or comes twice.
func NewMemory(books []Book) (*Memory, error) {
	books = clone(books)
	slices.SortFunc(books, func(a, b Book) int { return strings.Compare(a.ID, b.ID) })
	var broken []error
	for i, b := range books {
		broken = append(broken, b.Validate())
		if i > 0 && books[i-1].ID == b.ID {
			broken = append(broken, fmt.Errorf("book %q comes twice", b.ID))
		}
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	return &Memory{books: books}, nil
}

// All implements Store.
func (m *Memory) All(ctx context.Context) ([]Book, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading all books: %w", err)
	}
	return clone(m.books), nil
}

func clone(books []Book) []Book {
	books = slices.Clone(books)
	for i := range books {
		books[i].Subjects = slices.Clone(books[i].Subjects)
	}
	return books
}
