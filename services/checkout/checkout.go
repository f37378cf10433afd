package checkout

// The service: its routes, and the steps of an order.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/bojanz/currency"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
)

// Config is what the environment tells the service.
type Config struct {
	service.Config `embed:""`

	CatalogueURL service.Addresses `name:"catalogue-url" env:"CATALOGUE_URL" default:"http://127.0.0.1:8081" help:"Addresses of the catalogue."`
	CurrencyURL  service.Addresses `name:"currency-url" env:"CURRENCY_URL" default:"http://127.0.0.1:8084" help:"Addresses of currency."`
	DatabaseURL  string            `name:"database-url" env:"DATABASE_URL" help:"The PostgreSQL database of stock and orders, as postgres://user:password@host/checkout. Empty: they are in memory, and gone with the process."`
}

const (
	// claimLease is how long a key stays claimed by a try that has vanished: well above the route's budget, so that
	// no try that is still alive loses its claim.
	claimLease = 10 * time.Second
	// startWithin is how long the database may take to be there and ready, at the start. Then the process ends, and
	// whoever runs it starts it again.
	startWithin = 8 * time.Second
	// releaseTimeout bounds the freeing of a key, which goes on when the request is over.
	releaseTimeout = 250 * time.Millisecond
)

// Service answers for stock and orders.
type Service struct {
	http.Handler
	chassis *service.Chassis
	store   Store
	market  market
	orders  *prometheus.CounterVec
}

// New returns the service, with its stock and orders in the database if there is one. It opens the dependencies and
// binds no port.
func New(cfg Config, c *service.Chassis) (*Service, error) {
	store, err := openStore(cfg.DatabaseURL, c)
	if err != nil {
		return nil, err
	}
	return newService(cfg, c, store)
}

// openStore returns a store that has the shop's first stock, or what is left of it.
func openStore(url string, c *service.Chassis) (Store, error) {
	stock := make(map[string]int)
	for _, b := range seed.Books() {
		stock[b.ID] = b.Stock
	}
	if url == "" {
		return NewMemory(stock, MaxOrders)
	}
	// Nobody is served yet, so there is no request whose context this could have.
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if err := prepare(ctx, url, stock); err != nil {
		return nil, err
	}
	orders, err := c.OpenDatabase(url, Keeping)
	if err != nil {
		return nil, err
	}
	reading, err := c.OpenDatabase(url, Reading)
	if err != nil {
		return nil, err
	}
	// To connect is the slowest that a database does: the first orders are not to wait for it.
	return &Postgres{orders, reading}, errors.Join(orders.Await(ctx), reading.Await(ctx))
}

func newService(cfg Config, c *service.Chassis, store Store) (*Service, error) {
	var errs []error
	if cfg.CatalogueURL.Len() == 0 {
		errs = append(errs, errors.New("CATALOGUE_URL is empty"))
	}
	if cfg.CurrencyURL.Len() == 0 {
		errs = append(errs, errors.New("CURRENCY_URL is empty"))
	}
	prices, err := c.Open(Prices)
	errs = append(errs, err)
	rates, err := c.Open(Rates)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.DependsOn(Prices.To, &cfg.CatalogueURL)
	c.DependsOn(Rates.To, &cfg.CurrencyURL)
	return assemble(c, store, &remoteMarket{
		pricesEndpoint: prices.Endpoint(Prices.Endpoints[0]),
		ratesEndpoint:  rates.Endpoint(Rates.Endpoints[0]),
		catalogue:      &cfg.CatalogueURL,
		currency:       &cfg.CurrencyURL,
	})
}

func assemble(c *service.Chassis, store Store, m market) (*Service, error) {
	s := &Service{chassis: c, store: store, market: m}
	s.orders = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "checkout_orders_total",
		Help: "Orders asked for, by how it ended: accepted, replayed, or the kind of problem.",
	}, []string{"result"})
	if err := c.Registry().Register(s.orders); err != nil {
		return nil, fmt.Errorf("metrics of checkout: %w", err)
	}
	c.Routes(Routes...)
	s.Handler = s.routes()
	return s, nil
}

func (s *Service) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.With(s.chassis.Within(placeRoute.Budget)).Post("/orders", s.handlePlace)
	r.With(s.chassis.Within(orderRoute.Budget)).Get("/orders/{id}", s.handleOrder)
	r.With(s.chassis.Within(stockRoute.Budget)).Get("/stock", s.handleStock)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "There is nothing at this path."))
	})
	r.MethodNotAllowed(service.MethodNotAllowed)
	return r
}

