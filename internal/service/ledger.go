package service

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/pkg/resilience"
)

// The shares of a service's workers that may be waiting for others at once. 40 slots beside 50 workers is no bulkhead.
const (
	maxOptionalShare    = 0.25 // one optional dependency
	maxAllOptionalShare = 0.40 // all of them together
	maxAllShare         = 0.80 // all dependencies together
)

const (
	// ownDescriptors is what a process needs beside connections: its log, the admin API, a scrape, a profile.
	ownDescriptors = 100
	// callMemory is what a request with one call in flight costs: 466 MB over 6,100 of them, measured at the gateway.
	callMemory = 80 << 10
)

// Capacity is what a service has to spend.
type Capacity struct {
	Workers     int    // 0: unlimited, and then nothing is checked
	MaxConns    int    // connections accepted; 0: no limit, not counted
	Descriptors uint64 // 0: not known
	Memory      int64  // bytes; 0: no limit
}

// CheckLedger adds up what the edges could take at once if all defences were on, and returns every rule that this
// breaks, by how much. An edge is optional when its criticality is sheddable. Background edges hold no worker.
func CheckLedger(capacity Capacity, edges []defence.Edge) error {
	if capacity.Workers == 0 {
		return nil
	}
	var errs []error
	atMost := func(what string, slots int, share float64) {
		if allowed := int(share * float64(capacity.Workers)); slots > allowed {
			errs = append(errs, fmt.Errorf("%s: %d slots of %d workers, %d more than the %d (%.0f %%) allowed",
				what, slots, capacity.Workers, slots-allowed, allowed, 100*share))
		}
	}
	var optional, waiting, all int
	for _, e := range edges {
		slots := e.Policy.Slots
		if slots == resilience.Unlimited {
			errs = append(errs, fmt.Errorf("dependency %s: slots are unlimited, so there is nothing to add up", e.Dependency))
			continue
		}
		all += slots
		if e.Background {
			continue
		}
		waiting += slots
		if e.Policy.Criticality == resilience.Sheddable {
			optional += slots
			atMost("optional dependency "+e.Dependency, slots, maxOptionalShare)
		}
	}
	atMost("all optional dependencies", optional, maxAllOptionalShare)
	atMost("all dependencies", waiting, maxAllShare)
	needed := uint64(capacity.MaxConns + all + ownDescriptors)
	if capacity.Descriptors > 0 && needed > capacity.Descriptors {
		errs = append(errs, fmt.Errorf("descriptors: %d accepted connections, %d slots and %d of its own are %d, "+
			"the process may have %d: lower MAX_CONNECTIONS or raise the limit",
			capacity.MaxConns, all, ownDescriptors, needed, capacity.Descriptors))
	}
	if needed := int64(all) * callMemory; capacity.Memory > 0 && needed > capacity.Memory {
		errs = append(errs, fmt.Errorf("memory: %d slots at %d KiB are %d MiB, the process may have %d MiB",
			all, callMemory>>10, needed>>20, capacity.Memory>>20))
	}
	return errors.Join(errs...)
}

// checkLedger checks the service's own ledger.
func (c *Chassis) checkLedger() error {
	capacity := Capacity{
		Workers: c.settings.Workers, MaxConns: c.settings.MaxConns, Descriptors: fdLimit(), Memory: memoryLimit(),
	}
	if err := CheckLedger(capacity, c.board.Edges()); err != nil {
		return fmt.Errorf("capacity of %s:\n%w", c.name, err)
	}
	return nil
}

// memoryLimit is the smaller of GOMEMLIMIT and the limit of the control group; 0 where there is none.
func memoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			limit = min(limit, n)
		}
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}
