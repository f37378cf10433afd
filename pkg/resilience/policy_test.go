package resilience

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// valid is a policy with everything set.
func valid() Policy {
	return Policy{
		Criticality: Sheddable, Timeout: 250 * time.Millisecond, ConnectTimeout: 50 * time.Millisecond, Slots: 20,
		SlotWait: 10 * time.Millisecond, SlowAfter: 200 * time.Millisecond, Reserve: 50 * time.Millisecond, MaxBody: 1 << 20,
		Retry: Retry{Attempts: 2, Budget: 0.1, Backoff: 50 * time.Millisecond, MaxBackoff: 100 * time.Millisecond},
		Breaker: Breaker{
			TimeoutRate: 0.5, FailureRate: 0.5, MinRequests: 20, Consecutive: 5, Window: 10 * time.Second,
			Cooldown: 5 * time.Second, Probes: 2,
		},
		ProbeTimeout: 100 * time.Millisecond, WalkAway: true,
	}
}

// Each rule, broken alone: the error names the dependency, the field, the value and the rule.
func TestPolicyRules(t *testing.T) {
	cases := map[string]struct {
		breaks func(*Policy)
		want   string // "" : it is allowed
	}{
		"valid":                         {func(*Policy) {}, ""},
		"the least":                     {func(p *Policy) { *p = Policy{Timeout: 1, Slots: 1} }, ""},
		"no limits":                     {func(p *Policy) { *p = Policy{Timeout: Unbounded, Slots: Unlimited} }, ""},
		"no timeout":                    {func(p *Policy) { p.Timeout = 0 }, "Timeout is 0s: must be positive; write Unbounded if you mean infinity"},
		"negative timeout":              {func(p *Policy) { p.Timeout = -1 }, "Timeout is -1ns: must be positive"},
		"criticality":                   {func(p *Policy) { p.Criticality = 3 }, "Criticality is 3: must be Critical, Default or Sheddable"},
		"negative connect timeout":      {func(p *Policy) { p.ConnectTimeout = -1 }, "ConnectTimeout is -1ns: must not be negative"},
		"connect longer than all":       {func(p *Policy) { p.ConnectTimeout = time.Second }, "ConnectTimeout is 1s: must not exceed Timeout (250ms)"},
		"no slots":                      {func(p *Policy) { p.Slots = 0 }, "Slots is 0: must be at least 1; write Unlimited if you mean no limit"},
		"negative slots":                {func(p *Policy) { p.Slots = -1 }, "Slots is -1: must be at least 1"},
		"negative slot wait":            {func(p *Policy) { p.SlotWait = -1 }, "SlotWait is -1ns: must not be negative"},
		"negative slow":                 {func(p *Policy) { p.SlowAfter = -1 }, "SlowAfter is -1ns: must not be negative"},
		"slow after the end":            {func(p *Policy) { p.SlowAfter = time.Second }, "SlowAfter is 1s: must not exceed Timeout (250ms)"},
		"negative reserve":              {func(p *Policy) { p.Reserve = -1 }, "Reserve is -1ns: must not be negative"},
		"negative body":                 {func(p *Policy) { p.MaxBody = -1 }, "MaxBody is -1: must not be negative"},
		"negative probe":                {func(p *Policy) { p.ProbeTimeout = -1 }, "ProbeTimeout is -1ns: must not be negative"},
		"probe longer than all":         {func(p *Policy) { p.ProbeTimeout = time.Second }, "ProbeTimeout is 1s: must not exceed Timeout (250ms)"},
		"endless probe":                 {func(p *Policy) { p.Timeout, p.ProbeTimeout = Unbounded, Unbounded }, "ProbeTimeout is 2562047h47m16.854775807s: must not be Unbounded: a breaker waits for its probe"},
		"endless, the probe not":        {func(p *Policy) { p.Timeout, p.ProbeTimeout = Unbounded, 0 }, ""},
		"negative attempts":             {func(p *Policy) { p.Retry.Attempts = -1 }, "Retry.Attempts is -1: must not be negative"},
		"no budget":                     {func(p *Policy) { p.Retry.Budget = 0 }, "Retry.Budget is 0: must be given with Attempts above 1"},
		"unbudgeted":                    {func(p *Policy) { p.Retry.Budget = Unbudgeted }, ""},
		"negative budget":               {func(p *Policy) { p.Retry.Budget = -0.1 }, "Retry.Budget is -0.1: must be in 0..1"},
		"budget above one":              {func(p *Policy) { p.Retry.Budget = 10 }, "Retry.Budget is 10: must be in 0..1"},
		"budget not a number":           {func(p *Policy) { p.Retry.Budget = math.NaN() }, "Retry.Budget is NaN: must be in 0..1"},
		"negative back-off":             {func(p *Policy) { p.Retry.Backoff = -1 }, "Retry.Backoff is -1ns: must not be negative"},
		"cap below the back-off":        {func(p *Policy) { p.Retry.MaxBackoff = 1 }, "Retry.MaxBackoff is 1ns: must be 0 or at least Backoff (50ms)"},
		"negative cap":                  {func(p *Policy) { p.Retry.MaxBackoff = -1 }, "Retry.MaxBackoff is -1ns: must be 0 or at least Backoff (50ms)"},
		"timeout rate above one":        {func(p *Policy) { p.Breaker.TimeoutRate = 1.1 }, "Breaker.TimeoutRate is 1.1: must be in 0..1"},
		"negative timeout rate":         {func(p *Policy) { p.Breaker.TimeoutRate = -1 }, "Breaker.TimeoutRate is -1: must be in 0..1"},
		"timeout rate not a number":     {func(p *Policy) { p.Breaker.TimeoutRate = math.NaN() }, "Breaker.TimeoutRate is NaN: must be in 0..1"},
		"failure rate above one":        {func(p *Policy) { p.Breaker.FailureRate = math.Inf(1) }, "Breaker.FailureRate is +Inf: must be in 0..1"},
		"one hiccup would open":         {func(p *Policy) { p.Breaker.TimeoutRate = 0.05 }, "Breaker.TimeoutRate is 0.05: times MinRequests (20) must be at least 2: one hiccup must not open a breaker"},
		"one failure would open":        {func(p *Policy) { p.Breaker.FailureRate = 0.05 }, "Breaker.FailureRate is 0.05: times MinRequests (20) must be at least 2"},
		"two are enough":                {func(p *Policy) { p.Breaker.TimeoutRate = 0.1 }, ""},
		"no minimum":                    {func(p *Policy) { p.Breaker.MinRequests, p.Breaker.TimeoutRate = 0, 0 }, "Breaker.FailureRate is 0.5: times MinRequests (0) must be at least 2"},
		"negative minimum":              {func(p *Policy) { p.Breaker = Breaker{Consecutive: 2, MinRequests: -1, Window: time.Hour, Cooldown: 1} }, "Breaker.MinRequests is -1: must not be negative"},
		"no rule":                       {func(p *Policy) { p.Breaker = Breaker{Window: time.Hour, Cooldown: 1} }, "Breaker is without a rule: needs TimeoutRate, FailureRate or Consecutive"},
		"one in a row":                  {func(p *Policy) { p.Breaker.Consecutive = 1 }, "Breaker.Consecutive is 1: must be 0 or at least 2: one hiccup must not open a breaker"},
		"negative row":                  {func(p *Policy) { p.Breaker.Consecutive = -1 }, "Breaker.Consecutive is -1: must be 0 or at least 2"},
		"slow never":                    {func(p *Policy) { p.Timeout, p.SlowAfter = Unbounded, 0 }, "SlowAfter is 0s: must be given for a breaker where Timeout is Unbounded"},
		"slow never, and no breaker":    {func(p *Policy) { p.Timeout, p.SlowAfter, p.Breaker = Unbounded, 0, Breaker{} }, ""},
		"a window too short":            {func(p *Policy) { p.Breaker.Window = 399 * time.Millisecond }, "Breaker.Window is 399ms: must be at least twice SlowAfter (200ms), or results are dropped unseen"},
		"a window just long enough":     {func(p *Policy) { p.Breaker.Window = 400 * time.Millisecond }, ""},
		"a window shorter than an age":  {func(p *Policy) { p.Timeout, p.SlowAfter = Unbounded, Unbounded-1 }, "Breaker.Window is 10s: must be at least twice SlowAfter"},
		"no cooldown":                   {func(p *Policy) { p.Breaker.Cooldown = 0 }, "Breaker.Cooldown is 0s: must be positive"},
		"a mode that is none":           {func(p *Policy) { p.Breaker.Mode = 4 }, "Breaker.Mode is 4: must be Acting, Observing, ForcedOpen or Disabled"},
		"observing nothing":             {func(p *Policy) { p.Breaker = Breaker{Mode: Observing, Window: time.Hour, Cooldown: 1} }, "Breaker is without a rule"},
		"forced open without rules":     {func(p *Policy) { p.Breaker = Breaker{Mode: ForcedOpen} }, ""},
		"disabled, and its rules wrong": {func(p *Policy) { p.Breaker.Mode, p.Breaker.Cooldown = Disabled, 0 }, "Breaker.Cooldown is 0s: must be positive"},
		"negative probes":               {func(p *Policy) { p.Breaker.Probes = -1 }, "Breaker.Probes is -1: must be in 0..1000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := valid()
			c.breaks(&p)
			d, err := New("recs", p)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && err == nil:
				t.Errorf("allowed, want %q", c.want)
			case c.want != "":
				if want := `dependency "recs": ` + c.want; !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q, want one line that begins %q", err, want)
				}
				if d != nil {
					t.Error("a dependency beside the error")
				}
			}
		})
	}
}

