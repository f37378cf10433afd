// Package otelhttp stands in for OpenTelemetry's.
package otelhttp

import "net/http"

type Transport struct{ base http.RoundTripper }

// NewTransport wraps base; nil is http.DefaultTransport.
func NewTransport(base http.RoundTripper) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{base}
}

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.base.RoundTrip(r) }

func NewHandler(h http.Handler) http.Handler { return h }
