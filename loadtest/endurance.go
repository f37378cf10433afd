package loadtest

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

//go:embed endurance.yaml
var enduranceScenario []byte

// EnduranceOptions say how long a shop is to endure.
type EnduranceOptions struct {
	Open Opener // required

	Minutes  float64       // with recommendations held, 2 to 600; 0: 5
	Each     time.Duration // one of three measurements of the capacity; 0: 5 s
	Seed     uint64
	Progress io.Writer // nil: quiet
}

// EnduranceResult is what the shop has shown at a share of its capacity. The capacity is that of the shop, its sender
// and its judge together, all on one machine.
type EnduranceResult struct {
	Capacity float64 `json:"capacity"` // book pages a second, by a closed loop, all defences on
	Rate     float64 `json:"rate"`     // of the endurance, pages a second
	Result
}

const (
	endureShare    = 0.4 // of the capacity: the most that is asked for …
	endureLeast    = 800 // … and the least that is worth enduring, pages a second
	endureInFlight = 16
)

// Endure measures the capacity of a shop with all defences, then sends two fifths of it for some minutes while
// recommendations is held.
func Endure(ctx context.Context, o EnduranceOptions) (*EnduranceResult, error) {
	o.Minutes, o.Each = cmp.Or(o.Minutes, 5), cmp.Or(o.Each, 5*time.Second)
	if o.Open == nil {
		return nil, fmt.Errorf("%w: nobody opens a shop", ErrCannotRun)
	}
	if o.Minutes < 2 || o.Minutes > 600 || o.Each < minEach || o.Each > maxEach {
		return nil, fmt.Errorf("%w: %g minutes after measurements of %v: it takes 2 to 600 minutes, after %v to %v",
			ErrCannotRun, o.Minutes, o.Each, minEach, maxEach)
	}
	s, err := parse("endurance.yaml", enduranceScenario)
	if err != nil {
		return nil, err
	}
	capacity, err := measureCapacity(ctx, o, s.Environment)
	if err != nil {
		return nil, err
	}
	rate := math.Floor(endureShare * capacity)
	newProgress(o.Progress).say("capacity %.0f pages/s: enduring %.0f pages/s for %g minutes", capacity, rate, o.Minutes)
	if rate < 1 {
		return nil, fmt.Errorf("%w: a capacity of %.1f pages/s leaves nothing to endure", ErrCannotRun, capacity)
	}
	s.endure(Rate(rate), o.Minutes)
	r, err := Run(ctx, s, Options{Open: o.Open, Seed: o.Seed, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r.Bars = append(r.Bars, BarResult{
		Name: "rate", Want: fmt.Sprintf("at least %d pages/s, at most %s of the capacity", endureLeast, percent(endureShare)),
		Got: fmt.Sprintf("%.0f of %.0f pages/s", rate, capacity), Pass: rate >= endureLeast,
		void: true, // it says something of the machine
	})
	r.conclude(true)
	return &EnduranceResult{Capacity: round(capacity, 1), Rate: rate, Result: *r}, nil
}

// endure sets the rate, and the length of what the shop is to endure.
func (s *Scenario) endure(rate Rate, minutes float64) {
	c := s.Classes["book"]
	c.Rate = rate
	s.Classes["book"] = c
	s.Acts[0].Phases[len(s.Acts[0].Phases)-1].For = Duration((minutes - 1) * float64(time.Minute))
}

// measureCapacity is the median of three measurements.
func measureCapacity(ctx context.Context, o EnduranceOptions, env Environment) (_ float64, err error) {
	shop, err := o.Open(ctx, env.With(Environment{"all": {"DEFENCES": "all"}}))
	if err != nil {
		return 0, fmt.Errorf("%w: open a shop: %w", ErrCannotRun, err)
	}
	defer func() { err = closeShop(ctx, shop, err) }()
	sh, err := readShelf(ctx, shop, []string{"USD"})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	show := newProgress(o.Progress)
	probe := closedLoop{base: shop.Public("gateway"), shelf: sh, inFlight: endureInFlight, seed: o.Seed}
	if _, err := probe.run(ctx, capacitySettle); err != nil {
		return 0, err
	}
	var rates []float64
	for range 3 {
		n, err := probe.run(ctx, o.Each)
		if err != nil {
			return 0, err
		}
		if real := n.Good - n.Fallback; float64(real) < minSent*float64(n.Asked) {
			return 0, fmt.Errorf("%w: of %d pages only %d were whole%s: that is no capacity", ErrCannotRun, n.Asked, real, n.missed())
		}
		rates = append(rates, float64(n.Good)/o.Each.Seconds())
		show.say("closed loop, %d in flight: %.0f pages/s", endureInFlight, rates[len(rates)-1])
	}
	slices.Sort(rates)
	return rates[1], nil
}

// WriteJSON writes the result as one indented JSON object.
func (r *EnduranceResult) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes what happened as that of a Result.
func (r *EnduranceResult) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "capacity %.0f book pages/s, endured %.0f\n\n", r.Capacity, r.Rate); err != nil {
		return err
	}
	return r.Result.WriteText(w)
}
