package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

func TestAnnouncesItsAddressesInOneLine(t *testing.T) {
	s := start(t, testConfig(), plain)
	until(t, "announced", func() bool { return strings.HasSuffix(s.announced.String(), "\n") })
	var line map[string]string
	if err := json.Unmarshal([]byte(s.announced.String()), &line); err != nil {
		t.Fatal(err)
	}
	public, admin := s.Addrs()
	if len(line) != 3 || line["service"] != "catalogue" || line["public"] != public || line["admin"] != admin {
		t.Errorf("announced %v", line)
	}
}

// A request in progress when the service is told to stop is finished; meanwhile /readyz says no; no goroutine stays.
func TestDrainFinishesWhatIsInProgress(t *testing.T) {
	before := goleak.IgnoreCurrent()
	begun, letGo := make(chan struct{}, 1), make(chan struct{})
	s := start(t, testConfig(), blocked(begun, letGo))
	got := make(chan answer, 1)
	go func() { got <- s.do("GET", s.public+"/", "") }()
	<-begun
	s.cancel()
	until(t, "/readyz says no", func() bool { return s.do("GET", s.admin+"/readyz", "").StatusCode == 503 })
	until(t, "no more is accepted", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.public, "http://"))
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	close(letGo)
	if a := <-got; a.StatusCode != 200 || a.body != "done" {
		t.Errorf("the request in progress got %d %q", a.StatusCode, a.body)
	}
	if err := s.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	s.client.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// What does not finish within DRAIN_TIMEOUT is ended, whichever context it has, and is answered 503.
func TestDrainEndsWhatDoesNotFinish(t *testing.T) {
	for _, defences := range []string{"all", "none"} {
		t.Run(defences, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			cfg := testConfig()
			cfg.Defences, cfg.DrainTimeout = defences, 50*time.Millisecond
			begun := make(chan struct{}, 1)
			s := start(t, cfg, blocked(begun, nil))
			got := make(chan answer, 1)
			go func() { got <- s.do("GET", s.public+"/", "") }()
			<-begun
			if err := s.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if a := <-got; a.StatusCode != 503 {
				t.Errorf("answered %d", a.StatusCode)
			}
			s.client.CloseIdleConnections()
			goleak.VerifyNone(t, before)
		})
	}
}

// A connection that was dialled and never used does not hold the stop up (net/http would give it five seconds).
func TestDrainDoesNotWaitForSilentConnections(t *testing.T) {
	s := start(t, testConfig(), plain)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.public, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.do("GET", s.public+"/", "") // the dialled connection was accepted before this one
	began := time.Now()
	if err := s.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// Background work runs while the service runs, and Run waits for its end; work that fails stops the service.
func TestBackgroundWork(t *testing.T) {
	cfg := testConfig()
	c, _, _ := chassis(t, cfg)
	began, ended := make(chan struct{}), false
	c.Go("refresh", func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		ended = true
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if err := c.Run(ctx, plain(c)); err != nil || !ended {
		t.Errorf("Run: %v, work ended: %t", err, ended)
	}

	c, _, _ = chassis(t, cfg)
	broken := errors.New("the books are gone")
	c.Go("refresh", func(context.Context) error { return broken })
	if err := c.Run(t.Context(), plain(c)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "refresh") {
		t.Errorf("Run: %v", err)
	}
}

func TestRunTellsATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, which := range []string{"public", "admin"} {
		cfg := testConfig()
		if which == "public" {
			cfg.Addr = taken.Addr().String()
		} else {
			cfg.AdminAddr = taken.Addr().String()
		}
		c, _, _ := chassis(t, cfg)
		if err := c.Run(t.Context(), plain(c)); err == nil || !strings.Contains(err.Error(), which+" listener") {
			t.Errorf("%s: %v", which, err)
		}
	}
}

// A service that could wait for others with too many of its workers does not start; plain Go, without workers, does.
func TestRunChecksLedgerAndRoutes(t *testing.T) {
	edge := testEdge(40)
	for _, tt := range []struct {
		workers int
		routes  []defence.Route
		want    string
	}{
		{workers: 50, want: "28 more than the 12"},
		{workers: 0},
		{workers: 200},
		{workers: 200, routes: []defence.Route{{Name: "GET /books", Budget: 100 * time.Millisecond,
			Steps: [][]defence.Edge{{edge}}}},
			want: "GET /books"},
	} {
		cfg := testConfig()
		cfg.Workers = tt.workers
		c, _, _ := chassis(t, cfg)
		if _, err := c.Open(edge); err != nil {
			t.Fatal(err)
		}
		c.Routes(tt.routes...)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			select {
			case <-c.Ready():
				cancel()
			case <-ctx.Done():
			}
		}()
		err := c.Run(ctx, http.NotFoundHandler())
		cancel()
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%d workers: %v, want %q", tt.workers, err, tt.want)
		}
	}
}

// testEdge is an optional dependency of so many slots.
func testEdge(slots int) defence.Edge {
	return defence.Edge{Dependency: "recommendations", To: "recommendations", Endpoints: []string{"related"}, Leaf: true,
		Policy: resilience.Policy{Criticality: resilience.Sheddable, Timeout: 250 * time.Millisecond, Slots: slots}}
}
