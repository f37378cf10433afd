package service

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/pkg/resilience"
)

// toDatabase is an edge to a database, bounded so that a test need not wait long.
var toDatabase = defence.Edge{
	Dependency: "postgres-orders", To: "postgres", Endpoints: []string{"sleep"},
	Policy: resilience.Policy{Timeout: 200 * time.Millisecond, ConnectTimeout: 150 * time.Millisecond, Slots: 2},
}

// sleeper is a service each request to which sleeps in the database, as long as its query says.
func sleeper(t *testing.T, cfg Config, url string) *running {
	t.Helper()
	return start(t, cfg, func(c *Chassis) http.Handler {
		db, err := c.OpenDatabase(url, toDatabase)
		if err != nil {
			t.Fatal(err)
		}
		return bounded(c, func(w http.ResponseWriter, r *http.Request) {
			_, err := postgres.Read(r.Context(), db, "sleep", func(ctx context.Context, tx pgx.Tx) (int, error) {
				_, err := tx.Exec(ctx, `select pg_sleep($1::float8)`, r.URL.RawQuery)
				return 0, err
			})
			if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
	})
}

// A database is told like every dependency: its slots, its outcomes and its metrics.
func TestADatabaseIsADependency(t *testing.T) {
	var empty pgtest.Template
	s := sleeper(t, testConfig(), empty.Copy(t))
	for query, want := range map[string]int{"?0": 200, "?60": 503} {
		if a := s.do("GET", s.public+"/"+query, ""); a.StatusCode != want {
			t.Errorf("a sleep of %s s: %d, want %d", query, a.StatusCode, want)
		}
	}
	deps := s.now().Dependencies
	if len(deps) != 1 || deps[0].Name != "postgres-orders" || deps[0].Slots != 2 || deps[0].TimeoutMS != 200 {
		t.Fatalf("told as %+v", deps)
	}
	if o := deps[0].Endpoints[0].Outcomes; o["success"] != 1 || o["timeout"] != 1 {
		t.Errorf("outcomes %v, want a success and a timeout", o)
	}
	metric := `resilience_calls_total{dependency="postgres-orders",endpoint="sleep",outcome="timeout"} 1`
	if a := s.do("GET", s.admin+"/metrics", ""); !strings.Contains(a.body, metric) {
		t.Errorf("no metric %s", metric)
	}
}

// With the defences off a database is what it is to ordinary code: no timeout, and who finds the pool empty waits.
func TestADatabaseWithoutDefences(t *testing.T) {
	var empty pgtest.Template
	s := sleeper(t, testConfig(), empty.Copy(t))
	crowd := func() (refused int32) {
		var n atomic.Int32
		done := make(chan struct{})
		people := 2*toDatabase.Policy.Slots + 1
		for range people {
			go func() {
				defer func() { done <- struct{}{} }()
				if a, err := s.try(t.Context(), "GET", s.public+"/?0.5", ""); err != nil || a.StatusCode != 200 {
					n.Add(1)
				}
			}()
		}
		for range people {
			<-done
		}
		return n.Load()
	}
	if refused := crowd(); refused != 5 {
		t.Errorf("defended: %d of 5 refused, want all: three for want of a slot, two at the timeout", refused)
	}
	s.switches("none")
	began := time.Now()
	refused := crowd()
	if took := time.Since(began); refused != 0 || took < 3*time.Second/2 {
		t.Errorf("undefended: %d of 5 refused after %v, want none: they wait, two after two, 1.5 s", refused, took)
	}
}

// TUNE gives a database other slots, and as many connections.
func TestADatabaseIsTuned(t *testing.T) {
	var empty pgtest.Template
	cfg := testConfig()
	cfg.Tune = "postgres-orders.slots=5,postgres-orders.timeout=5s"
	s := sleeper(t, cfg, empty.Copy(t))
	done := make(chan struct{})
	began := time.Now()
	for range 5 {
		go func() {
			if a, err := s.try(t.Context(), "GET", s.public+"/?0.5", ""); err != nil || a.StatusCode != 200 {
				t.Errorf("%v", err)
			}
			done <- struct{}{}
		}()
	}
	for range 5 {
		<-done
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("five sleeps of half a second took %v: they waited for each other", took)
	}
}

// D7: the mistake of readiness that asks the dependencies is one with a database too.
func TestD7ReadinessMayAskTheDatabase(t *testing.T) {
	var empty pgtest.Template
	network := pgtest.NewProxy(t, empty.Copy(t))
	s := sleeper(t, testConfig(), network.URL())
	ready := func(want int) {
		t.Helper()
		if a := s.do("GET", s.admin+"/readyz", ""); a.StatusCode != want {
			t.Errorf("%d %s, want %d", a.StatusCode, a.body, want)
		}
	}
	s.switches("-shallow_readiness")
	ready(200)
	network.Gone()
	ready(503)
	s.switches("all")
	ready(200)
}

// D14: who holds a connection asks nobody: a pool whose connections wait for a slow service is soon empty.
func TestD14NobodyIsAskedWithinATransaction(t *testing.T) {
	var empty pgtest.Template
	url := empty.Copy(t)
	var asked atomic.Int32
	other := respond(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{}`))
	})
	edge := defence.Edge{Dependency: "catalogue", Endpoints: []string{"prices"},
		Policy: resilience.Policy{Timeout: time.Second, Slots: 1}}
	within := make(chan error, 1)
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		db, err := c.OpenDatabase(url, toDatabase)
		if err != nil {
			t.Fatal(err)
		}
		catalogue, err := c.Open(edge)
		if err != nil {
			t.Fatal(err)
		}
		return bounded(c, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = postgres.Read(r.Context(), db, "sleep", func(ctx context.Context, _ pgx.Tx) (int, error) {
				_, err := GetJSON[struct{}](ctx, catalogue.Endpoint("prices"), other, "/")
				within <- err
				return 0, err
			})
		})
	})
	s.do("GET", s.public+"/", "")
	if err := <-within; err == nil || !strings.Contains(err.Error(), "within a transaction") || asked.Load() != 0 {
		t.Errorf("error %v, asked %d times; want a refusal and none", err, asked.Load())
	}
}
