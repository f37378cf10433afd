package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

type rates struct {
	Base  string
	Rates map[string]string
}

// endpoint opens an edge and returns its one endpoint.
func endpoint(t *testing.T, change func(*resilience.Policy)) *resilience.Endpoint {
	t.Helper()
	e := testEdge(20)
	e.Policy.Timeout = 5 * time.Second
	e.Policy.MaxBody = 1000
	change(&e.Policy)
	c := open(t, e)
	t.Cleanup(c.hangUp)
	return c.board.Dependencies()[0].Endpoint("related")
}

func TestGetJSON(t *testing.T) {
	var healthy resilience.Outcome // success
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		want    rates
		status  int // of the problem that comes back; 0: none
		outcome resilience.Outcome
		failed  bool
	}{
		{"a document, with members nobody asked for", text(200, `{"base":"USD","rates":{"EUR":"0.88"},"as_of":"2026-09-24"}`),
			rates{"USD", map[string]string{"EUR": "0.88"}}, 0, healthy, false},
		{"404 is an answer", detail(problem.New(problem.NotFound, "No such currency.")), rates{}, 404, healthy, true},
		{"409 keeps its kind", detail(problem.New(problem.QuoteChanged, "Dearer.").With("quote", "12")), rates{}, 409,
			healthy, true},
		{"404 that is no problem document", text(404, "<html>"), rates{}, 404, healthy, true},
		{"429 is a failure", detail(&problem.Problem{Status: 429}), rates{}, 429, resilience.Failure, true},
		{"503 is a failure", detail(problem.New(problem.Overloaded, "Later.")), rates{}, 503, resilience.Failure, true},
		{"a redirect is a failure", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, rates{}, 302, resilience.Failure, true},
		{"noise instead of JSON", text(200, "oops"), rates{}, 0, resilience.Failure, true},
		{"half a document", text(200, `{"base":"USD"`), rates{}, 0, resilience.Failure, true},
		{"a document and noise", text(200, `{"base":"USD"} oops`), rates{}, 0, resilience.Failure, true},
		{"too long", text(200, `{"base":"`+strings.Repeat("x", 1000)+`"}`), rates{}, 0, resilience.Failure, true},
		{"wrong type", text(200, `{"base":1}`), rates{}, 0, resilience.Failure, true},
		{"body cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"base":"USD"}`)
		}, rates{}, 0, resilience.Failure, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := endpoint(t, func(*resilience.Policy) {})
			got, err := GetJSON[rates](t.Context(), e, respond(t, tt.answer), "/rates?base=USD")
			if (err != nil) != tt.failed {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
				t.Error(diff)
			}
			if o := resilience.OutcomeOf(err); o != tt.outcome {
				t.Errorf("outcome %v, want %v (%v)", o, tt.outcome, err)
			}
			if n := e.Dependency().Snapshot().Endpoints[0].Outcomes[tt.outcome.String()]; n != 1 {
				t.Errorf("%d × %v counted, want 1", n, tt.outcome)
			}
			p, _ := errors.AsType[*problem.Problem](err)
			if status := statusOf(p); status != tt.status {
				t.Errorf("problem of status %d, want %d (%v)", status, tt.status, err)
			}
		})
	}
}

func statusOf(p *problem.Problem) int {
	if p == nil {
		return 0
	}
	return p.Status
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); io.WriteString(w, body) }
}

func detail(p *problem.Problem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, p) }
}

// A fallback answers a failure, and is not asked for a 404.
func TestGetJSONFallback(t *testing.T) {
	last := rates{Base: "last"}
	for status, want := range map[int]rates{503: last, 404: {}} {
		e := endpoint(t, func(*resilience.Policy) {})
		got, err := GetJSON(t.Context(), e, respond(t, text(status, "")), "/rates", resilience.FallbackTo(last))
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (status == 503) {
			t.Errorf("%d: %v %v", status, got, err)
		}
	}
}

// Each attempt of a call is a fresh request on the next address, under one request id.
func TestAttemptsGoToTheNextAddress(t *testing.T) {
	var asked [2]atomic.Int32
	var ids [2]atomic.Value
	server := func(i int, answer http.HandlerFunc) string {
		return respond(t, func(w http.ResponseWriter, r *http.Request) {
			asked[i].Add(1)
			ids[i].Store(r.Header.Get(RequestIDHeader))
			answer(w, r)
		}).String()
	}
	to, err := ParseAddresses(server(0, text(503, "")) + "," + server(1, text(200, `{"base":"USD"}`)))
	if err != nil {
		t.Fatal(err)
	}
	e := endpoint(t, func(p *resilience.Policy) { p.Retry = resilience.Retry{Attempts: 2, Budget: resilience.Unbudgeted} })
	ctx := withRequestID(t.Context(), "one-and-the-same")
	got, err := GetJSON[rates](ctx, e, &to, "/rates")
	if err != nil || got.Base != "USD" {
		t.Errorf("got %v, %v", got, err)
	}
	for i := range asked {
		if asked[i].Load() != 1 || ids[i].Load() != "one-and-the-same" {
			t.Errorf("address %d was asked %d times, with id %v", i, asked[i].Load(), ids[i].Load())
		}
	}
}

// B27: a POST without an idempotency key is sent once; with one it may be sent again, with the same key and body.
func TestB27PostIsRepeatedOnlyWithAKey(t *testing.T) {
	for _, key := range []string{"", "k1"} {
		sent := make(chan string, 10)
		to := respond(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent <- fmt.Sprint(r.Method, " ", r.Header.Get("Content-Type"), " ", r.Header.Get("Idempotency-Key"), " ",
				string(body))
			w.WriteHeader(503)
		})
		e := endpoint(t, func(p *resilience.Policy) {
			p.Retry = resilience.Retry{Attempts: 2, Budget: resilience.Unbudgeted}
		})
		header := http.Header{}
		if key != "" {
			header.Set("Idempotency-Key", key)
		}
		if _, err := PostJSON[rates](t.Context(), e, to, "/orders", header, map[string]int{"quantity": 1}); err == nil {
			t.Error("no error")
		}
		close(sent)
		var got []string
		for s := range sent {
			got = append(got, s)
		}
		line := "POST application/json " + key + ` {"quantity":1}`
		want := []string{line}
		if key != "" {
			want = append(want, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("key %q:\n%s", key, diff)
		}
		if len(header) > 1 {
			t.Errorf("the caller's header was changed: %v", header)
		}
	}
}

// What cannot be encoded is told, and nothing is sent.
func TestPostJSONOfTheImpossible(t *testing.T) {
	e := endpoint(t, func(*resilience.Policy) {})
	to := respond(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	if _, err := PostJSON[rates](t.Context(), e, to, "/orders", nil, func() {}); err == nil {
		t.Error("no error")
	}
}

// Background work has no request, yet its calls can be found in the callee's log.
func TestBackgroundCallsHaveAnID(t *testing.T) {
	var id atomic.Value
	to := respond(t, func(w http.ResponseWriter, r *http.Request) {
		id.Store(r.Header.Get(RequestIDHeader))
		io.WriteString(w, "{}")
	})
	e := endpoint(t, func(*resilience.Policy) {})
	if _, err := GetJSON[rates](context.WithoutCancel(t.Context()), e, to, "/rates"); err != nil {
		t.Fatal(err)
	}
	if got, _ := id.Load().(string); !wellFormed(got) {
		t.Errorf("id %q", got)
	}
}
