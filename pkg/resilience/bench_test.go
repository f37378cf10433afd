package resilience

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The cost of a call: go test -bench . -benchmem -run '^$' ./pkg/resilience

func benchmarkPolicy() Policy {
	return Policy{
		Timeout: time.Second, Slots: 1000, Reserve: 10 * time.Millisecond, Retry: Retry{Attempts: 2, Budget: 0.1},
		Breaker: Breaker{TimeoutRate: 0.5, FailureRate: 0.5, MinRequests: 20, Window: 10 * time.Second, Cooldown: time.Hour},
	}
}

// request is the context of a request being served: cancelled when the client leaves, and with a deadline.
func servedContext(b *testing.B) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	return ctx
}

func benchmarkCalls(b *testing.B, e *Endpoint, want Outcome) {
	ctx := servedContext(b)
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Call(ctx, e, ok); OutcomeOf(err) != want {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := Call(ctx, e, ok); OutcomeOf(err) != want {
					b.Error(err)
				}
			}
		})
	})
}

// A call with deadline, slot and breaker that succeeds.
func BenchmarkSuccess(b *testing.B) { benchmarkCalls(b, endpoint(b, benchmarkPolicy()), Success) }

// The same without a breaker.
func BenchmarkSuccessWithoutBreaker(b *testing.B) {
	p := benchmarkPolicy()
	p.Breaker = Breaker{}
	benchmarkCalls(b, endpoint(b, p), Success)
}

// A call for which no slot is free.
func BenchmarkRejected(b *testing.B) {
	p := benchmarkPolicy()
	p.Slots = 1
	e := endpoint(b, p)
	e.dep.slots.take()
	benchmarkCalls(b, e, Rejected)
}

// A call that an open breaker turns away.
func BenchmarkShortCircuited(b *testing.B) {
	e := endpoint(b, benchmarkPolicy())
	for range 20 {
		call(context.Background(), e, fail)
	}
	benchmarkCalls(b, e, ShortCircuited)
}

// The part of a success that is Go's own: the context of one attempt.
func BenchmarkDeadlineContext(b *testing.B) {
	ctx := servedContext(b)
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		_ = ctx
		cancel()
	}
}

// A loopback GET, bare and guarded.
func BenchmarkGet(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	bare := &http.Transport{}
	defer bare.CloseIdleConnections()
	p := benchmarkPolicy()
	p.Transport = bare
	clients := map[string]*http.Client{"bare": {Transport: bare}, "guarded": endpoint(b, p).Client()}
	for _, name := range []string{"bare", "guarded"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := servedContext(b)
			for b.Loop() {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := clients[name].Do(r)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
