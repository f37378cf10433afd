package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/problem"
)

// B34: a handler that panics gives its worker back; the caller gets a problem, the log gets the stack.
func TestB34PanicIsAProblemAndAWorkerComesBack(t *testing.T) {
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(http.ResponseWriter, *http.Request) { panic("the shelf fell over") })
	})
	a := s.do("GET", s.public+"/books", "", RequestIDHeader, "b34")
	if a.StatusCode != 500 || a.Header.Get("Content-Type") != problem.ContentType {
		t.Errorf("answered %d %s", a.StatusCode, a.Header.Get("Content-Type"))
	}
	if strings.Contains(a.body, "shelf") || strings.Contains(a.body, "goroutine") {
		t.Errorf("the answer tells internals: %s", a.body)
	}
	for _, want := range []string{"the shelf fell over", "requests_test.go", `"request_id":"b34"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not tell %s", want)
		}
	}
	if n := s.now().Workers.InUse; n != 0 {
		t.Errorf("%d workers in use", n)
	}
}

// An answer that has begun cannot become a 500: it is cut, so that nobody takes half of it for a whole.
func TestPanicInMidAnswerCutsIt(t *testing.T) {
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half of")
			w.(interface{ Unwrap() http.ResponseWriter }).Unwrap().(http.Flusher).Flush()
			panic("no more")
		})
	})
	if a, err := s.try(t.Context(), "GET", s.public+"/", ""); err == nil {
		t.Errorf("answered %d %q as if whole", a.StatusCode, a.body)
	}
}

func TestRequestID(t *testing.T) {
	var seen string
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(_ http.ResponseWriter, r *http.Request) { seen = RequestID(r.Context()) })
	})
	long := strings.Repeat("x", 65)
	tests := []struct {
		name, given string
		kept        bool
	}{
		{"well formed", "aZ09._-", true},
		{"64 characters", long[:64], true},
		{"missing", "", false},
		{"65 characters", long, false},
		{"space", "a b", false},
		{"not ASCII", "ä", false},
		{"would break a log line", `a","level":"x`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := s.do("GET", s.public+"/", "", RequestIDHeader, tt.given)
			id := a.Header.Get(RequestIDHeader)
			if id != seen || !wellFormed(id) {
				t.Errorf("answered %q, the handler saw %q", id, seen)
			}
			if (id == tt.given) != tt.kept {
				t.Errorf("%q became %q", tt.given, id)
			}
		})
	}
}

func TestRequestBodyIsBoundedAndReplayed(t *testing.T) {
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	})
	whole := strings.Repeat("b", MaxRequestBody)
	if a := s.do("POST", s.public+"/", whole); a.body != whole {
		t.Errorf("%d bytes came back of %d", len(a.body), len(whole))
	}
	if a := s.do("POST", s.public+"/", whole+"b"); a.StatusCode != 413 || !strings.Contains(a.body,
		"/problems/too-large") {
		t.Errorf("one byte too many: %d %s", a.StatusCode, a.body)
	}
}

// FAULTS A: a departure is noticed although the request had a body that the handler does not read.
func TestDepartureIsNoticedWithABody(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			close(ended)
		})
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	if _, err := s.try(ctx, "POST", s.public+"/orders", `{"items":[]}`); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the handler was not told")
	}
}

// With `timeouts` off the server's write timeout is lifted, as ordinary code has none; with it on, it counts anew
// from after a fault.
func TestWriteTimeoutFollowsTheSwitch(t *testing.T) {
	s := start(t, testConfig(), plain)
	var until time.Time
	w := deadlineWriter{httptest.NewRecorder(), &until}
	s.limitWrite(w)
	if left := time.Until(until); left < WriteTimeout-time.Second || left > WriteTimeout {
		t.Errorf("timeouts on: %v left", left)
	}
	s.switches("-timeouts")
	s.limitWrite(w)
	if !until.IsZero() {
		t.Errorf("timeouts off: until %v", until)
	}
}

type deadlineWriter struct {
	http.ResponseWriter
	until *time.Time
}

func (w deadlineWriter) SetWriteDeadline(t time.Time) error { *w.until = t; return nil }

// At info level a load of good requests is quiet; at debug level each is a line.
func TestRequestLogIsQuietAtInfo(t *testing.T) {
	for level, want := range map[string]int{"info": 0, "debug": 3} {
		cfg := testConfig()
		cfg.LogLevel = level
		s := start(t, cfg, plain)
		for range 3 {
			s.do("GET", s.public+"/books", "")
		}
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(s.log.String(), `"msg":"request"`); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}

// A storm of failures is one line a second for each route and status, and no failure goes uncounted.
func TestWarningsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(buffer)
		s := newSampler(slog.New(slog.NewJSONHandler(log, nil)))
		for range 100 { // 10/s for ten seconds, on two routes
			s.warn(t.Context(), &visit{route: "GET /a", status: 500, cause: errors.New("why")}, "GET", 0)
			s.warn(t.Context(), &visit{route: "GET /b", status: 503}, "GET", 0)
			time.Sleep(100 * time.Millisecond)
		}
		s.flush(t.Context())
		lines := map[string]int{}
		stands := map[string]int{}
		for line := range strings.SplitSeq(strings.TrimSpace(log.String()), "\n") {
			var l struct {
				Route     string
				StandsFor int `json:"stands_for"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			lines[l.Route]++
			stands[l.Route] += l.StandsFor
		}
		for _, route := range []string{"GET /a", "GET /b"} {
			if lines[route] > 11 || stands[route] != 100 {
				t.Errorf("%s: %d lines stand for %d failures, want at most 11 for 100", route, lines[route], stands[route])
			}
		}
	})
}

