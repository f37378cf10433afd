package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// maxRelated is how many books a carousel shows.
const maxRelated = 5

// suggestions are the books that recommendations names for another, best first.
type suggestions struct {
	ids      []string
	fallback bool // not answered: none
}

// UnmarshalJSON refuses an answer without the list, so that {} counts as a failed call.
func (s *suggestions) UnmarshalJSON(data []byte) error {
	var answer struct {
		Related []string `json:"related"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	if answer.Related == nil {
		return errors.New("no list of related books")
	}
	s.ids = answer.Related
	return nil
}

// noSuggestions is the fallback of a suggestion.
var noSuggestions = suggestions{fallback: true}

// suggesting is a call that asks recommendations.
type suggesting func(context.Context) (suggestions, error)

// suggest asks for the carousel of a book.
func (s *Service) suggest(book string) suggesting {
	return func(ctx context.Context) (suggestions, error) {
		path := fmt.Sprintf("/related/%s?limit=%d", book, maxRelated)
		answer, err := service.GetJSON(ctx, s.related, s.recommendationsURL, path, resilience.FallbackTo(noSuggestions))
		switch p := refusal(err); {
		case p == nil:
		case p.Status == http.StatusNotFound: // an answer: it has nothing to say about this book
			return suggestions{}, nil
		default:
			answer, err = noSuggestions, tolerate(s.related, p)
		}
		if err != nil {
			return suggestions{}, fmt.Errorf("asking for related books: %w", err)
		}
		return answer, nil
	}
}

// pick returns at most so many of the books that are suggested: each once, never the one that is except, none that the
// shelf lacks.
func (s *shelf) pick(suggested suggestions, atMost int, except string) []*Book {
	picked := []*Book{}
	seen := map[string]bool{except: true}
	for _, id := range suggested.ids {
		if b := s.byID[id]; b != nil && !seen[id] && len(picked) < atMost {
			seen[id] = true
			picked = append(picked, b)
		}
	}
	return picked
}

// refusal returns the problem of a dependency that answers and says no, and nil for any other end of a call.
func refusal(err error) *problem.Problem {
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Status < http.StatusInternalServerError {
		return p
	}
	return nil
}

// tolerate returns nil where the fallback of e may stand in for a refusal, as the library lets it for a failure, else
// the error for our caller. To the library a 4xx is an answer of a healthy dependency, and what it means our business:
// that we ask wrongly. That is no reason to lose a page, and nothing to tell a caller who asked rightly.
func tolerate(e *resilience.Endpoint, p *problem.Problem) error {
	if !e.Dependency().Policy().NoFallback {
		return nil
	}
	ours := problem.New(problem.Unavailable, "A part of the shop that this needs refuses to answer.").After(time.Second)
	return fmt.Errorf("%w (%s: %v)", ours, e.Dependency().Name(), p) // %v: the 4xx ends here
}
