package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/pkg/resilience"
)

func TestWrite(t *testing.T) {
	call := func(err error) error {
		return fmt.Errorf("prices: %w", &resilience.Error{Dependency: "currency", Endpoint: "rates",
			Outcome: resilience.Failure, Err: err})
	}
	tests := []struct {
		name  string
		err   error
		want  map[string]any
		retry string
	}{
		{"a problem", New(NotFound, "No book of that id."),
			map[string]any{"type": "/problems/not-found", "title": "There is no such thing here", "status": 404.0,
				"detail": "No book of that id."}, ""},
		{"a wrapped problem", fmt.Errorf("look up: %w", New(NotFound, "")),
			map[string]any{"type": "/problems/not-found", "title": "There is no such thing here", "status": 404.0}, ""},
		{"fields", Invalid("Two things.", FieldError{"quantity", "must be 1 to 99"}, FieldError{"book", "is missing"}),
			map[string]any{"type": "/problems/invalid-request", "title": "The request is not valid", "status": 400.0,
				"detail": "Two things.",
				"errors": []any{map[string]any{"field": "quantity", "message": "must be 1 to 99"},
					map[string]any{"field": "book", "message": "is missing"}}}, ""},
		{"retry after, rounded up", New(Overloaded, "").After(1200 * time.Millisecond),
			map[string]any{"type": "/problems/overloaded", "title": "Too much is being asked at once", "status": 503.0}, "2"},
		{"nothing but a status", &Problem{Status: 418},
			map[string]any{"type": "about:blank", "title": "I'm a teapot", "status": 418.0}, ""},
		{"no status of an error", &Problem{Status: 200},
			map[string]any{"type": "about:blank", "title": "Internal Server Error", "status": 500.0}, ""},
		{"members of its own do not replace the five", (&Problem{Status: 404, Instance: "/x"}).With("status",
			200).With("detail", "lie"),
			map[string]any{"type": "about:blank", "title": "Not Found", "status": 404.0, "instance": "/x"}, ""},
		{"a member that JSON cannot tell", (&Problem{Status: 404}).With("f", func() {}),
			map[string]any{"type": "about:blank", "title": "Not Found", "status": 404.0}, ""},
		{"an unknown error tells nothing", errors.New("password wrong for postgres"),
			map[string]any{"type": "/problems/internal", "title": "Something broke on our side", "status": 500.0,
				"detail": "Something broke on our side. It has been noted."}, ""},
		{"another service's 503 is our own 503", call(New(Overloaded, "internals of currency")),
			map[string]any{"type": "/problems/unavailable", "title": "This cannot be done right now", "status": 503.0,
				"detail": doesNotAnswer}, "1"},
		{"another service's 429 is our 503", call(&Problem{Status: 429}),
			map[string]any{"type": "/problems/unavailable", "title": "This cannot be done right now", "status": 503.0,
				"detail": doesNotAnswer}, "1"},
		{"another service's 409 is passed on", fmt.Errorf("order: %w", New(QuoteChanged, "Dearer.")),
			map[string]any{"type": "/problems/quote-changed", "title": "The total has changed", "status": 409.0,
				"detail": "Dearer."}, ""},
		{"out of time", fmt.Errorf("query: %w", context.DeadlineExceeded),
			map[string]any{"type": "/problems/unavailable", "title": "This cannot be done right now", "status": 503.0,
				"detail": doesNotAnswer}, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			w.Header().Set("Content-Length", "3") // of the answer that was meant
			Write(w, httptest.NewRequest("GET", "/books/moby%20dick?secret=1", nil), tt.err)
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if tt.want["instance"] == nil {
				tt.want["instance"] = "/books/moby%20dick"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			h := w.Header()
			if float64(w.Code) != tt.want["status"] || h.Get("Content-Type") != ContentType ||
				h.Get("Retry-After") != tt.retry || h.Get("Content-Length") != "" {
				t.Errorf("status %d, header %v", w.Code, h)
			}
		})
	}
}

// What is written is read as it was.
func TestReadWhatWriteWrites(t *testing.T) {
	want := New(QuoteChanged, "Dearer.").With("quote", map[string]any{"number": "12.50"}).After(3 * time.Second)
	want.Instance = "/orders"
	w := httptest.NewRecorder()
	Write(w, httptest.NewRequest("POST", "/orders", nil), want)
	if diff := cmp.Diff(want, Read(w.Result())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever comes back, Read tells a problem of the answer's status, and reads no more than its limit.
func TestReadAnything(t *testing.T) {
	blank := &Problem{Type: "about:blank", Title: "Bad Gateway", Status: 502}
	tests := []struct {
		name, contentType, body string
		want                    *Problem
	}{
		{"nothing", "", "", blank},
		{"HTML", "text/html", "<h1>502</h1>", blank},
		{"noise", ContentType, "oops", blank},
		{"not an object", ContentType, `[1]`, blank},
		{"null", ContentType, `null`, blank},
		{"longer than the limit", ContentType, `{"detail":"` + strings.Repeat("x", MaxBytes) + `"}`, blank},
		{"parameters in the media type", ContentType + "; charset=utf-8", `{"detail":"d"}`, &Problem{Type: "about:blank",
			Title: "Bad Gateway", Status: 502, Detail: "d"}},
		{"another status than the answer's", ContentType, `{"status":404}`, blank},
		{"members of the wrong type", ContentType, `{"type":1,"title":[],"status":"x","detail":{},"instance":null}`, blank},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &counted{Reader: strings.NewReader(tt.body)}
			resp := &http.Response{StatusCode: 502, Header: http.Header{"Content-Type": {tt.contentType}},
				Body: io.NopCloser(body)}
			if diff := cmp.Diff(tt.want, Read(resp)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if body.n > MaxBytes {
				t.Errorf("read %d bytes", body.n)
			}
		})
	}
}

type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// A Retry-After that nobody can mean is not believed.
func TestReadRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-1": 0, "999999999": 0, "soon": 0} {
		resp := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {header}}, Body: http.NoBody}
		if got := Read(resp).RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

// The observer sees the error that the caller does not.
func TestObserve(t *testing.T) {
	var told *Problem
	var why error
	ctx := Observe(t.Context(), func(p *Problem, err error) { told, why = p, err })
	cause := errors.New("the drawer is stuck")
	Write(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil), cause)
	if why != cause || !Internal.Is(told) {
		t.Errorf("observed %v, %v", told, why)
	}
}

// Types are the contract with every client: none twice, all complete.
func TestTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range Types {
		if seen[kind.URI] || !strings.HasPrefix(kind.URI, "/problems/") || kind.Title == "" || kind.Status < 400 {
			t.Errorf("%+v", kind)
		}
		seen[kind.URI] = true
	}
}

func TestErrorTellsTheProblemInOneLine(t *testing.T) {
	if got := New(NotFound, "No book of that id.").Error(); got != "404 There is no such thing here: No book of that id." {
		t.Error(got)
	}
}

func TestInvalidWithoutFieldsListsNone(t *testing.T) {
	if p := Invalid("The query cannot be read."); p.Extra != nil {
		t.Errorf("extra members %v", p.Extra)
	}
}
