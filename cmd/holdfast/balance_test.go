package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// fakeReplica is a replica that keeps what it was asked.
type fakeReplica struct {
	public, admin *httptest.Server

	mu     sync.Mutex
	ready  int // what /readyz answers
	status int // what every other admin request is answered
	heard  []string
}

func newFakeReplica(t *testing.T, name string, public http.HandlerFunc) *fakeReplica {
	f := &fakeReplica{ready: http.StatusOK, status: http.StatusOK}
	f.public = httptest.NewServer(public)
	f.admin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.URL.Path == "/readyz" {
			w.WriteHeader(f.ready)
			return
		}
		f.heard = append(f.heard, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body))
		w.WriteHeader(f.status)
		fmt.Fprint(w, name)
	}))
	t.Cleanup(f.admin.Close)
	t.Cleanup(f.public.Close)
	return f
}

func (f *fakeReplica) pair() string { return f.public.URL + "=" + f.admin.URL }

func (f *fakeReplica) answer(ready, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready, f.status = ready, status
}

func testBalancer(t *testing.T, replicas ...*fakeReplica) *balancer {
	t.Helper()
	var pairs []string
	for _, r := range replicas {
		pairs = append(pairs, r.pair())
	}
	b, err := newBalancer("catalogue", pairs)
	if err != nil {
		t.Fatal(err)
	}
	lookAll(t, b)
	return b
}

func lookAll(t *testing.T, b *balancer) {
	for _, r := range b.replicas {
		r.look(t.Context())
	}
}

func ask(h http.HandlerFunc, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h(w, r)
	return w
}

// Two failed looks in a row take a replica out, one good look lets it in, and nobody is in unseen.
func TestLooksDecideWhoIsIn(t *testing.T) {
	f := newFakeReplica(t, "a", nil)
	b, err := newBalancer("catalogue", []string{f.pair()})
	if err != nil {
		t.Fatal(err)
	}
	r := b.replicas[0]
	if r.in.Load() {
		t.Error("in before the first look")
	}
	for i, step := range []struct {
		answer int
		in     bool
	}{{503, false}, {200, true}, {503, true}, {200, true}, {503, true}, {503, false}, {503, false}, {200, true}} {
		f.answer(step.answer, 200)
		if r.look(t.Context()); r.in.Load() != step.in {
			t.Errorf("look %d, answered %d: in is %t", i, step.answer, !step.in)
		}
	}
	f.admin.Close()
	r.look(t.Context())
	if r.look(t.Context()); r.in.Load() {
		t.Error("in though it is gone")
	}
}

func TestRequestsTakeTurnsAmongTheReady(t *testing.T) {
	var replicas []*fakeReplica
	for i := range 3 {
		replicas = append(replicas, newFakeReplica(t, "", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, i) }))
	}
	b := testBalancer(t, replicas...)
	turns := func() (who string) {
		for range 6 {
			who += ask(b.balance, "GET", "/books", "").Body.String()
		}
		return who
	}
	if who := turns(); who != "012012" {
		t.Errorf("all ready: asked %s", who)
	}
	replicas[1].answer(http.StatusServiceUnavailable, 200)
	for range failedLooks {
		lookAll(t, b)
	}
	if who := turns(); who != "020202" {
		t.Errorf("1 not ready: asked %s", who)
	}
	replicas[0].answer(http.StatusServiceUnavailable, 200)
	replicas[2].answer(http.StatusServiceUnavailable, 200)
	for range failedLooks {
		lookAll(t, b)
	}
	refused := ask(b.balance, "GET", "/books", "").Result()
	if p := problem.Read(refused); p.Type != problem.Unavailable.URI || p.Status != 503 || p.RetryAfter == 0 {
		t.Errorf("none ready: %+v", p)
	}
	if w := ask(b.admin, "GET", "/readyz", ""); w.Code != 503 {
		t.Errorf("none ready: /readyz says %d", w.Code)
	}
}

// A request reaches the replica as it was sent, its answer comes back as given, and a replica that is gone is a 502.
func TestRequestsArePassedOnUnchanged(t *testing.T) {
	f := newFakeReplica(t, "", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Degraded", "rates")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.RequestURI, body)
	})
	b := testBalancer(t, f)
	w := ask(b.balance, "POST", "http://shop.example/orders?a=1;b=%zz", "two books")
	want := "POST shop.example /orders?a=1;b=%zz two books"
	if w.Code != 409 || w.Header().Get("X-Degraded") != "rates" || w.Body.String() != want {
		t.Errorf("answered %d %v %q, want %q", w.Code, w.Header(), w.Body, want)
	}
	f.public.Close()
	gone := ask(b.balance, "GET", "/books", "").Result()
	if p := problem.Read(gone); p.Status != 502 || p.Detail == "" {
		t.Errorf("gone: %+v", p)
	}
}

