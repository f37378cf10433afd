package gateway

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

const (
	stockEvery  = 5 * time.Second
	maxStockAge = 2 * time.Minute // older than this it is no news: say nothing
	fewLeft     = 5               // from here on a page says how many are left
)

// stock is what checkout had in stock a moment ago. Pages look at it and wait for nobody; checkout alone decides
// whether an order can be had.
type stock struct {
	endpoint *resilience.Endpoint
	to       *service.Addresses
	log      *slog.Logger
	latest   atomic.Pointer[stockCount]
}

type stockCount struct {
	left map[string]int
	at   time.Time
}

// run counts at once and then every stockEvery, until ctx ends.
func (s *stock) run(ctx context.Context) error {
	round := time.NewTicker(stockEvery)
	defer round.Stop()
	for {
		s.refresh(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-round.C:
		}
	}
}

// refresh takes a new count. Without an answer the old one stays, for as long as it is worth anything.
func (s *stock) refresh(ctx context.Context) {
	a, err := service.GetJSON[struct {
		Stock map[string]int `json:"stock"`
	}](ctx, s.endpoint, s.to, "/stock")
	if err != nil {
		s.log.DebugContext(ctx, "stock not counted", "error", err)
		return
	}
	s.latest.Store(&stockCount{a.Stock, time.Now()})
}

// left returns how many copies of a book there were at the last count, unless that is unknown or too long ago.
func (s *stock) left(book string) (n int, known bool) {
	count := s.latest.Load()
	if count == nil || time.Since(count.at) > maxStockAge {
		return 0, false
	}
	n, known = count.left[book]
	return n, known
}
