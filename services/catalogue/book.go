package catalogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/seed"
)

// Home is the shop's own currency. Every book is priced in it; every other price is converted from it.
const Home = "USD"

// Book is one title and its price.
type Book struct {
	ID          string // a slug of the title: moby-dick
	Title       string
	Author      string
	Year        int // of the first publication; negative is BC
	Language    string
	Subjects    []string
	Description string
	Price       currency.Amount // in Home, above zero, in whole cents
}

// Validate tells every rule that the book breaks, and nil when it breaks none.
func (b Book) Validate() error {
	var broken []error
	rule := func(holds bool, format string, args ...any) {
		if !holds {
			broken = append(broken, fmt.Errorf(format, args...))
		}
	}
	rule(seed.ValidID(b.ID), "id %q is not a slug of at most %d characters", b.ID, seed.MaxIDLength)
	rule(b.Title != "", "no title")
	rule(b.Author != "", "no author")
	rule(b.Price.CurrencyCode() == Home, "price in %q, want %s", b.Price.CurrencyCode(), Home)
	rule(b.Price.IsPositive(), "price %s is not above zero", b.Price.Number())
	rule(b.Price.Round().Equal(b.Price), "price %s has parts of a cent", b.Price.Number())
	if len(broken) > 0 {
		return fmt.Errorf("book %q: %w", b.ID, errors.Join(broken...))
	}
	return nil
}

// Store keeps the books. Nobody who looks at a book waits for it: the catalogue copies all of it in the background and
// serves from the copy, so that a store that is slow or gone costs freshness and nothing else.
//
// The contract, which TestStore holds every implementation to:
//   - All returns every book, ordered by ID; or an error and no book. Never a part of them.
//   - What All returns is the caller's: changing it changes nothing in the store.
//   - All ends soon after ctx does, with an error that wraps ctx's.
//   - It may be called by many at once.
type Store interface {
	All(ctx context.Context) ([]Book, error)
}
