package defence

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/pkg/resilience"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var edge = Edge{
	Dependency: "recommendations", To: "recommendations", Endpoints: []string{"related"}, Leaf: true,
	Policy: resilience.Policy{
		Timeout: 250 * time.Millisecond, ConnectTimeout: 50 * time.Millisecond, Slots: 20,
		Retry:   resilience.Retry{Attempts: 2, Budget: 0.1},
		Breaker: resilience.Breaker{TimeoutRate: 0.5, MinRequests: 20, Window: 10 * time.Second, Cooldown: 5 * time.Second},
	},
}

func open(t *testing.T, set Set, env Environment) (*Switchboard, *resilience.Dependency) {
	t.Helper()
	s, err := New(set, env, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	dep, err := s.Open(edge)
	if err != nil {
		t.Fatal(err)
	}
	return s, dep
}

// Each switch takes away just its own bound, and nothing else.
func TestSwitchedOffPolicy(t *testing.T) {
	tests := []struct {
		off    string
		change func(*resilience.Policy)
	}{
		{"timeouts", func(p *resilience.Policy) {
			p.Timeout, p.ConnectTimeout = resilience.Unbounded, 30*time.Second
			p.SlowAfter, p.ProbeTimeout = 250*time.Millisecond, 250*time.Millisecond
		}},
		{"deadlines", func(*resilience.Policy) {}},
		{"bulkheads", func(p *resilience.Policy) { p.Slots = resilience.Unlimited }},
		{"breakers", func(p *resilience.Policy) { p.Breaker = resilience.Breaker{} }},
		{"fallbacks", func(p *resilience.Policy) { p.NoFallback = true }},
		{"retry_budget", func(p *resilience.Policy) {
			p.Retry = resilience.Retry{Attempts: 16, Budget: resilience.Unbudgeted}
		}},
		{"shedding", func(*resilience.Policy) {}},
		{"isolated_probes", func(*resilience.Policy) {}},
		{"shallow_readiness", func(*resilience.Policy) {}},
	}
	for _, tt := range tests {
		t.Run(tt.off, func(t *testing.T) {
			s, dep := open(t, All, Environment{Workers: 10, NaiveAttempts: [2]int{4, 4}})
			set, err := Parse(tt.off+"=off", All)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Set(set); err != nil {
				t.Fatal(err)
			}
			want := edge.Policy
			tt.change(&want)
			got := dep.Policy()
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(resilience.Policy{}, "Transport")); diff != "" {
				t.Error(diff)
			}
			if shared := got.Transport != nil; shared != (tt.off == "bulkheads") {
				t.Errorf("shared transport: %v", shared)
			}
			if err := s.Set(All); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(edge.Policy, dep.Policy()); diff != "" {
				t.Error("switched on again:", diff)
			}
		})
	}
}

func TestWithoutBulkheadsAllDependenciesShareOneTransport(t *testing.T) {
	s, first := open(t, None, Environment{Workers: 10})
	other := edge
	other.Dependency = "currency"
	second, err := s.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if first.Policy().Transport != second.Policy().Transport {
		t.Error("two transports")
	}
}

// serve runs a request whose caller leaves after a second through a route of 100 ms, and returns how long its
// handler was let work: at most a minute.
func serve(s *Switchboard, during func()) time.Duration {
	ctx, leave := context.WithTimeout(context.Background(), time.Second)
	defer leave()
	begun := time.Now()
	var worked time.Duration
	handler := s.Within(100 * time.Millisecond)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		worked = time.Since(begun)
	}))
	go during()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	return worked
}

func TestDeadlinesEndWorkOnlyWhenOn(t *testing.T) {
	tests := []struct {
		name string
		set  string
		want time.Duration
	}{
		{"the deadline ends it", "all", 100 * time.Millisecond},
		{"without timeouts too", "all,-timeouts", 100 * time.Millisecond},
		{"neither deadline nor departure", "all,-deadlines", time.Minute},
		{"ordinary code", "none", time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, err := Parse(tt.set, All)
				if err != nil {
					t.Fatal(err)
				}
				s, _ := open(t, set, Environment{Workers: 10})
				if got := serve(s, func() {}); got != tt.want {
					t.Errorf("worked for %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A shop that is stuck must be freed by the switch, as by a restart.
func TestSwitchingBoundsOnEndsUnboundedRequests(t *testing.T) {
	tests := []struct {
		name     string
		switches []string // five seconds apart
		want     time.Duration
	}{
		{"all at once", []string{"all"}, 5 * time.Second},
		{"timeouts alone", []string{"timeouts=on"}, 5 * time.Second},
		{"after another switch that ends nothing", []string{"breakers=on", "deadlines=on"}, 10 * time.Second},
		{"no bound at all", []string{"breakers=on", "bulkheads=on"}, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := open(t, None, Environment{Workers: 10})
				got := serve(s, func() {
					for _, expr := range tt.switches {
						time.Sleep(5 * time.Second)
						set, err := Parse(expr, s.Get())
						if err != nil {
							t.Error(err)
						}
						if err := s.Set(set); err != nil {
							t.Error(err)
						}
					}
				})
				if got != tt.want {
					t.Errorf("worked for %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A request that read the switches just before they changed would otherwise stay for good.
func TestARequestThatComesAfterTheEndIsEnded(t *testing.T) {
	var u unbounded
	u.end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u.add(cancel)()
	if ctx.Err() == nil {
		t.Error("nothing ends it")
	}
}

func TestOpenRefusesWhatIsWrongWithDefencesOn(t *testing.T) {
	s, err := New(None, Environment{Workers: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	wrong := edge
	wrong.Policy.Slots = 0
	if _, err := s.Open(wrong); err == nil {
		t.Error("an edge without slots was opened because bulkheads are off")
	}
	if _, err := s.Open(edge); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(edge); err == nil {
		t.Error("the same dependency was opened twice")
	}
}

// A person leaves the line. Ordinary code begins the request all the same, for nobody; with deadlines on it is refused.
func TestWorkThatIsBegunForNobody(t *testing.T) {
	for expr, want := range map[string][2]uint64{"all": {1, 0}, "none": {2, 1}, "none,+deadlines": {1, 0}} {
		t.Run(expr, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, err := Parse(expr, All)
				if err != nil {
					t.Fatal(err)
				}
				s, _ := open(t, set, Environment{Workers: 1})
				handler := s.Within(time.Hour)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }))
				ask := func(ctx context.Context) {
					handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
				}
				var first sync.WaitGroup
				first.Go(func() { ask(t.Context()) })
				synctest.Wait()
				impatient, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer leave()
				ask(impatient)
				first.Wait()
				if all, late := s.Begun(); all != want[0] || late != want[1] {
					t.Errorf("%d begun, %d of them for nobody; want %v", all, late, want)
				}
			})
		})
	}
}

// Without a queue, who finds no worker is refused at once.
func TestNoQueue(t *testing.T) {
	for _, none := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := open(t, All, Environment{Workers: 1, NoQueue: none})
			release, err := s.Admission().Acquire(t.Context(), resilience.Default)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			began := time.Now()
			if _, err := s.Admission().Acquire(t.Context(), resilience.Default); err == nil {
				t.Error("two workers of one")
			}
			if waited := time.Since(began); (waited == 0) != none {
				t.Errorf("without a queue %v: refused after %v", none, waited)
			}
		})
	}
}
