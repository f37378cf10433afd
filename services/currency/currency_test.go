package currency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answer struct {
	status int
	body   string

	Base   string
	AsOf   string `json:"as_of"`
	Rates  map[string]string
	Type   string
	Errors []problem.FieldError
}

func get(t testing.TB, h http.Handler, path string) answer {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	a := answer{status: w.Code, body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	return a
}

// newService is a service with its rates from source ("" is none), on a chassis that logs to logs.
func newService(t testing.TB, source string, logs io.Writer) *Service {
	t.Helper()
	cfg := Config{Config: service.Defaults("currency")}
	if source != "" {
		if err := cfg.RatesURL.UnmarshalText([]byte(source)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := service.New("currency", cfg.Config, service.LogTo(logs))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRatesAreTold(t *testing.T) {
	s := newService(t, "", io.Discard)
	a := get(t, s, "/rates?base=USD")
	if a.status != http.StatusOK || a.Base != "USD" || a.AsOf != "2026-09-24" || len(a.Rates) != 30 {
		t.Fatal(a)
	}
	if a.Rates["EUR"] != "0.8797395971" || a.Rates["USD"] != "1" {
		t.Errorf("EUR %s, USD %s", a.Rates["EUR"], a.Rates["USD"])
	}
	if a := get(t, s, "/rates?base=EUR"); a.Rates["USD"] != "1.1367" {
		t.Errorf("for one EUR: %s USD", a.Rates["USD"])
	}
}

func TestWhatHasNoRatesIsRefused(t *testing.T) {
	s := newService(t, "", io.Discard)
	tests := []struct {
		path   string
		status int
		kind   problem.Type
	}{
		{"/rates?base=KWD", http.StatusNotFound, problem.NotFound},
		{"/rates?base=QQQ", http.StatusNotFound, problem.NotFound},
		{"/rates", http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=", http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=usd", http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=US%44D", http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=USD&base=EUR", http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=" + strings.Repeat("A", 10<<10), http.StatusBadRequest, problem.InvalidRequest},
		{"/rates?base=%zz", http.StatusBadRequest, problem.InvalidRequest},
		{"/", http.StatusNotFound, problem.NotFound},
		{"/rates/USD", http.StatusNotFound, problem.NotFound},
	}
	for _, tt := range tests {
		if a := get(t, s, tt.path); a.status != tt.status || a.Type != tt.kind.URI || len(a.body) > 1<<10 {
			t.Errorf("GET %.40s: %d %.200s", tt.path, a.status, a.body)
		}
	}
}

// A good document comes into force whole; every other way in which a round can end changes nothing, is logged, and is
// counted as an outcome of the source.
func TestRefresh(t *testing.T) {
	newer := docOf("2026-09-25", "USD", "1.25", "GBP", "0.5")
	zero := docOf("2026-09-25", "USD", "1.25", "GBP", "0")
	long := append(bytes.Repeat([]byte(" "), 64<<10), newer...)
	tests := []struct {
		name    string
		source  http.HandlerFunc
		asOf    string
		outcome resilience.Outcome
	}{
		{"good", says(http.StatusOK, newer), "2026-09-25", resilience.Success},
		{"not there", says(http.StatusNotFound, newer), "2026-09-24", resilience.Success}, // alive, says HTTP
		{"moved", says(http.StatusMovedPermanently, newer), "2026-09-24", resilience.Failure},
		{"broken", says(http.StatusInternalServerError, newer), "2026-09-24", resilience.Failure},
		{"noise", says(http.StatusOK, []byte("<html>")), "2026-09-24", resilience.Failure},
		{"one bad rate", says(http.StatusOK, zero), "2026-09-24", resilience.Failure},
		{"cut short", says(http.StatusOK, newer[:len(newer)-10]), "2026-09-24", resilience.Failure},
		{"too long", says(http.StatusOK, long), "2026-09-24", resilience.Failure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.source)
			defer server.Close()
			var logs bytes.Buffer
			s := newService(t, server.URL+"/eurofxref-daily.xml", &logs)
			s.refreshOnce(t.Context())
			s.source.Client().CloseIdleConnections()

			if a := get(t, s, "/rates?base=USD"); a.AsOf != tt.asOf {
				t.Errorf("as of %s, want %s", a.AsOf, tt.asOf)
			} else if tt.asOf == "2026-09-25" && a.Rates["GBP"] != "0.4" {
				t.Errorf("GBP %s, want 0.4", a.Rates["GBP"])
			}
			if kept := strings.Contains(logs.String(), "rates not refreshed"); kept != (tt.asOf == "2026-09-24") {
				t.Errorf("log: %s", &logs)
			}
			var kept dto.Metric
			if err := s.refreshes.WithLabelValues("kept").Write(&kept); err != nil {
				t.Fatal(err)
			}
			if counted := kept.GetCounter().GetValue() == 1; counted != (tt.asOf == "2026-09-24") {
				t.Errorf("kept %v times", kept.GetCounter().GetValue())
			}
			outcomes := s.source.Dependency().Snapshot().Endpoints[0].Outcomes
			if outcomes[tt.outcome.String()] != 1 {
				t.Errorf("outcomes %v, want one %v", outcomes, tt.outcome)
			}
		})
	}
}

// An hour apart, give or take a tenth; one round is bounded; stopping ends the wait. In fake time, and with a
// transport that is no network.
func TestRefreshEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, "http://rates.example/daily.xml", io.Discard)
		var rounds []time.Time
		var hanging atomic.Bool
		policy := Source.Policy
		policy.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			hangs := hanging.Load()
			rounds = append(rounds, time.Now())
			if hangs {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, errors.New("refused")
		})
		if err := s.source.Dependency().Apply(policy); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- s.refresh(ctx) }()
		synctest.Wait()
		if len(rounds) != 1 || !rounds[0].Equal(start) {
			t.Fatalf("rounds %v, want the first at once", rounds)
		}
		hanging.Store(true) // a round that hangs ends by its own timeout, and the next comes all the same
		<-time.After(24 * time.Hour)
		synctest.Wait()
		for i := 1; i < len(rounds); i++ {
			if gap := rounds[i].Sub(rounds[i-1]); gap < 54*time.Minute || gap > 66*time.Minute+refreshBudget {
				t.Errorf("%v between two rounds", gap)
			}
		}
		if len(rounds) < 21 {
			t.Errorf("%d rounds in a day", len(rounds))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestPauseIsAnHourGiveOrTakeATenth(t *testing.T) {
	for chance, want := range map[float64]time.Duration{0: 54 * time.Minute, 0.5: time.Hour} {
		if got := pause(chance); got.Round(time.Second) != want {
			t.Errorf("pause(%v) is %v, want %v", chance, got, want)
		}
	}
}

func TestRoutesFitTheirBudgets(t *testing.T) {
	if err := defence.CheckRoutes(Routes); err != nil {
		t.Error(err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func says(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}
