// Package facts calls what another package of the same module has made.
package facts

import (
	"context"
	"net/http"

	"example.com/shop/facts/helpers"
)

// What is unbounded where it is made was told of there, once.
func made(u string) {
	helpers.NewClient().Get(u)
	helpers.Shared.Get(u)
}

func configured() *http.Client {
	c := &http.Client{}
	helpers.Configure(c, 0)
	return c
}

func limited(t http.RoundTripper) *http.Client { return &http.Client{Transport: helpers.Limit(t)} }

func limitedByType(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: &helpers.Limiter{Next: t}}
}

func within(ctx context.Context, u string) {
	ctx, cancel := helpers.Within(ctx)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	http.DefaultClient.Do(r)
}

func sent(u string) {
	r, _ := http.NewRequest("GET", u, nil) // want `http.NewRequest makes a request without a context`
	helpers.Send("sent", r)
}

func background(ctx context.Context, u string) {
	helpers.Fetch(context.Background(), u) // want `helpers.Fetch is called with context.Background, though ctx is at hand`
}

func decoded(resp *http.Response, v any) error {
	return helpers.Decode(resp.Body, v) // want `helpers.Decode reads resp.Body without a limit`
}