// Who leaves ends the request at the replica, too: the balancer keeps nobody's work alive.
func TestWhoLeavesTheBalancerLeavesTheReplica(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	b := testBalancer(t, newFakeReplica(t, "", func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	b.balance(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/books", nil))
	<-ended
}

// Marks and switches reach every replica, reading asks the first, and a fault, which is of one process, is refused.
func TestAdminOfReplicas(t *testing.T) {
	first, second := newFakeReplica(t, "first", nil), newFakeReplica(t, "second", nil)
	third := newFakeReplica(t, "third", nil)
	all := []*fakeReplica{first, second, third}
	b := testBalancer(t, all...)
	for _, tt := range []struct {
		method, path string
		fails        *fakeReplica
		code         int
		body         string // contains
		heardBy      []*fakeReplica
	}{
		{"GET", "/readyz", nil, 200, "", nil},
		{"GET", "/admin/defences", nil, 200, "first", all[:1]},
		{"POST", "/admin/mark", nil, 200, "third", all},
		{"POST", "/admin/defences?x=1", nil, 200, "third", all},
		{"POST", "/admin/defences", second, 422, "second", all[:2]},
		{"DELETE", "/admin/faults", nil, 200, "third", all},
		{"POST", "/admin/faults", nil, 403, "catalogue has 3 replicas", nil},
	} {
		t.Run(tt.method+tt.path, func(t *testing.T) {
			for _, f := range all {
				f.answer(200, 200)
				f.heard = nil
			}
			if tt.fails != nil {
				tt.fails.answer(200, 422)
			}
			w := ask(b.admin, tt.method, tt.path, `{"set":"all"}`)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.body) {
				t.Errorf("answered %d %s, want %d %s", w.Code, w.Body, tt.code, tt.body)
			}
			want := fmt.Sprintf(`%s %s application/json {"set":"all"}`, tt.method, tt.path)
			for i, f := range all {
				heard := slices.Equal(f.heard, []string{want})
				if should := slices.Contains(tt.heardBy, f); heard != should || !should && f.heard != nil {
					t.Errorf("replica %d heard %q", i, f.heard)
				}
			}
		})
	}
	third.admin.Close()
	if w := ask(b.admin, "POST", "/admin/mark", ""); w.Code != 502 {
		t.Errorf("a replica is gone: %d", w.Code)
	}
	if w := ask(b.admin, "POST", "/admin/mark", strings.Repeat(" ", 1<<20)); w.Code != 413 {
		t.Errorf("too much: %d", w.Code)
	}
}

// The state is the first replica's that answers, with what the processes of all of them take.
func TestStateOfReplicas(t *testing.T) {
	replicaAt := func(inUse int, cpu float64) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			state := service.State{Service: "catalogue"}
			state.Workers.InUse, state.Process.CPUSeconds = inUse, cpu
			_ = json.NewEncoder(w).Encode(state)
		}))
		t.Cleanup(s.Close)
		return s
	}
	gone, second, third := replicaAt(1, 1), replicaAt(2, 20), replicaAt(3, 300)
	gone.Close()
	b := &balancer{service: "catalogue"}
	for _, s := range []*httptest.Server{gone, second, third} {
		b.replicas = append(b.replicas, &replica{admin: s.URL})
	}
	var got service.State
	w := ask(b.admin, "GET", "/admin/state", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if got.Workers.InUse != 2 || got.Process.CPUSeconds != 320 {
		t.Errorf("%d in use, %g s of processor; want 2 and 320", got.Workers.InUse, got.Process.CPUSeconds)
	}
	second.Close()
	third.Close()
	if w := ask(b.admin, "GET", "/admin/state", ""); w.Code != 502 {
		t.Errorf("nobody answers: %d", w.Code)
	}
}

func TestBalancerNeedsTwoAddressesAReplica(t *testing.T) {
	for _, pair := range []string{"", "http://a:1", "http://a:1=", "http://a:1=b", "http://a:1,http://b:1=http://c:1"} {
		if _, err := newBalancer("catalogue", []string{pair}); err == nil || !strings.Contains(err.Error(), "PUBLIC=ADMIN") {
			t.Errorf("%q: %v", pair, err)
		}
	}
}
