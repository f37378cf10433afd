// Package problem writes and reads problem details, the form every error takes between the services and at the
// shop's API (RFC 9457).
//
// A handler that fails writes its error with Write; a client that was answered with an error reads it with Read.
// What a stranger may know is in the Problem; everything else belongs in the log.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// ContentType is the media type of a problem document.
const ContentType = "application/problem+json"

// MaxBytes is the most of a problem document that Read reads. A longer one is cut, and then told by its status alone.
const MaxBytes = 64 << 10

// Problem is what went wrong, in words that the caller may see. It is an error.
type Problem struct {
	Type     string // which kind, stable, for machines: one of the list in types.go. "": "about:blank"
	Title    string // the kind in words, the same for every occurrence. "": the text of Status
	Status   int    // HTTP status, 400..599. Anything else is written as 500
	Detail   string // this occurrence in words: what happened and what to do
	Instance string // this occurrence as a URI. "": the path of the request
	// Extra are further members, beside the five above. One with the name of one of the five is ignored.
	Extra map[string]any
	// RetryAfter is when it is worth trying again: the Retry-After header, in whole seconds, rounded up. 0: no header.
	RetryAfter time.Duration
}

// FieldError is one broken rule of a request, told in the member "errors" of an InvalidRequest.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error tells the problem in one line.
func (p *Problem) Error() string {
	text := p.Title
	if text == "" {
		text = http.StatusText(p.Status)
	}
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return fmt.Sprintf("%d %s", p.Status, text)
}

// MarshalJSON writes the five members of RFC 9457 and the extra ones side by side.
func (p *Problem) MarshalJSON() ([]byte, error) {
	doc := make(map[string]any, len(p.Extra)+5)
	maps.Copy(doc, p.Extra)
	for _, member := range members {
		delete(doc, member)
	}
	doc["type"], doc["title"], doc["status"] = p.Type, p.Title, p.Status
	if p.Detail != "" {
		doc["detail"] = p.Detail
	}
	if p.Instance != "" {
		doc["instance"] = p.Instance
	}
	return json.Marshal(doc)
}

// UnmarshalJSON reads what MarshalJSON writes. As RFC 9457 asks, a member of the wrong type is ignored.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	p.Type, _ = doc["type"].(string)
	p.Title, _ = doc["title"].(string)
	p.Detail, _ = doc["detail"].(string)
	p.Instance, _ = doc["instance"].(string)
	if status, ok := doc["status"].(float64); ok {
		p.Status = int(status)
	}
	for _, member := range members {
		delete(doc, member)
	}
	p.Extra = nil
	if len(doc) > 0 {
		p.Extra = doc
	}
	return nil
}

var members = [...]string{"type", "title", "status", "detail", "instance"}

// Write answers r with err as a problem document:
//
//   - a call to another service that failed (*resilience.Error) is a 503 Unavailable, whatever that service said: its
//     trouble is its own. An answer that was no failure, such as its 404, comes without that error, and is passed on;
//   - any other *Problem in err's chain is written as it stands;
//   - a context that is over is a 503 Unavailable;
//   - everything else is a 500 Internal that tells nothing of err.
//
// The observer set by Observe, if any, sees err itself.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := From(err)
	if observe, ok := r.Context().Value(observerKey{}).(func(*Problem, error)); ok {
		observe(p, err)
	}
	out := *p
	if out.Status < 400 || out.Status > 599 {
		out.Status = http.StatusInternalServerError
	}
	if out.Type == "" {
		out.Type = "about:blank"
	}
	if out.Title == "" {
		out.Title = http.StatusText(out.Status)
	}
	if out.Instance == "" {
		out.Instance = r.URL.EscapedPath()
	}
	body, marshalErr := json.Marshal(&out)
	if marshalErr != nil { // an Extra that JSON cannot tell: the problem itself still can be
		out.Extra = nil
		body, _ = json.Marshal(&out)
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length") // set for the answer that is not given
	if out.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(out.RetryAfter.Seconds()))))
	}
	w.WriteHeader(out.Status)
	if _, err := w.Write(body); err != nil {
		slog.DebugContext(r.Context(), "problem not delivered", "error", err)
	}
}

// From returns the problem that Write would write for err.
func From(err error) *Problem {
	p, isProblem := errors.AsType[*Problem](err)
	call, isCall := errors.AsType[*resilience.Error](err)
	switch {
	case isProblem && !isCall:
		return p
	case isCall:
		return New(Unavailable, doesNotAnswer).After(max(call.RetryAfter, time.Second))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return New(Unavailable, doesNotAnswer).After(time.Second)
	default:
		return New(Internal, "Something broke on our side. It has been noted.")
	}
}

const doesNotAnswer = "A part of the shop that this needs does not answer. Try again in a moment."

type observerKey struct{}

// Observe returns a context whose requests, answered by Write, also tell observe what was written and why. It is how
// the log gets the error that the caller does not see.
func Observe(ctx context.Context, observe func(*Problem, error)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// Read reads the problem that resp carries; it does not close the body. It never returns nil: an answer that is no
// problem document, or a broken one, is told by its status alone. The status is always that of resp.
func Read(resp *http.Response) *Problem {
	p := new(Problem)
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType == ContentType {
		body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBytes))
		if err != nil || json.Unmarshal(body, p) != nil {
			p = new(Problem)
		}
	}
	p.Status = resp.StatusCode
	if p.Type == "" {
		p.Type = "about:blank"
	}
	if p.Title == "" {
		p.Title = http.StatusText(resp.StatusCode)
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err == nil && 0 < seconds && seconds <= maxRetryAfter {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// maxRetryAfter is the longest Retry-After, in seconds, that is believed: a day.
const maxRetryAfter = 24 * 60 * 60
