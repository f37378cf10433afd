package resilience

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// AdmissionPolicy bounds what a server works on at once.
type AdmissionPolicy struct {
	Workers int // requests in progress at once. Unlimited: no limit
	Queue   int // how many may wait; Unlimited: a line without end
	// MaxWait is the longest wait in the queue before a refusal. Unbounded: wait as long as it takes.
	MaxWait time.Duration
	// TargetWait is the queueing delay above which, held for a while, the server counts as overloaded: then the
	// newest is served first and waits are short. 0: never.
	TargetWait time.Duration
}

// Admission admits requests to the workers of a server, and refuses from the least critical when there are not
// enough. It is a prometheus.Collector.
type Admission struct {
	// Refuse writes the refusal; a plain 503 with Retry-After unless given. Set before the first request.
	Refuse func(w http.ResponseWriter, r *http.Request, reason string, retryAfter time.Duration)
}

func NewAdmission(p AdmissionPolicy) (*Admission, error) { return &Admission{}, nil }

// Apply swaps the policy. Nobody at work is disturbed.
func (a *Admission) Apply(p AdmissionPolicy) error { return nil }

// Middleware admits each request before next sees it. The criticality is the context's; waiting ends with the context.
func (a *Admission) Middleware(next http.Handler) http.Handler { return next }

// Acquire takes a worker as a request of criticality c would. The caller calls release exactly once.
func (a *Admission) Acquire(ctx context.Context, c Criticality) (release func(), err error) {
	return func() {}, nil
}

// AdmissionSnapshot is what the workers are doing now.
type AdmissionSnapshot struct {
	Limit, InUse, HighWater, Queue int
	SaturatedAt                    time.Time     // first instant since the last Mark at which all workers were in use; zero: never
	Busy                           time.Duration // the sum over all workers of the time they have been in use
	Shed                           uint64
}

func (a *Admission) Snapshot() AdmissionSnapshot { return AdmissionSnapshot{} }

// Mark resets SaturatedAt and the high-water mark.
func (a *Admission) Mark() {}

func (a *Admission) Describe(ch chan<- *prometheus.Desc) {}
func (a *Admission) Collect(ch chan<- prometheus.Metric) {}
