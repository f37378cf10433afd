package gateway

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// routes is every address of the shop. A route is bounded by its budget and then by the workers; when these are
// scarce, orders go first and the carousel last.
func (s *Service) routes(c *service.Chassis) http.Handler {
	r := chi.NewRouter()
	r.Use(secured, s.problemPages, sameOrigin, middleware.GetHead)

	browse := r.With(c.Within(pageBudget))
	carousel := r.With(class(resilience.Sheddable), c.Within(carouselBudget))
	buy := r.With(class(resilience.Critical), c.Within(orderBudget))

	browse.Get("/", try(s.home))
	browse.Get("/books", try(s.shelf))
	browse.Get("/books/{id}", try(s.book))
	carousel.Get("/books/{id}/related", try(s.related))
	browse.Get("/cart", try(s.cart))
	browse.Post("/cart", try(s.changeCart))
	buy.Post("/orders", try(s.placeOrder))
	browse.Get("/orders", try(s.findOrder))
	browse.Get("/orders/{id}", try(s.order))
	browse.Get("/currency", try(s.currency))
	browse.Post("/currency", try(s.chooseCurrency))

	browse.Get("/api/v1/books", try(s.apiBooks))
	browse.Get("/api/v1/books/{id}", try(s.apiBook))
	carousel.Get("/api/v1/books/{id}/related", try(s.apiRelated))
	buy.Post("/api/v1/orders", try(s.apiPlaceOrder))
	browse.Get("/api/v1/orders/{id}", try(s.apiOrder))

	r.Get("/assets/{name}", try(s.asset)) // from memory: waits for nothing, needs no worker
	r.NotFound(try(notFound))
	r.MethodNotAllowed(service.MethodNotAllowed)
	return r
}
