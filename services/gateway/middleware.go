package gateway

import (
	"bytes"
	"net/http"
	"strings"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

// class says how critical the requests of a route are. It stands outside of the admission, which reads it.
func class(c resilience.Criticality) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(resilience.WithCriticality(r.Context(), c)))
		})
	}
}

// secured sets the headers that tell a browser what this shop never does: everything comes from here, nothing is
// inline, nobody frames it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; object-src 'none'; "+
			"form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what another site makes a browser send here (CSRF).
func sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(try(func(http.ResponseWriter, *http.Request) error { return errCrossOrigin }))
	return guard.Handler(next)
}

// problemPages shows people what goes wrong as a page. Whoever refuses a request, a handler or the admission before
// it, writes problem details; at the API they stay, everywhere else they become a page here.
func (s *Service) problemPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		held := &problemHolder{ResponseWriter: w}
		next.ServeHTTP(held, r)
		switch {
		case held.status == 0:
		case r.Context().Err() != nil:
			w.WriteHeader(held.status) // nobody is there to read a page: thousands may be ended at once
		default:
			s.problemPage(w, r, held)
		}
	})
}

// problemHolder lets every answer through but a problem document, which it keeps.
type problemHolder struct {
	http.ResponseWriter
	status int // of the problem; 0: there is none
	doc    bytes.Buffer
}

func (h *problemHolder) WriteHeader(status int) {
	if h.Header().Get("Content-Type") == problem.ContentType {
		h.status = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *problemHolder) Write(p []byte) (int, error) {
	if h.status != 0 {
		return h.doc.Write(p)
	}
	return h.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (h *problemHolder) Unwrap() http.ResponseWriter { return h.ResponseWriter }
