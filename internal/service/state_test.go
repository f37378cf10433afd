package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

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

// A timeout is told as it is in force: none when the defence is off.
func TestStateTellsTheTimeoutInForce(t *testing.T) {
	edge := testEdge(20)
	c := open(t, edge)
	timeout := func() float64 { return c.state().Dependencies[0].TimeoutMS }
	if got, want := timeout(), milliseconds(edge.Policy.Timeout); got != want {
		t.Errorf("timeout %v ms, want %v", got, want)
	}
	if err := c.board.Set(defence.None); err != nil {
		t.Fatal(err)
	}
	if got := timeout(); got != 0 {
		t.Errorf("without timeouts %v ms, want 0", got)
	}
}
