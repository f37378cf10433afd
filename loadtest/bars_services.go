package loadtest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// saturated tells how long after the fault all workers of a service were in use, as the service itself noted.
func (p *act) saturated(service string) (time.Duration, bool) {
	return p.saturatedIn(service, phaseFault)
}

// saturatedIn tells the same of another phase, from its beginning.
func (p *act) saturatedIn(service, phase string) (time.Duration, bool) {
	i := p.indexOf(phase)
	if i < 0 {
		return 0, false
	}
	ph := &p.phases[i]
	note := func(s State) (time.Duration, bool) {
		if s.Workers.SaturatedAt == nil || s.Workers.SaturatedAt.Before(ph.began) {
			return 0, false
		}
		return max(s.Workers.SaturatedAt.Sub(ph.changed), 0), true
	}
	if s, ok := ph.after[service]; ok {
		return note(s)
	}
	// It did not answer at the end of the phase, but perhaps before.
	for _, s := range slices.Backward(living(p.watch.between(service, ph.changed, p.tally.start.Add(ph.to)))) {
		if t, ok := note(s.state); ok {
			return t, true
		}
	}
	return 0, false
}

// saturations are those of all services that saturated, in seconds.
func (p *act) saturations() map[string]float64 {
	all := map[string]float64{}
	for _, service := range Services {
		if t, ok := p.saturated(service); ok {
			all[service] = t.Seconds()
		}
	}
	return all
}

// barSaturates wants services to saturate in the order given, each when it was predicted to.
func (p *act) barSaturates(b Bar) []BarResult {
	measured := map[string]float64{}
	for _, service := range b.Services {
		if t, ok := p.saturatedIn(service, cmp.Or(b.Phase, phaseFault)); ok {
			measured[service] = t.Seconds()
		}
	}
	order := slices.SortedFunc(maps.Keys(measured), func(a, b string) int { return cmp.Compare(measured[a], measured[b]) })
	where := ""
	if b.Phase != "" {
		where = b.Phase + ": "
	}
	results := []BarResult{{
		Name: where + "order of saturation", Want: strings.Join(b.Services, " < "), Got: strings.Join(order, " < "),
		Pass: slices.Equal(order, b.Services),
	}}
	for _, service := range b.Services {
		r := BarResult{Name: where + "saturation of " + service, Want: "as predicted", Got: "it did not saturate"}
		want, predicted := p.predicted[service]
		switch {
		case !predicted:
			r.Want = "a prediction, and there is none"
		case want == predict.Never:
			r.Want = "never, says the prediction"
		default:
			r.Want = fmt.Sprintf("%.2f s ± %s", want.Seconds(), percent(float64(b.Near)))
		}
		if got, ok := measured[service]; ok {
			r.Got = fmt.Sprintf("%.2f s", got)
			r.Pass = predicted && want != predict.Never &&
				math.Abs(got-want.Seconds()) <= float64(b.Near)*want.Seconds()
		}
		results = append(results, r)
	}
	return results
}

// afterSaturation is the window in which a saturated service can serve nobody: a second after its last worker was
// taken, to as long before the fault's end as an answer may take.
func (p *act) afterSaturation(service string, inTime time.Duration) (from, to time.Duration, ok bool) {
	t, ok := p.saturated(service)
	if !ok {
		return 0, 0, false
	}
	ph := p.played(phaseFault)
	from, to = p.since(ph.changed)+t+time.Second, ph.to-inTime
	return from, to, to-from >= slice
}

// barCollapses wants hardly anybody to be served who needs a saturated service.
func (p *act) barCollapses(b Bar) []BarResult {
	var results []BarResult
	for _, service := range b.Services {
		for i, name := range p.sender.names {
			class := p.scenario.Classes[name]
			if !slices.Contains(class.Needs, service) {
				continue
			}
			r := BarResult{
				Name: fmt.Sprintf("%s, after the saturation of %s: good", name, service),
				Want: "at most " + percent(float64(b.AtMost)), Got: "no window: it did not saturate in time",
			}
			if from, to, ok := p.afterSaturation(service, time.Duration(class.InTime)); ok {
				c := p.tally.window([]int{i}, from, to)
				r.Got = fmt.Sprintf("%s of %d", percent(c.goodRatio()), c.Asked)
				r.Pass = c.Asked > 0 && c.goodRatio() <= float64(b.AtMost)
			}
			results = append(results, r)
		}
	}
	return results
}

// saturatedSamples are the looks at a service between its saturation and the fault's end.
func (p *act) saturatedSamples(service string) ([]sample, bool) {
	from, to, ok := p.afterSaturation(service, 0)
	if !ok {
		return nil, false
	}
	samples := p.watch.between(service, p.tally.start.Add(from), p.tally.start.Add(to))
	return samples, len(samples) > 0
}

