// Package sharedtransport: one pool of connections for everybody.
package sharedtransport

import (
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"golang.org/x/oauth2"
)

var packageLevel = &http.Client{Timeout: time.Second, Transport: http.DefaultTransport} // want `http.DefaultTransport is shared: .* takes what others need; give this one a transport of its own`

func named() http.RoundTripper {
	return http.DefaultTransport // want `http.DefaultTransport is shared`
}

func wrapped() http.RoundTripper {
	return otelhttp.NewTransport(http.DefaultTransport) // want `http.DefaultTransport is shared`
}

func wrappedNil() http.RoundTripper {
	return otelhttp.NewTransport(nil) // want `otelhttp.NewTransport\(nil\) wraps http.DefaultTransport`
}

func oauth() http.RoundTripper {
	return &oauth2.Transport{Source: nil} // want `this Transport has no Base, so it wraps http.DefaultTransport`
}

type auth struct{ next http.RoundTripper }

func (a auth) RoundTrip(r *http.Request) (*http.Response, error) { return a.next.RoundTrip(r) }

func ownWrapper() http.RoundTripper { return auth{next: http.DefaultTransport} } // want `http.DefaultTransport is shared`

func orDefault(t http.RoundTripper) http.RoundTripper {
	if t == nil {
		t = http.DefaultTransport // want `http.DefaultTransport is shared`
	}
	return t
}

func direct(r *http.Request) {
	http.DefaultTransport.RoundTrip(r) // want `http.DefaultTransport is shared`
}

// Whoever sets its limits sets everybody's.
func limitEverybody() {
	t := http.DefaultTransport.(*http.Transport) // want `http.DefaultTransport is shared`
	t.MaxConnsPerHost = 10
}

// A transport of one's own.

func own() http.RoundTripper { return &http.Transport{MaxConnsPerHost: 20} }

func cloned() http.RoundTripper { return http.DefaultTransport.(*http.Transport).Clone() }

func clonedCarefully() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return &http.Transport{}
}

func wrappedOwn() http.RoundTripper {
	return otelhttp.NewTransport(http.DefaultTransport.(*http.Transport).Clone())
}

func oauthOwn() http.RoundTripper {
	t := &oauth2.Transport{}
	t.Base = own()
	return t
}

func isDefault(t http.RoundTripper) bool { return t == http.DefaultTransport }
