package loadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bojanz/currency"
)

// plenty is the stock of a title that no load sells out. The few that hold less are there for other tests.
const plenty = 1_000_000

// shelf is what the shop sells, as it said itself before the act: what every answer is judged by. It is the only thing
// that the load test takes on trust.
type shelf struct {
	books []string // ids, in the shop's order
	pages int      // of the shelf, as a browser sees it
	title map[string]string
	price map[string]map[string]currency.Amount // by currency, then book
	stock []string                              // the books of which there is plenty
}

// shelfPage is what is read of GET /api/v1/books.
type shelfPage struct {
	Books []struct {
		ID    string          `json:"id"`
		Title string          `json:"title"`
		Price currency.Amount `json:"price"`
	} `json:"books"`
	Pages int `json:"pages"`
}

const shelfTimeout = 10 * time.Second

// readShelf asks a fresh shop for its books, their prices in every currency of the scenario, and its stock.
func readShelf(ctx context.Context, shop Shop, currencies []string) (*shelf, error) {
	ctx, cancel := context.WithTimeout(ctx, shelfTimeout)
	defer cancel()
	asker := newAdmin(shop)
	defer asker.close()

	s := &shelf{title: map[string]string{}, price: map[string]map[string]currency.Amount{}}
	for _, code := range currencies {
		s.price[code] = map[string]currency.Amount{}
		for page, pages := 1, 1; page <= pages; page++ {
			query := url.Values{"page": {strconv.Itoa(page)}, "currency": {code}}
			var answer shelfPage
			if err := asker.get(ctx, shop.Public("gateway")+"/api/v1/books?"+query.Encode(), &answer); err != nil {
				return nil, fmt.Errorf("read the shelf: %w", err)
			}
			pages = answer.Pages
			s.pages = pages
			for _, b := range answer.Books {
				if b.ID == "" || b.Title == "" || b.Price.CurrencyCode() != code || !b.Price.IsPositive() {
					return nil, fmt.Errorf("read the shelf: %q has no title, or no price in %s", b.ID, code)
				}
				if _, known := s.title[b.ID]; !known {
					s.books = append(s.books, b.ID)
					s.title[b.ID] = b.Title
				}
				s.price[code][b.ID] = b.Price
			}
		}
		if len(s.price[code]) != len(s.books) || len(s.books) == 0 {
			return nil, fmt.Errorf("read the shelf: %d books have a price in %s, of %d",
				len(s.price[code]), code, len(s.books))
		}
	}
	var answer struct {
		Stock map[string]int `json:"stock"`
	}
	if err := asker.get(ctx, shop.Public("checkout")+"/stock", &answer); err != nil {
		return nil, fmt.Errorf("read the stock: %w", err)
	}
	for _, id := range s.books {
		if answer.Stock[id] >= plenty {
			s.stock = append(s.stock, id)
		}
	}
	if len(s.stock) < 2 {
		return nil, errors.New("read the stock: fewer than two titles are in plenty, so nothing can be ordered for long")
	}
	return s, nil
}

// currencies are those that people of the scenario ask for, the shop's own first.
func (s *Scenario) currencies() []string {
	all := map[string]bool{}
	for _, c := range s.Classes {
		for code := range c.Currencies {
			all[code] = true
		}
	}
	delete(all, "USD")
	return append([]string{"USD"}, slices.Sorted(maps.Keys(all))...)
}
