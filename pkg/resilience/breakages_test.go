package resilience

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var runBreakages = flag.Bool("breakages", false, "break each defence on purpose and see that a test turns red: a minute or two")

// breakages are lines that hold a defence up: what becomes of the package when one is broken, and the tests that must
// see it.
var breakages = []struct {
	defence, file string
	line, broken  string
	red           []string
}{
	{"slots", "slots.go", "if s.inUse >= s.limit {", "if false {", []string{
		"TestB06_RejectionsDoNotReachTheBreaker", "TestB09_NoSlotSpendsNoProbe", "TestB20_FewerSlotsThanInUse"}},
	{"slots", "call.go", "if a.freed.CompareAndSwap(false, true) {", "if true {", []string{"TestB17_TheSlotComesBackOnce"}},
	{"slots", "slots.go", "if len(s.line) >= s.limit {", "if false {", []string{"TestLineForSlots"}},
	{"timeout", "endpoint.go", "a.latest = now.Add(a.limit)", "_ = now", []string{
		"TestB02_AttemptTimeoutCounts", "TestB07_DrippingBodyTimesOut"}},
	{"timeout", "lazy.go", "l.inner, l.cancel = context.WithDeadline(l.caller, l.latest)",
		"l.inner, l.cancel = context.WithCancel(l.caller)", []string{"TestB02_AttemptTimeoutCounts"}},
	{"breaker", "breaker.go", "t.breaker != b || t.generation != b.generation", "t.breaker != b", []string{
		"TestResultsOfCallsBegunBefore"}},
	{"breaker", "breaker.go", "b.window.clear()\n\tb.flight.forget()", "b.window.clear()", []string{
		"TestHungCallsOfBeforeDoNotReopen"}},
	{"breaker", "endpoint.go", "a.stopProbe = context.AfterFunc(&a.lazy, a.overdue)", "", []string{
		"TestB08_ProbesThatNeverReport"}},
	{"breaker", "breaker.go", "if !now.Before(b.probesAt) {", "if true {", []string{"TestOneFailedProbeOfTwoOpens"}},
	{"breaker", "breaker.go", "if n := b.flight.slow(now, slowAfter); n > 0 {", "if n := 0; n > 0 {", []string{
		"TestB14_CallsInFlightOpen"}},
	{"breaker", "breaker.go", "case v&permanent != 0:", "case false:", []string{"TestPermanentErrorOpensAtOnce"}},
	{"breaker", "endpoint.go", "if !ok && observing {", "if false {", []string{"TestObservingDecidesAsActing"}},
	{"deadline", "endpoint.go", "latest = latest.Add(-p.Reserve)", "_ = p.Reserve", []string{
		"TestB04_ExpiredOnEntry", "TestB26_DeadlineDecreases"}},
	{"deadline", "deadline.go", "return ctx, min(left, budget)", "return ctx, left", []string{
		"TestB26_DeadlineDecreases", "TestSillyDeadlines"}},
	{"retry", "retry.go", "if !e.dep.budget.spend() {", "if false {", []string{"TestB30_Budget"}},
	{"retry", "retry.go", "if requestFrom(ctx).retried && p.Retry.Budget != Unbudgeted {", "if false {", []string{
		"TestB31_OneLayerRetries"}},
	{"retry", "retry.go", "try >= p.Retry.Attempts || last.final ||", "try >= p.Retry.Attempts ||", []string{
		"TestB27_OnlyWhatMayBeRepeated"}},
	{"fallback", "call.go", "!errors.Is(ctx.Err(), context.Canceled) {", "true {", []string{"TestB36_WhatAFallbackAnswers"}},
	{"fallback", "fallback.go", "case <-timer.C:", "case <-make(chan int):", []string{"TestB36_FallbacksThatDoNotAnswer"}},
	{"walk-away", "call.go", "case <-a.Done():", "case <-make(chan int):", []string{"TestB16_WalkAway"}},
	{"walk-away", "call.go", "a.release() // first: who has the result may need the slot", "", []string{"TestB16_WalkAway"}},
	{"client", "client.go", "a.overdue()\n\t\ta.release()", "a.overdue()", []string{"TestB18_ResponseNeverClosed"}},
	{"client", "client.go", "n, err = n-1, errBodyTooLarge", "n--", []string{"TestMaxBody"}},
	{"admission", "admission.go", "if overloaded && c != Critical {", "if overloaded {", []string{"TestB33_Overload"}},
	{"admission", "admission.go", "if isOver(ctx, time.Now()) {", "if false {", []string{"TestHandedOverTooLate"}},
}

// TestBreakages breaks one line after the other: the package must still build, and each test named must fail. It tells
// nothing unless it is asked to, for it runs as many builds.
func TestBreakages(t *testing.T) {
	if !*runBreakages {
		t.Skip("only with -breakages")
	}
	dir := t.TempDir()
	if red := redWith(t, dir, "", "", named()); len(red) > 0 {
		t.Fatalf("red though nothing is broken: %v", red)
	}
	for i, b := range breakages {
		t.Run(fmt.Sprintf("%s %d", b.defence, i), func(t *testing.T) {
			text, err := os.ReadFile(b.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), b.line); n != 1 {
				t.Fatalf("%s has %d lines %q, want one", b.file, n, b.line)
			}
			red := redWith(t, dir, b.file, strings.Replace(string(text), b.line, b.broken, 1), b.red)
			for _, test := range b.red {
				if !slices.Contains(red, test) {
					t.Errorf("%s without %q: %s stays green", b.file, b.line, test)
				}
			}
		})
	}
}

// named are all tests that see a breakage.
func named() []string {
	var all []string
	for _, b := range breakages {
		all = append(all, b.red...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// redWith runs some tests of the package with one file replaced, and returns those that fail.
func redWith(t *testing.T, dir, file, text string, tests []string) (red []string) {
	t.Helper()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	if file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		overlay.Replace[abs] = filepath.Join(dir, file)
		if err := os.WriteFile(overlay.Replace[abs], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "broken.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", list, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not build, which proves nothing: %v\n%s", err, out)
	}
	for _, test := range tests { // each alone: a panic or a deadlock in one must not speak for the others
		run := exec.CommandContext(t.Context(), binary, "-test.timeout", "20s", "-test.run", "^"+test+"$")
		if run.Run() != nil {
			red = append(red, test)
		}
	}
	return red
}

// docs/cases.md tells the same list, where the package still lives beside it.
func TestCasesTellTheBreakages(t *testing.T) {
	cases, err := os.ReadFile("../../docs/cases.md")
	if err != nil {
		t.Skip("copied out: there are no cases to compare with")
	}
	for _, b := range breakages {
		code := func(s string) string { return "`" + strings.Join(strings.Fields(s), " ") + "`" }
		row := fmt.Sprintf("| %s | `%s` | %s | %s |", b.defence, b.file, strings.ReplaceAll(code(b.line), "|", `\|`), "`"+strings.Join(b.red, "`, `")+"`")
		if !strings.Contains(string(cases), row) {
			t.Errorf("docs/cases.md lacks\n%s", row)
		}
	}
}
