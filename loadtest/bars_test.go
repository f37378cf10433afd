package loadtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// played makes an act as if it had been played: healthy for 10 s, a fault for 30 s, a recovery of 10 s; 10 people a
// second in each of two classes; every service looked at twice a second. Whoever asks changes what became of it.
func played(t *testing.T) *act {
	t.Helper()
	s := &Scenario{Name: "x", Classes: map[string]Class{
		"browse": {Kind: Browse, Rate: 10},
		"order":  {Kind: Order, Rate: 10},
	}, Predictions: []Prediction{
		{Name: "p", Formula: "amplification", Service: "catalogue", Dependency: "recommendations", Class: "browse",
			Attempts: []int{4, 4}},
	}}
	s.complete()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &act{Act: &Act{Name: "act"}, scenario: s, canaries: map[string]*canary{},
		watch: &watch{samples: map[string][]sample{}}, predicted: map[string]time.Duration{}}
	from := time.Duration(0)
	for _, ph := range []Phase{
		{Name: "healthy", For: Duration(10 * time.Second)},
		{Name: "fault", For: Duration(30 * time.Second)},
		{Name: "recovery", For: Duration(10 * time.Second)},
	} {
		to := from + time.Duration(ph.For)
		p.phases = append(p.phases, playedPhase{Phase: ph, from: from, to: to,
			began: start.Add(from), changed: start.Add(from), before: map[string]State{}, after: map[string]State{}})
		from = to
	}
	sched := newSchedule(s, testShelf(t), lasting(from), 1)
	p.sender = &sender{schedule: sched}
	p.tally = newTally(s, p.phases, sched, 1)
	p.tally.start = start
	for at := time.Second; at <= from; at += time.Second {
		p.watch.machines = append(p.watch.machines, machineAt{machine{known: true, idle: 0.6, total: 2}, start.Add(at)})
	}
	for i, service := range Services {
		for at := time.Duration(0); at < from; at += watchEvery {
			x := sample{at: start.Add(at), probe: time.Millisecond}
			x.state.Process.Goroutines, x.state.Process.FDs, x.state.Process.RSSBytes = 100, 50, 16<<20
			x.state.Process.HeapBytes = 5 << 20
			x.state.Process.CPUSeconds = 0.2 * at.Seconds()
			p.watch.samples[service] = append(p.watch.samples[service], x)
		}
		var end State
		end.Workers.Limit, end.Workers.HighWater = 200, 10+i
		for _, ph := range p.phases {
			ph.after[service] = end
		}
	}
	return p
}

// visits lets everybody's visit end as told.
func (p *act) visits(end func(class string, at time.Duration) judged) *act {
	for i := range p.sender.hits {
		h := &p.sender.hits[i]
		p.tally.record(h, end(p.sender.names[h.class], h.at), 0, 10*time.Millisecond)
	}
	return p
}

func (p *act) saturate(at map[string]time.Duration) *act {
	ph := p.played("fault")
	for service, t := range at {
		s := ph.after[service]
		s.Workers.SaturatedAt = new(ph.changed.Add(t))
		ph.after[service] = s
	}
	return p
}

func well(string, time.Duration) judged { return judged{} }

const faultAt, recoveryAt = 10 * time.Second, 40 * time.Second

// sorry refuses everybody in [from, to) of the act.
func sorry(from, to time.Duration) func(string, time.Duration) judged {
	return func(_ string, at time.Duration) judged {
		if at >= from && at < to {
			return judged{verdict: refused}
		}
		return judged{}
	}
}

