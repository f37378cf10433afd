package report

import (
	"slices"

	"example.com/holdfast/loadtest"
)

// littleLines are the workers in use that Little's law predicts for an act, by service: those busy in health, and from
// the fault on one more for each call that is held, until none is left. Of a service of which nothing was predicted, or
// whose scenario is not known, there is no line.
func littleLines(s *loadtest.Scenario, a *loadtest.ActResult, t timeline) map[string][]point {
	lines := map[string][]point{}
	if s == nil {
		return lines
	}
	i := slices.IndexFunc(s.Acts, func(of loadtest.Act) bool { return of.Name == a.Name })
	if i < 0 {
		return lines
	}
	for _, p := range s.Predictions {
		if !slices.Contains(s.Acts[i].Predict, p.Name) {
			continue
		}
		switch p.Formula {
		case "cascade":
			cascadeLines(lines, p.Hops, a, t)
		case "wanted":
			if wanted, ok := a.Predicted.Values[p.Name]; ok {
				lines[p.Service] = []point{{0, wanted}, {t.to, wanted}}
			}
		}
	}
	return lines
}

// cascadeLines adds a line for each hop. The slopes are those of the prediction: the seconds at which it said that the
// hops would be full give back what it had measured.
func cascadeLines(lines map[string][]point, hops []loadtest.Hop, a *loadtest.ActResult, t timeline) {
	full := a.Predicted.SaturationS
	for _, h := range hops {
		at, ok := full[h.Service]
		limit := float64(a.Series.Services[h.Service].Limit)
		if !ok || limit == 0 {
			continue
		}
		busy := healthyWorkers(a, h.Service)
		line := []point{{t.from, busy}, {0, busy}}
		if begins, ok := full[h.After]; ok && h.After != "" && begins < at {
			held := 0.0
			if first := hops[0].Service; h.Early && full[first] > 0 {
				held = (float64(a.Series.Services[first].Limit) - healthyWorkers(a, first)) / full[first]
			}
			line = append(line, point{begins, busy + held*begins})
		}
		lines[h.Service] = append(line, point{at, limit}, point{t.to, limit})
	}
}

// healthyWorkers is the mean of the workers of a service that were seen in use in the healthy phase.
func healthyWorkers(a *loadtest.ActResult, service string) float64 {
	from, to := 0.0, 0.0
	for _, p := range a.Phases {
		to = from + p.Seconds
		if p.Name == "healthy" {
			break
		}
		from = to
	}
	s := a.Series.Services[service]
	sum, n := 0, 0
	for i, at := range s.At {
		if at >= from && at < to && i < len(s.Workers) {
			sum += s.Workers[i]
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
