package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// small is a scenario of a second: one class, one act, one bar that everybody is served well.
func small(t *testing.T, class, phases string) *Scenario {
	t.Helper()
	s, err := parse("small.yaml", fmt.Appendf(nil, `
name: small
classes:
  people: %s
acts:
  - name: act
    defences: all
    phases: %s
    bars:
      - {bar: good, phase: healthy, at_least: 100%%}
`, class, phases))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const oneSecond = `[{name: healthy, for: 1s}]`

func run(t *testing.T, s *Scenario, shop *fakeShop, o Options) *Result {
	t.Helper()
	o.Open = shop.open
	r, err := Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if !shop.closed.Load() {
		t.Error("the shop was not closed")
	}
	return r
}

// calm judges a result anew without what a busy test machine adds to it: that may make any run void.
func calm(r *Result, judged bool) {
	r.voids = slices.DeleteFunc(r.voids, func(v string) bool {
		return strings.Contains(v, "starved") || strings.Contains(v, "the sender was late") || strings.Contains(v, "too slow")
	})
	r.conclude(judged)
}

func TestAnHonestShopPasses(t *testing.T) {
	t.Parallel()
	for kind, class := range map[string]string{
		"browse": `{kind: browse, rate: 40/s}`,
		"book":   `{kind: book, rate: 40/s, currencies: {USD: 50%, EUR: 50%}}`,
		"order":  `{kind: order, rate: 40/s}`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := run(t, small(t, class, oneSecond), newFakeShop(t, nil), Options{})
			calm(r, true)
			if r.Verdict != Pass || r.ExitCode() != 0 {
				t.Errorf("verdict %s: %q", r.Verdict, r.Reasons)
			}
			if c := r.Acts[0].Phases[0].Classes["people"]; c.Asked != 40 || c.Sent != 40 || c.Good != 40 {
				t.Errorf("asked %d, sent %d, good %d, want 40 of each", c.Asked, c.Sent, c.Good)
			}
		})
	}
}

func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// A person who comes to a sender that cannot keep up waits from the instant at which they meant to come.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	t.Parallel()
	slow := asked(shelves, func(r *http.Request) { wait(r.Context(), 50*time.Millisecond) })
	r := run(t, small(t, `{kind: browse, rate: 50/s}`, aMoment), newFakeShop(t, slow), Options{Workers: 1})
	// The last of fifteen meant to come after 280 ms, and the one sender is busy for 750 ms.
	if p99 := r.Acts[0].Phases[0].Classes["people"].P99; p99 < 400 {
		t.Errorf("p99 is %.0f ms, want at least 400", p99)
	}
}

