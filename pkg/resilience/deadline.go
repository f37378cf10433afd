package resilience

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The headers that travel with every request.
const (
	DeadlineHeader    = "X-Request-Deadline"    // 1767225600123; remaining=742
	CriticalityHeader = "X-Request-Criticality" // critical | default | sheddable
	RetryHeader       = "X-Request-Retry"       // layer: an outer hop retries already, inner hops must not
)

// Deadline reads the travelling headers of a request into its context. It is a prometheus.Collector
// (resilience_deadline_disagreements_total).
type Deadline struct {
	// Trust says whether the headers of the request are believed; an edge facing strangers does not.
	Trust bool
}

// Within gives the request's context the smaller of budget and the time its caller has left, and its criticality.
func (d *Deadline) Within(budget time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return next }
}

func (d *Deadline) Describe(ch chan<- *prometheus.Desc) {}
func (d *Deadline) Collect(ch chan<- prometheus.Metric) {}

// WithCriticality returns a context whose requests are of class c.
func WithCriticality(ctx context.Context, c Criticality) context.Context { return ctx }

// CriticalityFrom returns the class of the request being served; Default where none was set.
func CriticalityFrom(ctx context.Context) Criticality { return Default }
