// Package clienttimeout: clients that wait as long as it takes.
package clienttimeout

import (
	"context"
	"net"
	"net/http"
	"time"

	"example.com/other"
)

var literal = &http.Client{} // want `the http.Client in literal has no Timeout: a request without a deadline waits for ever, and keeps its connection; set Timeout`

var inAVariable http.Client // want `the http.Client in inAVariable has no Timeout`

func byNew() *http.Client {
	c := new(http.Client) // want `the http.Client in c has no Timeout`
	return c
}

func returned() *http.Client {
	return &http.Client{CheckRedirect: nil} // want `this http.Client has no Timeout`
}

func inPlace(u string) {
	(&http.Client{}).Get(u) // want `this http.Client has no Timeout`
}

func several() []http.Client {
	return []http.Client{{}, {Timeout: time.Second}} // want `this http.Client has no Timeout`
}

// What is part of a struct is as unbounded as the struct's zero value.
type embeds struct {
	http.Client // want `the http.Client in Client has no Timeout`
}

type field struct {
	name   string
	client http.Client // want `the http.Client in client has no Timeout`
}

type pointer struct{ client *http.Client } // made elsewhere

// A transport's other limits end before the answer does.
func dialLimitOnly() *http.Client {
	return &http.Client{Transport: &http.Transport{ // want `this http.Client has no Timeout and its Transport is not seen to bound a call`
		DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
		TLSHandshakeTimeout: time.Second,
	}}
}

func whoKnows(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t} // want `and its Transport is not seen to bound`
}

func clone() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	return &http.Client{Transport: t} // want `and its Transport is not seen to bound`
}

type passing struct{ next http.RoundTripper }

func (p passing) RoundTrip(r *http.Request) (*http.Response, error) { return p.next.RoundTrip(r) }

func around() *http.Client {
	return &http.Client{Transport: passing{&http.Transport{}}} // want `and its Transport is not seen to bound`
}

// Set.

var bounded = &http.Client{Timeout: 2 * time.Second}

func fromConfig(timeout time.Duration) *http.Client { return &http.Client{Timeout: timeout} }

func onAFollowingLine(timeout time.Duration) *http.Client {
	c := &http.Client{}
	c.Timeout = timeout
	return c
}

func newThenSet() *http.Client {
	c := new(http.Client)
	c.Timeout = time.Second
	return c
}

func declaredThenSet() *http.Client {
	var c http.Client
	c.Timeout = time.Second
	return &c
}

func declaredThenGiven() http.Client {
	var c http.Client
	c = http.Client{Timeout: time.Second}
	return c
}

type api struct{ client *http.Client }

func newAPI() *api {
	a := &api{client: &http.Client{}}
	a.client.Timeout = time.Second
	return a
}

func keptThenSet(a *api) {
	c := &http.Client{}
	a.client = c
	a.client.Timeout = time.Second
}

type embedsAndSets struct{ http.Client }

func newEmbeds() *embedsAndSets {
	var e embedsAndSets
	e.Timeout = time.Second
	return &e
}

type fieldGiven struct{ client http.Client }

func newField() fieldGiven { return fieldGiven{client: http.Client{Timeout: time.Second}} }

func configure(c *http.Client) { c.Timeout = time.Second }

func byAnother() *http.Client {
	c := &http.Client{}
	configure(c)
	return c
}

// That a client has certain methods is no client.
var _ interface{ CloseIdleConnections() } = &http.Client{}

// Bounded by the transport.

func headerTimeout() *http.Client {
	return &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Second}}
}

func headerTimeoutLater() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Second
	return &http.Client{Transport: passing{t}}
}

type limiting struct {
	next    http.RoundTripper
	timeout time.Duration
}

func (l limiting) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), l.timeout)
	defer cancel()
	return l.next.RoundTrip(r.WithContext(ctx))
}

func limited(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: limiting{t, time.Second}}
}

func limitedAfterwards() *http.Client {
	c := &http.Client{}
	c.Transport = &limiting{http.DefaultTransport, time.Second}
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func limitedInPlace(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		return next.RoundTrip(r.WithContext(ctx))
	})}
}

func newTransport() http.RoundTripper { return &limiting{http.DefaultTransport, time.Second} }

func limitedByAnother() *http.Client { return &http.Client{Transport: newTransport()} }

// Bounded by every request that it ever sends.
func onlyHere(ctx context.Context, u string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	client := &http.Client{CheckRedirect: nil}
	defer client.CloseIdleConnections()
	_, err = client.Do(r)
	return err
}

// What another module hands out is told of where it is taken, for nobody is told there.

func taken() *http.Client {
	return other.NewClient() // want `other.NewClient returns an http.Client without Timeout: .* set its Timeout`
}

func takenAndSet() *http.Client {
	c := other.NewClient()
	c.Timeout = time.Second
	return c
}

func takenBounded() *http.Client { return other.NewPatient() }

func takenPerhaps(c *http.Client) *http.Client { return other.Perhaps(c) }

func shared(u string) {
	other.Shared.Get(u) // want `other.Shared is an http.Client without Timeout`
}
