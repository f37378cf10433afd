// Package servertimeout: servers that a slow client can hold.
package servertimeout

import (
	"net"
	"net/http"
	"time"
)

func functions(l net.Listener, h http.Handler) {
	http.ListenAndServe(":8080", h)              // want `http.ListenAndServe makes a server without timeouts: .* holds a connection for ever; use an http.Server with ReadHeaderTimeout`
	http.ListenAndServeTLS(":8443", "c", "k", h) // want `http.ListenAndServeTLS makes a server`
	http.Serve(l, h)                             // want `http.Serve makes a server`
	http.ServeTLS(l, h, "c", "k")                // want `http.ServeTLS makes a server`
	go serve(http.ListenAndServe)                // want `http.ListenAndServe makes a server`
}

func serve(listen func(string, http.Handler) error) { listen(":8080", nil) }

var literal = &http.Server{Addr: ":8080"} // want `the http.Server in literal has no ReadHeaderTimeout: .* set ReadHeaderTimeout`

var zero http.Server // want `the http.Server in zero has no ReadHeaderTimeout`

func byNew() *http.Server {
	s := new(http.Server) // want `the http.Server in s has no ReadHeaderTimeout`
	s.Addr = ":8080"
	return s
}

type service struct {
	http.Server // want `the http.Server in Server has no ReadHeaderTimeout`
}

func writeOnly() *http.Server {
	return &http.Server{WriteTimeout: time.Second, IdleTimeout: time.Minute} // want `this http.Server has no ReadHeaderTimeout`
}

func setToZero() *http.Server {
	return &http.Server{ReadHeaderTimeout: 0} // want `this http.Server has no ReadHeaderTimeout`
}

// Bounded.

var bounded = &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second}

var wholeRequest = &http.Server{Addr: ":8080", ReadTimeout: 30 * time.Second}

func onAFollowingLine() *http.Server {
	s := &http.Server{}
	s.ReadHeaderTimeout = time.Second
	return s
}

func declaredThenSet(timeout time.Duration) *http.Server {
	var s http.Server
	s.ReadHeaderTimeout = timeout
	return &s
}

type given struct{ server http.Server }

func newGiven() *given { return &given{server: http.Server{ReadHeaderTimeout: time.Second}} }
