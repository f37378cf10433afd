package recommendations

import (
	"cmp"
	"slices"
)

// maxOffers is how many offers are kept, and so the largest limit that a request may ask for.
const maxOffers = 20

// lately is how many of the newest orders say what is much bought. Why 2,000: a tenth of the history that the shop
// starts with, so that a bestseller of long ago is forgotten and a book that sold twice is not taken for one.
const lately = 2_000

// muchBought returns the ids of at most maxOffers books, the ones that most of the newest orders have first; what ties
// is ordered by id. history is oldest first, as a Store keeps it. Books that are no longer sold are passed over.
func muchBought(books []Book, history []Order) []string {
	bought := make(map[string]int, len(books))
	for _, order := range history[max(0, len(history)-lately):] {
		for _, id := range order {
			bought[id]++
		}
	}
	ids := make([]string, 0, len(books))
	for _, b := range books {
		if bought[b.ID] > 0 {
			ids = append(ids, b.ID)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		return cmp.Or(cmp.Compare(bought[y], bought[x]), cmp.Compare(x, y))
	})
	return ids[:min(len(ids), maxOffers)]
}
