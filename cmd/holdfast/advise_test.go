package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/holdfast/internal/service"
)

// openAdmin serves one /admin/state after the other, for every service, and calls exhausted when asked for more.
func openAdmin(t *testing.T, exhausted func(), states ...reading) (target string) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		if r.URL.Path != "/admin/state" || n > len(states) {
			exhausted()
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(service.State{At: states[n-1].At, Dependencies: states[n-1].Dependencies})
	}))
	t.Cleanup(server.Close)
	at := addresses{}
	for _, s := range services {
		at[s.name] = address{Public: server.URL, Admin: server.URL}
	}
	target = filepath.Join(t.TempDir(), "shop.json")
	if err := at.write(target); err != nil {
		t.Fatal(err)
	}
	return target
}

// TestAdvise proves what a person is told of a service whose limits are never met, of one that is sick, and of one that
// cannot be watched.
func TestAdvise(t *testing.T) {
	sick := func(d *service.DependencyState) {
		d.Endpoints[0].Outcomes = outcomes{"success": 4000, "timeout": 1000, "rejected": 500}
	}
	second := func(d *service.DependencyState) {
		d.Endpoints = append(d.Endpoints, d.Endpoints[0])
		d.Endpoints[1].Name = "more"
	}
	for _, tt := range []struct {
		name    string
		states  []reading
		code    int
		out     []string // patterns
		err     string
		stopped bool // by Ctrl-C, when there is no more to be read
	}{
		{
			"never met", []reading{stateOf(0, 0), stateOf(60e9, 6000)}, 0,
			[]string{
				`(?m)^edge +endpoint +calls +peak/s +p50 / p99 / p99.9 at most +timeout +slots \(in use\)$`,
				`(?m)^catalogue → recommendations +related +6000 +100 +50 ms / 50 ms / 50 ms +250 ms → 75 ms +20 \(0\) → 9$`,
				`(?m)^catalogue → recommendations +related +timeout +never met, so too wide: p99.9 at most 50 ms, the path`,
				`(?m)^catalogue → recommendations +slots +never met, so too wide: .* 100/s of p99 at most 50 ms make 9$`,
				`\nSeen in 1m0s\.`,
			}, "watching for 2m0s; Ctrl-C ends it early", true,
		},
		{
			"sick", []reading{stateOf(0, 0), stateOf(60e9, 5000, sick)}, 0,
			[]string{
				`(?m) 250 ms +20 \(0\)$`,
				`related +timeout +withheld: 20.0 % of the attempts did not succeed \(1000 timeout\)\n`,
				`slots +withheld: 500 of 5500 calls were turned away while related was not healthy`,
			}, "", true,
		},
		{"two endpoints have the same slots", []reading{stateOf(0, 0, second), stateOf(60e9, 6000, second)}, 0,
			[]string{`(?m) related +6000 +100 .* 20 \(0\)$`, `(?m) more +6000 +100 .* shared$`}, "", true},
		{"stopped at the first reading", nil, exitCannot, nil, "interrupted before anything was seen", true},
		{"restarted", []reading{stateOf(0, 1000), stateOf(1e9, 10)}, exitCannot, nil,
			"catalogue was restarted while it was watched: watch it again", false},
		{"gone", []reading{stateOf(0, 1000)}, exitCannot, nil, "holdfast: catalogue: ", false},
		{"stopped at once", []reading{stateOf(0, 1000)}, exitCannot, nil, "interrupted before anything was seen", true},
		{"calls nobody", []reading{{}}, exitCannot, nil, "nothing to advise: no calls are made by catalogue", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits for a beat
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			exhausted := func() {}
			if tt.stopped {
				exhausted = cancel
			}
			target := openAdmin(t, exhausted, tt.states...)
			var out, errs strings.Builder
			if code := run(ctx, []string{"advise", "catalogue", "--target", target}, &out, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.out {
				if !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("no %s in\n%s", want, out.String())
				}
			}
			if tt.out == nil && out.Len() > 0 {
				t.Errorf("printed %s", out.String())
			}
			if !strings.Contains(errs.String(), tt.err) {
				t.Errorf("said %q, want %q", errs.String(), tt.err)
			}
		})
	}
}
