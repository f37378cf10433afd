package service

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every request that came is counted as begun, and under its route and status when it has ended.
func TestRequestsAreCounted(t *testing.T) {
	begun, letGo := make(chan struct{}), make(chan struct{})
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		mux := http.NewServeMux()
		within := c.Within(10 * time.Second)
		mux.Handle("/silent", within(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		mux.Handle("/missing", within(http.NotFoundHandler()))
		mux.Handle("/broken", within(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })))
		mux.Handle("/left", within(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-r.Context().Done()
		})))
		mux.Handle("/hangs", within(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			<-letGo
			io.WriteString(w, "at last")
		})))
		return mux
	})
	for _, path := range []string{"/silent", "/missing", "/missing", "/broken", HealthPath} {
		s.do("GET", s.public+path, "")
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { defer close(left); s.try(ctx, "POST", s.public+"/left", "{}") }()
	<-begun
	leave()
	<-left
	hung := make(chan struct{})
	go func() { defer close(hung); s.try(context.WithoutCancel(t.Context()), "GET", s.public+"/hangs", "") }()
	<-begun
	until(t, "it is seen that the caller left", func() bool {
		return strings.Contains(s.do("GET", s.admin+"/metrics", "").body, `route="/left",status="499"`)
	})
	metrics := s.do("GET", s.admin+"/metrics", "").body
	close(letGo)
	<-hung
	for _, want := range []string{
		`http_requests_begun_total{method="GET",route="/silent"} 1`,
		`http_requests_begun_total{method="GET",route="/missing"} 2`,
		`http_requests_begun_total{method="POST",route="/left"} 1`,
		`http_requests_begun_total{method="GET",route="/hangs"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/silent",status="200"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/missing",status="404"} 2`,
		`http_request_duration_seconds_count{method="GET",route="/broken",status="500"} 1`,
		`http_request_duration_seconds_count{method="POST",route="/left",status="499"} 1`,
		`http_request_duration_seconds_bucket{method="GET",route="/silent",status="200",le="1"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("/metrics does not tell %s", want)
		}
	}
	for _, none := range []string{`http_request_duration_seconds_count{method="GET",route="/hangs"`, HealthPath,
		"http_oldest_request_age_seconds 0\n"} {
		if strings.Contains(metrics, none) {
			t.Errorf("/metrics tells %s", none)
		}
	}
}

func TestTheOldestRequestGivesTheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRequestMetrics()
		want := func(age time.Duration) {
			t.Helper()
			if got := m.age(time.Now()); got != age {
				t.Errorf("age %v, want %v", got, age)
			}
		}
		want(0)
		first := m.begin("GET", "/")
		time.Sleep(3 * time.Second)
		second := m.begin("GET", "/")
		time.Sleep(time.Second)
		want(4 * time.Second)
		first(http.StatusOK)
		want(time.Second)
		second(http.StatusOK)
		want(0)
	})
}
