package service

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistogramQuantile(t *testing.T) {
	tests := []struct {
		name         string
		q            float64
		counts       map[float64]uint64
		want         float64
		lower, upper float64
	}{
		{"nothing", 0.5, nil, 0, 0, 0},
		{"nothing counted", 0.5, map[float64]uint64{0.1: 0, 1: 0}, 0, 0, 0},
		{"middle of the first bucket", 0.5, map[float64]uint64{0.1: 10, 1: 10}, 50, 0, 100},
		{"end of the first bucket", 0.5, map[float64]uint64{0.1: 10, 1: 20}, 100, 0, 100},
		{"inside the second", 0.75, map[float64]uint64{0.1: 10, 1: 20}, 550, 100, 1000},
		{"empty buckets between", 0.99, map[float64]uint64{0.1: 50, 0.2: 50, 0.5: 50, 1: 100}, 990, 500, 1000},
		{"all of it", 1, map[float64]uint64{0.1: 50, 0.2: 70, 0.5: 70}, 200, 100, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistogram(tt.counts)
			if got := h.Quantile(tt.q); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if lower, upper := h.Between(tt.q); lower != tt.lower || upper != tt.upper {
				t.Errorf("between %v and %v, want %v and %v", lower, upper, tt.lower, tt.upper)
			}
		})
	}
}

// What was counted between two readings, and what two endpoints counted together.
func TestHistogramSinceAndPlus(t *testing.T) {
	before, after := Histogram{{10, 3}, {20, 5}}, Histogram{{10, 4}, {20, 9}}
	added := Histogram{{10, 1}, {20, 4}}
	if diff := cmp.Diff(added, after.Since(before)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(after, before.Plus(added)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(after, after.Since(nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(after, Histogram(nil).Plus(after)); diff != "" {
		t.Error(diff)
	}
	if after.Count() != 9 || Histogram(nil).Count() != 0 {
		t.Errorf("counted %d and %d, want 9 and 0", after.Count(), Histogram(nil).Count())
	}
}
