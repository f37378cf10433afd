package loadtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// formula is one way to predict: the fields that it must be given, the forecast that it makes at the end of the healthy
// phase, and what that is held to. Whatever it cannot measure makes the run void: a prediction that was not made cannot
// have come true.
type formula struct {
	needs, takes []string
	// forecast makes the prediction from what the healthy phase measured.
	forecast func(*act, Prediction) (forecast, error)
	// measure reads in a phase what was predicted. It is nil for saturations, which the services note themselves.
	measure func(*act, Prediction, *playedPhase) (float64, error)
	unit    string
}

// forecast is a prediction that was made: saturations by service, or one value.
type forecast struct {
	saturations map[string]time.Duration
	value       float64
	from        string // its inputs, for a person
}

var formulas = map[string]formula{
	"cascade": {needs: []string{"hops"}, takes: []string{"share"}, forecast: (*act).forecastCascade},
	"pool":    {needs: []string{"service", "dependency", "needing"}, forecast: (*act).forecastPool},
	"throughput": {
		needs: []string{"service", "dependency", "takes"}, forecast: (*act).forecastThroughput,
		measure: (*act).measureThroughput, unit: "calls/s",
	},
	"wanted": {
		needs: []string{"service", "dependency", "takes"}, forecast: (*act).forecastWanted,
		measure: (*act).measureWanted, unit: "workers",
	},
	"loss": {
		needs: []string{"service", "dependency", "hold", "class"}, forecast: (*act).forecastLoss,
		measure: (*act).measureLoss, unit: "of those who come",
	},
	"amplification": {
		needs: []string{"service", "dependency", "attempts", "class"}, forecast: (*act).forecastAmplification,
		measure: (*act).measureAmplification, unit: "attempts a person",
	},
	"sustained": {
		needs: []string{"service", "class"}, forecast: (*act).forecastSustained,
		measure: (*act).measureSustained, unit: "requests/s",
	},
	"descriptors": {
		needs: []string{"service", "dependency"}, forecast: (*act).forecastDescriptors,
		measure: (*act).measureDescriptors, unit: "s",
	},
}

// given lists the fields of a prediction that are set.
func (p Prediction) given() []string {
	set := map[string]bool{
		"hops": p.Hops != nil, "service": p.Service != "", "dependency": p.Dependency != "", "needing": p.Needing != nil,
		"takes": p.Takes != 0, "hold": p.Hold != 0, "attempts": p.Attempts != nil, "share": p.Share != 0, "class": p.Class != "",
	}
	maps.DeleteFunc(set, func(_ string, given bool) bool { return !given })
	return slices.Sorted(maps.Keys(set))
}

// predict makes the predictions of the act, at the end of the healthy phase.
func (p *act) predict() {
	p.predicted = map[string]time.Duration{}
	p.values = map[string]float64{}
	for _, prediction := range p.scenario.Predictions {
		if !slices.Contains(p.Predict, prediction.Name) {
			continue
		}
		kind := formulas[prediction.Formula]
		f, err := kind.forecast(p, prediction)
		if err != nil {
			p.void = append(p.void, fmt.Sprintf("the prediction %s was not made: %v", prediction.Name, err))
			continue
		}
		if f.saturations == nil {
			p.values[prediction.Name] = f.value
			p.show.say("%s: predicted: %s %.4g %s (%s)", p.Name, prediction.Name, f.value, kind.unit, f.from)
			continue
		}
		maps.Copy(p.predicted, f.saturations)
		for _, service := range slices.SortedFunc(maps.Keys(f.saturations), func(a, b string) int {
			return int(f.saturations[a] - f.saturations[b])
		}) {
			p.show.say("%s: predicted: %s saturates %s after the fault%s",
				p.Name, service, saying(f.saturations[service]), f.from)
		}
	}
}

func saying(t time.Duration) string {
	if t == predict.Never {
		return "never"
	}
	return fmt.Sprintf("%.2f s", t.Seconds())
}

