package simulate

import (
	"math"
	"slices"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/loadtest"
)

// result tells of the act what a run tells, as far as the model knows it.
func (r *record) result() loadtest.ActResult {
	on, _ := defence.Parse(r.act.Defences, defence.All) // the shop has been opened with it
	a := loadtest.ActResult{Name: r.act.Name, Defences: map[string]bool{}}
	for _, name := range defence.Names {
		a.Defences[name] = on.On(name)
	}
	from := time.Duration(0)
	for n, p := range r.act.Phases {
		to := from + time.Duration(p.For)
		ph := loadtest.PhaseResult{
			Name: p.Name, Seconds: (to - from).Seconds(), Faults: p.Faults, Defences: p.Defences, Restart: p.Restart,
			Classes: map[string]loadtest.ClassResult{}, Services: map[string]loadtest.ServiceResult{},
		}
		for _, k := range r.classes {
			c := k.result(from, to)
			ph.Classes[k.name] = c
			ph.Asked += c.Asked
			ph.Sent += c.Sent
		}
		for service, most := range r.highWater[n] {
			ph.Services[service] = loadtest.ServiceResult{WorkersHighWater: most}
		}
		if p.Name == "fault" {
			for service, at := range r.saturated[n] {
				if a.Measured.SaturationS == nil {
					a.Measured.SaturationS = map[string]float64{}
				}
				a.Measured.SaturationS[service] = seconds(at)
			}
		}
		a.Phases = append(a.Phases, ph)
		from = to
	}
	a.Series = loadtest.Series{Classes: map[string]loadtest.ClassSeries{}, Services: r.series, Idle: []float64{}}
	for _, k := range r.classes {
		var s loadtest.ClassSeries
		for t := time.Duration(0); t < from; t += time.Second {
			c := k.result(t, t+time.Second)
			s.Asked, s.Good, s.Fallback = append(s.Asked, c.Asked), append(s.Good, c.Good), append(s.Fallback, c.Fallback)
			s.P50, s.P99 = append(s.P50, c.P50), append(s.P99, c.P99)
		}
		a.Series.Classes[k.name] = s
	}
	return a
}

// result is what became of those who came in a stretch of time.
func (k *class) result(from, to time.Duration) loadtest.ClassResult {
	var r loadtest.ClassResult
	var took []time.Duration
	first, _ := slices.BinarySearchFunc(k.visits, from, func(v *visit, t time.Duration) int { return int(v.at - t) })
	for _, v := range k.visits[first:] {
		if v.at >= to {
			break
		}
		r.Asked++
		r.Sent++
		r.Tries += v.tries
		r.Errors += v.errors
		took = append(took, v.took)
		switch v.ended {
		case good:
			r.Good++
			if v.fallback {
				r.Fallback++
			}
		case late:
			r.Late++
		case wrong:
			r.Wrong++
		case turnedAway:
			r.Refused++
		case failed:
			r.Failed++
		case gaveUp:
			r.GaveUp++
		}
	}
	if r.Asked == 0 {
		return r
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		n := int(math.Ceil(q*float64(len(took)))) - 1
		return math.Round(took[n].Seconds()*1e6) / 1e3
	}
	r.GoodRatio = math.Round(1e6*float64(r.Good)/float64(r.Asked)) / 1e6
	r.P50, r.P99, r.P999 = at(0.5), at(0.99), at(0.999)
	return r
}

// seconds is an instant as a run tells it, to the millisecond.
func seconds(t time.Duration) float64 { return math.Round(t.Seconds()*1e3) / 1e3 }
