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
		return strings.Contains(v, "starved") || strings.Contains(v, "the sender was late")
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

// TestD10TheJudgeIsNotFooled feeds the runner shops that lie, and expects it to say so.
func TestD10TheJudgeIsNotFooled(t *testing.T) {
	t.Parallel()
	page := func(body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/gateway/books") {
				fmt.Fprint(w, body)
				return true
			}
			return false
		}
	}
	var refusals atomic.Int64
	for name, c := range map[string]struct {
		class string
		lie   func(http.ResponseWriter, *http.Request) bool
		want  string // in a reason
	}{
		"a shelf without a price": {
			`{kind: browse, rate: 20/s}`, page(`<article data-book="typee"><h1>Typee</h1></article>`), "20 wrong",
		},
		"an empty page": {`{kind: browse, rate: 20/s}`, page(`<h1>Welcome</h1>`), "20 wrong"},
		"always the same book": {
			`{kind: book, rate: 60/s}`, page(bookHTML("typee", "Typee <a peep>", "9.00", "USD") + carouselHTML), "wrong",
		},
		"no carousel, and not a word of it": {
			`{kind: book, rate: 20/s, fallbacks: [carousel]}`,
			page(bookHTML("typee", "Typee <a peep>", "9.00", "USD")), "20 wrong",
		},
		"a fallback that is not allowed": {
			`{kind: browse, rate: 20/s}`,
			func(w http.ResponseWriter, r *http.Request) bool { w.Header().Set("X-Degraded", "copy"); return false }, "20 wrong",
		},
		"an answer too late": {
			`{kind: browse, rate: 20/s, in_time: 100ms}`,
			func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/gateway/books" {
					wait(r.Context(), 300*time.Millisecond)
				}
				return false
			}, "20 late",
		},
		"an answer that never comes": {
			`{kind: browse, rate: 20/s, in_time: 100ms, patience: 200ms}`,
			func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/gateway/books" {
					<-r.Context().Done()
				}
				return false
			}, "20 gave up",
		},
		"an answer cut short": {
			`{kind: browse, rate: 20/s}`,
			func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/gateway/books" {
					return false
				}
				fmt.Fprint(w, bookHTML("typee", "Typee <a peep>", "9.00", "USD"))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}, "20 failed",
		},
		"a refusal": {
			`{kind: browse, rate: 20/s}`,
			func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/gateway/books" {
					return false
				}
				refusals.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}, "20 refused",
		},
		"an order that was never stored": {
			`{kind: order, rate: 20/s}`,
			func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, "/gateway/api/v1/orders/") {
					http.NotFound(w, r)
					return true
				}
				return false
			}, "order ord_",
		},
		"an order stored at another total": {
			`{kind: order, rate: 20/s}`,
			func(w http.ResponseWriter, r *http.Request) bool {
				id, ok := strings.CutPrefix(r.URL.Path, "/gateway/api/v1/orders/")
				if ok {
					fmt.Fprintf(w, `{"id":%q,"total":{"number":"0.01","currency":"USD"},"currency":"USD"}`, id)
				}
				return ok
			}, "is stored as 0.01 USD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, small(t, c.class, oneSecond), newFakeShop(t, c.lie), Options{})
			calm(r, true)
			if r.Verdict != Fail || r.ExitCode() != 1 {
				t.Errorf("verdict %s: %q", r.Verdict, r.Reasons)
			}
			if !strings.Contains(strings.Join(r.Reasons, "\n"), c.want) {
				t.Errorf("the reasons do not say %q: %q", c.want, r.Reasons)
			}
		})
	}
}

func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// A sender that cannot keep up proves nothing, however well the shop answers those who come.
func TestAStalledSenderIsVoid(t *testing.T) {
	t.Parallel()
	shop := newFakeShop(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/gateway/books" {
			wait(r.Context(), 100*time.Millisecond)
		}
		return false
	})
	r := run(t, small(t, `{kind: browse, rate: 20/s, in_time: 1s, patience: 1s}`, oneSecond), shop, Options{Workers: 1})
	if r.Verdict != Void || r.ExitCode() != 3 {
		t.Errorf("verdict %s: %q", r.Verdict, r.Reasons)
	}
	reasons := strings.Join(r.Reasons, "\n")
	if !strings.Contains(reasons, "the sender was late") {
		t.Errorf("the reasons do not say that the sender was late: %q", r.Reasons)
	}
	c := r.Acts[0].Phases[0].Classes["people"]
	if c.P99 < 500 {
		t.Errorf("p99 is %.0f ms: it does not count from the intended start", c.P99)
	}
}

// A person who refreshes is one person: judged from the first start, under one key.
func TestRefreshIsTheSamePerson(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	shop := newFakeShop(t, func(w http.ResponseWriter, r *http.Request) bool {
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
	s := small(t, `{kind: order, rate: 1/s, in_time: 1s, patience: 2s, refresh: 150ms}`, oneSecond)
	r := run(t, s, shop, Options{})
	calm(r, true)
	c := r.Acts[0].Phases[0].Classes["people"]
	if c.Sent != 1 || c.Good != 1 || tries.Load() != 3 {
		t.Errorf("sent %d, good %d, tries %d; want 1, 1, 3", c.Sent, c.Good, tries.Load())
	}
	if c.P50 < 300 {
		t.Errorf("latency %.0f ms does not count from the first start", c.P50)
	}
	if len(shop.keys) != 1 {
		t.Errorf("%d idempotency keys, want one", len(shop.keys))
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
	shop := newFakeShop(t, func(w http.ResponseWriter, r *http.Request) bool {
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
	shop := newFakeShop(t, func(_ http.ResponseWriter, r *http.Request) bool {
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
