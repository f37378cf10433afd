package service

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/pkg/resilience"
)

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name    string
		q       float64
		buckets map[float64]uint64
		want    float64
	}{
		{"nothing", 0.5, nil, 0},
		{"nothing counted", 0.5, map[float64]uint64{0.1: 0, 1: 0}, 0},
		{"middle of the first bucket", 0.5, map[float64]uint64{0.1: 10, 1: 10}, 0.05},
		{"end of the first bucket", 0.5, map[float64]uint64{0.1: 10, 1: 20}, 0.1},
		{"inside the second", 0.75, map[float64]uint64{0.1: 10, 1: 20}, 0.55},
		{"empty buckets between", 0.99, map[float64]uint64{0.1: 50, 0.2: 50, 0.5: 50, 1: 100}, 0.99},
		{"beyond the last bound", 0.99, map[float64]uint64{0.1: 1, 1: 1, inf: 100}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.q, tt.buckets); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// The percentiles forget: what a slow minute left behind is gone 20 seconds later, and not before 10.
func TestWindowForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, testEdge(20))
		go c.watch(t.Context())
		e := c.board.Dependencies()[0].Endpoint("related")
		_, err := resilience.Call(t.Context(), e, func(context.Context) (int, error) {
			time.Sleep(200 * time.Millisecond)
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		p50 := func() float64 { return c.state().Dependencies[0].Endpoints[0].P50MS }
		time.Sleep(10*time.Second - time.Second)
		if got := p50(); got < 150 || got > 250 {
			t.Errorf("9 s later the median is %v ms, want that of the bucket 150 to 250", got)
		}
		time.Sleep(12 * time.Second)
		if got := p50(); got != 0 {
			t.Errorf("21 s later the median is still %v ms", got)
		}
	})
}
