package loadtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// barGood wants a share of those who came in a phase to be served well.
func (p *act) barGood(b Bar) []BarResult {
	c, called := p.served(b)
	if b.Real {
		called += ", by no fallback"
		c.Good -= c.Fallback
	}
	return []BarResult{{
		Name: b.where() + ": good, " + called,
		Want: "at least " + percent(float64(b.AtLeast)), Got: percent(c.goodRatio()) + c.missed(),
		Pass: c.Asked > 0 && c.goodRatio() >= float64(b.AtLeast),
	}}
}

// served is what became of the people that a bar is about, and how they are called.
func (p *act) served(b Bar) (Counts, string) {
	classes, called := p.classesOf(b.Classes)
	ph := p.played(b.Phase)
	return p.tally.window(classes, ph.from+time.Duration(b.After), ph.to), called
}

func (b Bar) where() string {
	if b.After > 0 {
		return fmt.Sprintf("%s, after %s", b.Phase, b.After)
	}
	return b.Phase
}

// barDown wants hardly any of those who came in a phase to be served well.
func (p *act) barDown(b Bar) []BarResult {
	c, called := p.served(b)
	return []BarResult{{
		Name: b.where() + ": good, " + called,
		Want: "at most " + percent(float64(b.AtMost)), Got: percent(c.goodRatio()),
		Pass: c.Asked > 0 && c.goodRatio() <= float64(b.AtMost),
	}}
}

// barErrors wants hardly any request to be answered by an error: what an alert on the error rate would see, of everybody
// and each of their tries.
func (p *act) barErrors(b Bar) []BarResult {
	c, called := p.served(b)
	share := 0.0
	if c.Tries > 0 {
		share = float64(c.Errors) / float64(c.Tries)
	}
	return []BarResult{{
		Name: b.where() + ": error answers, " + called,
		Want: "at most " + percent(float64(b.AtMost)), Got: fmt.Sprintf("%s of %d requests", percent(share), c.Tries),
		Pass: c.Tries > 0 && share <= float64(b.AtMost),
	}}
}

// barRefused wants those who are not served well to be told so, and soon: with a 503, and the p99 of all
// of them together in time.
func (p *act) barRefused(b Bar) []BarResult {
	c, called := p.served(b)
	ph := p.played(b.Phase)
	share := 1.0
	if bad := c.Asked - c.Good; bad > 0 {
		share = float64(c.Refused) / float64(bad)
	}
	classes, _ := p.classesOf(b.Classes)
	_, p99 := p.tally.seconds(ph.from+time.Duration(b.After), ph.to, classes...)
	return []BarResult{{
		Name: b.where() + ": turned away, " + called,
		Want: fmt.Sprintf("at least %s of those not served, p99 within %s", percent(float64(b.AtLeast)), b.Within),
		Got:  fmt.Sprintf("%s of %d, p99 %.0f ms%s", percent(share), c.Asked-c.Good, p99, c.missed()),
		Pass: c.Refused > 0 && share >= float64(b.AtLeast) && p99 <= float64(time.Duration(b.Within).Milliseconds()),
	}}
}

// barGoodput wants as many people a second to be served well as in the phase that served the most.
func (p *act) barGoodput(b Bar) []BarResult {
	classes, called := p.classesOf(nil)
	rate := func(ph *playedPhase) float64 {
		return float64(p.tally.window(classes, ph.from, ph.to).Good) / (ph.to - ph.from).Seconds()
	}
	peak, where := 0.0, ""
	for i := range p.phases {
		if r := rate(&p.phases[i]); r > peak {
			peak, where = r, p.phases[i].Name
		}
	}
	got := rate(p.played(b.Phase))
	return []BarResult{{
		Name: b.where() + ": goodput, " + called,
		Want: fmt.Sprintf("at least %s of the peak, %.1f/s in %s", percent(float64(b.AtLeast)), peak, where),
		Got:  fmt.Sprintf("%.1f/s", got), Pass: peak > 0 && got >= float64(b.AtLeast)*peak,
	}}
}

// missed tells what became of those who were not served well.
func (c Counts) missed() string {
	var parts []string
	for _, m := range []struct {
		n    int
		what string
	}{
		{c.Late, "late"}, {c.Wrong, "wrong"}, {c.Refused, "refused"}, {c.Failed, "failed"}, {c.GaveUp, "gave up"},
		{c.Asked - c.Sent, "not sent"},
	} {
		if m.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.what))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf(" (of %d: %s)", c.Asked, strings.Join(parts, ", "))
}

// barFallback wants a share of the good answers of a phase to be by a fallback: the fault was felt, and the shop
// answered all the same.
func (p *act) barFallback(b Bar) []BarResult {
	c, called := p.served(b)
	share := 0.0
	if c.Good > 0 {
		share = float64(c.Fallback) / float64(c.Good)
	}
	return []BarResult{{
		Name: fmt.Sprintf("%s: answered by a fallback, %s", b.where(), called),
		Want: "at least " + percent(float64(b.AtLeast)), Got: percent(share), Pass: share >= float64(b.AtLeast),
	}}
}

// barBack wants a phase to serve a share of its people well from some instant on, soon after the phase's beginning
// and to its end. The windows are whole seconds, so that a single slow answer does not undo a recovery.
func (p *act) barBack(b Bar) []BarResult {
	classes, called := p.classesOf(b.Classes)
	if b.Real {
		called += ", by no fallback"
	}
	ph := p.played(b.Phase)
	began := p.since(ph.changed)
	back, ok := p.tally.backSince(classes, began, ph.to, float64(b.AtLeast), b.Real)
	r := BarResult{
		Name: fmt.Sprintf("%s: good again, %s", b.Phase, called),
		Want: fmt.Sprintf("at least %s within %s", percent(float64(b.AtLeast)), b.Within),
		Got:  "not within " + inSeconds(ph.to-began),
	}
	if ok {
		r.Got, r.Pass = "after "+inSeconds(back), back <= time.Duration(b.Within)
	}
	return []BarResult{r}
}

// backSince tells how long after from everything is well again: the start of the first second from which on every
// second up to `to` is good for at least a share.
func (t *tally) backSince(classes []int, from, to time.Duration, share float64, real bool) (time.Duration, bool) {
	back, ok := time.Duration(0), false
	for second := to - time.Second; second > from-time.Second; second -= time.Second {
		begin := max(second, from)
		c := t.window(classes, begin, second+time.Second)
		if real {
			c.Good -= c.Fallback
		}
		if c.Asked == 0 && begin == second || c.goodRatio() < share {
			break
		}
		back, ok = begin-from, true
	}
	return back, ok
}

// barP99 wants the latency of some classes not to have grown.
func (p *act) barP99(b Bar) []BarResult {
	var results []BarResult
	for _, name := range b.Classes {
		class := slices.Index(p.sender.names, name)
		before := p.tally.quantile(class, p.indexOf(b.Against), 99)
		now := p.tally.quantile(class, p.indexOf(b.Phase), 99)
		most := max(b.Factor*before, before+float64(time.Duration(b.Plus))/float64(time.Millisecond))
		results = append(results, BarResult{
			Name: fmt.Sprintf("%s: p99 of %s", b.Phase, name),
			Want: fmt.Sprintf("at most %.1f ms (%s: %.1f ms)", most, b.Against, before),
			Got:  fmt.Sprintf("%.1f ms", now), Pass: before > 0 && now <= most,
		})
	}
	return results
}
