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

// retry reports whether the call may be tried again, after having paused.
func (e *Endpoint) retry(ctx context.Context, p *policy, try int, last *Error) bool {
	if try >= p.Retry.Attempts || last.final || last.Outcome != Failure && last.Outcome != Timeout {
		return false
	}
	if requestFrom(ctx).retried && p.Retry.Budget != Unbudgeted {
		return false // an outer hop retries: one layer is enough
	}
	pause := p.Retry.pause(try, last.RetryAfter)
	if latest, ok := ctx.Deadline(); ok && time.Until(latest) <= pause+p.Reserve {
		return false
	}
	if !e.dep.budget.spend() {
		return false
	}
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

// pause returns how long to wait after the given try: drawn evenly from 0 to the back-off, or what the dependency
// asked for, and never more than MaxBackoff.
func (r Retry) pause(try int, asked time.Duration) time.Duration {
	longest := max(r.MaxBackoff, r.Backoff)
	if asked > 0 {
		return min(asked, longest)
	}
	backoff := r.Backoff
	for range try - 1 {
		backoff = min(2*backoff, longest)
	}
	if backoff == 0 {
		return 0
	}
	return rand.N(backoff + 1)
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

func (b *retryBudget) earn() {
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
	if b.tokens < 1 {
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
