// Package other is a library of another module: nobody here is told of what it does.
package other

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Shared has no timeout.
var Shared = &http.Client{}

// NewClient returns a client without a timeout.
func NewClient() *http.Client { return &http.Client{} }

// NewPatient returns one with a timeout.
func NewPatient() *http.Client { return &http.Client{Timeout: time.Minute} }

// Perhaps returns the client that it is given, or the default one.
func Perhaps(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return http.DefaultClient
}

// Slurp reads r to its end.
func Slurp(r io.Reader) string {
	all, _ := io.ReadAll(r)
	return string(all)
}

// Fetch calls url with ctx.
func Fetch(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	_, err = NewPatient().Do(r)
	return err
}
