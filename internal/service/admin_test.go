package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// B32: with every worker taken and a line behind them, probes, metrics and the admin API answer within 50 ms.
func TestB32ProbesAnswerWhileWorkersAreFull(t *testing.T) {
	cfg := testConfig()
	cfg.Workers, cfg.Defences = 2, "none,+isolated_probes"
	begun, letGo := make(chan struct{}, 2), make(chan struct{})
	s := start(t, cfg, blocked(begun, letGo))
	defer close(letGo)
	for range 4 {
		go s.try(context.WithoutCancel(t.Context()), "GET", s.public+"/", "")
	}
	<-begun
	<-begun
	until(t, "two wait in line", func() bool { return s.now().Workers.Queue == 2 })
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/admin/state", "/admin/defences", "/admin/faults"} {
		quickest := time.Hour // of a few: who waits for a worker waits every time, who waits for a busy machine does not
		for try := 0; try < 5 && quickest > 50*time.Millisecond; try++ {
			began := time.Now()
			a := s.do("GET", s.admin+path, "")
			if quickest = min(quickest, time.Since(began)); a.StatusCode != 200 {
				t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
			}
		}
		if quickest > 50*time.Millisecond {
			t.Errorf("%s: %v at best", path, quickest)
		}
	}
	if w := s.now().Workers; w.SaturatedAt == nil || w.InUse != 2 || w.HighWater != 2 || w.Limit != 2 {
		t.Errorf("workers %+v", w)
	}
}