func (s *Service) handlePlace(w http.ResponseWriter, r *http.Request) {
	order, replayed, err := s.order(w, r)
	if err != nil {
		err = refusal(err)
		s.orders.WithLabelValues(path.Base(problem.From(err).Type)).Inc() // the kinds of problem are a closed list
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Location", "/orders/"+order.ID)
	if replayed {
		w.Header().Set("Idempotent-Replay", "true")
		s.orders.WithLabelValues("replayed").Inc()
	} else {
		s.orders.WithLabelValues("accepted").Inc()
	}
	writeJSON(w, r, http.StatusCreated, orderJSONOf(order))
}

func (s *Service) order(w http.ResponseWriter, r *http.Request) (_ Order, replayed bool, _ error) {
	key, err := readKey(r.Header)
	if err != nil {
		return Order{}, false, err
	}
	req, err := readRequest(w, r)
	if err != nil {
		return Order{}, false, err
	}
	return s.place(r.Context(), key, req)
}

// place places an order at most once per key. replayed says that it was placed before, and this is its stored answer.
//
// Nothing optional happens after the store has taken the order: whoever was charged is told so.
func (s *Service) place(ctx context.Context, key string, req Request) (_ Order, replayed bool, _ error) {
	claim, stored, err := s.store.Claim(ctx, key, req.Fingerprint(), claimLease)
	if err != nil {
		return Order{}, false, err
	}
	if stored != nil {
		return *stored, true, nil
	}
	placed := false
	// Deferred, so that every way out frees the key of an order that was not placed: an error, a person who left, a
	// panic. It runs before the answer is written, so whoever reads a refusal can use the key again.
	defer func() {
		if !placed {
			s.release(ctx, claim)
		}
	}()

	q, err := s.quote(ctx, req)
	if err != nil {
		return Order{}, false, err
	}
	if !q.total.Equal(req.Expected) { // of another currency: not equal
		return Order{}, false, changed(q)
	}
	order := Order{
		ID:        newOrderID(),
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
		Lines:     q.lines,
		Total:     q.total,
	}
	if err := s.store.Place(ctx, claim, order); err != nil {
		return Order{}, false, err
	}
	placed = true
	return order, false, nil
}

// release frees the key of a try that failed. It is detached from the request, which may be over: that is when keys
// must be freed.
func (s *Service) release(ctx context.Context, claim Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.store.Release(ctx, claim); err != nil {
		s.chassis.Log().ErrorContext(ctx, "key not freed, it lapses by itself", "error", err, "lease", claimLease)
	}
}

func (s *Service) handleOrder(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	if !plainOrderID.MatchString(id) {
		problem.Write(w, r, refusal(ErrNotFound))
		return
	}
	order, err := s.store.Order(r.Context(), id)
	if err != nil {
		problem.Write(w, r, refusal(err))
		return
	}
	writeJSON(w, r, http.StatusOK, orderJSONOf(order))
}

func (s *Service) handleStock(w http.ResponseWriter, r *http.Request) {
	stock, err := s.store.Stock(r.Context())
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, struct {
		Stock map[string]int `json:"stock"`
	}{stock})
}

// orderJSON is an order as the API tells it.
type orderJSON struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	CreatedAt time.Time       `json:"created_at"`
	Items     []lineJSON      `json:"items"`
	Total     currency.Amount `json:"total"`
	Currency  string          `json:"currency"`
}

// quoteJSON is what an order would be.
type quoteJSON struct {
	Items    []lineJSON      `json:"items"`
	Total    currency.Amount `json:"total"`
	Currency string          `json:"currency"`
}

type lineJSON struct {
	Book      string          `json:"book"`
	Quantity  int             `json:"quantity"`
	UnitPrice currency.Amount `json:"unit_price"`
	LineTotal currency.Amount `json:"line_total"`
}

func orderJSONOf(o Order) orderJSON {
	return orderJSON{
		ID: o.ID, Status: "accepted", CreatedAt: o.CreatedAt,
		Items: linesJSON(o.Lines), Total: o.Total, Currency: o.Total.CurrencyCode(),
	}
}

func linesJSON(lines []Line) []lineJSON {
	out := make([]lineJSON, len(lines))
	for i, l := range lines {
		out[i] = lineJSON{Book: l.Book, Quantity: l.Quantity, UnitPrice: l.UnitPrice, LineTotal: l.Total}
	}
	return out
}

// writeJSON answers with v. The answers of this service are about this moment or for one person: nobody keeps them.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // an answer cut short is then seen as one
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the person left: the order stands, and its key answers
}