// All broken rules are told at once.
func TestPolicyFaultsAreToldAtOnce(t *testing.T) {
	p := Policy{
		Criticality: 9, Timeout: -1, ConnectTimeout: -1, Slots: -1, SlotWait: -1, SlowAfter: -1, Reserve: -1, MaxBody: -1,
		ProbeTimeout: -1, Retry: Retry{Attempts: -1, Budget: -1, Backoff: -1, MaxBackoff: -2},
		Breaker: Breaker{TimeoutRate: -1, FailureRate: -1, MinRequests: -1, Consecutive: -1, Window: -1, Cooldown: -1, Probes: -1, Mode: 9},
	}
	_, err := New("", p)
	if err == nil {
		t.Fatal("allowed")
	}
	for _, field := range append(fields("", reflect.TypeFor[Policy]()), "name") {
		switch field {
		case "Retry", "Breaker", "WalkAway", "NoFallback", "Transport":
			continue
		}
		if !strings.Contains(err.Error(), `dependency "": `+field+" is ") {
			t.Errorf("%s is not told", field)
		}
	}
}

// fields lists the names of a struct's fields, and of those in its fields.
func fields(prefix string, t reflect.Type) (names []string) {
	for f := range t.Fields() {
		names = append(names, prefix+f.Name)
		if f.Type.Kind() == reflect.Struct {
			names = append(names, fields(f.Name+".", f.Type)...)
		}
	}
	return names
}

// An invalid policy changes nothing.
func TestApplyInvalid(t *testing.T) {
	d, err := New("dep", valid())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Apply(Policy{Timeout: -1}); err == nil {
		t.Error("applied")
	}
	if got := d.Policy(); got != valid() {
		t.Errorf("policy is now %+v", got)
	}
	if got := d.Snapshot().Slots; got != 20 {
		t.Errorf("%d slots", got)
	}
}

// Zero values mean what their comments say.
func TestPolicyDefaults(t *testing.T) {
	bounded := Policy{Timeout: 250 * time.Millisecond}
	unbounded := Policy{Timeout: Unbounded}
	for name, c := range map[string]struct{ got, want any }{
		"slow after the timeout":     {bounded.slowAfter(), 250 * time.Millisecond},
		"connect within the timeout": {bounded.connectTimeout(), 250 * time.Millisecond},
		"a probe as any attempt":     {bounded.probeTimeout(), 250 * time.Millisecond},
		"connect where unbounded":    {unbounded.connectTimeout(), 30 * time.Second},
		"a probe where unbounded":    {unbounded.probeTimeout(), time.Second},
		"a mebibyte of body":         {bounded.maxBody(), int64(1 << 20)},
		"a dependency is default":    {bounded.Criticality, Default},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