// The cause that the caller does not see is in the log, with the route and the request id.
func TestWarningTellsTheCause(t *testing.T) {
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		return bounded(c, func(w http.ResponseWriter, r *http.Request) {
			problem.Write(w, r, errors.New("the drawer is stuck"))
		})
	})
	if a := s.do("GET", s.public+"/", "", RequestIDHeader, "cause"); strings.Contains(a.body, "drawer") {
		t.Errorf("told the caller: %s", a.body)
	}
	s.stop()
	for _, want := range []string{`"error":"the drawer is stuck"`, `"route":"/"`, `"request_id":"cause"`,
		`"level":"WARN"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("not logged: %s in\n%s", want, s.log)
		}
	}
}

// Workers are refused as problem details, with a time to try again.
func TestRefusalOfAdmissionIsAProblem(t *testing.T) {
	cfg := testConfig()
	cfg.Workers = 1
	begun, letGo := make(chan struct{}, 1), make(chan struct{})
	s := start(t, cfg, blocked(begun, letGo))
	go s.try(context.WithoutCancel(t.Context()), "GET", s.public+"/", "")
	<-begun
	a := s.do("GET", s.public+"/free", "") // waits in the queue, then is refused
	close(letGo)
	var p problem.Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || !problem.Overloaded.Is(&p) || a.StatusCode != 503 {
		t.Errorf("answered %d %s", a.StatusCode, a.body)
	}
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// One connection more than MAX_CONNECTIONS waits in the kernel; the admin listener has no such limit.
func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	cfg := testConfig()
	cfg.Workers, cfg.MaxConns = 1, 1
	s := start(t, cfg, plain)
	addr := strings.TrimPrefix(s.public, "http://")
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	second, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	io.WriteString(second, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := second.Read(make([]byte, 1)); err == nil {
		t.Errorf("the second connection got %d bytes while the first was there", n)
	}
	if a := s.do("GET", s.admin+"/livez", ""); a.StatusCode != 200 {
		t.Errorf("/livez answered %d", a.StatusCode)
	}
	first.Close()
	second.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := second.Read(make([]byte, 1)); err != nil {
		t.Errorf("the second connection after the first was gone: %v", err)
	}
}
