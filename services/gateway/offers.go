package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// offersAnswer is what the header of a page offers.
type offersAnswer struct {
	Offers []book `json:"offers"`
	degradation
}

// UnmarshalJSON refuses an answer without the list, so that {} counts as a failure of the catalogue.
func (a *offersAnswer) UnmarshalJSON(doc []byte) error {
	type plain offersAnswer // without this method
	if err := json.Unmarshal(doc, (*plain)(a)); err != nil {
		return err
	}
	if a.Offers == nil {
		return errors.New("the answer lacks the offers")
	}
	return nil
}

// offer returns what the header of a page offers: nothing where HEADER_OFFERS is off, nor where the catalogue does not
// say. No page is lost for want of offers, and no copy is kept of something that nobody misses.
func (c *catalogue) offer(ctx context.Context, code string) (offersAnswer, error) {
	if c.offers == nil {
		return offersAnswer{}, nil
	}
	none := offersAnswer{degradation: degradation{Degraded: []string{offersDegraded}}}
	a, err := service.GetJSON(ctx, c.offers, c.to, "/offers?currency="+code, resilience.FallbackTo(none))
	switch {
	case err == nil:
		return a, nil
	case refused(err) != nil && !c.offers.Dependency().Policy().NoFallback:
		// To the library a 4xx is an answer. To a page that did not ask for offers it is no reason to fail.
		return none, nil
	default:
		return none, because{problem.New(problem.Unavailable,
			"What belongs on every page cannot be reached just now. Try again in 5 seconds.").After(retryPage), err}
	}
}

// beside makes a page's own call and asks for the offers of its header at the same time: the page waits for the longer
// of the two, not for both in turn, which its budget has no room for. Where the own call fails there is no page, and the
// offers are called off.
func beside[T any](
	ctx context.Context, c *catalogue, code string, own func(context.Context) (T, error),
) (T, offersAnswer, error) {
	if c.offers == nil {
		v, err := own(ctx)
		return v, offersAnswer{}, err
	}
	asking, callOff := context.WithCancel(ctx)
	defer callOff()
	var offered offersAnswer
	var lost error
	var asked sync.WaitGroup
	asked.Go(func() { offered, lost = c.offer(asking, code) })
	v, err := own(ctx)
	if err != nil {
		callOff()
	}
	asked.Wait()
	if err == nil {
		err = lost
	}
	return v, offered, err
}

// offersView is the offers on a page.
type offersView struct {
	Books []bookView
	Note  string // why the prices are not what was asked for
}

// offersTo puts offers on a page for v.
func (s *Service) offersTo(v visitor, a offersAnswer) offersView {
	if len(a.Offers) == 0 {
		return offersView{}
	}
	s.catalogue.learn(a.Offers)
	return offersView{s.bookViews(a.Offers), priceNote(v.currency, a.Offers[0].Price, a.Degraded, "")}
}

// offersAlone is offersTo for a page that makes no call of its own.
func (s *Service) offersAlone(w http.ResponseWriter, r *http.Request, v visitor) (offersView, error) {
	a, err := s.catalogue.offer(r.Context(), v.currency)
	if err != nil {
		return offersView{}, err
	}
	markDegraded(w, a.Degraded)
	return s.offersTo(v, a), nil
}
