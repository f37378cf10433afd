package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRestart restarts services of a shop in which nothing is defended, so that nothing hides a lost answer: one with
// replicas loses none, and every service is back where it was.
func TestRestart(t *testing.T) {
	l := launcher{environ: append(plainEnviron(), "LOG_LEVEL=warn", "DRAIN_DELAY=0s"), freePorts: true, log: dropLogs}
	shop, err := l.open(t.Context(), map[string]map[string]string{
		"all": {"DEFENCES": "none"}, "catalogue": {"REPLICAS": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = closeShop(t.Context(), shop)
		}
	})
	pids := func() map[string]int {
		found := map[string]int{}
		for _, p := range shop.running {
			found[p.name] = p.cmd.Process.Pid
		}
		return found
	}
	stood := fmt.Sprint(shop.addresses)
	// restart restarts a service and wants those processes, and no others, to be new.
	restart := func(t *testing.T, service string, renewed ...string) {
		t.Helper()
		before := pids()
		if err := shop.Restart(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		after := pids()
		for _, name := range renewed {
			if before[name] == 0 || before[name] == after[name] {
				t.Errorf("%s was process %d and is %d", name, before[name], after[name])
			}
			before[name] = after[name]
		}
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("processes were %v and are %v: want only %v renewed", before, after, renewed)
		}
		for _, p := range shop.running {
			if !ready(t.Context(), p.Admin) {
				t.Errorf("%s is not ready", p.name)
			}
		}
		if now := fmt.Sprint(shop.addresses); now != stood {
			t.Errorf("stood at %s and stands at %s", stood, now)
		}
	}

	t.Run("one after the other", func(t *testing.T) {
		asked, end := trickle(t, shop.Public("gateway")+"/api/v1")
		restart(t, "catalogue", "catalogue (replica 1 of 2)", "catalogue (replica 2 of 2)")
		end()
		if asked.Load() < 50 {
			t.Errorf("only %d requests were sent meanwhile", asked.Load())
		}
	})
	t.Run("a single process", func(t *testing.T) { restart(t, "currency", "currency") })
	t.Run("nobody", func(t *testing.T) {
		if err := shop.Restart(t.Context(), "warehouse"); err == nil || !strings.Contains(err.Error(), `"warehouse"`) {
			t.Errorf("restart of what there is not: %v", err)
		}
		if err := local().Restart(t.Context(), "currency"); err == nil || !strings.Contains(err.Error(), "did not start it") {
			t.Errorf("restart of what somebody else started: %v", err)
		}
	})
	t.Run("switches reach every replica", func(t *testing.T) {
		err := shop.ask(t.Context(), http.MethodPost, "catalogue", "/admin/defences", map[string]string{"set": "all"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range shop.running {
			var set map[string]bool
			fetch(t, http.MethodGet, p.Admin+"/admin/defences", "", "", http.StatusOK, &set)
			if set["timeouts"] != (p.service == "catalogue") {
				t.Errorf("%s has %v", p.name, set)
			}
		}
	})

	// None of those restarts is a death; this is one.
	victim := shop.running[0]
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-victim.gone
	err = shop.Restart(t.Context(), "currency")
	if told := fmt.Sprint(err); !strings.HasPrefix(told, "currency ended by itself") {
		t.Errorf("restart of a dead service: %v", err)
	}
	closed = true
	err = closeShop(t.Context(), shop)
	if told := fmt.Sprint(err); !strings.HasPrefix(told, "currency ended by itself: signal: killed") ||
		strings.Count(told, "ended by itself") != 1 {
		t.Errorf("closing tells %v, want one death", err)
	}
}

// trickle has one person look at a book and another order it, again and again until end is called. Each answer must be
// as it should be.
func trickle(t *testing.T, api string) (asked *atomic.Int64, end func()) {
	stop := make(chan struct{})
	asked = new(atomic.Int64)
	var people sync.WaitGroup
	var shown struct {
		Book struct{ Price struct{ Number string } }
	}
	fetch(t, http.MethodGet, api+"/books/moby-dick", "", "", http.StatusOK, &shown)
	order := fmt.Sprintf(`{"items":[{"book":"moby-dick","quantity":1}],"currency":"USD","expected_total":%q}`,
		shown.Book.Price.Number)
	send := func(method, url, key, body string, want int) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := adminClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != want || resp.Header.Get("X-Degraded") != "" {
			t.Errorf("%s %s: %s, degraded %q", method, url, resp.Status, resp.Header.Get("X-Degraded"))
		}
		asked.Add(1)
	}
	for person := range 2 {
		people.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-tick.C:
				case <-stop:
					return
				}
				if person == 0 {
					send(http.MethodGet, api+"/books/moby-dick", "", "", http.StatusOK)
				} else {
					send(http.MethodPost, api+"/orders", fmt.Sprintf("trickle-%d", n), order, http.StatusCreated)
				}
			}
		})
	}
	return asked, func() { close(stop); people.Wait() }
}
