package defence

import (
	"context"
	"net/http"
)

// heedless is a client library that an upgrade has made ignore its timeouts: a call ends when the callee ends it, and
// with nothing else.
type heedless struct{ next http.RoundTripper }

func (h heedless) RoundTrip(r *http.Request) (*http.Response, error) {
	// To detach is the point: no deadline and no departure ends the call, nor the reading of its body, which the
	// transport ends with the same context.
	return h.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
}

// CloseIdleConnections is http.Client's, which knows nothing of what is behind a RoundTripper.
func (h heedless) CloseIdleConnections() {
	if t, ok := h.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
