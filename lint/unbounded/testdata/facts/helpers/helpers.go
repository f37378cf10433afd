// Package helpers is what others call; the wants behind names are what is handed on of them.
package helpers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

var Shared = http.DefaultClient // want Shared:`unbounded client`

func NewClient() *http.Client { return &http.Client{} } // want NewClient:`unbounded client`

func Bounded() *http.Client { return &http.Client{Timeout: time.Second} }

func Configure(c *http.Client, d time.Duration) { c.Timeout = d } // want Configure:`sets 0.Timeout`

func Send(name string, r *http.Request) error { // want Send:`sends 1`
	_, err := Bounded().Do(r)
	return err
}

func Fetch(ctx context.Context, u string) error { // want Fetch:`calls 0`
	r, err := http.NewRequestWithContext(ctx, "GET", u, nil)
	if err != nil {
		return err
	}
	return Send("fetch", r)
}

func Decode(r io.Reader, v any) error { return json.NewDecoder(r).Decode(v) } // want Decode:`reads 0`

func Within(ctx context.Context) (context.Context, context.CancelFunc) { // want Within:`limits 0; bounded context`
	return context.WithTimeout(ctx, time.Second)
}

type Limiter struct{ Next http.RoundTripper }

func (l *Limiter) RoundTrip(r *http.Request) (*http.Response, error) { // want RoundTrip:`limits 0`
	ctx, cancel := Within(r.Context())
	defer cancel()
	return l.Next.RoundTrip(r.WithContext(ctx))
}

func Limit(t http.RoundTripper) http.RoundTripper { return &Limiter{t} } // want Limit:`bounding`
