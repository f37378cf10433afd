package catalogue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// Config is what the environment tells the catalogue.
type Config struct {
	service.Config `embed:""`

	RecommendationsURL *service.Addresses `name:"recommendations-url" env:"RECOMMENDATIONS_URL" default:"http://127.0.0.1:8082" help:"Where recommendations answers; several with commas."`
	CurrencyURL        *service.Addresses `name:"currency-url" env:"CURRENCY_URL" default:"http://127.0.0.1:8084" help:"Where currency answers; several with commas."`
	DatabaseURL        string             `name:"database-url" env:"DATABASE_URL" help:"The PostgreSQL database of the books, as postgres://user:password@host/catalogue. Empty: they are those of the program."`
}

// The copy of the store that everybody is served from is made anew in the background. Why these: a new price is seen
// within half a minute, and a store that hangs is given up well before the next try.
const (
	copyEvery  = 30 * time.Second
	copyWithin = 5 * time.Second
)

// startWithin is how long the database may take to be there and ready, at the start. Then the process ends, and whoever
// runs it starts it again: a price that nobody has read cannot be shown.
const startWithin = 8 * time.Second

// Service is the catalogue. It is an http.Handler.
type Service struct {
	http.Handler

	store Store
	shelf atomic.Pointer[shelf] // the copy of the store; never nil

	related, offers    *resilience.Endpoint
	recommendationsURL *service.Addresses

	rates       *resilience.Endpoint
	currencyURL *service.Addresses
	last        atomic.Pointer[keptRates] // nil until a look-up succeeded
}

// New returns the catalogue of the shop's books, those of the database if there is one. Its background work belongs to c.
func New(cfg Config, c *service.Chassis) (*Service, error) {
	store, err := openStore(cfg.DatabaseURL, c)
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return newService(cfg, c, store)
}

func openStore(url string, c *service.Chassis) (Store, error) {
	books, err := firstBooks()
	if err != nil {
		return nil, fmt.Errorf("the books that the shop starts with: %w", err)
	}
	if url == "" {
		return NewMemory(books)
	}
	// Nobody is served yet, so there is no request whose context this could have.
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if err := prepare(ctx, url, books); err != nil {
		return nil, err
	}
	db, err := c.OpenDatabase(url, Database)
	if err != nil {
		return nil, err
	}
	return &Postgres{db}, db.Await(ctx)
}

func newService(cfg Config, c *service.Chassis, store Store) (*Service, error) {
	none := func(a *service.Addresses) bool { return a == nil || a.Len() == 0 }
	if none(cfg.RecommendationsURL) || none(cfg.CurrencyURL) {
		return nil, errors.New("catalogue: RECOMMENDATIONS_URL and CURRENCY_URL must both be given")
	}
	related, err := c.Open(recommendations)
	if err != nil {
		return nil, err
	}
	offers, err := c.Open(offering)
	if err != nil {
		return nil, err
	}
	rates, err := c.Open(exchange)
	if err != nil {
		return nil, err
	}
	c.DependsOn(recommendations.To, cfg.RecommendationsURL)
	c.DependsOn(exchange.To, cfg.CurrencyURL)
	s := &Service{
		store:              store,
		related:            related.Endpoint(recommendations.Endpoints[0]),
		offers:             offers.Endpoint(offering.Endpoints[0]),
		recommendationsURL: cfg.RecommendationsURL,
		rates:              rates.Endpoint(exchange.Endpoints[0]),
		currencyURL:        cfg.CurrencyURL,
	}
	// The first copy is made before anybody is served, so there is no request whose context this could have.
	if err := s.copyStore(context.Background()); err != nil {
		return nil, fmt.Errorf("catalogue: first copy of the store: %w", err)
	}
	c.Go("copy of the store", func(ctx context.Context) error { return s.keepCopying(ctx, c.Log()) })
	c.Routes(Routes...)
	s.Handler = s.routes(c.Within(routeBudget))
	return s, nil
}

// keepCopying copies the store until ctx ends. A copy that fails leaves the one before.
func (s *Service) keepCopying(ctx context.Context, log *slog.Logger) error {
	every := time.NewTicker(copyEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		if err := s.copyStore(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "the store cannot be copied, serving the copy before", "error", err)
		}
	}
}

func (s *Service) copyStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, copyWithin)
	defer cancel()
	books, err := s.store.All(ctx)
	if err != nil {
		return err
	}
	next, err := newShelf(books)
	if err != nil {
		return err
	}
	s.shelf.Store(next)
	return nil
}

// firstBooks are the books that the shop starts with.
func firstBooks() ([]Book, error) {
	var books []Book
	for _, b := range seed.Books() {
		price, err := currency.NewAmountFromInt64(b.PriceCents, Home)
		if err != nil {
			return nil, err
		}
		books = append(books, Book{b.ID, b.Title, b.Author, b.Year, b.Language, b.Subjects, b.Description, price})
	}
	return books, nil
}
