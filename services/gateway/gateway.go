// Package gateway is the shop's face: the pages that people browse and buy on, and the API at /api/v1. It owns no
// data. What it calls, and how little of it each callee may hold, is in dependencies.go: read that first. Every
// address is in routes.go.
package gateway

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// minCartKey is the shortest key that signs carts: as long as the hash, and no key of a person's making is.
const minCartKey = 32

// Config is what the gateway is told by its environment.
type Config struct {
	service.Config `embed:"" set:"workers=4000"`

	CatalogueURL  service.Addresses `name:"catalogue-url" env:"CATALOGUE_URL" default:"http://127.0.0.1:8081" help:"Addresses of the catalogue."`
	CheckoutURL   service.Addresses `name:"checkout-url" env:"CHECKOUT_URL" default:"http://127.0.0.1:8083" help:"Addresses of checkout."`
	Carousel      string            `env:"CAROUSEL" default:"inline" help:"inline: the page of a book waits for the carousel. deferred: it links to it."`
	HeaderOffers  string            `env:"HEADER_OFFERS" default:"off" help:"on: every page offers what is much bought lately, in its header."`
	CartKey       string            `env:"CART_KEY" help:"Hex key of at least 32 bytes that signs carts; the same for all gateways. Empty: a random one, so carts end with the process."`
	SecureCookies bool              `env:"SECURE_COOKIES" help:"Cookies travel over TLS only. Set it where the shop is reached by https."`
}

// Service is the gateway.
type Service struct {
	http.Handler
	catalogue *catalogue
	checkout  *checkout
	stock     *stock
	carts     cartKeeper
	titles    *titles
	templates *template.Template
	deferred  bool // CAROUSEL=deferred
}

// New returns the gateway on chassis c. It tells every broken rule of cfg at once.
func New(cfg Config, c *service.Chassis) (*Service, error) {
	key, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("configuration of gateway:\n%w", err)
	}
	if cfg.CartKey == "" {
		c.Log().Warn("CART_KEY is not set: carts are signed with a random key and end with this process")
	}
	open := opener{chassis: c}
	books, related := open.edge(toCatalogue), open.edge(toRelated)
	var offers *resilience.Dependency
	if cfg.HeaderOffers == "on" {
		offers = open.edge(toOffers)
	}
	ordering, orders, counts := open.edge(toOrder), open.edge(toOrders), open.edge(toStock)
	if open.err != nil {
		return nil, open.err
	}
	s := &Service{
		carts:    cartKeeper{key: key, secure: cfg.SecureCookies},
		titles:   newTitles(),
		deferred: cfg.Carousel == "deferred",
	}
	if s.templates, err = parseTemplates(); err != nil {
		return nil, err
	}
	s.catalogue = &catalogue{
		to: &cfg.CatalogueURL, copies: newCopies(), titles: s.titles,
		books: books.Endpoint("books"), book: books.Endpoint("book"), related: related.Endpoint("related"),
	}
	if offers != nil {
		s.catalogue.offers = offers.Endpoint("offers")
	}
	s.checkout = &checkout{to: &cfg.CheckoutURL, order: ordering.Endpoint("order"), read: orders.Endpoint("order")}
	s.stock = &stock{to: &cfg.CheckoutURL, endpoint: counts.Endpoint("stock"), log: c.Log()}
	c.FaceStrangers()
	c.Routes(Routes...)
	c.DependsOn(toCatalogue.To, &cfg.CatalogueURL)
	c.DependsOn(toOrder.To, &cfg.CheckoutURL)
	c.Go("stock", s.stock.run)
	s.Handler = s.routes(c)
	return s, nil
}

func (cfg *Config) validate() (key []byte, err error) {
	var errs []error
	if cfg.CatalogueURL.Len() == 0 {
		errs = append(errs, errors.New("CATALOGUE_URL is empty: must be one or more addresses"))
	}
	if cfg.CheckoutURL.Len() == 0 {
		errs = append(errs, errors.New("CHECKOUT_URL is empty: must be one or more addresses"))
	}
	if cfg.Carousel != "inline" && cfg.Carousel != "deferred" {
		errs = append(errs, fmt.Errorf("CAROUSEL=%q: must be inline or deferred", cfg.Carousel))
	}
	if cfg.HeaderOffers != "on" && cfg.HeaderOffers != "off" {
		errs = append(errs, fmt.Errorf("HEADER_OFFERS=%q: must be on or off", cfg.HeaderOffers))
	}
	switch key, err = hex.DecodeString(cfg.CartKey); { // the key itself is told to nobody
	case cfg.CartKey == "":
		key = make([]byte, minCartKey)
		rand.Read(key) // never fails
	case err != nil:
		errs = append(errs, errors.New("CART_KEY: must be hexadecimal"))
	case len(key) < minCartKey:
		errs = append(errs, fmt.Errorf("CART_KEY has %d bytes: must have at least %d", len(key), minCartKey))
	}
	return key, errors.Join(errs...)
}

// opener opens edges until one fails.
type opener struct {
	chassis *service.Chassis
	err     error
}

func (o *opener) edge(e defence.Edge) (d *resilience.Dependency) {
	if o.err == nil {
		d, o.err = o.chassis.Open(e)
	}
	return d
}
