package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/holdfast/internal/problem"
)

const (
	lookUpEvery   = 2 * time.Second // all names, and all replicas that are left out
	lookUpTimeout = time.Second
	maxReplicas   = 64 // of one name; more are not used
	// leftOutAfter is how many failures in a row leave a replica out. One may be anybody's.
	leftOutAfter = 3
)

// replicas are the processes of a service as one caller sees them. A call goes to the one with the fewest calls under
// way, so a slow one gets few and a frozen one soon none: what it holds is all that it costs. After leftOutAfter failures
// it is left out until it gives a sign of life, which no person has to wait for. At most half of them are left out: if
// all fail, the trouble is elsewhere, and it is for the breaker to say so.
type replicas struct {
	mu   sync.Mutex
	all  []*replica
	turn int // where the search for the next begins
}

// replica is one process of a service.
type replica struct {
	of       *replicas
	base     *url.URL
	host     string // for the request's Host, where base has a number in place of the name
	inFlight int
	failures int // in a row
	out      bool
	told     bool // that it is out; followReplicas' own
}

func newReplicas(urls []*url.URL) *replicas {
	rs := new(replicas)
	for _, u := range urls {
		rs.all = append(rs.all, &replica{of: rs, base: u})
	}
	return rs
}

// take chooses a replica for a call; who takes one gives it back. It panics where there is none.
func (rs *replicas) take() *replica {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var best *replica
	next := 0
	for i := range rs.all {
		place := (rs.turn + i) % len(rs.all)
		if r := rs.all[place]; !r.out && (best == nil || r.inFlight < best.inFlight) {
			best, next = r, place+1
		}
	}
	rs.turn = next
	best.inFlight++
	return best
}

// giveBack tells what became of the call: an answer, or err. A caller who left says nothing of the replica.
func (r *replica) giveBack(ctx context.Context, err error) {
	p, answered := errors.AsType[*problem.Problem](err)
	alive := err == nil || answered && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.inFlight--
	switch {
	case alive:
		r.failures = 0
	case !errors.Is(ctx.Err(), context.Canceled):
		r.failures++
		r.out = r.out || r.failures >= leftOutAfter && 2*(r.of.leftOut()+1) <= len(r.of.all)
	}
}

// leftOut is how many are left out. The lock is held.
func (rs *replicas) leftOut() (n int) {
	for _, r := range rs.all {
		if r.out {
			n++
		}
	}
	return n
}

// count tells how many replicas there are, and how many of them are left out.
func (rs *replicas) count() (all, out int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return len(rs.all), rs.leftOut()
}

// silent returns the replicas that are left out.
func (rs *replicas) silent() []*replica {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(rs.all), func(r *replica) bool { return !r.out })
}

// letIn takes a replica in again that has given a sign of life.
func (r *replica) letIn() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.out, r.failures = false, 0
}

// set makes the replicas those at the given places, and keeps what is known of those that stay.
func (rs *replicas) set(found []*replica) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, r := range found {
		for _, known := range rs.all {
			if *known.base == *r.base {
				found[i] = known
			}
		}
	}
	rs.all = found
	for 2*rs.leftOut() > len(rs.all) { // fewer than there were: those must do
		rs.all[slices.IndexFunc(rs.all, func(r *replica) bool { return r.out })].out = false
	}
}

// lookup finds the addresses of a name, as net.Resolver does.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// find looks the names of a's URLs up. While a name cannot be found its replicas stay as they are, so that nobody feels
// a name server that is down. A name of one address is left to the dialler, which finds a new one without delay; an
// https one, too, whose certificate is for the name.
func (a *Addresses) find(ctx context.Context, look lookup) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	var found []*replica
	for _, u := range a.urls {
		if _, err := netip.ParseAddr(u.Hostname()); err == nil || u.Scheme == "https" {
			found = append(found, &replica{of: a.replicas, base: u})
			continue
		}
		at, err := look(ctx, "ip4", u.Hostname())
		if err != nil || len(at) == 0 {
			at, err = look(ctx, "ip6", u.Hostname())
		}
		if err != nil || len(at) == 0 {
			return
		}
		if len(at) == 1 {
			found = append(found, &replica{of: a.replicas, base: u})
			continue
		}
		for _, ip := range at[:min(len(at), maxReplicas)] {
			numbered := *u
			numbered.Host = net.JoinHostPort(ip.String(), portOf(u))
			found = append(found, &replica{of: a.replicas, base: &numbered, host: u.Host})
		}
	}
	a.replicas.set(found)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return "80"
}

// callee is a service whose replicas are followed.
type callee struct {
	service string
	*Addresses
}

// followReplicas keeps the replicas of all dependencies as they are out there, until ctx ends. It returns nil.
func (c *Chassis) followReplicas(ctx context.Context) error {
	tick := time.NewTicker(lookUpEvery)
	defer tick.Stop()
	for {
		var wg sync.WaitGroup
		for _, to := range c.callees {
			wg.Go(func() { to.find(ctx, c.lookup) })
			for _, r := range to.replicas.silent() {
				wg.Go(func() { c.ask(ctx, to.service, r) })
			}
		}
		wg.Wait()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// ask lets a replica in again if it gives a sign of life.
func (c *Chassis) ask(ctx context.Context, callee string, r *replica) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := askService(ctx, join(r.base, HealthPath))
	if err == nil {
		r.letIn()
		c.log.InfoContext(ctx, "replica answers again", "callee", callee, "replica", r.base.Host)
	} else if !r.told {
		c.log.WarnContext(ctx, "replica left out", "callee", callee, "replica", r.base.Host, "error", err)
	}
	r.told = err != nil
}

var (
	replicasDesc = prometheus.NewDesc("service_replicas", "Replicas of a service that this one knows of.",
		[]string{"callee"}, nil)
	leftOutDesc = prometheus.NewDesc("service_replicas_left_out", "Those of them that fail and are given no calls.",
		[]string{"callee"}, nil)
)

// replicaMetrics tells of the replicas of each dependency. It is a prometheus.Collector.
type replicaMetrics struct{ callees *[]callee }

// Describe implements prometheus.Collector.
func (m replicaMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- replicasDesc; ch <- leftOutDesc }

// Collect implements prometheus.Collector.
func (m replicaMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, to := range *m.callees {
		all, out := to.replicas.count()
		ch <- prometheus.MustNewConstMetric(replicasDesc, prometheus.GaugeValue, float64(all), to.service)
		ch <- prometheus.MustNewConstMetric(leftOutDesc, prometheus.GaugeValue, float64(out), to.service)
	}
}