// TestEveryBarCanBeMissed shows each kind of bar a run that clears it and runs that do not.
func TestEveryBarCanBeMissed(t *testing.T) {
	cascade := map[string]time.Duration{"catalogue": 5 * time.Second, "checkout": 10 * time.Second}
	collapsed := func(p *act) {
		p.saturate(cascade).visits(sorry(faultAt+5*time.Second, recoveryAt))
		p.predicted = maps.Clone(cascade)
	}
	change := func(service string, from time.Duration, f func(*sample)) func(*act) {
		return func(p *act) {
			for i := range p.watch.samples[service] {
				if s := &p.watch.samples[service][i]; s.at.Sub(p.tally.start) >= from {
					f(s)
				}
			}
		}
	}
	both := func(fs ...func(*act)) func(*act) {
		return func(p *act) {
			for _, f := range fs {
				f(p)
			}
		}
	}
	// idling is a machine that is idle for a share from the fault's sixth second on, of 30 % before.
	idling := func(share float64) func(*act) {
		return func(p *act) {
			for i := range p.watch.machines {
				if m := &p.watch.machines[i]; m.at.Sub(p.tally.start) > faultAt+5*time.Second {
					m.idle = share * m.total
				}
			}
		}
	}
	visits := func(f func(string, time.Duration) judged) func(*act) { return func(p *act) { p.visits(f) } }

	good := Bar{Kind: "good", Phase: "fault", AtLeast: 0.999}
	fallbackBar := Bar{Kind: "fallback", Phase: "fault", AtLeast: 0.99, Classes: []string{"browse"}}
	back := Bar{Kind: "back", Phase: "recovery", AtLeast: 0.99, Within: Duration(5 * time.Second)}
	really := back
	really.Real = true
	p99 := Bar{Kind: "p99", Phase: "fault", Against: "healthy", Classes: []string{"browse"},
		Factor: 1.5, Plus: Duration(10 * time.Millisecond)}
	saturates := Bar{Kind: "saturates", Services: []string{"catalogue", "checkout"}, Near: 0.1}
	collapses := Bar{Kind: "collapses", Services: []string{"catalogue", "checkout"}, AtMost: 0.05}
	unready := Bar{Kind: "unready", Service: "catalogue"}
	idle := Bar{Kind: "idle", Service: "catalogue", AtLeast: 0.2}
	workers := Bar{Kind: "workers", Phase: "fault", Service: "catalogue", Workers: 50}
	probes := Bar{Kind: "probes", Phase: "fault", Within: Duration(50 * time.Millisecond)}
	flat := Bar{Kind: "flat", Phase: "fault", Window: Duration(10 * time.Second), Factor: 1.1}
	keeping := func(n int) func(*act) { // that many orders are accepted in the middle of the fault
		return func(p *act) {
			p.tally.orders.accepted = map[*hit]acceptedOrder{}
			for range n {
				p.tally.orders.accepted[&hit{at: faultAt + 15*time.Second}] = acceptedOrder{}
			}
		}
	}
	heapOf := func(service string, factor float64) func(*act) {
		return change(service, faultAt+20*time.Second, func(s *sample) {
			s.state.Process.HeapBytes = int64(factor * float64(s.state.Process.HeapBytes))
		})
	}
	letGo := Bar{Kind: "let-go", Phase: "recovery", Service: "recommendations", Path: "/",
		Within: Duration(500 * time.Millisecond)}
	released := func(after time.Duration, err error) func(*act) {
		return func(p *act) {
			p.canaries["recovery"] = &canary{answered: p.played("recovery").began.Add(after), err: err}
		}
	}

	down := Bar{Kind: "down", Phase: "fault", AtMost: 0.05}
	downLater := down
	downLater.After = Duration(5 * time.Second)
	errorsBar := Bar{Kind: "errors", Phase: "fault", AtMost: 0.01}
	refusedBar := Bar{Kind: "refused", Phase: "fault", Classes: []string{"order"}, AtLeast: 0.99, Within: Duration(time.Second)}
	goodput := Bar{Kind: "goodput", Phase: "fault", AtLeast: 0.9}
	meets := Bar{Kind: "meets", Phase: "fault", Prediction: "p", Near: 0.05}
	meetsPoints := meets
	meetsPoints.Points = 1
	booked := Bar{Kind: "booked", Phase: "fault", Dependencies: []string{"currency"}, AtLeast: 0.5}
	unharmed := Bar{Kind: "unharmed", Phase: "fault", Dependencies: []string{"currency"}}
	rejectedBar := Bar{Kind: "rejected", Phase: "fault", Service: "catalogue", Dependency: "recommendations", AtLeast: 0.5}
	opens := Bar{Kind: "opens", Phase: "fault", Service: "catalogue", Dependency: "recommendations",
		Within: Duration(5 * time.Second)}
	amplified := Bar{Kind: "amplified", Phase: "fault", Service: "catalogue", Dependency: "recommendations", Class: "browse",
		Factor: 1.25}
	zombies := Bar{Kind: "zombies", Phase: "fault", Service: "recommendations"}
	mostZombies := zombies
	mostZombies.AtLeast = 0.5
	// told lets the catalogue tell, at the end of the fault, what became of its calls.
	told := func(deps ...DependencyState) func(*act) {
		return func(p *act) {
			s := p.played("fault").after["catalogue"]
			s.Dependencies = deps
			p.played("fault").after["catalogue"] = s
		}
	}
	endpointOf := func(name string, outcomes map[string]int64, retries int64) DependencyState {
		return DependencyState{Name: name, Endpoints: []EndpointState{{Name: "e", Outcomes: outcomes, Retries: retries}}}
	}
	calls := func(sent, unsent, retries int64) func(*act) {
		return told(endpointOf("recommendations", map[string]int64{"failure": sent, "rejected": unsent}, retries))
	}
	timeouts := func(guilty, innocent int64) func(*act) {
		return told(endpointOf("recommendations", map[string]int64{"timeout": guilty}, 0),
			endpointOf("currency", map[string]int64{"timeout": innocent, "success": 10}, 0))
	}
	forecasted := func(v float64) func(*act) {
		return func(p *act) { p.values = map[string]float64{"p": v} }
	}
	breakerIs := func(state string) func(*sample) {
		return func(s *sample) {
			s.state.Dependencies = []DependencyState{{Name: "recommendations", Endpoints: []EndpointState{{Breaker: state}}}}
		}
	}
	begun := func(all, late int64) func(*act) {
		return func(p *act) {
			s := p.played("fault").after["recommendations"]
			s.Workers.Begun, s.Workers.BegunLate = all, late
			p.played("fault").after["recommendations"] = s
		}
	}

	full := Bar{Kind: "full", Phase: "fault", Service: "catalogue", Within: Duration(2 * time.Second)}
	stuck := Bar{Kind: "stuck", Phase: "fault", Service: "catalogue", Workers: 16, After: Duration(5 * time.Second)}
	free := stuck
	free.Kind = "free"
	restarts := Bar{Kind: "restarts", Phase: "fault", Within: Duration(5 * time.Second)}
	realGood := Bar{Kind: "good", Phase: "fault", AtLeast: 0.999, Real: true}
	inUse := func(n int) func(*sample) { return func(s *sample) { s.state.Workers.InUse = n } }
	restarted := func(took time.Duration, services ...string) func(*act) {
		return func(p *act) {
			ph := p.played("fault")
			ph.Restart, ph.changed = services, ph.began.Add(took)
		}
	}

	unseen := maps.Clone(barKinds)
	for _, c := range []struct {
		name string
		bar  Bar
		run  func(*act)
		miss string // in what was got, of the bars that are missed; empty: none is
	}{
		{"all good", good, visits(well), ""},
		{"one in a hundred not", good, visits(func(_ string, at time.Duration) judged {
			return judged{verdict: map[bool]verdict{true: gaveUp}[at > faultAt && at < faultAt+500*time.Millisecond]}
		}), "gave up"},
		{"nobody was sent", good, func(*act) {}, "600 not sent"},
		{"only the other class", Bar{Kind: "good", Phase: "fault", AtLeast: 1, Classes: []string{"order"}},
			visits(func(class string, _ time.Duration) judged {
				return judged{verdict: map[bool]verdict{true: wrong}[class == "browse"]}
			}), ""},

		{
			"all by a fallback", fallbackBar,
			visits(func(string, time.Duration) judged { return judged{fallback: true} }),
			"",
		},
		{"none by a fallback", fallbackBar, visits(well), "0.0 %"},
		{"none at all", fallbackBar, visits(sorry(0, recoveryAt)), "0.0 %"},

		{"back after 3 s", back, visits(sorry(faultAt, recoveryAt+3*time.Second)), ""},
		{"back after 6 s", back, visits(sorry(faultAt, recoveryAt+6*time.Second)), "after 6.0 s"},
		{"never back", back, visits(sorry(faultAt, time.Hour)), "not within"},
		{
			"back, and gone again", back,
			visits(sorry(recoveryAt+8*time.Second, recoveryAt+9*time.Second)),
			"after 9.0 s",
		},
		{
			"back by a fallback only", really,
			visits(func(string, time.Duration) judged { return judged{fallback: true} }),
			"not within",
		},

		{"as fast as before", p99, visits(well), ""},
		{"slower", p99, func(p *act) {
			for i := range p.sender.hits {
				h := &p.sender.hits[i]
				took := 10 * time.Millisecond
				if h.at >= faultAt {
					took = 30 * time.Millisecond
				}
				p.tally.record(h, judged{}, 0, took)
			}
		}, "30.0 ms"},

		{"as predicted", saturates, collapsed, ""},
		{
			"too late", saturates,
			both(collapsed, func(p *act) { p.predicted["checkout"] = 8 * time.Second }),
			"10.00 s",
		},
		{"in another order", saturates, both(collapsed, func(p *act) {
			p.saturate(map[string]time.Duration{"catalogue": 11 * time.Second})
		}), "checkout < catalogue"},
		{"not at all", saturates, func(p *act) { p.predicted = cascade }, "did not saturate"},
		{
			"without a prediction", saturates,
			both(collapsed, func(p *act) { delete(p.predicted, "checkout") }),
			"10.00 s",
		},
		{
			"against never", saturates,
			both(collapsed, func(p *act) { p.predicted["checkout"] = predict.Never }),
			"10.00 s",
		},
		{"before the fault", saturates, both(collapsed, func(p *act) {
			p.saturate(map[string]time.Duration{"catalogue": -time.Second})
		}), "did not saturate"},

		{"nobody is served", collapses, collapsed, ""},
		{"some are served", collapses, func(p *act) {
			p.saturate(cascade).visits(func(_ string, at time.Duration) judged {
				return judged{verdict: map[bool]verdict{true: refused}[at.Milliseconds()%1000 > 150]}
			})
		}, " % of "},
		{"saturated too late to tell", collapses, func(p *act) {
			p.visits(well).saturate(map[string]time.Duration{"catalogue": 29 * time.Second, "checkout": 29 * time.Second})
		}, "no window"},

		{
			"readiness dies", unready,
			both(collapsed, change("catalogue", faultAt+5*time.Second, func(s *sample) { s.failed = true })),
			"",
		},
		{"readiness lives", unready, collapsed, "of 48"},
		{"readiness, not saturated", unready, visits(well), "did not saturate"},

		{"all wait", idle, both(collapsed, idling(0.9)), ""},
		{"the processors have run out", idle, both(collapsed, idling(0.1)), "10.0 %"},
		{"nothing saturates", idle, both(visits(well), idling(0.9)), "did not saturate"},

		{"few workers", workers, func(*act) {}, ""},
		{"many workers", workers, func(p *act) {
			s := p.played("fault").after["catalogue"]
			s.Workers.HighWater = 51
			p.played("fault").after["catalogue"] = s
		}, "51"},
		{
			"nobody knows the workers", workers,
			func(p *act) { delete(p.played("fault").after, "catalogue") },
			"not known",
		},

		{"probes are quick", probes, func(*act) {}, ""},
		{
			"one probe is slow", probes,
			func(p *act) { p.watch.samples["checkout"][40].probe = 51 * time.Millisecond },
			"(checkout)",
		},
		{
			"one probe fails", probes,
			func(p *act) { p.watch.samples["checkout"][40].failed = true },
			"1 of 300 failed",
		},

		{"nothing grows", flat, func(*act) {}, ""},
		{
			"goroutines grow", flat,
			change("gateway", faultAt+20*time.Second, func(s *sample) { s.state.Process.Goroutines = 300 }),
			"goroutines 100 → 300",
		},
		{
			"descriptors grow", flat,
			change("gateway", faultAt+20*time.Second, func(s *sample) { s.state.Process.FDs = 156 }),
			"descriptors 50 → 156",
		},
		{
			"memory grows", flat,
			change("gateway", faultAt+20*time.Second, func(s *sample) { s.state.Process.RSSBytes *= 2 }),
			"memory 16.8 → 33.6 MB",
		},
		{
			"a busy moment has left connections open", flat,
			change("gateway", faultAt+20*time.Second, func(s *sample) { s.state.Process.Goroutines, s.state.Process.FDs = 130, 65 }),
			"",
		},
		{
			"it has not collected yet", flat,
			both(
				change("currency", faultAt, func(s *sample) { s.state.Process.HeapBytes = 0 }),
				change("currency", faultAt+20*time.Second, func(s *sample) { s.state.Process.RSSBytes *= 2 }),
			),
			"",
		},
		{"it keeps orders", flat, both(keeping(400), heapOf("checkout", 1.14)), ""},
		{"it keeps more than orders", flat, both(keeping(100), heapOf("checkout", 1.14)), "heap 5.2 → 6.0 MB"},
		{"another grows while orders are kept", flat, both(keeping(400), heapOf("gateway", 1.14)), "heap 5.2 → 6.0 MB"},
		{"it died", flat, change("gateway", faultAt, func(s *sample) { s.dead = true }), "not known"},

		{"nobody is served", down, visits(sorry(faultAt, recoveryAt)), ""},
		{"some are, later", down, visits(sorry(faultAt, faultAt+20*time.Second)), "33.3 %"},
		{"the first are left out", downLater, visits(sorry(faultAt+5*time.Second, recoveryAt)), ""},
		{"nobody came", down, func(p *act) { p.tally.counts = [][]Counts{{}, {}} }, "100.0 %"},

		{"people wait", errorsBar, visits(func(string, time.Duration) judged { return judged{verdict: gaveUp, tries: 5} }), ""},
		{"people are told", errorsBar, visits(func(string, time.Duration) judged {
			return judged{verdict: gaveUp, tries: 5, errors: 1}
		}), "20.0 % of 3000 requests"},

		{"turned away at once", refusedBar, visits(sorry(faultAt, recoveryAt)), ""},
		{"some give up", refusedBar, visits(func(_ string, at time.Duration) judged {
			return judged{verdict: map[bool]verdict{true: refused, false: gaveUp}[at.Milliseconds()%1000 > 150]}
		}), "gave up"},
		{"turned away late", refusedBar, func(p *act) {
			for i := range p.sender.hits {
				p.tally.record(&p.sender.hits[i], judged{verdict: refused}, 0, 2*time.Second)
			}
		}, "p99 201"},
		{"nobody is turned away", refusedBar, visits(well), "of 0"},

		{"as many as ever", goodput, visits(well), ""},
		{"fewer than at the peak", goodput, visits(sorry(faultAt, faultAt+4*time.Second)), "17.3/s"},
		{"no peak", goodput, visits(sorry(0, time.Hour)), "0.0/s"},

		{"met", meets, both(visits(well), calls(4800, 0, 4500), forecasted(16)), ""},
		{"a little off", meets, both(visits(well), calls(5100, 0, 4500), forecasted(16)), "17 attempts a person"},
		{"met by a point", meetsPoints, both(visits(well), calls(4800, 0, 4500), forecasted(16.9)), ""},
		{"not predicted", meets, both(visits(well), calls(4800, 0, 4500)), "16 attempts a person"},
		{"not measured", meets, forecasted(16), "did not tell"},

		{"booked against the innocent", booked, timeouts(40, 60), ""},
		{"booked against the guilty", booked, timeouts(60, 40), "40.0 % of 100"},
		{"booked nowhere", booked, timeouts(0, 0), "of 0"},

		{"unharmed", unharmed, timeouts(100, 0), ""},
		{"harmed", unharmed, timeouts(100, 1), "1 of 11"},
		{"unknown", unharmed, func(*act) {}, "nobody told"},

		{"full", rejectedBar, calls(50, 50, 0), ""},
		{"not full", rejectedBar, calls(60, 40, 0), "40.0 % of 100"},
		{"nobody tells", rejectedBar, func(*act) {}, "not known"},

		{"opens", opens, change("catalogue", faultAt+2*time.Second, breakerIs("open")), ""},
		{"opens late", opens, change("catalogue", faultAt+10*time.Second, breakerIs("half-open")), "after 10.0 s"},
		{"never opens", opens, change("catalogue", 0, breakerIs("closed")), "never"},

		{"few retries", amplified, both(visits(well), calls(330, 0, 30)), ""},
		{"many retries", amplified, both(visits(well), calls(480, 0, 180)), "1.60"},
		{"nobody came", amplified, calls(330, 0, 30), "nobody of browse came"},

		{"full soon", full, func(p *act) { p.saturate(map[string]time.Duration{"catalogue": time.Second}) }, ""},
		{"full late", full, func(p *act) { p.saturate(map[string]time.Duration{"catalogue": 3 * time.Second}) }, "after 3.00 s"},
		{"never full", full, func(*act) {}, "never"},

		{"held for good", stuck, change("catalogue", faultAt+5*time.Second, inUse(16)), ""},
		{"let go after a while", stuck, both(change("catalogue", faultAt+5*time.Second, inUse(16)),
			change("catalogue", faultAt+20*time.Second, inUse(15))), "15"},
		{"nothing seen of it", stuck, change("catalogue", 0, func(s *sample) { s.dead = true }), "not known"},

		{"free again", free, both(change("catalogue", faultAt, inUse(200)),
			change("catalogue", faultAt+5*time.Second, inUse(16))), ""},
		{"not free", free, change("catalogue", faultAt+20*time.Second, inUse(17)), "17"},

		{"ready soon", restarts, restarted(time.Second, "catalogue"), ""},
		{"ready late", restarts, restarted(6*time.Second, "catalogue"), "after 6.0 s"},
		{"not restarted", restarts, restarted(0), "after 0.0 s"},

		{"by no fallback", realGood, visits(well), ""},
		{"by a fallback", realGood, visits(func(string, time.Duration) judged { return judged{fallback: true} }), "0.0 %"},

		{"none for nobody", zombies, begun(1000, 0), ""},
		{"one for nobody", zombies, begun(1000, 1), "1 of 1000"},
		{"none at all", zombies, begun(0, 0), "0 of 0"},
		{"most for nobody", mostZombies, begun(1000, 600), ""},
		{"few for nobody", mostZombies, begun(1000, 400), "400 of 1000"},

		{"let go", letGo, released(80*time.Millisecond, nil), ""},
		{"let go late", letGo, released(600*time.Millisecond, nil), "600 ms"},
		{"not held", letGo, released(-100*time.Millisecond, nil), "was not held"},
		{"never let go", letGo, released(0, errors.New("cut")), "cut"},
		{"nothing was held", letGo, func(*act) {}, "nothing was sent"},
	} {
		t.Run(c.bar.Kind+", "+c.name, func(t *testing.T) {
			p := played(t)
			c.run(p)
			p.Bars = []Bar{c.bar}
			var missedGot []string
			for _, r := range p.judge() {
				if !r.Pass {
					missedGot = append(missedGot, r.Got)
				}
			}
			switch {
			case c.miss == "" && missedGot != nil:
				t.Errorf("missed: %q", missedGot)
			case c.miss != "" && !strings.Contains(strings.Join(missedGot, "; "), c.miss):
				t.Errorf("missed %q, want %q", missedGot, c.miss)
			}
		})
		delete(unseen, c.bar.Kind)
	}
	if len(unseen) > 0 {
		t.Errorf("kinds of bars that were never missed: %v", slices.Sorted(maps.Keys(unseen)))
	}
}

