package loadtest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// outside notes what is done to a shop from outside.
type outside struct {
	mu   sync.Mutex
	done []string
	fail map[string]error
}

func (o *outside) do(what string) func(context.Context) error {
	return func(ctx context.Context) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if ctx.Err() != nil {
			what += ", too late"
		}
		o.done = append(o.done, what)
		return o.fail[what]
	}
}

func (o *outside) options() *Outside { return &Outside{Hurt: o.do("hurt"), Heal: o.do("heal")} }

func hurtScenario(t *testing.T, phases string) *Scenario {
	t.Helper()
	s, err := parse("small.yaml", []byte(`
name: small
classes:
  people: {kind: browse, rate: 20/s}
acts:
  - name: act
    defences: all
    phases: `+phases+`
    bars:
      - {bar: probes, phase: fault, within: 1s}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const faultInMidst = `[{name: fault, for: 1200ms, faults: {currency: hold=90s}},
      {name: rescue, for: 100ms, faults: {currency: hold=90s}}, {name: recovery, for: 100ms}]`

// What comes from outside takes the place of the faults, is there as long as they would be, and ends with the act at
// the latest.
func TestOutsideTakesThePlaceOfFaults(t *testing.T) {
	t.Parallel()
	for name, phases := range map[string]string{
		"it ends with the phase": faultInMidst,
		"it ends with the act":   `[{name: healthy, for: 100ms}, {name: fault, for: 1200ms, faults: {currency: hold=90s}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o outside
			shop := newFakeShop(t, func(_ *fakeShop, w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/admin/faults") {
					t.Errorf("a fault was set: %s", r.URL.Path)
				}
				if r.URL.Path == "/admin/currency/readyz" { // hurt, it owes no probe
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				}
				return false
			})
			r := run(t, hurtScenario(t, phases), shop, Options{Outside: o.options()})
			if want := []string{"hurt", "heal"}; !slices.Equal(o.done, want) {
				t.Errorf("done: %v, want %v", o.done, want)
			}
			if b := r.Bars[0]; !b.Pass {
				t.Errorf("%s: %s", b.Name, b.Got)
			}
		})
	}
}

// However a run ends, nothing stays hurt.
func TestOutsideIsAlwaysHealed(t *testing.T) {
	t.Parallel()
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		var o outside
		opts := Options{Outside: o.options(), Open: newFakeShop(t, nil).open}
		hurt := opts.Outside.Hurt
		opts.Outside.Hurt = func(ctx context.Context) error { defer interrupt(); return hurt(ctx) }
		if _, err := Run(ctx, hurtScenario(t, faultInMidst), opts); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		if want := []string{"hurt", "heal"}; !slices.Equal(o.done, want) {
			t.Errorf("done: %v, want %v", o.done, want)
		}
	})
	t.Run("half done", func(t *testing.T) {
		t.Parallel()
		o := outside{fail: map[string]error{"hurt": errors.New("no such container")}}
		opts := Options{Outside: o.options(), Open: newFakeShop(t, nil).open}
		if _, err := Run(t.Context(), hurtScenario(t, faultInMidst), opts); err == nil ||
			!strings.Contains(err.Error(), "no such container") {
			t.Errorf("Run: %v", err)
		}
		if want := []string{"hurt", "heal"}; !slices.Equal(o.done, want) {
			t.Errorf("done: %v, want %v", o.done, want)
		}
	})
}

func TestOutsideNeedsAFault(t *testing.T) {
	t.Parallel()
	var o outside
	_, err := Run(t.Context(), small(t, `{kind: browse, rate: 20/s}`, oneSecond),
		Options{Outside: o.options(), Open: newFakeShop(t, nil).open})
	if !errors.Is(err, ErrCannotRun) || len(o.done) > 0 {
		t.Errorf("Run: %v; done: %v", err, o.done)
	}
}
