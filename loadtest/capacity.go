package loadtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// CapacityOptions say how to compare the capacity of a book page with all defences on and with none.
type CapacityOptions struct {
	Open Opener // required

	Pairs    int           // how often each side is measured, turn about; 0: 5
	InFlight int           // requests under way at any instant; 0: 16
	Each     time.Duration // one measurement; 0: 4 s
	Seed     uint64
	Progress io.Writer // nil: quiet
}

// CapacityResult is what the probe has found. It is a closed loop: the next request is sent when the one before has
// been answered. So it finds how much work a page costs, and nothing about how long people wait: a shop that stalls
// stalls its sender too. Only the ratio of its sides, measured turn about on one machine, is worth anything.
type CapacityResult struct {
	Probe     string         `json:"probe"` // "closed loop"
	InFlight  int            `json:"in_flight"`
	Pairs     []CapacityPair `json:"pairs"`
	Ratio     float64        `json:"median_ratio"` // all / none
	Spread    float64        `json:"spread"`       // of the pairs' ratios: (greatest − least) / median
	Fallbacks float64        `json:"fallback_share"`
	Verdict   Verdict        `json:"verdict"`
	Reasons   []string       `json:"reasons"`
}

// CapacityPair is one measurement of each side, in pages a second.
type CapacityPair struct {
	All   float64 `json:"all"`
	None  float64 `json:"none"`
	Ratio float64 `json:"ratio"`
}

const (
	capacitySettle = time.Second // after switching, before measuring: connections are made, caches filled

	maxPairs    = 100
	maxInFlight = 1000
	minEach     = 10 * time.Millisecond
	maxEach     = 10 * time.Minute

	minRatio     = 0.85 // what the defences may cost at most
	maxSpread    = 0.25 // more, and the machine was too restless to tell
	maxFallbacks = 0.01 // more, and the defended side was compared by doing less
)

// capacityEnvironment makes the sides comparable: a leaf that answers at once, or its wait would be all that is
// measured; and an ordinary client that keeps as many idle connections as the defended one.
var capacityEnvironment = Environment{
	"all":             {"SHARED_CLIENT_IDLE": "200"},
	"recommendations": {"OWN_WORK": "0s"},
}

// Capacity measures how many book pages a second a shop serves with all defences and with none, turn about on the
// same five processes.
func Capacity(ctx context.Context, o CapacityOptions) (_ *CapacityResult, err error) {
	if o.Open == nil {
		return nil, fmt.Errorf("%w: nobody opens a shop", ErrCannotRun)
	}
	o.Pairs, o.InFlight = cmp.Or(o.Pairs, 5), cmp.Or(o.InFlight, 16)
	o.Each = cmp.Or(o.Each, 4*time.Second)
	if o.Pairs < 1 || o.Pairs > maxPairs || o.InFlight < 1 || o.InFlight > maxInFlight ||
		o.Each < minEach || o.Each > maxEach {
		return nil, fmt.Errorf("%w: %d pairs of %v with %d in flight: it takes 1 to %d pairs, of %v to %v, with 1 to %d",
			ErrCannotRun, o.Pairs, o.Each, o.InFlight, maxPairs, minEach, maxEach, maxInFlight)
	}
	show := newProgress(o.Progress)
	shop, err := o.Open(ctx, capacityEnvironment)
	if err != nil {
		return nil, fmt.Errorf("%w: open a shop: %w", ErrCannotRun, err)
	}
	defer func() { err = closeShop(ctx, shop, err) }()
	admin := newAdmin(shop)
	defer admin.close()
	sh, err := readShelf(ctx, shop, []string{"USD"})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}

	probe := closedLoop{base: shop.Public("gateway"), shelf: sh, inFlight: o.InFlight, seed: o.Seed}
	measure := func(defences string) (float64, error) {
		if err := admin.setDefences(ctx, defences); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrCannotRun, err)
		}
		if _, err := probe.run(ctx, capacitySettle); err != nil {
			return 0, err
		}
		n, err := probe.run(ctx, o.Each)
		probe.total.add(n)
		return float64(n.Good) / o.Each.Seconds(), err
	}
	r := &CapacityResult{Probe: "closed loop", InFlight: o.InFlight, Reasons: []string{}}
	for i := range o.Pairs {
		var p CapacityPair
		sides := []struct {
			defences string
			got      *float64
		}{{"all", &p.All}, {"none", &p.None}}
		if i%2 == 1 {
			slices.Reverse(sides) // so that a drift of the machine favours neither
		}
		for _, side := range sides {
			if *side.got, err = measure(side.defences); err != nil {
				return nil, err
			}
		}
		if p.None > 0 {
			p.Ratio = round(p.All/p.None, 4)
		}
		r.Pairs = append(r.Pairs, p)
		show.say("closed loop, %d in flight: all %.0f pages/s, none %.0f pages/s, ratio %.3f",
			o.InFlight, p.All, p.None, p.Ratio)
	}
	r.conclude(probe.total)
	return r, nil
}

