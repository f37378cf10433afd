package currency

// Newer rates, fetched in the background. Whatever goes wrong here, the service goes on with what it has.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"example.com/holdfast/pkg/resilience"
)

const (
	// refreshEvery is how long a round waits for the next; refreshJitter is how much of that is left to chance, so
	// that the instances of a fleet do not ask in step.
	refreshEvery  = time.Hour
	refreshJitter = 0.1
	// refreshBudget bounds one round. It is above the attempt's own timeout, which therefore ends it first.
	refreshBudget = 6 * time.Second
)

// refresh fetches the rates at once and then about every hour, until ctx ends.
func (s *Service) refresh(ctx context.Context) error {
	for {
		s.refreshOnce(ctx)
		timer := time.NewTimer(pause(rand.Float64()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// pause is an hour, give or take a tenth; chance is in [0, 1).
func pause(chance float64) time.Duration {
	return time.Duration(float64(refreshEvery) * (1 + refreshJitter*(2*chance-1)))
}

// refreshOnce puts the fetched rates in force. If they cannot be had, or are not what they should be, the rates in
// force stay: that is logged and counted.
func (s *Service) refreshOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshBudget)
	defer cancel()
	fetched, err := resilience.Call(ctx, s.source, s.fetch)
	switch {
	case err == nil:
		s.current.Store(bookOf(fetched))
		s.refreshes.WithLabelValues("refreshed").Inc()
		s.chassis.Log().InfoContext(ctx, "rates refreshed", "as_of", fetched.AsOf())
	case resilience.OutcomeOf(err) == resilience.Cancelled: // the service is stopping
	default:
		s.refreshes.WithLabelValues("kept").Inc()
		s.chassis.Log().WarnContext(ctx, "rates not refreshed", "error", err, "kept_as_of", s.book().rates.AsOf())
	}
}

// fetch reads one document. It parses inside the guarded call, so that a document that makes no sense is a failure of
// its source.
func (s *Service) fetch(ctx context.Context) (*Rates, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.Next().String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/xml, text/xml")
	resp, err := s.source.Client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("rates: the source answered %s", resp.Status)
	}
	doc, err := io.ReadAll(resp.Body) //unbounded:allow readall "the policy's MaxBody bounds it"
	if err != nil {
		return nil, fmt.Errorf("rates: read the document: %w", err)
	}
	return Parse(doc)
}
