// Package oauth2 stands in for golang.org/x/oauth2.
package oauth2

import "net/http"

type Transport struct {
	Source any
	Base   http.RoundTripper // nil: http.DefaultTransport
}

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Base.RoundTrip(r) }
