package currency

// The service: one route, answered from what was worked out when the rates came in.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// Config is what the environment tells the service.
type Config struct {
	service.Config `embed:""`

	// RatesURL is fetched every hour. Empty, the default: the service keeps the rates that it was built with.
	RatesURL service.Addresses `name:"rates-url" env:"RATES_URL" help:"Where newer rates come from: the ECB's eurofxref-daily.xml."`
}

// Service answers for exchange rates.
type Service struct {
	http.Handler
	chassis *service.Chassis
	current atomic.Pointer[book]

	// Only with a RATES_URL.
	source    *resilience.Endpoint
	url       service.Addresses
	refreshes *prometheus.CounterVec
}

// book is every answer that one day's rates can give, written out: there are thirty bases, and thousands of requests.
type book struct {
	rates   *Rates
	answers map[string][]byte // JSON by base
}

// New returns the service with the rates that it was built with. It opens the dependencies and binds no port.
func New(cfg Config, c *service.Chassis) (*Service, error) {
	first, err := Parse(firstRates)
	if err != nil {
		return nil, fmt.Errorf("currency: the embedded rates: %w", err)
	}
	s := &Service{chassis: c}
	s.current.Store(bookOf(first))
	asOf := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "currency_rates_as_of_timestamp_seconds",
		Help: "The day of the rates in force, midnight UTC.",
	}, func() float64 { return float64(s.book().rates.day.Unix()) })
	s.refreshes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "currency_refreshes_total",
		Help: "Rounds of fetching newer rates, by result: refreshed, or kept (the last good ones stay in force).",
	}, []string{"result"})
	if err := errors.Join(c.Registry().Register(asOf), c.Registry().Register(s.refreshes)); err != nil {
		return nil, fmt.Errorf("metrics of currency: %w", err)
	}
	if cfg.RatesURL.Len() > 0 {
		source, err := c.Open(Source)
		if err != nil {
			return nil, err
		}
		s.source, s.url = source.Endpoint(Source.Endpoints[0]), cfg.RatesURL
		c.Go("refresh rates", s.refresh)
	}
	c.Routes(Routes...)
	s.Handler = s.routes()
	return s, nil
}

func (s *Service) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.With(s.chassis.Within(ratesRoute.Budget)).Get("/rates", s.handleRates)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "There is nothing at this path."))
	})
	r.MethodNotAllowed(service.MethodNotAllowed)
	return r
}

var plainCode = regexp.MustCompile(`^[A-Z]{3}$`)

func (s *Service) handleRates(w http.ResponseWriter, r *http.Request) {
	base, err := readBase(r.URL)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	answer, known := s.book().answers[base]
	if !known {
		problem.Write(w, r, problem.New(problem.NotFound, "There is no rate for "+base+"."))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer))) // an answer cut short is then seen as one
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(answer) // the caller left: nothing is lost
}

// readBase reads ?base=USD, given once.
func readBase(u *url.URL) (string, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", problem.Invalid("The query cannot be read.")
	}
	if bases := query["base"]; len(bases) == 1 && plainCode.MatchString(bases[0]) {
		return bases[0], nil
	}
	return "", problem.Invalid("A base currency is needed.", problem.FieldError{
		Field: "base", Message: "must be given once, as the three capital letters of a currency (ISO 4217), such as USD",
	})
}

func (s *Service) book() *book { return s.current.Load() }

func bookOf(r *Rates) *book {
	b := &book{rates: r, answers: make(map[string][]byte)}
	for _, base := range r.Currencies() {
		rates, _ := r.For(base)
		answer, err := json.Marshal(struct {
			Base  string            `json:"base"`
			AsOf  string            `json:"as_of"`
			Rates map[string]string `json:"rates"`
		}{base, r.AsOf(), rates})
		if err != nil {
			panic(err) // strings always marshal
		}
		b.answers[base] = answer
	}
	return b
}