// load is what a healthy phase told of the calls from a service to some of its dependencies; or, of none, of the requests
// to it.
type load struct {
	workers int     // of the service; 0: no limit
	rate    float64 // calls a second, or requests
	busy    float64 // mean workers in use, without what those calls take of them …
	calls   float64 // … and that
}

// own is how long a request keeps its worker besides the call, where every request makes one.
func (l load) own() time.Duration {
	return time.Duration(l.busy / l.rate * float64(time.Second))
}

// healthy measures a load in the healthy phase. Busy is the mean of the workers in use (the difference of their
// integral, so that nothing is missed between the looks) less what the calls take of it even in health: rate ×
// latency, by Little's law.
func (p *act) healthy(service string, dependencies ...string) (load, error) {
	ph := p.played(phaseHealthy)
	then, ok := ph.before[service]
	now, ok2 := ph.after[service]
	elapsed := now.at.Sub(then.at).Seconds()
	if !ok || !ok2 || elapsed <= 0 {
		return load{}, fmt.Errorf("%s did not tell its state", service)
	}
	l := load{workers: now.Workers.Limit, busy: (now.Workers.BusySeconds - then.Workers.BusySeconds) / elapsed}
	for _, dependency := range dependencies {
		before, _ := then.calls(dependency)
		after, ok := now.calls(dependency)
		if !ok {
			return load{}, fmt.Errorf("%s has no dependency %q", service, dependency)
		}
		rate := float64(after.since(before).ended()) / elapsed
		l.rate += rate
		l.calls += rate * after.P50.Seconds()
	}
	if len(dependencies) == 0 {
		l.rate = float64(now.Workers.Begun-then.Workers.Begun) / elapsed
	}
	if l.rate <= 0 {
		return load{}, fmt.Errorf("%s was asked for nothing, or called none of %v", service, dependencies)
	}
	l.busy = max(l.busy-l.calls, 0)
	return l, nil
}

func (l load) String() string {
	return fmt.Sprintf("%d workers, %.1f busy, %.1f/s held", l.workers, l.busy, l.rate)
}

func (p *act) forecastCascade(of Prediction) (forecast, error) {
	hops := make([]predict.Hop, len(of.Hops))
	for i, h := range of.Hops {
		l, err := p.healthy(h.Service, h.Held...)
		if err != nil {
			return forecast{}, err
		}
		hops[i] = predict.Hop{Service: h.Service, After: h.After, Workers: l.workers, Busy: l.busy, Held: l.rate}
		if of.Share > 0 {
			hops[i].Busy += (1 - float64(of.Share)) * l.calls
			hops[i].Held *= float64(of.Share)
		}
		if h.Early {
			hops[i].Early = hops[0].Held
		}
		p.show.say("%s: measured: %s has %s", p.Name, h.Service, l)
	}
	at, err := predict.Cascade(hops)
	return forecast{saturations: at}, err
}

// forecastPool takes the pool of the shared client from the environment of the act: the shop is not asked for it.
func (p *act) forecastPool(of Prediction) (forecast, error) {
	env := p.scenario.Environment.With(p.Environment)
	text := env[of.Service]["SHARED_CLIENT_POOL"]
	if text == "" {
		text = env["all"]["SHARED_CLIENT_POOL"]
	}
	pool, err := strconv.Atoi(text)
	if err != nil {
		return forecast{}, fmt.Errorf("the environment of %s sets no SHARED_CLIENT_POOL", of.Service)
	}
	held, err := p.healthy(of.Service, of.Dependency)
	if err != nil {
		return forecast{}, err
	}
	needing, err := p.healthy(of.Service, append(slices.Clone(of.Needing), of.Dependency)...)
	if err != nil {
		return forecast{}, err
	}
	at, err := predict.PooledSaturation(pool, held.workers, needing.busy, held.rate, needing.rate)
	return forecast{
		saturations: map[string]time.Duration{of.Service: at},
		from:        fmt.Sprintf(" (pool of %d, %s, %.1f/s need the pool)", pool, held, needing.rate),
	}, err
}

