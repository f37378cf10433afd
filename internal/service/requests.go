package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"example.com/holdfast/internal/problem"
)

// HealthPath is the public route that asks a worker for a sign of life. Readiness asks it of the dependencies while
// the defence `shallow_readiness` is off.
const HealthPath = "/healthz"

// visit is what is known of one request on its way.
type visit struct {
	http.ResponseWriter
	route  string // the pattern it matched; "" until Within or where there is none
	status int    // 0 until the header is written
	bytes  int64
	cause  error // why a problem was written
}

func (v *visit) WriteHeader(status int) {
	if v.status == 0 && status >= 200 {
		v.status = status
	}
	v.ResponseWriter.WriteHeader(status)
}

func (v *visit) Write(p []byte) (int, error) {
	if v.status == 0 {
		v.status = http.StatusOK
	}
	n, err := v.ResponseWriter.Write(p)
	v.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

type visitKey struct{}

// public is the way of every public request, outermost first: request id, panic guard, log, body, faults, write
// timeout. Deadline and admission follow per route, in Within.
func (c *Chassis) public(h http.Handler) http.Handler {
	health := c.Within(time.Second)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "ok")
	}))
	way := c.receive(c.faults.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.limitWrite(w)
		if r.URL.Path == HealthPath {
			health.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		defer c.requests.Add(-1)
		way.ServeHTTP(w, r)
	})
}

// receive gives a request its id, its line in the log and its body, and catches the panics of next.
func (c *Chassis) receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := requestIDOf(r)
		w.Header().Set(RequestIDHeader, id)
		v := &visit{ResponseWriter: w}
		ctx := context.WithValue(withRequestID(r.Context(), id), visitKey{}, v)
		ctx = problem.Observe(ctx, func(_ *problem.Problem, err error) { v.cause = err })
		r = r.WithContext(ctx)
		defer func() { c.logRequest(r, v, time.Since(start)) }()
		defer c.guard(v, r)
		if err := readBody(v, r); err != nil {
			problem.Write(v, r, err)
			return
		}
		next.ServeHTTP(v, r)
	})
}

// guard turns a panic into a 500. The stack goes to the log; the caller learns nothing of it.
func (c *Chassis) guard(v *visit, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { // the way to cut a connection: net/http's own to handle
		panic(p)
	}
	c.log.ErrorContext(r.Context(), "panic", "panic", p, "route", v.route, "stack", string(debug.Stack()))
	if v.status != 0 { // too late for another answer: the caller must not take half of one for a whole
		panic(http.ErrAbortHandler)
	}
	problem.Write(v, r, problem.New(problem.Internal, "Something broke on our side. It has been noted."))
}

// readBody reads the request's body whole and puts a replay in its place. Only then does net/http tell a handler that
// its caller has left; and nobody waits in line with a body that may still fail to come.
func readBody(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem.New(problem.TooLarge, "A request may have at most 64 KiB.")
	}
	if err != nil {
		return problem.New(problem.InvalidRequest, "The body of the request did not arrive whole.")
	}
	r.Body.Close() // read to its end: nothing to lose
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// limitWrite gives the answer its time, from now; none while ordinary code without timeouts is played.
func (c *Chassis) limitWrite(w http.ResponseWriter) {
	var until time.Time
	if c.board.Get().Timeouts {
		until = time.Now().Add(WriteTimeout)
	}
	if err := http.NewResponseController(w).SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.log.Debug("write deadline", "error", err) // the connection is gone; the handler will learn it by its context
	}
}

// Within bounds a route: a deadline of at most budget (or, while `deadlines` is off, the context of ordinary code,
// which nothing ends), then a worker, and then the service's OWN_WORK. Use it per route:
// r.With(c.Within(400*time.Millisecond)).Get("/books", …).
func (c *Chassis) Within(budget time.Duration) func(http.Handler) http.Handler {
	bound := c.board.Within(budget)
	return func(next http.Handler) http.Handler {
		next = c.metrics.measured(bound(c.ownWork(next)))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
				v.route = r.Pattern
			}
			next.ServeHTTP(w, r)
		})
	}
}

// ownWork waits as long as the configuration says that a request works, holding its worker and using no processor. It
// ends early with the request.
func (c *Chassis) ownWork(next http.Handler) http.Handler {
	if c.settings.OwnWork == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(c.settings.OwnWork)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			problem.Write(w, r, fmt.Errorf("own work: %w", context.Cause(r.Context())))
		}
	})
}

// logRequest writes one line for a request: at debug level, or as a sampled warning when it ended in a 5xx.
func (c *Chassis) logRequest(r *http.Request, v *visit, took time.Duration) {
	if v.status >= 500 {
		c.warnings.warn(r.Context(), v, r.Method, took)
	}
	c.log.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("route", v.route),
		slog.Int("status", v.status), slog.Int64("bytes", v.bytes), slog.Duration("took", took))
}

// sampler lets one warning a second pass per route and status, and counts the others: a storm must not be followed
// by a storm of log lines.
type sampler struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[kind]*tally
}

type kind struct {
	route  string // a pattern of the service's router: few
	status int
}

type tally struct {
	last   time.Time
	unsaid int
}

func newSampler(log *slog.Logger) *sampler { return &sampler{log: log, kinds: make(map[kind]*tally)} }

// warn logs the request, or counts it for a later line.
func (s *sampler) warn(ctx context.Context, v *visit, method string, took time.Duration) {
	now := time.Now()
	s.mu.Lock()
	t := s.kinds[kind{v.route, v.status}]
	if t == nil {
		t = new(tally)
		s.kinds[kind{v.route, v.status}] = t
	}
	t.unsaid++
	count := t.unsaid
	quiet := now.Sub(t.last) < time.Second
	if !quiet {
		t.last, t.unsaid = now, 0
	}
	s.mu.Unlock()
	if quiet {
		return
	}
	attrs := []slog.Attr{slog.String("method", method), slog.String("route", v.route), slog.Int("status", v.status),
		slog.Duration("took", took), slog.Int("stands_for", count)}
	if v.cause != nil {
		attrs = append(attrs, slog.String("error", v.cause.Error()))
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "request failed", attrs...)
}

// flush tells what was counted and not yet told.
func (s *sampler) flush(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.kinds {
		if t.unsaid > 0 {
			s.log.LogAttrs(ctx, slog.LevelWarn, "requests failed", slog.String("route", k.route),
				slog.Int("status", k.status), slog.Int("stands_for", t.unsaid))
			t.last, t.unsaid = time.Now(), 0
		}
	}
}

// writeText answers in plain words.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a caller that is gone needs no answer
}
