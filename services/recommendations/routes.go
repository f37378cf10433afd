package recommendations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/seed"
	"example.com/holdfast/internal/service"
)

func (s *Service) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.With(s.chassis.Within(routeBudget)).Get("/related/{book}", s.handleRelated)
	r.With(s.chassis.Within(routeBudget)).Get("/offers", s.handleOffers)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "Recommendations has /related/{book} and /offers."))
	})
	r.MethodNotAllowed(service.MethodNotAllowed)
	return r
}

// answer is what /related/{book} answers.
type answer struct {
	Book    string   `json:"book"`
	Related []string `json:"related"` // best first; empty where nothing is related, never null
}

func (s *Service) handleRelated(w http.ResponseWriter, r *http.Request) {
	book, limit, err := readRequest(r)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	related, known := s.related[book]
	if !known {
		problem.Write(w, r, problem.New(problem.NotFound, "We have no such book."))
		return
	}
	send(w, r, answer{book, related[:min(limit, len(related))]})
}

// offersAnswer is what /offers answers.
type offersAnswer struct {
	Offers []string `json:"offers"` // the most bought first; empty where nothing was bought, never null
}

func (s *Service) handleOffers(w http.ResponseWriter, r *http.Request) {
	limit, wrong := readLimit(r, maxOffers)
	if len(wrong) > 0 {
		problem.Write(w, r, invalid(wrong))
		return
	}
	send(w, r, offersAnswer{s.offers[:min(limit, len(s.offers))]})
}

// send answers with a document.
func send(w http.ResponseWriter, r *http.Request, doc any) {
	body, err := json.Marshal(doc)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails only when the caller has left
}

// badBook is what is said of a book whose id is none.
var badBook = fmt.Sprintf("is not the id of a book: words of a–z and 0–9 with single hyphens between, %d letters at most",
	seed.MaxIDLength)

// defaultLimit is how many books are told where the request does not say: a row of a page.
const defaultLimit = 5

// readRequest returns what r asks for, or a problem that names every field that is wrong.
func readRequest(r *http.Request) (book string, limit int, err error) {
	limit, wrong := readLimit(r, maxRelated)
	book = chi.URLParam(r, "book")
	if !seed.ValidID(book) {
		wrong = append([]problem.FieldError{{Field: "book", Message: badBook}}, wrong...)
	}
	if len(wrong) > 0 {
		return "", 0, invalid(wrong)
	}
	return book, limit, nil
}

// readLimit returns how many books r asks for, and every field of its query that is wrong.
func readLimit(r *http.Request, atMost int) (limit int, wrong []problem.FieldError) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		wrong = append(wrong, problem.FieldError{Field: "query", Message: "is not a well-formed query string"})
	}
	given, ok := query["limit"]
	if !ok {
		return defaultLimit, wrong
	}
	if limit, err = strconv.Atoi(given[0]); err != nil || len(given) > 1 || limit < 1 || limit > atMost {
		message := fmt.Sprintf("must be one whole number, 1 to %d", atMost)
		wrong = append(wrong, problem.FieldError{Field: "limit", Message: message})
	}
	return limit, wrong
}

func invalid(wrong []problem.FieldError) error {
	return problem.Invalid("Correct the fields listed and ask again.", wrong...)
}
