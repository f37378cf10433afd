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
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "Recommendations has /related/{book}."))
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
	if err := s.chassis.OwnWork(r.Context()); err != nil {
		problem.Write(w, r, fmt.Errorf("own work: %w", err))
		return
	}
	related, known := s.related[book]
	if !known {
		problem.Write(w, r, problem.New(problem.NotFound, "We have no such book."))
		return
	}
	body, err := json.Marshal(answer{book, related[:min(limit, len(related))]})
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails only when the caller has left
}

// What is said of a field that is wrong.
var (
	badBook = fmt.Sprintf("is not the id of a book: words of a–z and 0–9 with single hyphens between, %d letters at most",
		seed.MaxIDLength)
	badLimit = fmt.Sprintf("must be one whole number, 1 to %d", maxRelated)
)

// defaultLimit is how many related books are told where the request does not say: a row of a page.
const defaultLimit = 5

// readRequest returns what r asks for, or a problem that names every field that is wrong.
func readRequest(r *http.Request) (book string, limit int, err error) {
	var wrong []problem.FieldError
	book = chi.URLParam(r, "book")
	if !seed.ValidID(book) {
		wrong = append(wrong, problem.FieldError{Field: "book", Message: badBook})
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		wrong = append(wrong, problem.FieldError{Field: "query", Message: "is not a well-formed query string"})
	}
	limit = defaultLimit
	if given, ok := query["limit"]; ok {
		if limit, err = strconv.Atoi(given[0]); err != nil || len(given) > 1 || limit < 1 || limit > maxRelated {
			wrong = append(wrong, problem.FieldError{Field: "limit", Message: badLimit})
		}
	}
	if len(wrong) > 0 {
		return "", 0, problem.Invalid("Correct the fields listed and ask again.", wrong...)
	}
	return book, limit, nil
}
