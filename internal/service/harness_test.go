package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/holdfast/internal/defence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a service under test, on ports of its own.
type running struct {
	*Chassis
	t             *testing.T
	public, admin string // base URLs
	log           *buffer
	announced     *buffer
	client        *http.Client
	cancel        context.CancelFunc
	done          chan error
}

// testConfig is Defaults on free ports, with faults allowed and a drain that does not hold tests up.
func testConfig() Config {
	cfg := Defaults("catalogue")
	cfg.Addr, cfg.AdminAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Faults, cfg.LogLevel = "on", "debug"
	cfg.DrainDelay = 0
	return cfg
}

// chassis makes a chassis; what it says is kept.
func chassis(t *testing.T, cfg Config) (*Chassis, *buffer, *buffer) {
	t.Helper()
	log, announced := new(buffer), new(buffer)
	c, err := New("catalogue", cfg, LogTo(log), AnnounceTo(announced))
	if err != nil {
		t.Fatal(err)
	}
	return c, log, announced
}

// start runs a service whose handler is built on its chassis, until the test ends.
func start(t *testing.T, cfg Config, build func(*Chassis) http.Handler) *running {
	t.Helper()
	c, log, announced := chassis(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{}
	s := &running{Chassis: c, t: t, log: log, announced: announced, cancel: cancel, done: make(chan error, 1),
		client: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
	h := build(c)
	go func() { s.done <- c.Run(ctx, h) }()
	select {
	case <-c.Ready():
	case err := <-s.done:
		t.Fatalf("not started: %v", err)
	}
	public, admin := c.Addrs()
	s.public, s.admin = "http://"+public, "http://"+admin
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		transport.CloseIdleConnections()
	})
	return s
}

// stop ends the service and waits for it; once.
func (s *running) stop() error {
	s.cancel()
	err := <-s.done
	s.done <- nil
	return err
}

// answer is a response, read whole.
type answer struct {
	*http.Response
	body string
}

// do sends one request and reads its answer.
func (s *running) do(method, url, body string, header ...string) answer {
	s.t.Helper()
	a, err := s.try(s.t.Context(), method, url, body, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *running) try(ctx context.Context, method, url, body string, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return answer{resp, string(read)}, err
}

// switches sets the defences over the admin API.
func (s *running) switches(expr string) {
	s.t.Helper()
	if a := s.do("POST", s.admin+"/admin/defences", `{"set":"`+expr+`"}`); a.StatusCode != 200 {
		s.t.Fatalf("set %s: %d %s", expr, a.StatusCode, a.body)
	}
}

// now reads the state over the admin API.
func (s *running) now() State {
	s.t.Helper()
	var state struct { // State, with faults as they are told
		State
		Faults []map[string]any `json:"faults"`
	}
	if err := json.Unmarshal([]byte(s.do("GET", s.admin+"/admin/state", "").body), &state); err != nil {
		s.t.Fatal(err)
	}
	return state.State
}

// until waits for the event that ok tells of.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// plain is a handler that answers "ok" within a route's bounds.
func plain(c *Chassis) http.Handler {
	return bounded(c, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
}

// bounded puts h on every path, inside Within.
func bounded(c *Chassis, h http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", c.Within(10*time.Second)(h))
	return mux
}

// blocked is a handler whose requests, but for those to /free, say that they have begun and wait until let go or until
// their context ends.
func blocked(begun chan<- struct{}, letGo <-chan struct{}) func(*Chassis) http.Handler {
	return func(c *Chassis) http.Handler {
		return bounded(c, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/free" {
				return
			}
			begun <- struct{}{}
			select {
			case <-letGo:
				io.WriteString(w, "done")
			case <-r.Context().Done():
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
	}
}

// respond is a server of one answer, for calls to go to.
func respond(t *testing.T, h http.HandlerFunc) *Addresses {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	to, err := ParseAddresses(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &to
}

// open opens an edge on a chassis that does not run.
func open(t *testing.T, e defence.Edge) *Chassis {
	t.Helper()
	c, _, _ := chassis(t, testConfig())
	if _, err := c.Open(e); err != nil {
		t.Fatal(err)
	}
	return c
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
