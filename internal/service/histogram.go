package service

import (
	"maps"
	"slices"
)

// Histogram tells how long attempts took: how many took up to each bound, the bounds ascending and the counts
// cumulative, as Prometheus has them. What took longer than the last bound, two minutes, is not in it.
type Histogram []Bucket

// Bucket counts the attempts that took up to a bound.
type Bucket struct {
	UpToMS float64 `json:"le_ms"`
	Count  uint64  `json:"count"`
}

// newHistogram takes cumulative counts by upper bound in seconds.
func newHistogram(counts map[float64]uint64) Histogram {
	h := make(Histogram, 0, len(counts))
	for _, bound := range slices.Sorted(maps.Keys(counts)) {
		h = append(h, Bucket{1000 * bound, counts[bound]})
	}
	return h
}

// Count returns how many attempts are in the histogram.
func (h Histogram) Count() uint64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].Count
}

// Since returns what was added to earlier, which is the same histogram as it was once, or empty.
func (h Histogram) Since(earlier Histogram) Histogram {
	added := slices.Clone(h)
	for i := range earlier {
		added[i].Count -= earlier[i].Count
	}
	return added
}

// Plus returns the attempts of both histograms, which have the same bounds, or of the one that is not empty.
func (h Histogram) Plus(other Histogram) Histogram {
	if len(h) == 0 {
		return other
	}
	both := slices.Clone(h)
	for i := range other {
		both[i].Count += other[i].Count
	}
	return both
}

// Quantile reads the q-quantile in milliseconds, the attempts evenly spread inside a bucket as Prometheus reads it.
// 0 where nothing was counted.
func (h Histogram) Quantile(q float64) float64 {
	i, rank := h.find(q)
	if i < 0 {
		return 0
	}
	lower, upper := h.bounds(i)
	below := uint64(0)
	if i > 0 {
		below = h[i-1].Count
	}
	return lower + (upper-lower)*(rank-float64(below))/float64(h[i].Count-below)
}

// Between returns the bounds, in milliseconds, of the bucket that the q-quantile lies in: all that a histogram knows
// of it. 0 and 0 where nothing was counted.
func (h Histogram) Between(q float64) (lower, upper float64) {
	i, _ := h.find(q)
	if i < 0 {
		return 0, 0
	}
	return h.bounds(i)
}

// find returns the bucket of the q-quantile and its rank among the attempts; -1 where nothing was counted.
func (h Histogram) find(q float64) (i int, rank float64) {
	rank = q * float64(h.Count())
	return slices.IndexFunc(h, func(b Bucket) bool { return b.Count > 0 && float64(b.Count) >= rank }), rank
}

func (h Histogram) bounds(i int) (lower, upper float64) {
	if i > 0 {
		lower = h[i-1].UpToMS
	}
	return lower, h[i].UpToMS
}
