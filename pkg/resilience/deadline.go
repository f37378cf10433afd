package resilience

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The headers that travel with every request.
const (
	// DeadlineHeader carries the instant at which the caller stops waiting, in Unix milliseconds, and, because clocks
	// disagree, the milliseconds left beside it: 1767225600123; remaining=742
	DeadlineHeader = "X-Request-Deadline"
	// CriticalityHeader carries critical, default or sheddable.
	CriticalityHeader = "X-Request-Criticality"
	// RetryHeader says that a hop further out retries, so that this one must not.
	RetryHeader = "X-Request-Retry"
)

// clockTolerance is how far the two forms of a deadline may differ before the clocks are said to disagree.
const clockTolerance = 100 * time.Millisecond

// maxRemaining is the most that a caller is believed to have left; every server has a budget far below it.
const maxRemaining = 24 * time.Hour

// Criticality ranks a request for the moment when not all can be served: overload refuses from the bottom.
type Criticality uint8

// The zero value is Default; a value that is none of these counts as Sheddable.
const (
	Default Criticality = iota
	Critical
	Sheddable
)

// rank orders the classes from the one refused last to the one refused first.
func (c Criticality) rank() int {
	return [...]int{Default: 1, Critical: 0, Sheddable: 2}[min(c, Sheddable)]
}

func (c Criticality) String() string {
	return [...]string{Default: "default", Critical: "critical", Sheddable: "sheddable"}[min(c, Sheddable)]
}

// lower returns the less critical of an edge's class and that of the request being served.
func (c Criticality) lower(r request) Criticality {
	if r.classed && r.criticality.rank() > c.rank() {
		return r.criticality
	}
	return c
}

func parseCriticality(s string) (Criticality, bool) {
	for _, c := range []Criticality{Default, Critical, Sheddable} {
		if s == c.String() {
			return c, true
		}
	}
	return Default, false
}

// request is what is known of the request being served, in its context.
type request struct {
	criticality Criticality
	classed     bool // criticality was given
	retried     bool // a hop further out retries
}

type requestKey struct{}

func requestFrom(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}

// WithCriticality returns a context whose requests are of class c.
func WithCriticality(ctx context.Context, c Criticality) context.Context {
	r := requestFrom(ctx)
	r.criticality, r.classed = c, true
	return context.WithValue(ctx, requestKey{}, r)
}

// CriticalityFrom returns the class of the request being served; Default where none was given.
func CriticalityFrom(ctx context.Context) Criticality { return requestFrom(ctx).criticality }

// Deadline reads the travelling headers of a request into its context. It is a prometheus.Collector.
type Deadline struct {
	// Trust says whether the headers are believed. An edge that faces strangers does not.
	Trust bool

	disagreements atomic.Uint64
}

// Within gives a request's context the smaller of budget and the time that its caller has left. A header that is
// missing or makes no sense leaves the budget: never infinity.
func (d *Deadline) Within(budget time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, left := r.Context(), budget
			if d.Trust {
				ctx, left = d.read(ctx, r.Header, budget)
			}
			ctx, cancel := context.WithTimeout(ctx, left)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

func (d *Deadline) read(ctx context.Context, h http.Header, budget time.Duration) (context.Context, time.Duration) {
	known := requestFrom(ctx)
	if c, ok := parseCriticality(h.Get(CriticalityHeader)); ok {
		known.criticality, known.classed = c, true
	}
	known.retried = h.Get(RetryHeader) != ""
	if known != (request{}) {
		ctx = context.WithValue(ctx, requestKey{}, known)
	}
	left, agree, ok := parseDeadline(h.Get(DeadlineHeader), time.Now())
	if !ok {
		return ctx, budget
	}
	if !agree {
		d.disagreements.Add(1)
	}
	return ctx, min(left, budget)
}

// formatDeadline writes what parseDeadline reads.
func formatDeadline(now, latest time.Time) string {
	b := make([]byte, 0, 40)
	b = strconv.AppendInt(b, latest.UnixMilli(), 10)
	b = append(b, "; remaining="...)
	b = strconv.AppendInt(b, max(1, latest.Sub(now).Milliseconds()), 10)
	return string(b)
}

// parseDeadline returns the time left: the smaller of the header's two forms where they agree, else the remaining
// milliseconds, which need no common clock. ok is false for whatever does not have both, or has no time left.
func parseDeadline(header string, now time.Time) (left time.Duration, agree, ok bool) {
	if len(header) > 64 {
		return 0, false, false
	}
	instant, remaining, found := strings.Cut(header, ";")
	if !found {
		return 0, false, false
	}
	remaining, found = strings.CutPrefix(strings.TrimSpace(remaining), "remaining=")
	at, errAt := parseMillis(strings.TrimSpace(instant))
	ms, errMs := parseMillis(remaining)
	if !found || errAt != nil || errMs != nil || ms == 0 {
		return 0, false, false
	}
	left = time.Duration(min(ms, maxRemaining.Milliseconds())) * time.Millisecond
	byClock := time.UnixMilli(at).Sub(now)
	if (byClock - left).Abs() > clockTolerance {
		return left, false, true
	}
	return max(min(left, byClock), time.Millisecond), true, true
}

// parseMillis reads at most 13 digits, until the year 2286, and nothing else: no sign, no space.
func parseMillis(s string) (int64, error) {
	if len(s) > 13 {
		return 0, strconv.ErrRange
	}
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

var disagreementsDesc = prometheus.NewDesc("resilience_deadline_disagreements_total",
	"Requests whose deadline by the clock and by the time remaining differed by more than 100 ms.", nil, nil)

// Describe implements prometheus.Collector.
func (d *Deadline) Describe(ch chan<- *prometheus.Desc) { ch <- disagreementsDesc }

// Collect implements prometheus.Collector.
func (d *Deadline) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(disagreementsDesc, prometheus.CounterValue, float64(d.disagreements.Load()))
}
