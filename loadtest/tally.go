package loadtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// slice is the grain of the tally. Windows are cut along it, so that it is much shorter than they are.
const slice = 100 * time.Millisecond

// Counts is what became of people who meant to come in some stretch of time.
type Counts struct {
	Asked    int `json:"asked"`    // came, says the schedule
	Sent     int `json:"sent"`     // were sent before their patience was over
	Good     int `json:"good"`     // were served right and in time
	Fallback int `json:"fallback"` // of the good: by a fallback that the class allows
	Late     int `json:"late"`     // were served right, but not in time
	Wrong    int `json:"wrong"`    // were answered, but not with what they asked for
	Refused  int `json:"refused"`  // were told 503
	Failed   int `json:"failed"`   // got no answer, or another 5xx
	GaveUp   int `json:"gave_up"`  // were out of patience

	Tries  int `json:"tries"`  // requests that they sent: whoever refreshes sends several
	Errors int `json:"errors"` // of these, how many ended in a 5xx, a wrong answer, or none by the transport
}

func (c *Counts) add(o Counts) {
	c.Asked += o.Asked
	c.Sent += o.Sent
	c.Good += o.Good
	c.Fallback += o.Fallback
	c.Late += o.Late
	c.Wrong += o.Wrong
	c.Refused += o.Refused
	c.Failed += o.Failed
	c.GaveUp += o.GaveUp
	c.Tries += o.Tries
	c.Errors += o.Errors
}

func (c *Counts) count(v verdict, fallback bool) {
	if v != unsent {
		c.Sent++
	}
	switch v {
	case good:
		c.Good++
		if fallback {
			c.Fallback++
		}
	case late:
		c.Late++
	case wrong:
		c.Wrong++
	case refused:
		c.Refused++
	case failed:
		c.Failed++
	case gaveUp:
		c.GaveUp++
	}
}

// goodRatio is the share of those who came that were served well; 1 where nobody came.
func (c Counts) goodRatio() float64 {
	if c.Asked == 0 {
		return 1
	}
	return float64(c.Good) / float64(c.Asked)
}

// tally keeps what became of everybody: counts by slice of the intended start, latencies by phase, and every order, for
// each must be there afterwards. But for the orders its size is that of the act's length, not of its traffic.
type tally struct {
	start time.Time       // of the load
	ends  []time.Duration // of the phases

	mu       sync.Mutex
	counts   [][]Counts                  // by class, then slice
	latency  [][]*hdrhistogram.Histogram // by class, then phase; µs from the intended start, however it ended
	bySecond [][]*hdrhistogram.Histogram // by class, then second; 100 µs, two digits
	lag      []*hdrhistogram.Histogram   // by phase; µs from the intended to the actual start
	examples [][]string                  // by class: the first things that were wrong
	answers  []int                       // by class, so far, whatever they were …
	goods    []int                       // … and the good ones: for the live line
	orders   orders
}

// maxExamples is how many of the things that went wrong are told, of each class.
const maxExamples = 3

func newTally(s *Scenario, phases []playedPhase, sched schedule, seed uint64) *tally {
	length := phases[len(phases)-1].to
	classes := len(sched.names)
	t := &tally{
		counts: make([][]Counts, classes), latency: make([][]*hdrhistogram.Histogram, classes),
		bySecond: make([][]*hdrhistogram.Histogram, classes),
		examples: make([][]string, classes), answers: make([]int, classes), goods: make([]int, classes),
		orders: newOrders(seed),
	}
	for i, name := range sched.names {
		t.counts[i] = make([]Counts, length/slice+1)
		t.bySecond[i] = make([]*hdrhistogram.Histogram, length/time.Second+1)
		for range phases {
			// From 1 µs to a little over the patience, three digits.
			longest := 2 * time.Duration(s.Classes[name].Patience).Microseconds()
			t.latency[i] = append(t.latency[i], hdrhistogram.New(1, max(longest, 2), 3))
		}
	}
	for _, ph := range phases {
		t.ends = append(t.ends, ph.to)
		t.lag = append(t.lag, hdrhistogram.New(1, time.Minute.Microseconds(), 3))
	}
	for _, h := range sched.hits {
		t.counts[h.class][h.at/slice].Asked++
	}
	return t
}

// record takes in how one hit ended. lag is how late it was sent, took how long after its intended start it ended.
func (t *tally) record(h *hit, j judged, lag, took time.Duration) {
	if j.verdict == cut {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts[h.class][h.at/slice]
	c.count(j.verdict, j.fallback)
	c.Tries += j.tries
	c.Errors += j.errors
	phase := t.phaseAt(h.at)
	record(t.lag[phase], lag)
	t.answers[h.class]++
	if j.verdict != unsent {
		record(t.latency[h.class][phase], took)
		second := &t.bySecond[h.class][h.at/time.Second]
		if *second == nil {
			*second = hdrhistogram.New(1, max(t.latency[h.class][phase].HighestTrackableValue()/100, 2), 2)
		}
		_ = (*second).RecordValue(min(took.Microseconds()/100, (*second).HighestTrackableValue())) // in range
	}
	if j.verdict == good {
		t.goods[h.class]++
	}
	if j.why != nil && len(t.examples[h.class]) < maxExamples {
		t.examples[h.class] = append(t.examples[h.class], fmt.Sprintf("%.300s", j.why))
	}
	if h.ask.kind == Order {
		t.orders.record(h, j)
	}
}

// record puts a value into a histogram, the greatest it can hold if it is beyond.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), 0), h.HighestTrackableValue())) // in range, so there is no error
}

func (t *tally) phaseAt(at time.Duration) int {
	for i, end := range t.ends {
		if at < end {
			return i
		}
	}
	return len(t.ends) - 1
}

// window counts the people of some classes who meant to come in [from, to), inwards to whole slices.
func (t *tally) window(classes []int, from, to time.Duration) Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sum Counts
	first, end := (from+slice-1)/slice, to/slice
	for _, class := range classes {
		for i := first; i < end && int(i) < len(t.counts[class]); i++ {
			sum.add(t.counts[class][i])
		}
	}
	return sum
}

// progress tells, by class, how many visits have ended so far, and how many of them well.
func (t *tally) progress() (answers, goods []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.answers), slices.Clone(t.goods)
}

// quantile is in milliseconds; 0 where nothing was recorded.
func (t *tally) quantile(class, phase int, q float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return millis(t.latency[class][phase], q)
}

// seconds returns the median and the p99 of those of the classes who meant to come in the seconds of [from, to), in
// milliseconds; 0 where nobody was sent.
func (t *tally) seconds(from, to time.Duration, classes ...int) (p50, p99 float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all *hdrhistogram.Histogram
	for _, class := range classes {
		for i := from / time.Second; i*time.Second < to && int(i) < len(t.bySecond[class]); i++ {
			h := t.bySecond[class][i]
			switch {
			case h == nil:
			case all == nil:
				all = hdrhistogram.Import(h.Export())
			default:
				all.Merge(h)
			}
		}
	}
	if all == nil {
		return 0, 0
	}
	return float64(all.ValueAtQuantile(50)) / 10, float64(all.ValueAtQuantile(99)) / 10
}

func (t *tally) lagQuantile(phase int, q float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return millis(t.lag[phase], q)
}

func millis(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1000
}