// A lost order is the shop's on any machine; what a machine did not send proves nothing; a missed bar says more than an
// act that has shown nothing.
func TestWhatDecidesTheVerdict(t *testing.T) {
	met, failed, nothing := BarResult{Name: "met", Pass: true}, BarResult{Name: "failed"}, BarResult{Name: "nothing", void: true}
	lost, busy := BarResult{Name: "lost", always: true}, BarResult{Name: "busy", void: true, busy: "the sender was late"}
	late := []string{"the sender was late"}
	for name, c := range map[string]struct {
		bars  []BarResult
		voids []string
		want  Verdict
		by    VoidBy
		first string
	}{
		"all met":                    {[]BarResult{met}, nil, Pass, "", ""},
		"a bar missed":               {[]BarResult{met, nothing, failed}, nil, Fail, "", "failed"},
		"an act without a collapse":  {[]BarResult{met, nothing, busy}, nil, Void, ByAct, "nothing"},
		"none on a busy machine":     {[]BarResult{met, busy}, nil, Void, ByMachine, "busy"},
		"a load that was not sent":   {[]BarResult{failed, nothing}, late, Void, ByMachine, "the sender"},
		"an order lost all the same": {[]BarResult{failed, lost}, late, Fail, "", "lost"},
	} {
		r := &Result{Bars: c.bars, voids: c.voids}
		r.conclude(true)
		if r.Verdict != c.want || r.VoidBy != c.by || (c.first == "") != (len(r.Reasons) == 0) {
			t.Errorf("%s: %s by %q for %q, want %s by %q", name, r.Verdict, r.VoidBy, r.Reasons, c.want, c.by)
		}
		if len(r.Reasons) > 0 && !strings.HasPrefix(r.Reasons[0], c.first) {
			t.Errorf("%s: the first reason is %q, want %q", name, r.Reasons[0], c.first)
		}
	}
}