// barFull wants all workers of a service to be in use again soon after the beginning of a phase.
func (p *act) barFull(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: all workers of %s in use", b.Phase, b.Service),
		Want: fmt.Sprintf("within %s", b.Within), Got: "never"}
	if t, ok := p.saturatedIn(b.Service, b.Phase); ok {
		r.Got, r.Pass = fmt.Sprintf("after %.2f s", t.Seconds()), t <= time.Duration(b.Within)
	}
	return []BarResult{r}
}

// barStuck wants workers of a service to be held for good: so many at least, at every look from some time on.
func (p *act) barStuck(b Bar) []BarResult {
	least, _, ok := p.inUse(b)
	r := BarResult{Name: fmt.Sprintf("%s: workers of %s that are stuck", b.where(), b.Service),
		Want: fmt.Sprintf("at least %d", b.Workers), Got: "not known"}
	if ok {
		r.Got, r.Pass = fmt.Sprint(least), least >= b.Workers
	}
	return []BarResult{r}
}

// barFree wants workers of a service to be free again: no more in use, at any look from some time on.
func (p *act) barFree(b Bar) []BarResult {
	_, most, ok := p.inUse(b)
	r := BarResult{Name: fmt.Sprintf("%s: workers of %s in use", b.where(), b.Service),
		Want: fmt.Sprintf("at most %d", b.Workers), Got: "not known"}
	if ok {
		r.Got, r.Pass = fmt.Sprint(most), most <= b.Workers
	}
	return []BarResult{r}
}

// inUse tells the fewest and the most workers that were seen in use.
func (p *act) inUse(b Bar) (least, most int, ok bool) {
	ph := p.played(b.Phase)
	from := p.tally.start.Add(ph.from + time.Duration(b.After))
	least = math.MaxInt
	for _, s := range living(p.watch.between(b.Service, from, p.tally.start.Add(ph.to))) {
		least, most, ok = min(least, s.state.Workers.InUse), max(most, s.state.Workers.InUse), true
	}
	return least, most, ok
}

// barRestarts wants the services that a phase restarts to be ready soon, whatever their dependencies do.
func (p *act) barRestarts(b Bar) []BarResult {
	ph := p.played(b.Phase)
	took := ph.changed.Sub(ph.began)
	return []BarResult{{
		Name: fmt.Sprintf("%s: %s restarted", b.Phase, strings.Join(ph.Restart, ", ")),
		Want: fmt.Sprintf("ready within %s", b.Within), Got: "after " + inSeconds(took),
		Pass: len(ph.Restart) > 0 && took <= time.Duration(b.Within),
	}}
}

// barUnready wants a saturated service to fail every readiness probe.
func (p *act) barUnready(b Bar) []BarResult {
	r := BarResult{Name: b.Service + ": readiness probes answered after its saturation", Want: "none",
		Got: "it did not saturate in time"}
	if samples, ok := p.saturatedSamples(b.Service); ok {
		answered := 0
		for _, s := range samples {
			if !s.failed {
				answered++
			}
		}
		r.Got, r.Pass = fmt.Sprintf("%d of %d", answered, len(samples)), answered == 0
	}
	return []BarResult{r}
}

// barIdle wants some of the machine's processors to be idle when a service is saturated: it is not they that have run out.
// It is not judged where the machine does not tell.
func (p *act) barIdle(b Bar) []BarResult {
	r := BarResult{Name: b.Service + ": idle share of the machine after its saturation",
		Want: "at least " + percent(float64(b.AtLeast)), Got: "it did not saturate in time"}
	if from, to, ok := p.afterSaturation(b.Service, 0); ok {
		idle, known := p.idle(from, to)
		if !known {
			return nil
		}
		r.Got, r.Pass = percent(idle), idle >= float64(b.AtLeast)
	}
	return []BarResult{r}
}

// idle is the idle share of the machine's processors.
func (p *act) idle(from, to time.Duration) (share float64, known bool) {
	var sum machine
	for _, m := range p.watch.machinesBetween(p.tally.start.Add(from), p.tally.start.Add(to)) {
		if m.known {
			sum.idle += m.idle
			sum.total += m.total
		}
	}
	return sum.idle / max(sum.total, 1e-9), sum.total > 0
}

// barWorkers wants a service never to have had more than some workers in use.
func (p *act) barWorkers(b Bar) []BarResult {
	r := BarResult{Name: fmt.Sprintf("%s: workers of %s, high water", b.Phase, b.Service),
		Want: fmt.Sprintf("at most %d", b.Workers), Got: "not known"}
	if s, ok := p.played(b.Phase).after[b.Service]; ok {
		r.Want += fmt.Sprintf(" of %d", s.Workers.Limit)
		r.Got = fmt.Sprint(s.Workers.HighWater)
		r.Pass = s.Workers.HighWater > 0 && s.Workers.HighWater <= b.Workers
	}
	return []BarResult{r}
}

