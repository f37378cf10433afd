package recommendations

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
)

// Config is what the environment tells recommendations. OWN_WORK is how long it takes for one answer.
type Config struct {
	service.Config `embed:""`

	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"The PostgreSQL database of the order history, as postgres://user:password@host/recommendations. Empty: it is made anew, always the same."`
}

// The history that an empty store is given. Why 20,000 orders: with 222 books it takes so many until nearly every book
// has a neighbour of minSupport, and making and counting them takes less than a tenth of a second.
const (
	historySeed   = 1
	historyOrders = 20_000
)

// startWithin is how long the store may take at the start, to be there and then to answer. Then the process ends, and
// whoever runs it starts it again.
const startWithin = 8 * time.Second

// Service is recommendations. It is an http.Handler.
type Service struct {
	http.Handler

	chassis *service.Chassis
	// Never written after New.
	related map[string][]string // by book
	offers  []string            // the most bought first
}

// New returns the recommendations for the shop's books, worked out from the history in the database if there is one.
func New(cfg Config, c *service.Chassis) (*Service, error) {
	store, err := openStore(cfg.DatabaseURL, c)
	if err != nil {
		return nil, fmt.Errorf("recommendations: %w", err)
	}
	return newService(c, store, booksOnSale())
}

func openStore(url string, c *service.Chassis) (Store, error) {
	if url == "" {
		return new(Memory), nil
	}
	// Nobody is served yet, so there is no request whose context this could have.
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if err := postgres.Prepare(ctx, url, "recommendations", migrations, nil); err != nil {
		return nil, err
	}
	db, err := c.OpenDatabase(url, Database)
	if err != nil {
		return nil, err
	}
	return &Postgres{db}, db.Await(ctx)
}

func newService(c *service.Chassis, store Store, books []Book) (*Service, error) {
	var first []Order
	for _, order := range seed.Orders(historySeed, historyOrders) {
		first = append(first, order)
	}
	// Likewise.
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if err := store.Seed(ctx, first); err != nil {
		return nil, fmt.Errorf("recommendations: first order history: %w", err)
	}
	history, err := store.Orders(ctx)
	if err != nil {
		return nil, fmt.Errorf("recommendations: order history: %w", err)
	}
	s := &Service{chassis: c, related: relate(books, history), offers: muchBought(books, history)}
	s.Handler = s.routes()
	return s, nil
}
