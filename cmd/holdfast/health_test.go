package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth proves that a container's health check passes on 200 within a second and on nothing else.
func TestHealth(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/well":
		case "/unwell":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/hung":
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()

	for _, tc := range []struct {
		name, url string
		code      int
		says      string
	}{
		{"200", server.URL + "/well", 0, ""},
		{"503", server.URL + "/unwell", exitMissed, "503 Service Unavailable"},
		{"no answer within a second", server.URL + "/hung", exitMissed, "deadline exceeded"},
		{"nobody there", gone.URL, exitMissed, "refused"},
		{"no address", "9081/livez", exitCannot, "not an http:// address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(t.Context(), []string{"health", tc.url}, &out, &errs); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(errs.String(), tc.says) || out.Len() > 0 {
				t.Errorf("printed %q and %q, want nothing and %q", out.String(), errs.String(), tc.says)
			}
		})
	}
}