// barProbes wants every readiness probe of a phase to be answered, and soon.
func (p *act) barProbes(b Bar) []BarResult {
	slowest, failures, count := sample{}, 0, 0
	slow := ""
	ph := p.played(b.Phase)
	for _, service := range p.telling(b) {
		for _, s := range p.watch.between(service, p.tally.start.Add(ph.from), p.tally.start.Add(ph.to)) {
			count++
			if s.failed {
				failures++
			}
			if s.probe > slowest.probe {
				slowest, slow = s, service
			}
		}
	}
	r := BarResult{Name: b.Phase + ": readiness probes", Want: fmt.Sprintf("all answered, each within %s", b.Within),
		Got:  fmt.Sprintf("%d of %d failed, slowest %.1f ms", failures, count, 1000*slowest.probe.Seconds()),
		Pass: count > 0 && failures == 0 && slowest.probe <= time.Duration(b.Within)}
	if slow != "" {
		r.Got += " (" + slow + ")"
	}
	return []BarResult{r}
}

// keptOrder is what an order that is kept in memory may take, in bytes: with its key some 700, and the maps that hold it
// double. It is what the shop is there for, and no leak.
const keptOrder = 2 << 10

// takes are what a process takes that can grow. The busiest moment of a phase leaves something behind for each request that
// was under way: a connection in and one out stay open while idle, each watched by two goroutines.
var takes = []struct {
	name   string
	of     func(State) float64
	left   float64 // by each request of the busiest moment
	memory bool    // in bytes, and known once any was collected
}{
	{"goroutines", func(s State) float64 { return float64(s.Process.Goroutines) }, 4, false},
	{"descriptors", func(s State) float64 { return float64(s.Process.FDs) }, 2, false},
	{"memory", func(s State) float64 { return float64(s.Process.RSSBytes) }, 0, true},
	{"heap", liveHeap, 0, true},
}

func liveHeap(s State) float64 { return float64(s.Process.HeapBytes) }

// barFlat wants what each service takes not to grow: the median of the last window of a phase against that of the first,
// which begins some time after the phase does. Orders that were kept meanwhile are allowed for, and connections that the
// busiest moment has left open. The memory of a process that has not collected any yet says nothing.
func (p *act) barFlat(b Bar) []BarResult {
	ph := p.played(b.Phase)
	begin, end := p.tally.start.Add(ph.from+time.Duration(b.After)), p.tally.start.Add(ph.to)
	window := time.Duration(b.Window)
	var results []BarResult
	for _, service := range p.telling(b) {
		then := living(p.watch.between(service, begin, begin.Add(window)))
		now := living(p.watch.between(service, end.Add(-window), end))
		r := BarResult{Name: fmt.Sprintf("%s: %s stays flat", b.where(), service),
			Want: fmt.Sprintf("the last %s at most %.2f × the first", b.Window, b.Factor), Got: "not known",
			Pass: len(then) > 0 && len(now) > 0}
		if r.Pass {
			kept := 0.0
			if service == "checkout" {
				kept = keptOrder * float64(p.accepted(begin.Add(window/2), end.Add(-window/2)))
			}
			busiest := float64(ph.after[service].Workers.HighWater)
			collected := median(then, liveHeap) > 0 && median(now, liveHeap) > 0
			var parts []string
			for _, k := range takes {
				x, y, allowed := median(then, k.of), median(now, k.of), k.left*busiest
				switch {
				case k.memory && !collected:
					continue
				case k.memory:
					allowed = kept
					parts = append(parts, fmt.Sprintf("%s %.1f → %.1f MB", k.name, x/1e6, y/1e6))
				default:
					parts = append(parts, fmt.Sprintf("%s %.0f → %.0f", k.name, x, y))
				}
				r.Pass = r.Pass && x > 0 && y <= b.Factor*x+allowed
			}
			r.Got = strings.Join(parts, ", ")
		}
		results = append(results, r)
	}
	return results
}

func median(samples []sample, of func(State) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s.state)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// barLetGo wants a request that a fault held to be answered at once when the fault is cleared.
func (p *act) barLetGo(b Bar) []BarResult {
	if p.outside != nil {
		return nil // what is frozen lets go when it thaws: nothing of the shop's to judge
	}
	r := BarResult{Name: fmt.Sprintf("%s: what %s held is let go", b.Phase, b.Service),
		Want: fmt.Sprintf("within %s of the clearing", b.Within), Got: "nothing was sent"}
	if c := p.canaries[b.Phase]; c != nil {
		cleared := p.played(b.Phase).began
		switch after := c.answered.Sub(cleared); {
		case c.err != nil:
			r.Got = c.err.Error()
		case after < 0:
			r.Got = "it was not held: answered " + inSeconds(-after) + " before"
		default:
			r.Got, r.Pass = fmt.Sprintf("after %.0f ms", 1000*after.Seconds()), after <= time.Duration(b.Within)
		}
	}
	return []BarResult{r}
}
