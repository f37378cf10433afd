package pipenet_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/pipenet"
)

// A real server and a real client speak in fake time: an answer held for ninety seconds takes no time at all.
func TestHTTPInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network pipenet.Network
		l, err := network.Listen("shop:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(90 * time.Second)
			io.WriteString(w, "late")
		})}
		go server.Serve(l)
		defer server.Close()
		transport := &http.Transport{DialContext: network.DialContext}
		defer transport.CloseIdleConnections()

		start := time.Now()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop", nil)
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); string(body) != "late" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		if took := time.Since(start); took != 90*time.Second {
			t.Errorf("took %v, want 90s", took)
		}
	})
}

func TestRefusedWithoutAListener(t *testing.T) {
	var network pipenet.Network
	if _, err := network.DialContext(t.Context(), "tcp", "nobody:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial without a listener: %v", err)
	}
	l, _ := network.Listen("shop:80")
	if _, err := network.Listen("shop:80"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second listener: %v", err)
	}
	l.Close()
	if _, err := network.DialContext(t.Context(), "tcp", "shop:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after Close: %v", err)
	}
}

// Nobody accepts: the dial lasts as long as its context.
func TestDialWaitsForAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network pipenet.Network
		l, _ := network.Listen("shop:80")
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := network.DialContext(ctx, "tcp", "shop:80")
		if took := time.Since(start); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial ended after %v with %v", took, err)
		}
	})
}
