package recommendations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/holdfast/internal/seed"
)

// MaxOrders is how long a history may be. relate holds all of it in memory, and its arithmetic is exact up to here.
const MaxOrders = 100_000

// MaxOrderBooks is how many different books one order may have: it has that many squared pairs.
const MaxOrderBooks = 100

// Order is what one person bought at once: the ids of the books, each once.
type Order []string

// ErrBadHistory is returned for a history that breaks a rule of Store.
var ErrBadHistory = errors.New("bad order history")

// Store keeps the order history. Its methods may be called at the same time from many goroutines, and with Seed from
// many instances of the service. What goes in and what comes out is a copy: neither side sees the other change it.
//
// Both methods end with ctx, and then return its error.
type Store interface {
	// Seed stores history as the first one: all of it or, when it returns an error, nothing. Where there is a history
	// already, that one stays and Seed returns nil; so of several that seed at once, one wins whole. An empty history
	// changes nothing.
	//
	// A history of more than MaxOrders orders, or with an order that has no book, more than MaxOrderBooks, a book twice
	// or an id that is not valid, is refused with an error that wraps ErrBadHistory.
	Seed(ctx context.Context, history []Order) error

	// Orders returns the whole history in the order in which it was stored, empty where there is none.
	Orders(ctx context.Context) ([]Order, error)
}

// checkHistory holds history to the rules of Seed. Every Store calls it.
func checkHistory(history []Order) error {
	if len(history) > MaxOrders {
		return fmt.Errorf("%w: %d orders, at most %d are kept", ErrBadHistory, len(history), MaxOrders)
	}
	for i, order := range history {
		if len(order) < 1 || len(order) > MaxOrderBooks {
			return fmt.Errorf("%w: order %d has %d books, must have 1 to %d", ErrBadHistory, i, len(order), MaxOrderBooks)
		}
		for j, id := range order {
			if !seed.ValidID(id) {
				return fmt.Errorf("%w: order %d: %.200q is not the id of a book", ErrBadHistory, i, id)
			}
			if slices.Contains(order[:j], id) {
				return fmt.Errorf("%w: order %d has %s twice", ErrBadHistory, i, id)
			}
		}
	}
	return nil
}

// copyHistory shares nothing with history.
func copyHistory(history []Order) []Order {
	own := make([]Order, len(history))
	for i, order := range history {
		own[i] = slices.Clone(order)
	}
	return own
}
