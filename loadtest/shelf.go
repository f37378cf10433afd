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
	books []string   // ids, in the shop's order
	pages [][]string // the same, page by page: the gateway's pages are of one size for machines and for browsers
	title map[string]string
	price map[string]map[string]price // by currency, then book
	stock []string                    // the books of which there is plenty
	left  map[string]int              // copies of each book

	orders []acceptedOrder // placed before the act, for those who look one up
}

// home is the shop's own currency: what prices are in when no rate is at hand.
const home = "USD"

// price is an amount, and the number as the shop writes it. To compare texts is cheap, and nearly always enough.
type price struct {
	currency.Amount
	number string
}

func priceOf(a currency.Amount) price { return price{a, a.Number()} }

// is tells whether a number that was read means this price: 12.5 is 12.50.
func (p price) is(number, code string) bool {
	if number == p.number && code == p.CurrencyCode() {
		return true
	}
	a, err := currency.NewAmount(number, code)
	return err == nil && a.Equal(p.Amount)
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

	s := &shelf{title: map[string]string{}, price: map[string]map[string]price{}}
	for _, code := range currencies {
		s.price[code] = map[string]price{}
		for page, pages := 1, 1; page <= pages; page++ {
			query := url.Values{"page": {strconv.Itoa(page)}, "currency": {code}}
			var answer shelfPage
			if err := asker.get(ctx, shop.Public("gateway")+"/api/v1/books?"+query.Encode(), &answer); err != nil {
				return nil, fmt.Errorf("read the shelf: %w", err)
			}
			pages = answer.Pages
			var ids []string
			for _, b := range answer.Books {
				if b.ID == "" || b.Title == "" || b.Price.CurrencyCode() != code || !b.Price.IsPositive() {
					return nil, fmt.Errorf("read the shelf: %q has no title, or no price in %s", b.ID, code)
				}
				if _, known := s.price[code][b.ID]; known {
					return nil, fmt.Errorf("read the shelf: %s stands on it twice", b.ID)
				}
				ids = append(ids, b.ID)
				s.title[b.ID] = b.Title
				s.price[code][b.ID] = priceOf(b.Price)
			}
			if code == currencies[0] {
				s.books = append(s.books, ids...)
				s.pages = append(s.pages, ids)
			} else if page > len(s.pages) || !slices.Equal(ids, s.pages[page-1]) {
				return nil, fmt.Errorf("read the shelf: page %d in %s has other books than in %s", page, code, currencies[0])
			}
		}
		if len(s.price[code]) != len(s.books) || len(s.books) == 0 {
			return nil, fmt.Errorf("read the shelf: %d books have a price in %s, of %d",
				len(s.price[code]), code, len(s.books))
		}
	}
	var err error
	if s.left, err = readStock(ctx, asker, shop); err != nil {
		return nil, err
	}
	for _, id := range s.books {
		if s.left[id] >= plenty {
			s.stock = append(s.stock, id)
		}
	}
	if len(s.stock) < 2 {
		return nil, errors.New("read the stock: fewer than two titles are in plenty, so nothing can be ordered for long")
	}
	return s, nil
}

// readStock asks the owner of the stock, since the gateway's own picture of it is some seconds old.
func readStock(ctx context.Context, asker *admin, shop Shop) (map[string]int, error) {
	var answer struct {
		Stock map[string]int `json:"stock"`
	}
	if err := asker.get(ctx, shop.Public("checkout")+"/stock", &answer); err != nil {
		return nil, fmt.Errorf("read the stock: %w", err)
	}
	if len(answer.Stock) == 0 {
		return nil, errors.New("read the stock: it names no book")
	}
	return answer.Stock, nil
}

// currencies are those that people of the scenario ask for, the shop's own first.
func (s *Scenario) currencies() []string {
	all := map[string]bool{}
	for _, c := range s.Classes {
		for code := range c.Currencies {
			all[code] = true
		}
	}
	delete(all, home)
	return append([]string{home}, slices.Sorted(maps.Keys(all))...)
}
