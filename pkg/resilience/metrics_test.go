package resilience

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// gathered returns the values of all series of the collectors, registered together in one strict registry:
// name{label=value,…}, labels in the order of their names. A histogram gives its count.
func gathered(t *testing.T, collectors ...prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values[series(f.GetName(), m)] = value(m)
		}
	}
	return values
}

func series(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	if labels == nil {
		return name
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	default:
		return float64(m.GetHistogram().GetSampleCount())
	}
}

// Several dependencies and the server's own side live in one registry, and each series says what it should.
func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Slots, p.WalkAway = 5, true
		p.Retry = Retry{Attempts: 2, Budget: 0.5}
		one := endpoint(t, p)
		two, err := New("unlimited", Policy{Timeout: Unbounded, Slots: Unlimited})
		if err != nil {
			t.Fatal(err)
		}
		two.Endpoint("a")
		two.Endpoint("b")
		admission, err := NewAdmission(AdmissionPolicy{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		admission.Acquire(t.Context(), Default)
		admission.Acquire(t.Context(), Sheddable)

		Call(t.Context(), one, ok)
		Call(t.Context(), one, fail, FallbackTo(7)) // and once more
		released := make(chan struct{})
		call(t.Context(), one, func(context.Context) (int, error) { <-released; return 1, nil }) // and once more
		go call(t.Context(), two.Endpoint("a"), func(context.Context) (int, error) { <-released; return 1, nil })
		synctest.Wait()
		time.Sleep(time.Second)

		got := gathered(t, one.dep, two, admission, &Deadline{})
		for series, want := range map[string]float64{
			`resilience_calls_total{dependency=dep,endpoint=op,outcome=success}`:         1,
			`resilience_calls_total{dependency=dep,endpoint=op,outcome=failure}`:         2,
			`resilience_calls_total{dependency=dep,endpoint=op,outcome=timeout}`:         1, // which opens the breaker
			`resilience_calls_total{dependency=dep,endpoint=op,outcome=short_circuited}`: 1,
			`resilience_calls_total{dependency=dep,endpoint=op,outcome=rejected}`:        0,
			`resilience_calls_total{dependency=unlimited,endpoint=b,outcome=panicked}`:   0,
			`resilience_call_duration_seconds{dependency=dep,endpoint=op}`:               4,
			`resilience_slots{dependency=dep}`:                                           5,
			`resilience_slots{dependency=unlimited}`:                                     math.Inf(1),
			`resilience_slots_in_use{dependency=dep}`:                                    1,
			`resilience_timeout_seconds{dependency=dep}`:                                 1,
			`resilience_timeout_seconds{dependency=unlimited}`:                           math.Inf(1),
			`resilience_slots_in_use{dependency=unlimited}`:                              1,
			`resilience_oldest_call_age_seconds{dependency=unlimited,endpoint=a}`:        1,
			`resilience_oldest_call_age_seconds{dependency=unlimited,endpoint=b}`:        0,
			`resilience_breaker_state{dependency=dep,endpoint=op}`:                       2,
			`resilience_breaker_state{dependency=unlimited,endpoint=a}`:                  0,
			`resilience_fallbacks_total{dependency=dep,endpoint=op}`:                     1,
			`resilience_retries_total{dependency=dep,endpoint=op}`:                       2,
			`resilience_retry_budget_tokens{dependency=dep}`:                             2.5, // 3 + 3 × 0.5 − 2
			`resilience_abandoned_calls{dependency=dep,endpoint=op}`:                     1,
			`resilience_workers`:        1,
			`resilience_workers_in_use`: 1,
			`resilience_queue_length`:   0,
			`resilience_shed_total{criticality=sheddable,reason=queue_full}`: 1,
			`resilience_deadline_disagreements_total`:                        0,
		} {
			if v, ok := got[series]; !ok || v != want {
				t.Errorf("%s is %v (there: %v), want %v", series, v, ok, want)
			}
		}
		close(released)
		synctest.Wait()
	})
}

// Labels come only from what is declared: ten thousand paths make no series more.
func TestSeriesDoNotGrowWithPaths(t *testing.T) {
	p := steady()
	p.Transport = answering{http.StatusOK}
	e := endpoint(t, p)
	before := len(gathered(t, e.dep))
	for i := range 10_000 {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://dep/books/%d", i), nil)
		resp, err := e.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if after := len(gathered(t, e.dep)); after != before {
		t.Errorf("%d series, %d before", after, before)
	}
	wantOutcomes(t, e, map[Outcome]int{Success: 10_000})
}

// answering is a transport that answers by itself.
type answering struct{ status int }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// A snapshot tells the same, endpoints in the order of their names.
func TestSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, err := New("dep", steady())
		if err != nil {
			t.Fatal(err)
		}
		b, a := d.Endpoint("b"), d.Endpoint("a")
		if d.Endpoint("a") != a || a.Dependency() != d || a.Name() != "a" || d.Name() != "dep" {
			t.Error("an endpoint is not the one of its name")
		}
		call(t.Context(), a, take(30*time.Millisecond))
		go call(t.Context(), b, take(time.Second-1))
		time.Sleep(400 * time.Millisecond)
		s := d.Snapshot()
		if s.Name != "dep" || s.Slots != 100 || s.InUse != 1 || s.HighWater != 1 || s.OldestCall != 400*time.Millisecond {
			t.Errorf("%+v", s)
		}
		if s.Endpoints[0].Name != "a" || s.Endpoints[1].OldestCall != s.OldestCall {
			t.Errorf("endpoints %+v", s.Endpoints)
		}
		if got := s.Endpoints[0].Durations; got[.025] != 0 || got[.05] != 1 || got[120] != 1 {
			t.Errorf("durations %v", got)
		}
		time.Sleep(time.Second)
	})
}
