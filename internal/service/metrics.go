package service

import (
	"container/list"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestBuckets hold the bounds of the objectives, 1 s for a page and 3 s for an order, and tell what hangs from what
// is slow.
var requestBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 3, 10, 30}

// callerLeft is the status that a request is counted under when its caller left before there was an answer. It is sent
// to nobody.
const callerLeft = 499

// requestMetrics tell what became of the requests to a service's routes. Begun and ended are counted apart: a request
// that never ends is in no histogram, and must not be missing from the objective for that. It is a
// prometheus.Collector. Its labels are the routes of the service, the methods that they take, and statuses that we send.
type requestMetrics struct {
	begun  *prometheus.CounterVec
	ended  *prometheus.HistogramVec
	oldest *prometheus.Desc

	mu      sync.Mutex
	current list.List // of time.Time, oldest first
}

func newRequestMetrics() *requestMetrics {
	return &requestMetrics{
		begun: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_begun_total",
			Help: "Requests that came, those that are refused or never end included.",
		}, []string{"method", "route"}),
		ended: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "http_request_duration_seconds",
			Help:    "How long requests took that have ended, from their header to the end of their handler; 499: the caller left.",
			Buckets: requestBuckets,
		}, []string{"method", "route", "status"}),
		oldest: prometheus.NewDesc("http_oldest_request_age_seconds",
			"Age of the oldest request in progress or in line; 0 where there is none.", nil, nil),
	}
}

// begin counts a request in; the function that it returns counts it out, with the status that it was answered with.
func (m *requestMetrics) begin(method, route string) (end func(status int)) {
	start := time.Now()
	m.begun.WithLabelValues(method, route).Inc()
	m.mu.Lock()
	place := m.current.PushBack(start)
	m.mu.Unlock()
	return func(status int) {
		m.mu.Lock()
		m.current.Remove(place)
		m.mu.Unlock()
		m.ended.WithLabelValues(method, route, strconv.Itoa(status)).Observe(time.Since(start).Seconds())
	}
}

// age is that of the oldest request.
func (m *requestMetrics) age(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current.Len() == 0 {
		return 0
	}
	return now.Sub(m.current.Front().Value.(time.Time))
}

// Describe implements prometheus.Collector.
func (m *requestMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.begun.Describe(ch)
	m.ended.Describe(ch)
	ch <- m.oldest
}

// Collect implements prometheus.Collector.
func (m *requestMetrics) Collect(ch chan<- prometheus.Metric) {
	m.begun.Collect(ch)
	m.ended.Collect(ch)
	ch <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, m.age(time.Now()).Seconds())
}

// measured counts the requests of a route that go through next.
func (m *requestMetrics) measured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := r.Context().Value(visitKey{}).(*visit)
		if !ok || v.route == "" { // the sign of life: nobody's request
			next.ServeHTTP(w, r)
			return
		}
		end, status := m.begin(r.Method, v.route), http.StatusInternalServerError // as a panic is answered
		defer func() { end(status) }()
		next.ServeHTTP(w, r)
		switch {
		case r.Context().Err() != nil:
			status = callerLeft
		case v.status == 0: // the handler wrote nothing, and net/http will say that all is well
			status = http.StatusOK
		default:
			status = v.status
		}
	})
}