// A person who refreshes is one person: judged from the first start, under one key.
func TestRefreshIsTheSamePerson(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	shop := newFakeShop(t, func(_ *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.URL.Path != "/gateway/api/v1/orders" {
			return false
		}
		switch tries.Add(1) {
		case 1: // a page that stays empty
			_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that the person has left
			<-r.Context().Done()
			return true
		case 2: // an error page
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	s := small(t, `{kind: order, rate: 1/s, in_time: 3s, patience: 4s, refresh: 500ms}`, oneSecond)
	r := run(t, s, shop, Options{})
	calm(r, true)
	c := r.Acts[0].Phases[0].Classes["people"]
	if c.Sent != 1 || c.Good != 1 || tries.Load() != 3 {
		t.Errorf("sent %d, good %d, tries %d; want 1, 1, 3", c.Sent, c.Good, tries.Load())
	}
	if c.P50 < 1000 {
		t.Errorf("latency %.0f ms does not count from the first start", c.P50)
	}
	if len(shop.seen) != 1 {
		t.Errorf("%d idempotency keys, want one", len(shop.seen))
	}
}

func TestTheActPlaysItsPhases(t *testing.T) {
	t.Parallel()
	s, err := parse("small.yaml", []byte(`
name: small
classes:
  people: {kind: browse, rate: 20/s, needs: [catalogue]}
predictions:
  - {name: p, formula: cascade, hops: [{service: catalogue, held: [recommendations]}]}
acts:
  - name: off
    defences: none
    predict: [p]
    phases:
      - {name: healthy, for: 2s} # calls are whole: of eighty, one more or less is little
      - {name: fault, for: 700ms, faults: {recommendations: hold=90s}, defences: all}
      - {name: recovery, for: 300ms}
    bars:
      - {bar: saturates, services: [catalogue], near: 10%, void: true}
      - {bar: let-go, phase: recovery, service: recommendations, path: /related/moby-dick, within: 200ms}
summary:
  - {say: slow, act: off, phase: fault}
`))
	if err != nil {
		t.Fatal(err)
	}
	shop := newFakeShop(t, nil)
	r := run(t, s, shop, Options{})
	calm(r, true)

	// 200 workers, 4 in use of which 40/s × 50 ms = 2 wait for what will be held: (200 − 2) / 40.
	if got := r.Acts[0].Predicted.SaturationS["catalogue"]; got < 4.8 || got > 5.1 {
		t.Errorf("predicted %.2f s, want about 4.95", got)
	}
	if r.Verdict != Void {
		t.Errorf("a shop that did not saturate: verdict %s", r.Verdict)
	}
	letGo := r.Bars[len(r.Bars)-1]
	if !letGo.Pass {
		t.Errorf("%s: %s", letGo.Name, letGo.Got)
	}
	if got, want := r.sentence, "slow: 100.0 % good"; got != want {
		t.Errorf("sentence %q, want %q", got, want)
	}
	want := "gateway none checkout none catalogue none currency none recommendations none " +
		"gateway all checkout all catalogue all currency all recommendations all"
	if got := strings.Join(shop.defences, " "); got != want {
		t.Errorf("switched %q, want %q: callers first", got, want)
	}
}

func TestDefencesReplaceTheActsAndNothingIsJudged(t *testing.T) {
	t.Parallel()
	shop := newFakeShop(t, func(_ *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/gateway/books" {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	s := small(t, `{kind: browse, rate: 20/s}`, oneSecond)
	r := run(t, s, shop, Options{Defences: "all,-timeouts"})
	calm(r, false)
	if r.Verdict != Unjudged || r.ExitCode() != 0 || len(r.Bars) != 0 {
		t.Errorf("verdict %s, %d bars", r.Verdict, len(r.Bars))
	}
	if len(s.Acts[0].Bars) == 0 {
		t.Error("the scenario itself was changed")
	}
}

func TestAnInterruptStopsAtOnceAndClosesTheShop(t *testing.T) {
	t.Parallel()
	shop := newFakeShop(t, func(_ *fakeShop, _ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/gateway/books" {
			<-r.Context().Done()
		}
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(400*time.Millisecond, cancel)
	began := time.Now()
	_, err := Run(ctx, small(t, `{kind: browse, rate: 50/s}`, `[{name: healthy, for: 60s}]`), Options{Open: shop.open})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopped after %s", took)
	}
	if !shop.closed.Load() {
		t.Error("the shop was not closed")
	}
}

func TestRunSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	honest := newFakeShop(t, nil)
	broken := func(context.Context, Environment) (Shop, error) { return nil, errors.New("no ports") }
	s := small(t, `{kind: browse, rate: 1/s}`, oneSecond)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no opener":          {Options{}, "nobody opens"},
		"no such act":        {Options{Open: honest.open, Acts: []string{"x"}}, `no act "x"`},
		"no such defence":    {Options{Open: honest.open, Defences: "all,-x"}, `no defence "x"`},
		"relative defences":  {Options{Open: honest.open, Defences: "-timeouts"}, "neither all nor none"},
		"acts and defences":  {Options{Open: honest.open, Defences: "all", Acts: []string{"act"}}, "replace the acts"},
		"a shop that is not": {Options{Open: broken}, "no ports"},
	} {
		_, err := Run(t.Context(), s, c.o)
		if !errors.Is(err, ErrCannotRun) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