func (p *act) survival(of Prediction) (predict.Survival, string, error) {
	l, err := p.healthy(of.Service, of.Dependency)
	if err != nil {
		return predict.Survival{}, "", err
	}
	s, err := predict.Survive(l.workers, l.rate, l.own(), time.Duration(of.Takes))
	return s, fmt.Sprintf("%.1f/s × (%.0f ms + %s) = %.0f of %d workers",
		l.rate, 1000*l.own().Seconds(), of.Takes, s.Wanted, l.workers), err
}

func (p *act) forecastThroughput(of Prediction) (forecast, error) {
	s, from, err := p.survival(of)
	return forecast{value: s.Throughput, from: from}, err
}

// measureThroughput is the rate at which calls end once the first of the phase have: before, none does.
func (p *act) measureThroughput(of Prediction, ph *playedPhase) (float64, error) {
	return p.rate(of, ph, func(s sample) float64 { return float64(s.calls[of.Dependency].ended()) })
}

// rate is how fast a count of a service grows, from twice as long after the beginning of the phase as a request takes
// and over a whole number of these times: workers that were taken together are free together, and a part of a round says
// nothing. Between two looks the count is taken to grow evenly.
func (p *act) rate(of Prediction, ph *playedPhase, count func(sample) float64) (float64, error) {
	l, err := p.healthy(of.Service, of.Dependency)
	if err != nil {
		return 0, err
	}
	round := l.own() + time.Duration(of.Takes)
	samples := living(p.watch.between(of.Service, ph.changed.Add(2*round), p.tally.start.Add(ph.to)))
	if len(samples) < 2 || samples[len(samples)-1].at.Sub(samples[0].at) < round {
		return 0, fmt.Errorf("%s was not seen for long enough in %s", of.Service, ph.Name)
	}
	first := samples[0]
	seen := samples[len(samples)-1].at.Sub(first.at)
	end := first.at.Add(seen / round * round)
	i := max(1, slices.IndexFunc(samples, func(s sample) bool { return !s.at.Before(end) }))
	a, b := samples[i-1], samples[i]
	part := end.Sub(a.at).Seconds() / b.at.Sub(a.at).Seconds()
	last := count(a) + part*(count(b)-count(a))
	return (last - count(first)) / end.Sub(first.at).Seconds(), nil
}

func (p *act) forecastWanted(of Prediction) (forecast, error) {
	s, from, err := p.survival(of)
	return forecast{value: s.Wanted, from: from}, err
}

// measureWanted is the mean of the workers in use: how fast their integral grows.
func (p *act) measureWanted(of Prediction, ph *playedPhase) (float64, error) {
	return p.rate(of, ph, func(s sample) float64 { return s.state.Workers.BusySeconds })
}

func (p *act) forecastLoss(of Prediction) (forecast, error) {
	l, err := p.healthy(of.Service, of.Dependency)
	if err != nil {
		return forecast{}, err
	}
	// A call takes what it took in health and the hold besides.
	takes := time.Duration(l.calls/l.rate*float64(time.Second)) + time.Duration(of.Hold)
	offered, err := predict.InFlight(float64(p.scenario.Classes[of.Class].Rate), l.own()+takes)
	if err != nil {
		return forecast{}, err
	}
	erlang, err := predict.ErlangB(offered, l.workers)
	if err != nil {
		return forecast{}, err
	}
	little, err := predict.LittleLoss(offered, l.workers)
	return forecast{value: erlang, from: fmt.Sprintf("Erlang-B, %.0f erlang on %d workers; by Little alone %.4f",
		offered, l.workers, little)}, err
}

// measureLoss is the share of those turned away once the pool has filled as far as it will.
func (p *act) measureLoss(of Prediction, ph *playedPhase) (float64, error) {
	classes, _ := p.classesOf(nil)
	filled := 2 * time.Duration(of.Hold)
	c := p.tally.window(classes, ph.from+filled, ph.to)
	if c.Asked == 0 {
		return 0, fmt.Errorf("nobody came in %s after the first %s", ph.Name, filled)
	}
	return float64(c.Refused) / float64(c.Asked), nil
}

