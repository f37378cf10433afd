package checkout

// What an order is, and where orders and stock are kept.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bojanz/currency"
)

// Order is an accepted order. It never changes: a price is what was agreed, whatever the catalogue says later.
type Order struct {
	ID        string
	CreatedAt time.Time // UTC, whole milliseconds
	Lines     []Line
	Total     currency.Amount // the sum of the lines
}

// Line is one title of an order. All amounts of an order are in one currency, at its minor unit.
type Line struct {
	Book      string
	Quantity  int
	UnitPrice currency.Amount
	Total     currency.Amount // UnitPrice × Quantity
}

const idPrefix = "ord_"

// newOrderID returns an id that nobody can guess: knowing it is the right to see the order. 130 random bits.
func newOrderID() string { return idPrefix + rand.Text() }

var plainOrderID = regexp.MustCompile(`^ord_[A-Z2-7]{26}$`)

// Request is an order that a person asks for, checked but not yet priced.
type Request struct {
	Items    []Item
	Currency string          // the one the person was shown
	Expected currency.Amount // the total the person was shown, and the only one that is charged
}

// Item asks for copies of one title.
type Item struct {
	Book     string
	Quantity int
}

// Fingerprint tells whether two requests ask for the same order.
type Fingerprint [sha256.Size]byte

// Fingerprint is of the meaning, not of the bytes: neither the sequence of the items nor "21.4" for "21.40" makes
// another order.
func (r Request) Fingerprint() Fingerprint {
	items := slices.SortedFunc(slices.Values(r.Items), func(a, b Item) int { return strings.Compare(a.Book, b.Book) })
	canonical, err := json.Marshal(struct {
		Items    []Item
		Expected string
		Currency string
	}{items, r.Expected.Round().Number(), r.Currency})
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return sha256.Sum256(canonical)
}

// Store keeps the stock, the orders and the idempotency keys they were placed under.
//
// A key is free, claimed or completed. Claim takes a free one; Place completes it together with the order; Release
// frees it again. So a key that stays says that an order exists, not that one was tried: a failed try can be repeated
// under its own key. A claim that is neither completed nor released lapses after its lease, lest a process that died
// keep a key for ever. A lapsed claim can still be completed, unless someone else has claimed the key since.
//
// All methods may be called by many at once. Each is one transaction: it happens wholly or not at all, and not at
// all once ctx is over. None calls out to another service, and nothing is held between two calls.
type Store interface {
	// Claim takes key for an order with fingerprint fp. It returns one of
	//
	//   - a claim: the key was free, and is the caller's for lease. The caller calls Place or Release.
	//   - an order: the key is completed, and this is what was answered. Nothing to do.
	//   - ErrKeyReused: the key is claimed or completed for another fingerprint.
	//   - ErrInProgress: the key is claimed for the same fingerprint.
	//   - ErrFull: no room for another order. A completed key is still answered.
	Claim(ctx context.Context, key string, fp Fingerprint, lease time.Duration) (Claim, *Order, error)

	// Place takes the copies of all lines of o out of stock, or of none, stores o and completes the claim. Errors:
	//
	//   - *ShortError: some title has too few copies. The claim stands.
	//   - ErrClaimLost: the claim lapsed and the key was claimed anew, or it was released. Nothing happened.
	//   - the context's: it was over before the order was stored. Nothing happened, the claim stands.
	//   - any other: the order may or may not have been stored. A claim of the key tells.
	//
	// A title that the store has never heard of has no copies.
	Place(ctx context.Context, c Claim, o Order) error

	// Release frees the key of c. A claim that is completed, lapsed or released already is left as it is: no error.
	Release(ctx context.Context, c Claim) error

	// Order returns a stored order, or ErrNotFound.
	Order(ctx context.Context, id string) (Order, error)

	// Stock returns the copies left of every title, as of one instant. The map is the caller's.
	Stock(ctx context.Context) (map[string]int, error)
}

// Claim is the right to complete a key. Two claims of one key differ in their token.
type Claim struct {
	Key   string
	Token string
}

// What a Store refuses.
var (
	ErrKeyReused  = errors.New("the key belongs to another order")
	ErrInProgress = errors.New("an order under this key is in progress")
	ErrClaimLost  = errors.New("the claim of the key was lost")
	ErrFull       = errors.New("no room for another order")
	ErrNotFound   = errors.New("no such order")
)

// ShortError names every title of which fewer copies are left than were asked for.
type ShortError struct {
	Short []Shortage // by book
}

// Shortage is one title that there is too little of.
type Shortage struct {
	Book  string `json:"book"`
	Asked int    `json:"asked"`
	Left  int    `json:"left"`
}

func (e *ShortError) Error() string { return "out of stock: " + e.sentence() }

// sentence is "dracula: 1 asked, 0 left; moby-dick: 3 asked, 1 left."
func (e *ShortError) sentence() string {
	parts := make([]string, len(e.Short))
	for i, s := range e.Short {
		parts[i] = fmt.Sprintf("%s: %d asked, %d left", s.Book, s.Asked, s.Left)
	}
	return strings.Join(parts, "; ") + "."
}

// shortages returns what of lines the stock cannot serve, nil if it can. Lines of one title are added up.
func shortages(lines []Line, left func(book string) int) *ShortError {
	asked := make(map[string]int, len(lines))
	for _, l := range lines {
		asked[l.Book] += l.Quantity
	}
	var short []Shortage
	for book, n := range asked {
		if have := left(book); have < n {
			short = append(short, Shortage{book, n, have})
		}
	}
	if short == nil {
		return nil
	}
	slices.SortFunc(short, func(a, b Shortage) int { return strings.Compare(a.Book, b.Book) })
	return &ShortError{short}
}
