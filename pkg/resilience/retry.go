package resilience

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mayRetry reports whether the call may be tried again, and after which pause. A retry whose longest pause does not
// fit into the time left is not tried, so that it does not depend on the draw who is told at once.
func (e *Endpoint) mayRetry(ctx context.Context, p *policy, try int, last *Error) (time.Duration, bool) {
	if try >= p.Retry.Attempts || last.final || last.Outcome != Failure && last.Outcome != Timeout {
		return 0, false
	}
	if requestFrom(ctx).retried && p.Retry.Budget != Unbudgeted {
		return 0, false // an outer hop retries: one layer is enough
	}
	backoff := p.Retry.backoff(try, last.RetryAfter)
	if latest, ok := ctx.Deadline(); ok && time.Until(latest)-p.Reserve <= backoff {
		return 0, false
	}
	if !e.dep.budget.spend() {
		return 0, false
	}
	if last.RetryAfter > 0 || backoff == 0 {
		return backoff, true
	}
	return rand.N(backoff), true
}

// pause waits before a retry, and reports false if nobody waits for it any more.
func (e *Endpoint) pause(ctx context.Context, pause time.Duration) bool {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	e.retries.Add(1)
	return true
}

// backoff returns the longest pause after the given try, or the one that the dependency asked for; neither is ever
// more than MaxBackoff.
func (r Retry) backoff(try int, asked time.Duration) time.Duration {
	longest := max(r.MaxBackoff, r.Backoff)
	if asked > 0 {
		return min(asked, longest)
	}
	backoff := r.Backoff
	for ; try > 1 && 0 < backoff && backoff < longest; try-- {
		backoff += min(backoff, longest-backoff)
	}
	return backoff
}

// retryBudget is a bucket of tokens: each call puts a part of one in, each retry takes one out.
type retryBudget struct {
	mu     sync.Mutex
	ratio  float64
	tokens float64
}

const retryFloor = 3

func (b *retryBudget) most() float64 { return max(retryFloor, 100*b.ratio) }

func (b *retryBudget) apply(r Retry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Budget != b.ratio {
		b.ratio, b.tokens = r.Budget, retryFloor
	}
}

func (b *retryBudget) earn(p *policy) {
	if p.Retry.Attempts <= 1 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ratio != 0 && b.ratio != Unbudgeted {
		b.tokens = min(b.tokens+b.ratio, b.most())
	}
}

func (b *retryBudget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ratio == Unbudgeted {
		return true
	}
	if b.tokens < 1-1e-9 { // ten tenths are not quite one
		return false
	}
	b.tokens--
	return true
}

func (b *retryBudget) read() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

const maxRetryAfter = time.Hour

// parseRetryAfter reads the header's two forms (RFC 9110 §10.2.3), capped at an hour; 0 for what is neither.
func parseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if len(value) == 0 || len(value) > 64 {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

// idempotent tells whether a request may be sent twice (RFC 9110 §9.2.2), or says so itself by its key.
func idempotent(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "":
		return true
	}
	return r.Header.Get("Idempotency-Key") != ""
}