// What a busy machine adds to a latency is not the shop's, and excuses nothing else.
func TestMillisecondsAreJudgedOnACalmMachine(t *testing.T) {
	slow := BarResult{Name: "p99", busy: "the sender itself was late"}
	for name, c := range map[string]struct {
		bars []BarResult
		want Verdict
	}{
		"missed for want of calm":          {[]BarResult{slow}, Void},
		"missed beside a bar that counts":  {[]BarResult{slow, {Name: "good"}}, Fail},
		"met, whatever the machine was at": {[]BarResult{{Name: "p99", Pass: true, busy: slow.busy}}, Pass},
	} {
		r := &Result{Bars: c.bars}
		r.conclude(true)
		if r.Verdict != c.want {
			t.Errorf("%s: verdict %s, want %s, reasons %q", name, r.Verdict, c.want, r.Reasons)
		}
	}

	p := played(t)
	lag := func(phase string, ms int64) {
		h := p.tally.lag[p.indexOf(phase)]
		h.Reset()
		if err := h.RecordValue(1000 * ms); err != nil {
			t.Fatal(err)
		}
	}
	p99 := Bar{Kind: "p99", Phase: "fault", Against: "healthy"}
	for _, c := range []struct {
		healthy, fault int64
		bar            Bar
		want           string
	}{
		{1, 4, p99, ""},
		{1, 6, p99, "in fault the sender itself was late by 6.0 ms"},
		{6, 1, p99, "in healthy the sender itself was late by 6.0 ms"},
		{1, 6, Bar{Kind: "good", Phase: "fault"}, ""},
	} {
		lag("healthy", c.healthy)
		lag("fault", c.fault)
		if got := p.tooBusyFor(c.bar); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, late by %d and %d ms: %q, want %q", c.bar.Kind, c.healthy, c.fault, got, c.want)
		}
	}
}

func TestAPhaseThatProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		r    PhaseResult
		m    machine
		want string
	}{
		"starved, or the work of the silent": {PhaseResult{}, machine{known: true, busy: 59, idle: 1, total: 60, self: 10}, ""},

		"sound":                {PhaseResult{Asked: 100, Sent: 99, LagP99: 50}, machine{}, ""},
		"not sent":             {PhaseResult{Asked: 100, Sent: 98}, machine{}, "98 of 100"},
		"late":                 {PhaseResult{Asked: 100, Sent: 100, LagP99: 51}, machine{}, "lag p99 51 ms"},
		"starved":              {PhaseResult{}, machine{known: true, busy: 59, idle: 1, total: 60, self: 10}, "other programs took 81.7 %"},
		"late, nothing judged": {PhaseResult{Asked: 100, Sent: 100, LagP99: 61}, machine{}, ""},
		"starved, nothing judged": {
			PhaseResult{}, machine{known: true, busy: 59, idle: 1, total: 60, self: 10}, "",
		},
		"busy by us":   {PhaseResult{}, machine{known: true, busy: 59, idle: 1, total: 60, self: 55}, ""},
		"too slow":     {PhaseResult{}, machine{known: true, busy: 59, idle: 1, total: 60, self: 55}, "too slow for this load"},
		"busy, enough": {PhaseResult{}, machine{known: true, busy: 50, idle: 10, total: 60, self: 1}, ""},
	} {
		p := played(t)
		ph := &p.phases[1]
		ph.machine, ph.before, ph.after = c.m, map[string]State{}, map[string]State{}
		for _, service := range Services {
			ph.before[service], ph.after[service] = State{}, State{}
		}
		switch name {
		case "too slow":
			ph.Name = phaseHealthy
		case "starved, nothing judged", "late, nothing judged":
			ph.Name = "warm-up"
		}
		if strings.HasSuffix(name, "silent") {
			delete(ph.after, "gateway")
		}
		got := fmt.Sprint(p.voidIn(1, c.r))
		if c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", name, got, c.want)
		}
	}
}

// The sentence never rounds up to what was not reached.
func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0.0 %", 0.0321: "3.2 %", 0.9: "90.0 %", 0.99986: "99.98 %", 0.999999: "99.99 %", 1: "100.0 %", 0.999: "99.90 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("%g is told as %s, want %s", share, got, want)
		}
	}
}
