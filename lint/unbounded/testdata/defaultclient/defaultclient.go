// Package defaultclient: calls with the client that everybody shares and nobody bounds.
package defaultclient

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

func functions(u string) {
	http.Get(u)                                       // want `http.Get calls with http.DefaultClient, which has no Timeout: .* waiting for ever; make a request with a context`
	http.Head(u)                                      // want `http.Head calls with http.DefaultClient`
	http.Post(u, "text/plain", strings.NewReader("")) // want `http.Post calls with http.DefaultClient`
	http.PostForm(u, url.Values{})                    // want `http.PostForm calls with http.DefaultClient`
}

func byName(r *http.Request) {
	http.DefaultClient.Do(r) // want `http.DefaultClient has no Timeout: .* waiting for ever; use an http.Client of your own`
}

// As values they are called later, by somebody who cannot know.
var (
	client = http.DefaultClient // want `http.DefaultClient has no Timeout`
	fetch  = http.Get           // want `http.Get calls`
)

type caller struct{ http *http.Client }

func newCaller() caller { return caller{http: http.DefaultClient} } // want `http.DefaultClient has no Timeout`

func orDefault(c *http.Client) *http.Client {
	if c == nil || c == http.DefaultClient { // to compare it calls nobody
		c = http.DefaultClient // want `http.DefaultClient has no Timeout`
	}
	return c
}

// A request that is seen to have a deadline is bounded, whoever sends it.
func withDeadline(u string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	http.DefaultClient.Do(r)
}

func withDeadlineLater(ctx context.Context, r *http.Request) {
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(time.Second))
	defer cancel()
	r = r.WithContext(context.WithValue(ctx, "who", "me"))
	http.DefaultClient.Do(r)
}

// A context that can be cancelled is not yet one that ends.
func cancelOnly(u string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	http.DefaultClient.Do(r) // want `http.DefaultClient has no Timeout`
}

// A copy may be given a timeout of its own.
func copied() *http.Client {
	c := *http.DefaultClient
	c.Timeout = time.Second
	return &c
}

func copiedAsItIs() *http.Client {
	c := *http.DefaultClient // want `http.DefaultClient has no Timeout`
	return &c
}

func transport() http.RoundTripper { return http.DefaultClient.Transport } // sends nothing

var _ interface{ CloseIdleConnections() } = http.DefaultClient

func closeIdle() { http.DefaultClient.CloseIdleConnections() }

// A method called Get is not http.Get.
func own(u string) {
	c := &http.Client{Timeout: time.Second}
	c.Get(u)
}
