package service

import (
	"strings"
	"testing"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

func TestLedger(t *testing.T) {
	edge := func(name string, c resilience.Criticality, slots int) defence.Edge {
		return defence.Edge{Dependency: name, Policy: resilience.Policy{Criticality: c, Slots: slots, Timeout: time.Second}}
	}
	background := edge("stock", resilience.Sheddable, 2)
	background.Background = true
	enough := Capacity{Workers: 200, MaxConns: 8192, Descriptors: 20_000, Memory: 1 << 30}
	tests := []struct {
		name     string
		capacity Capacity
		edges    []defence.Edge
		want     []string // parts of the error; none: no error
	}{
		{"the catalogue's", enough, []defence.Edge{edge("recommendations", resilience.Sheddable, 20), edge("currency",
			resilience.Default, 20)}, nil},
		{"40 slots beside 50 workers", Capacity{Workers: 50}, []defence.Edge{edge("offers", resilience.Sheddable, 40)},
			[]string{"optional dependency offers: 40 slots of 50 workers, 28 more than the 12 (25 %)",
				"all optional dependencies: 40 slots of 50 workers, 20 more than the 20 (40 %)"}},
		{"a quarter is allowed", Capacity{Workers: 200}, []defence.Edge{edge("offers", resilience.Sheddable, 50)}, nil},
		{"more than a quarter is not", Capacity{Workers: 200}, []defence.Edge{edge("offers", resilience.Sheddable, 51)},
			[]string{"1 more than the 50"}},
		{"optional ones in sum", Capacity{Workers: 100},
			[]defence.Edge{edge("a", resilience.Sheddable, 25), edge("b", resilience.Sheddable, 25)},
			[]string{"all optional dependencies: 50 slots"}},
		{"all in sum", Capacity{Workers: 100},
			[]defence.Edge{edge("a", resilience.Default, 50), edge("b", resilience.Critical, 31)},
			[]string{"all dependencies: 81 slots of 100 workers, 1 more than the 80"}},
		{"background work holds no worker", Capacity{Workers: 4}, []defence.Edge{background}, nil},
		{"unlimited slots", enough, []defence.Edge{edge("a", resilience.Default, resilience.Unlimited)},
			[]string{"dependency a: slots are unlimited"}},
		{"descriptors", Capacity{Workers: 200, MaxConns: 8192, Descriptors: 8192}, []defence.Edge{edge("a",
			resilience.Default, 20), background},
			[]string{"8192 accepted connections, 22 slots and 100 of its own are 8314, the process may have 8192"}},
		{"memory", Capacity{Workers: 4000, Memory: 8 << 20}, []defence.Edge{edge("a", resilience.Default, 200)},
			[]string{"200 slots at 80 KiB are 15 MiB, the process may have 8 MiB"}},
		{"plain Go keeps no ledger", Capacity{Descriptors: 1}, []defence.Edge{edge("a", resilience.Sheddable, 1000)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckLedger(tt.capacity, tt.edges)
			if len(tt.want) == 0 && err != nil {
				t.Errorf("refused: %v", err)
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}
