package loadtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A series tells what came to be between two looks; a service that was restarted counts from nothing again.
func TestASeriesIsWhatCameBetweenTheLooks(t *testing.T) {
	start := time.Now()
	look := func(at time.Duration, cpu float64, breaker string, outcomes map[string]int64) sample {
		s := sample{at: start.Add(at), probe: 2 * time.Millisecond, calls: map[string]Calls{"prices": {Outcomes: outcomes}}}
		s.state.Workers.Limit, s.state.Workers.InUse = 200, 7
		s.state.Process.CPUSeconds = cpu
		s.state.Dependencies = []DependencyState{{
			Name: "prices", Slots: 20, InUse: 3, Endpoints: []EndpointState{{Name: "rates", Breaker: breaker}},
		}}
		return s
	}
	got := serviceSeries([]sample{
		look(0, 10, "closed", map[string]int64{"success": 100}),
		look(time.Second, 10.5, "closed", map[string]int64{"success": 140}),
		look(2*time.Second, 10.5, "open", map[string]int64{"success": 140, "timeout": 6}),
		look(3*time.Second, 0.1, "closed", map[string]int64{"success": 2}),
	}, start)

	want := map[string]DependencySeries{"prices": {
		Slots: 20, InUse: []int{3, 3, 3, 3}, Retries: []int64{0, 0, 0, 0},
		Outcomes: map[string][]int64{"success": {0, 40, 0, 0}, "timeout": {0, 0, 6, 0}},
		Breakers: map[string][]StateChange{"rates": {{0, "closed"}, {2, "open"}, {3, "closed"}}},
	}}
	if d := cmp.Diff(want, got.Dependencies); d != "" {
		t.Errorf("calls: %s", d)
	}
	if d := cmp.Diff([]float64{0, 0.5, 0, 0}, got.CPU); d != "" {
		t.Errorf("processors: %s", d)
	}
	if d := cmp.Diff([]float64{0, 1, 2, 3}, got.At); d != "" {
		t.Errorf("looks: %s", d)
	}
}

// Each second tells of those who meant to come in it.
func TestASeriesCountsPeopleByTheSecond(t *testing.T) {
	p := played(t)
	p.visits(sorry(faultAt, faultAt+2*time.Second))
	s := p.series()
	second := int(faultAt / time.Second)
	for name, c := range s.Classes {
		for i := second - 1; i <= second+2; i++ {
			bad := i == second || i == second+1
			if c.Asked[i] == 0 || (c.Good[i] == 0) != bad {
				t.Errorf("%s, second %d: %d of %d good; they were sorry in %d and the one after", name, i, c.Good[i], c.Asked[i], second)
			}
		}
	}
}