func (p *act) forecastAmplification(of Prediction) (forecast, error) {
	n, err := predict.Amplification(1, of.Attempts...)
	return forecast{value: n, from: fmt.Sprintf("loops of %v attempts, all of which fail", of.Attempts)}, err
}

// measureAmplification is how many attempts the dependency heard of for each person of the class who came: what people
// want of it, by the sender's count, against what the service makes of that.
func (p *act) measureAmplification(of Prediction, ph *playedPhase) (float64, error) {
	c, err := p.callsIn(of.Service, of.Dependency, ph)
	if err != nil {
		return 0, err
	}
	came := p.tally.window([]int{slices.Index(p.sender.names, of.Class)}, ph.from, ph.to).Sent
	if came == 0 {
		return 0, fmt.Errorf("nobody of %s came in %s", of.Class, ph.Name)
	}
	return float64(c.sent()) / float64(came), nil
}

// callsIn is what became of the calls from a service to a dependency that ended in a phase.
func (p *act) callsIn(service, dependency string, ph *playedPhase) (Calls, error) {
	before, _ := ph.before[service].calls(dependency)
	after, ok := ph.after[service].calls(dependency)
	if !ok {
		return Calls{}, fmt.Errorf("%s did not tell of its dependency %q in %s", service, dependency, ph.Name)
	}
	return after.since(before), nil
}

// forecastSustained is the load of people who are not served and come again until their patience is over.
func (p *act) forecastSustained(of Prediction) (forecast, error) {
	l, err := p.healthy(of.Service)
	if err != nil {
		return forecast{}, err
	}
	class := p.scenario.Classes[of.Class]
	s, err := predict.Sustain(l.workers, float64(class.Rate), l.own(), time.Duration(class.Refresh), time.Duration(class.Patience))
	return forecast{value: s.Load, from: fmt.Sprintf("%d tries each, of %.0f/s that can be served: %s",
		s.Tries, s.Capacity, s.Stability)}, err
}

// measureSustained is the rate at which requests come to a service, counted as those begun and those in line.
func (p *act) measureSustained(of Prediction, ph *playedPhase) (float64, error) {
	samples := living(p.watch.between(of.Service, ph.changed, p.tally.start.Add(ph.to)))
	if len(samples) < 2 {
		return 0, fmt.Errorf("%s was not seen for long enough in %s", of.Service, ph.Name)
	}
	first, last := samples[0], samples[len(samples)-1]
	came := func(s sample) float64 { return float64(s.state.Workers.Begun) + float64(s.state.Workers.Queue) }
	return (came(last) - came(first)) / last.at.Sub(first.at).Seconds(), nil
}

func (p *act) forecastDescriptors(of Prediction) (forecast, error) {
	l, err := p.healthy(of.Service, of.Dependency)
	if err != nil {
		return forecast{}, err
	}
	limit := p.played(phaseHealthy).after[of.Service].Process.FDsLimit
	at, err := predict.DescriptorDeath(limit, l.rate)
	return forecast{value: at.Seconds(), from: fmt.Sprintf("%d descriptors, two for each of %.1f/s", limit, l.rate)}, err
}

// lastDescriptors is how near to its limit a process is that is out of descriptors: it cannot open what would show it.
const lastDescriptors = 0.98

// measureDescriptors is how long after the fault the service had no descriptor left, or was not seen any more.
func (p *act) measureDescriptors(of Prediction, ph *playedPhase) (float64, error) {
	for _, s := range p.watch.between(of.Service, ph.changed, p.tally.start.Add(ph.to)) {
		open, limit := s.state.Process.FDs, s.state.Process.FDsLimit
		if s.dead || limit > 0 && float64(open) >= lastDescriptors*float64(limit) {
			return s.at.Sub(ph.changed).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("%s had descriptors left until the end of %s", of.Service, ph.Name)
}