// Without isolated_probes readiness stands in line for a worker, until the prober gives up or one is free.
// Liveness and metrics never do.
func TestReadinessTakesAWorkerWithoutIsolatedProbes(t *testing.T) {
	cfg := testConfig()
	cfg.Workers, cfg.Defences = 1, "none"
	begun, letGo := make(chan struct{}, 1), make(chan struct{})
	s := start(t, cfg, blocked(begun, letGo))
	go s.try(context.WithoutCancel(t.Context()), "GET", s.public+"/", "")
	<-begun

	ctx, giveUp := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { _, err := s.try(ctx, "GET", s.admin+"/readyz", ""); given <- err }()
	until(t, "the probe stands in line", func() bool { return s.now().Workers.Queue == 1 })
	giveUp()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("the probe got %v", err)
	}
	until(t, "its place is empty", func() bool { return s.now().Workers.Queue == 0 })

	for _, path := range []string{"/livez", "/metrics"} {
		if a := s.do("GET", s.admin+path, ""); a.StatusCode != 200 {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
	ready := make(chan answer, 1)
	go func() { ready <- s.do("GET", s.admin+"/readyz", "") }()
	until(t, "the next probe stands in line", func() bool { return s.now().Workers.Queue == 1 })
	close(letGo)
	if a := <-ready; a.StatusCode != 200 {
		t.Errorf("readyz: %d %s", a.StatusCode, a.body)
	}
}

// D7: readiness that asks the dependencies makes one sick leaf everybody's end; own state only does not.
func TestD7ReadinessIsOwnStateOnly(t *testing.T) {
	sick := respond(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != HealthPath {
			t.Errorf("asked %s", r.URL.Path)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		c.DependsOn("recommendations", sick)
		return plain(c)
	})
	if a := s.do("GET", s.admin+"/readyz", ""); a.StatusCode != 200 {
		t.Errorf("shallow: %d %s", a.StatusCode, a.body)
	}
	s.switches("-shallow_readiness")
	a := s.do("GET", s.admin+"/readyz", "")
	if a.StatusCode != 503 || !strings.Contains(a.body, "recommendations answers 503") {
		t.Errorf("deep: %d %s", a.StatusCode, a.body)
	}
}

// The sign of life that readiness asks of a dependency passes the faults and the workers as a request does.
func TestHealthPassesFaults(t *testing.T) {
	s := start(t, testConfig(), plain)
	if a := s.do("GET", s.public+HealthPath, ""); a.StatusCode != 200 {
		t.Fatalf("healthy: %d", a.StatusCode)
	}
	s.do("POST", s.admin+"/admin/faults", `{"fault":"hold=90s"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.try(ctx, "GET", s.public+HealthPath, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held: %v", err)
	}
}

func TestDefencesAreSwitchedOverTheAdminAPI(t *testing.T) {
	s := start(t, testConfig(), plain)
	var set map[string]bool
	read := func(a answer) map[string]bool {
		t.Helper()
		set = nil
		if err := json.Unmarshal([]byte(a.body), &set); err != nil || a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		return set
	}
	want := map[string]bool{"timeouts": true, "deadlines": true, "bulkheads": true, "breakers": true, "fallbacks": true,
		"retry_budget": true, "shedding": true, "isolated_probes": true, "shallow_readiness": true}
	if diff := cmp.Diff(want, read(s.do("GET", s.admin+"/admin/defences", ""))); diff != "" {
		t.Error(diff)
	}
	want["bulkheads"] = false
	if diff := cmp.Diff(want, read(s.do("POST", s.admin+"/admin/defences", `{"set":"all,-bulkheads"}`))); diff != "" {
		t.Error(diff)
	}
	want["timeouts"] = false // without a preset the rest stays
	read(s.do("POST", s.admin+"/admin/defences", `{"set":"timeouts=off"}`))
	if diff := cmp.Diff(want, read(s.do("GET", s.admin+"/admin/defences", ""))); diff != "" {
		t.Error(diff)
	}
}

// Switching deadlines on ends what began without them, as a restart would: the rescue of a stuck service.
func TestSwitchingOnEndsStuckRequests(t *testing.T) {
	cfg := testConfig()
	cfg.Defences = "none"
	begun := make(chan struct{}, 1)
	s := start(t, cfg, blocked(begun, nil))
	got := make(chan answer, 1)
	go func() { got <- s.do("GET", s.public+"/", "") }()
	<-begun
	s.switches("all")
	if a := <-got; a.StatusCode != 503 {
		t.Errorf("answered %d", a.StatusCode)
	}
}

func TestAdminRefusesWhatItDoesNotUnderstand(t *testing.T) {
	cfg := testConfig()
	s := start(t, cfg, plain)
	cfg.Faults = "off"
	closed := start(t, cfg, plain)
	tests := []struct {
		name, method, url, body string
		header                  []string
		status                  int
		want                    string
	}{
		{"unknown defence", "POST", s.admin + "/admin/defences", `{"set":"all,-moat"}`, nil, 400, "moat"},
		{"unknown field", "POST", s.admin + "/admin/defences", `{"set":"all","now":true}`, nil, 400, "unknown field"},
		{"two documents", "POST", s.admin + "/admin/defences", `{"set":"all"}{"set":"none"}`, nil, 400, "more than one"},
		{"not JSON", "POST", s.admin + "/admin/defences", `set=all`, nil, 400, "/problems/invalid-request"},
		{"a form", "POST", s.admin + "/admin/defences", `set=all`,
			[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"too long", "POST", s.admin + "/admin/defences", `{"set":"` + strings.Repeat("a", maxAdminBody) + `"}`, nil, 413,
			"4 KiB"},
		{"no text", "POST", s.admin + "/admin/defences", `{"set":5}`, nil, 400, `"field":"set","message":"must be a JSON string"`},
		{"an array", "POST", s.admin + "/admin/faults", `[]`, nil, 400, `"field":"body"`},
		{"said twice", "POST", s.admin + "/admin/defences", `{"set":"all","set":"none"}`, nil, 400, "more than once"},
		{"page of this origin, or so it says", "POST", s.admin + "/admin/defences", `{"set":"none"}`,
			[]string{"Origin", s.admin}, 403, "pages"},
		{"page that a name was pointed at", "DELETE", s.admin + "/admin/faults", "",
			[]string{"Sec-Fetch-Site", "same-origin"}, 403, "pages"},
		{"no kind to set", "POST", s.admin + "/admin/faults", `{"fault":"share=0.5"}`, nil, 400, "give one, hold or refuse"},
		{"unreadable kind to clear", "DELETE", s.admin + "/admin/faults?kind=%zz", "", nil, 400, "hold or refuse"},
		{"misspelt kind to clear", "DELETE", s.admin + "/admin/faults?kinds=hold", "", nil, 400, "hold or refuse"},
		{"page of another origin", "POST", s.admin + "/admin/defences", `{"set":"none"}`,
			[]string{"Sec-Fetch-Site", "cross-site"}, 403, "origin"},
		{"unknown fault", "POST", s.admin + "/admin/faults", `{"fault":"drown"}`, nil, 400, "drown"},
		{"unknown kind to clear", "DELETE", s.admin + "/admin/faults?kind=drown", "", nil, 400, "kind"},
		{"fault without FAULTS=on", "POST", closed.admin + "/admin/faults", `{"fault":"refuse"}`, nil, 403, "FAULTS=on"},
		{"clear without FAULTS=on", "DELETE", closed.admin + "/admin/faults", "", nil, 403, "FAULTS=on"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := s.do(tt.method, tt.url, tt.body, tt.header...)
			if a.StatusCode != tt.status || !strings.Contains(a.body, tt.want) {
				t.Errorf("got %d %s, want %d with %q", a.StatusCode, a.body, tt.status, tt.want)
			}
		})
	}
	a := closed.do("GET", closed.admin+"/admin/faults", "")
	if a.StatusCode != 200 || strings.TrimSpace(a.body) != `{"faults":[]}` {
		t.Errorf("list without FAULTS=on: %d %s", a.StatusCode, a.body)
	}
}

// A held request goes on the moment the fault is cleared; the admin listener is never held.
func TestFaultClearedInMidHold(t *testing.T) {
	s := start(t, testConfig(), plain)
	a := s.do("POST", s.admin+"/admin/faults", `{"fault":"hold=90s every=3h for=2h"}`)
	var list struct{ Faults []map[string]any }
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list.Faults) != 1 {
		t.Fatalf("%s (%v)", a.body, err)
	}
	since, _ := list.Faults[0]["since"].(string)
	if _, err := time.Parse(time.RFC3339Nano, since); err != nil {
		t.Errorf("since: %v", err)
	}
	delete(list.Faults[0], "since")
	want := map[string]any{"kind": "hold", "hold": "1m30s", "share": 1.0, "seed": 1.0, "every": "3h0m0s", "for": "2h0m0s"}
	if diff := cmp.Diff(want, list.Faults[0]); diff != "" {
		t.Error(diff)
	}

	got := make(chan answer, 1)
	go func() { got <- s.do("GET", s.public+"/", "") }()
	until(t, "the request is held", func() bool { return s.requests.Load() == 1 })
	if n := s.now().Workers.InUse; n != 0 {
		t.Errorf("a held request has taken %d workers", n)
	}
	if a := s.do("DELETE", s.admin+"/admin/faults?kind=hold", ""); strings.TrimSpace(a.body) != `{"faults":[]}` {
		t.Errorf("cleared: %s", a.body)
	}
	if a := <-got; a.StatusCode != 200 || a.body != "ok" {
		t.Errorf("answered %d %q", a.StatusCode, a.body)
	}
}

// refuse: connections are refused by the kernel, kept ones die; after clear the same address serves again.
func TestRefuseIsConnectionRefused(t *testing.T) {
	s := start(t, testConfig(), plain)
	s.do("GET", s.public+"/", "") // leaves an idle connection behind
	s.do("POST", s.admin+"/admin/faults", `{"fault":"refuse"}`)
	for range 3 {
		if _, err := s.try(t.Context(), "GET", s.public+"/", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v, want connection refused", err)
		}
	}
	if a := s.do("GET", s.admin+"/readyz", ""); a.StatusCode != 200 {
		t.Errorf("/readyz: %d", a.StatusCode)
	}
	s.do("DELETE", s.admin+"/admin/faults", "")
	if a := s.do("GET", s.public+"/", ""); a.StatusCode != 200 {
		t.Errorf("after clear: %d", a.StatusCode)
	}
}

// The names of /admin/state are a contract with the command line, the load test and the dashboards.
func TestStateNames(t *testing.T) {
	edge := testEdge(20)
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		dep, err := c.Open(edge)
		if err != nil {
			t.Fatal(err)
		}
		to := respond(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) })
		return bounded(c, func(w http.ResponseWriter, r *http.Request) {
			GetJSON[struct{}](r.Context(), dep.Endpoint("related"), to, "/related")
		})
	})
	s.do("GET", s.public+"/", "")
	var state map[string]any
	if err := json.Unmarshal([]byte(s.do("GET", s.admin+"/admin/state", "").body), &state); err != nil {
		t.Fatal(err)
	}
	want := []string{"service", "at", "workers.limit", "workers.in_use", "workers.high_water", "workers.saturated_at",
		"workers.queue",
		"workers.busy_seconds", "workers.shed", "workers.begun", "workers.begun_late", "process.goroutines", "process.fds", "process.fds_limit", "process.rss_bytes", "process.heap_bytes",
		"process.cpu_seconds", "dependencies.name", "dependencies.slots", "dependencies.in_use", "dependencies.high_water",
		"dependencies.oldest_call_ms", "dependencies.endpoints.name", "dependencies.endpoints.breaker",
		"dependencies.endpoints.opens_at", "dependencies.endpoints.fallbacks", "dependencies.endpoints.retries",
		"dependencies.endpoints.p50_ms", "dependencies.endpoints.p99_ms", "dependencies.timeout_ms",
		"dependencies.endpoints.durations.le_ms", "dependencies.endpoints.durations.count"}
	for _, outcome := range resilience.Outcomes {
		want = append(want, "dependencies.endpoints.outcomes."+outcome.String())
	}
	for _, name := range defence.Names {
		want = append(want, "defences."+name)
	}
	got := map[string]bool{}
	names("", state, got)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e := s.now().Dependencies[0].Endpoints[0]
	if e.Outcomes["success"] != 1 || e.P50MS <= 0 || e.P99MS < e.P50MS || e.Durations.Count() != 1 {
		t.Errorf("endpoint %+v", e)
	}
	if p := s.now().Process; p.FDs < 5 || p.FDsLimit == 0 || p.RSSBytes < 1<<20 || p.CPUSeconds <= 0 || p.Goroutines < 5 {
		t.Errorf("process %+v", p)
	}
}

// names collects the paths of the leaves of a JSON document; elements of a list share theirs.
func names(path string, v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			names(strings.TrimPrefix(path+"."+name, "."), member, into)
		}
	case []any:
		for _, element := range v {
			names(path, element, into)
		}
	default:
		into[path] = true
	}
}

func TestMarkResetsTheMarks(t *testing.T) {
	cfg := testConfig()
	cfg.Workers = 1
	s := start(t, cfg, plain)
	s.do("GET", s.public+"/", "")
	if w := s.now().Workers; w.HighWater != 1 || w.SaturatedAt == nil {
		t.Errorf("before: %+v", w)
	}
	if a := s.do("POST", s.admin+"/admin/mark", ""); a.StatusCode != 204 {
		t.Errorf("mark: %d", a.StatusCode)
	}
	if w := s.now().Workers; w.HighWater != 0 || w.SaturatedAt != nil {
		t.Errorf("after: %+v", w)
	}
}

// Everything that the dashboards draw is under the names of the design.
func TestMetrics(t *testing.T) {
	s := start(t, testConfig(), func(c *Chassis) http.Handler {
		if _, err := c.Open(testEdge(20)); err != nil {
			t.Fatal(err)
		}
		return plain(c)
	})
	body := s.do("GET", s.admin+"/metrics", "").body
	for _, want := range []string{
		"go_goroutines ", "process_open_fds ", "resilience_workers 200\n", "resilience_workers_in_use 0\n",
		"resilience_queue_length 0\n",
		`resilience_slots{dependency="recommendations"} 20`,
		`resilience_calls_total{dependency="recommendations",endpoint="related",outcome="timeout"} 0`,
		"resilience_deadline_disagreements_total 0",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestProfile(t *testing.T) {
	s := start(t, testConfig(), plain)
	a := s.do("GET", s.admin+"/debug/pprof/goroutine?debug=1", "")
	if a.StatusCode != 200 || !strings.Contains(a.body, "goroutine profile") {
		t.Errorf("%d %.100s", a.StatusCode, a.body)
	}
	if a := s.do("GET", s.public+"/debug/pprof/", ""); strings.Contains(a.body, "profile") {
		t.Error("profiles are public")
	}
}