func (r *CapacityResult) conclude(total Counts) {
	ratios := make([]float64, len(r.Pairs))
	for i, p := range r.Pairs {
		ratios[i] = p.Ratio
	}
	slices.Sort(ratios)
	n := len(ratios)
	r.Ratio = (ratios[(n-1)/2] + ratios[n/2]) / 2
	if r.Ratio > 0 {
		r.Spread = round((ratios[n-1]-ratios[0])/r.Ratio, 4)
	}
	if total.Good > 0 {
		r.Fallbacks = round(float64(total.Fallback)/float64(total.Good), 6)
	}
	r.Verdict = Pass
	if r.Ratio < minRatio {
		r.Verdict = Fail
		r.Reasons = append(r.Reasons, fmt.Sprintf("the median ratio is %.3f, below %.2f", r.Ratio, minRatio))
	}
	var voids []string
	if r.Spread > maxSpread {
		voids = append(voids, fmt.Sprintf("the pairs spread over %s, more than %s", percent(r.Spread), percent(maxSpread)))
	}
	if r.Fallbacks > maxFallbacks {
		voids = append(voids, fmt.Sprintf("%s of the pages came from a fallback, more than %s",
			percent(r.Fallbacks), percent(maxFallbacks)))
	}
	if total.goodRatio() < minSent {
		voids = append(voids, fmt.Sprintf("only %s of the pages were good%s", percent(total.goodRatio()), total.missed()))
	}
	if len(voids) > 0 {
		r.Verdict, r.Reasons = Void, append(voids, r.Reasons...)
	}
}

// ExitCode is as that of a Result.
func (r *CapacityResult) ExitCode() int { return (&Result{Verdict: r.Verdict}).ExitCode() }

// WriteJSON writes the result as one indented JSON object.
func (r *CapacityResult) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the result as a short table.
func (r *CapacityResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "capacity of a book page, by a closed loop of %d: it tells costs, not waiting times\n\n", r.InFlight)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "pair\tall, pages/s\tnone, pages/s\tratio\t")
	for i, p := range r.Pairs {
		fmt.Fprintf(t, "%d\t%.0f\t%.0f\t%.3f\t\n", i+1, p.All, p.None, p.Ratio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nmedian ratio %.3f (at least %.2f), spread %s, fallbacks %s: %s\n",
		r.Ratio, minRatio, percent(r.Spread), percent(r.Fallbacks), r.Verdict)
	for _, reason := range r.Reasons {
		fmt.Fprintf(w, "  %s\n", reason)
	}
	return err
}

// closedLoop keeps a fixed number of requests for book pages under way.
type closedLoop struct {
	base     string
	shelf    *shelf
	inFlight int
	seed     uint64
	total    Counts
}

// run counts what came back in a stretch of time.
func (l *closedLoop) run(ctx context.Context, d time.Duration) (Counts, error) {
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	transport := newTransport(10 * time.Second)
	defer transport.CloseIdleConnections()
	class := Class{Kind: Book, Currencies: map[string]Share{"USD": 1}, Fallbacks: []string{"carousel"}}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		sum Counts
	)
	for i := range l.inFlight {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(l.seed, uint64(i)))
			var mine Counts
			for timed.Err() == nil {
				a := newAsk(class, l.shelf, chance)
				got, err := fetch(timed, transport, l.base, a, "")
				if timed.Err() != nil {
					break // cut short by the end
				}
				j := judged{verdict: failed}
				if err == nil {
					j = l.shelf.judge(a, class.Fallbacks, got)
				}
				mine.Asked++
				mine.count(j.verdict, j.fallback)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.add(mine)
		})
	}
	wg.Wait()
	return sum, ctx.Err()
}
