package loadtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// predict computes, at the end of the healthy phase and from what it measured, when each service will saturate. What
// it cannot measure makes the run void: a prediction that was not made cannot have come true.
func (p *act) predict() {
	p.predicted = map[string]time.Duration{}
	ph := p.played(phaseHealthy)
	for _, prediction := range p.scenario.Predictions {
		if !slices.Contains(p.Predict, prediction.Name) {
			continue
		}
		hops, err := measure(prediction.Hops, ph.before, ph.after)
		if err == nil {
			var at map[string]time.Duration
			if at, err = predict.Cascade(hops); err == nil {
				maps.Copy(p.predicted, at)
			}
		}
		if err != nil {
			p.void = append(p.void, fmt.Sprintf("the prediction %s was not made: %v", prediction.Name, err))
			continue
		}
		for _, h := range hops {
			p.show.say("%s: predicted: %s saturates %s after the fault (%d workers, %.1f busy, %.1f/s held)",
				p.Name, h.Service, saying(p.predicted[h.Service]), h.Workers, h.Busy, h.Held)
		}
	}
}

func saying(t time.Duration) string {
	if t == predict.Never {
		return "never"
	}
	return fmt.Sprintf("%.2f s", t.Seconds())
}

// measure reads the inputs of a cascade from two looks at the shop in good health.
//
// Held is the rate of the calls that will be held. Busy is the mean of the workers in use (the difference of their
// integral, so that nothing is missed between the looks) without what the calls that will be held take of it even in
// health: rate × latency, by Little's law.
func measure(hops []Hop, before, after map[string]State) ([]predict.Hop, error) {
	measured := make([]predict.Hop, len(hops))
	for i, h := range hops {
		then, ok := before[h.Service]
		now, ok2 := after[h.Service]
		elapsed := now.at.Sub(then.at).Seconds()
		if !ok || !ok2 || elapsed <= 0 {
			return nil, fmt.Errorf("%s did not tell its state", h.Service)
		}
		m := predict.Hop{
			Service: h.Service, After: h.After, Workers: now.Workers.Limit,
			Busy: (now.Workers.BusySeconds - then.Workers.BusySeconds) / elapsed,
		}
		for _, dependency := range h.Held {
			calls, _, _ := then.outcomes(dependency)
			more, latency, ok := now.outcomes(dependency)
			if !ok {
				return nil, fmt.Errorf("%s has no dependency %q", h.Service, dependency)
			}
			rate := float64(more-calls) / elapsed
			m.Held += rate
			m.Busy -= rate * latency.Seconds()
		}
		m.Busy = max(m.Busy, 0)
		if h.Early {
			m.Early = measured[0].Held
		}
		measured[i] = m
	}
	return measured, nil
}
