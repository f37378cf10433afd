package defence

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/pipenet"
	"example.com/holdfast/pkg/resilience"
	"github.com/prometheus/client_golang/prometheus"
)

// holdFor is how long the callee of these tests takes.
const holdFor = 90 * time.Second

// heldUp is a service of ten workers whose one dependency has two slots and answers after holdFor: all of the answer,
// or only its body.
type heldUp struct {
	*Switchboard
	dep   *resilience.Dependency
	calls sync.WaitGroup
	route http.Handler

	mu   sync.Mutex
	ends []end
}

// end is how a call ended, and when.
type end struct {
	after   time.Duration
	outcome resilience.Outcome
}

func holdUp(t *testing.T, set Set, env Environment, bodyOnly bool) *heldUp {
	t.Helper()
	var network pipenet.Network
	l, err := network.Listen("recommendations:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if bodyOnly {
			w.(http.Flusher).Flush()
		}
		time.Sleep(holdFor)
		io.WriteString(w, "late")
	})}
	transport := &http.Transport{DialContext: network.DialContext}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		serving.Wait()
	})

	env.Workers = 10
	h := new(heldUp)
	if h.Switchboard, err = New(set, env, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	e := edge
	e.Policy.Slots, e.Policy.Retry, e.Policy.Transport = 2, resilience.Retry{}, transport
	if h.dep, err = h.Open(e); err != nil {
		t.Fatal(err)
	}
	h.route = h.Within(time.Second)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		_, err := resilience.Call(r.Context(), h.dep.Endpoint("related"), h.fetch)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ends = append(h.ends, end{time.Since(begun), resilience.OutcomeOf(err)})
	}))
	return h
}

func (h *heldUp) fetch(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://recommendations/", nil)
	if err != nil {
		return "", err
	}
	resp, err := h.dep.Endpoint("related").Client().Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// request starts a request that makes one call.
func (h *heldUp) request(ctx context.Context) {
	h.calls.Go(func() {
		h.route.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	})
}

// ended returns how the calls that have ended since the last look did.
func (h *heldUp) ended() []end {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	ends := h.ends
	h.ends = nil
	return ends
}

func (h *heldUp) want(t *testing.T, when string, workers, slots, abandoned int, ends ...end) {
	t.Helper()
	got := h.ended()
	if len(got) != len(ends) {
		t.Errorf("%s: calls ended %v, want %v", when, got, ends)
	}
	for i := range min(len(got), len(ends)) {
		if got[i] != ends[i] {
			t.Errorf("%s: call ended %v, want %v", when, got[i], ends[i])
		}
	}
	if n := h.Admission().Snapshot().InUse; n != workers {
		t.Errorf("%s: %d workers in use, want %d", when, n, workers)
	}
	if n := h.dep.Snapshot().InUse; n != slots {
		t.Errorf("%s: %d slots in use, want %d", when, n, slots)
	}
	if n := abandonedCalls(t, h.dep); n != abandoned {
		t.Errorf("%s: %d calls abandoned, want %d", when, n, abandoned)
	}
}

// abandonedCalls reads the metric by which an operator learns of them.
func abandonedCalls(t *testing.T, dep *resilience.Dependency) int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(dep)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "resilience_abandoned_calls" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("there is no metric resilience_abandoned_calls")
	return 0
}

// What an upgraded client library does to timeouts and bulkheads, and what a caller gains who can walk away: the
// workers, at once; not the slots, which come back with the callee.
func TestAClientThatIgnoresTimeouts(t *testing.T) {
	const timeout = 250 * time.Millisecond
	rejected := end{0, resilience.Rejected}
	inTime, late := end{timeout, resilience.Timeout}, end{holdFor, resilience.Success}
	tests := []struct {
		name     string
		env      Environment
		bodyOnly bool

		inTime         []end // how two calls have ended a second after they began
		workers, slots int   // what they hold then
		abandoned      int
		late           []end // how they have ended when the callee has answered
		third          []end // how one ends that came after a second
	}{
		{
			name:   "a client that heeds them",
			inTime: []end{inTime, inTime}, third: []end{inTime},
		},
		{
			name: "ignored", env: Environment{ClientIgnoresTimeouts: true},
			workers: 2, slots: 2, late: []end{late, late}, third: []end{rejected},
		},
		{
			name: "ignored in the body", env: Environment{ClientIgnoresTimeouts: true}, bodyOnly: true,
			workers: 2, slots: 2, late: []end{late, late}, third: []end{rejected},
		},
		{
			name: "ignored and walked away from", env: Environment{ClientIgnoresTimeouts: true, WalkAway: true},
			inTime: []end{inTime, inTime}, slots: 2, abandoned: 2, third: []end{rejected},
		},
		{
			name: "ignored in the body and walked away from", bodyOnly: true,
			env:    Environment{ClientIgnoresTimeouts: true, WalkAway: true},
			inTime: []end{inTime, inTime}, slots: 2, abandoned: 2, third: []end{rejected},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, err := Parse("all,-breakers", None) // which would refuse the third for reasons of their own
				if err != nil {
					t.Fatal(err)
				}
				h := holdUp(t, set, tt.env, tt.bodyOnly)
				h.request(t.Context())
				h.request(t.Context())
				time.Sleep(time.Second)
				h.want(t, "after a second", tt.workers, tt.slots, tt.abandoned, tt.inTime...)
				h.request(t.Context())
				time.Sleep(time.Second)
				h.want(t, "the third", tt.workers, tt.slots, tt.abandoned, tt.third...)
				time.Sleep(holdFor)
				h.want(t, "after the answer", 0, 0, 0, tt.late...)
				h.calls.Wait()
			})
		})
	}
}

// A caller's departure ends nothing either.
func TestAClientThatIgnoresDepartures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdUp(t, All, Environment{ClientIgnoresTimeouts: true}, false)
		ctx, leave := context.WithCancel(t.Context())
		h.request(ctx)
		synctest.Wait()
		leave()
		h.want(t, "the caller has left", 1, 1, 0)
		time.Sleep(holdFor)
		h.want(t, "after the answer", 0, 0, 0, end{holdFor, resilience.Success})
		h.calls.Wait()
	})
}

// The upgrade changes what a timeout does, and nothing of whose connections are whose.
func TestAClientThatIgnoresTimeoutsKeepsItsBulkheads(t *testing.T) {
	for _, tt := range []struct {
		set    string
		shared bool
	}{{"all", false}, {"all,-timeouts", false}, {"all,-bulkheads", true}, {"none", true}} {
		t.Run(tt.set, func(t *testing.T) {
			set, err := Parse(tt.set, All)
			if err != nil {
				t.Fatal(err)
			}
			s, first := open(t, set, Environment{Workers: 10, ClientIgnoresTimeouts: true, WalkAway: true})
			other := edge
			other.Dependency = "currency"
			second, err := s.Open(other)
			if err != nil {
				t.Fatal(err)
			}
			if got := first.Policy().Transport == second.Policy().Transport; got != tt.shared {
				t.Errorf("shared transport: %v, want %v", got, tt.shared)
			}
			before := first.Policy().Transport
			for _, expr := range []string{"timeouts=off,bulkheads=on", tt.set} {
				if set, err = Parse(expr, s.Get()); err != nil {
					t.Fatal(err)
				}
				if err := s.Set(set); err != nil {
					t.Fatal(err)
				}
				if !first.Policy().WalkAway {
					t.Errorf("%s: not walked away from", expr)
				}
			}
			if first.Policy().Transport != before {
				t.Error("a switch to and fro has left a transport behind")
			}
		})
	}
}
