// Package requestctx: requests that nobody can call back.
package requestctx

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

var client = &http.Client{Timeout: time.Second}

func sent(u string) {
	r, err := http.NewRequest(http.MethodGet, u, nil) // want `http.NewRequest makes a request without a context: it goes on when whoever asked has left, and no deadline reaches it; use http.NewRequestWithContext`
	if err == nil {
		r.Header.Set("Accept", "text/plain")
		client.Do(r)
	}
}

func atHand(ctx context.Context, u string) {
	r, _ := http.NewRequest(http.MethodGet, u, nil) // want `http.NewRequest makes a request`
	client.Do(r)
}

func handler(w http.ResponseWriter, req *http.Request) {
	r, _ := http.NewRequest("GET", "http://catalogue/books", nil) // want `http.NewRequest makes a request`
	client.Do(r)
}

func throughATransport(t http.RoundTripper, u string) {
	r, _ := http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request`
	t.RoundTrip(r)
}

func returned(u string) (*http.Request, error) {
	return http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request`
}

func returnedLater(u string) (*http.Request, error) {
	r, err := http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request`
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/plain")
	return r, nil
}

func send(r *http.Request) error {
	_, err := client.Do(r)
	return err
}

func handedOn(u string) {
	r, _ := http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request`
	send(r)
}

type job struct{ request *http.Request }

func kept(j *job, u string) {
	j.request, _ = http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request`
}

var makeRequest = http.NewRequest // want `http.NewRequest as a value makes requests without a context`

func literal(u *url.URL) {
	r := &http.Request{Method: "GET", URL: u} // want `the http.Request in r has no context`
	client.Do(r)
}

func literalInPlace(u *url.URL) {
	client.Do(&http.Request{Method: "GET", URL: u}) // want `this http.Request has no context`
}

// Given a context.

func withContext(ctx context.Context, u string) {
	r, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	client.Do(r)
}

func contextLater(ctx context.Context, u string) {
	r, _ := http.NewRequest("GET", u, nil)
	r = r.WithContext(ctx)
	client.Do(r)
}

func contextAsItIsSent(ctx context.Context, u string) {
	r, _ := http.NewRequest("GET", u, nil)
	client.Do(r.WithContext(ctx))
}

func copied(ctx context.Context, u string) {
	r, _ := http.NewRequest("GET", u, nil)
	client.Do(r.Clone(ctx))
}

func sendLimited(ctx context.Context, r *http.Request) {
	r = r.WithContext(ctx)
	client.Do(r)
}

func contextByAnother(ctx context.Context, u string) {
	r, _ := http.NewRequest("GET", u, nil)
	sendLimited(ctx, r)
}

// Not outbound.

func servedHere(h http.Handler, w http.ResponseWriter) {
	r, _ := http.NewRequest("GET", "/books", nil)
	h.ServeHTTP(w, r)
}

func onlyLookedAt(u string) string {
	r, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return ""
	}
	return r.URL.Host
}
