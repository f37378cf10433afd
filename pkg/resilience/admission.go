package resilience

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// AdmissionPolicy bounds what a server works on at once, and who waits.
type AdmissionPolicy struct {
	// Workers is how many requests may be in progress at once, 1 or more. Required; Unlimited is no limit.
	Workers int
	// Queue is how many may wait for a worker. 0: none. Unlimited: a line without end, first come first served, in
	// which criticality counts for nothing.
	Queue int
	// MaxWait is the longest wait in the queue. Required with a queue; Unbounded: until the request's context ends.
	MaxWait time.Duration
	// TargetWait is the queueing delay that is still healthy. A delay that stays above it for 100 ms is overload:
	// then the sheddable do not wait at all, and the default class no longer than TargetWait, the newest of it first.
	// The critical are served before both, in order, and wait up to MaxWait: let that be no shorter than a request's
	// own work, since workers that began together end together. 0: no such signal. (After CoDel, RFC 8289, and the
	// adaptive LIFO of Maurer, "Fail at Scale", ACM Queue 2015.)
	TargetWait time.Duration
}

const (
	overloadAfter = 100 * time.Millisecond
	shedRetry     = time.Second // after which the refused are told to try again
)

func (p AdmissionPolicy) validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("admission: %s is %v: %s", field, value, rule))
	}
	if p.Workers < 1 {
		bad("Workers", p.Workers, "must be at least 1; write Unlimited if you mean no limit")
	}
	if p.Queue < 0 {
		bad("Queue", p.Queue, "must not be negative")
	}
	if p.Queue > 0 && p.MaxWait <= 0 {
		bad("MaxWait", p.MaxWait, "must be positive with a queue; write Unbounded if you mean infinity")
	}
	if p.TargetWait < 0 || p.TargetWait > p.MaxWait {
		bad("TargetWait", p.TargetWait, fmt.Sprintf("must be in 0..MaxWait (%v)", p.MaxWait))
	}
	return errors.Join(errs...)
}

// Admission hands the workers of a server out, and refuses from the least critical request when they do not suffice.
// Probes and metrics must not pass through it. It is a prometheus.Collector.
type Admission struct {
	// Refuse writes a refusal; nil: a plain 503 with Retry-After. Set it before the first request. The reason is one
	// of queue_full, queue_delay, overload, expired, cancelled.
	Refuse func(w http.ResponseWriter, r *http.Request, reason string, retryAfter time.Duration)

	mu        sync.Mutex
	policy    AdmissionPolicy
	inUse     int
	highWater int
	saturated time.Time // first instant since the last mark at which all workers were in use
	busy      time.Duration
	busySince time.Time
	lines     [3]*list.List // of *waiter, by rank, oldest first
	waiting   int
	late      time.Time // since when the queueing delay has been above TargetWait; zero: it is not
	shed      map[shedKey]uint64
}

type shedKey struct {
	criticality Criticality
	reason      string
}

// shedReasons are all that a ShedError may give.
var shedReasons = []string{"queue_full", "queue_delay", "overload", "expired", "cancelled"}

// waiter is a request in line. Its fate is sent once.
type waiter struct {
	criticality Criticality
	since       time.Time
	place       *list.Element
	line        *list.List
	fate        chan error // nil: a worker is yours
}

// ShedError is why a request got no worker.
type ShedError struct{ Reason string }

func (e *ShedError) Error() string { return "no worker: " + e.Reason }

// NewAdmission returns an admission bounded by p. Its error tells every field that breaks a rule.
func NewAdmission(p AdmissionPolicy) (*Admission, error) {
	a := &Admission{lines: [3]*list.List{list.New(), list.New(), list.New()}, shed: map[shedKey]uint64{}}
	return a, a.Apply(p)
}

// Apply swaps the policy. Nobody at work is disturbed; who waits keeps the patience begun with, unless there are more
// of them than may wait now: then the least critical are refused, and of those who have waited longest.
func (a *Admission) Apply(p AdmissionPolicy) error {
	if err := p.validate(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.policy = p
	a.late = time.Time{}
	var waiting []*waiter
	for _, line := range a.lines {
		for place := line.Front(); place != nil; place = place.Next() {
			waiting = append(waiting, place.Value.(*waiter))
		}
		line.Init()
	}
	slices.SortStableFunc(waiting, func(v, w *waiter) int { return v.since.Compare(w.since) })
	for _, w := range waiting {
		a.line(w)
	}
	for a.waiting > p.Queue {
		a.evict(-1, true)
	}
	a.callNext(time.Now())
	return nil
}

// Middleware admits each request before next sees it. A request's class is its context's, and its waiting ends with
// its context; one whose time ran out in line is refused, not begun.
func (a *Admission) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, err := a.Acquire(r.Context(), CriticalityFrom(r.Context()))
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		defer release()
		next.ServeHTTP(w, r)
	})
}

func (a *Admission) refuse(w http.ResponseWriter, r *http.Request, err error) {
	reason := "cancelled"
	if shed, ok := errors.AsType[*ShedError](err); ok {
		reason = shed.Reason
	}
	if a.Refuse != nil {
		a.Refuse(w, r, reason, shedRetry)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(shedRetry/time.Second)))
	http.Error(w, "no worker is free: "+reason, http.StatusServiceUnavailable)
}

// Acquire takes a worker as a request of class c would. The caller calls release once. The error is a *ShedError.
func (a *Admission) Acquire(ctx context.Context, c Criticality) (release func(), err error) {
	a.mu.Lock()
	now := time.Now()
	if isOver(ctx, now) {
		err = a.shedLocked(c, whyOver(ctx))
		a.mu.Unlock()
		return nil, err
	}
	if a.waiting == 0 && a.inUse < a.policy.Workers {
		a.work(+1, now)
		a.late = time.Time{}
		a.mu.Unlock()
		return a.release, nil
	}
	overloaded := a.overloaded(now)
	if overloaded && c == Sheddable {
		err = a.shedLocked(c, "overload")
	} else if a.waiting >= a.policy.Queue && !a.makeRoom(c, overloaded) {
		err = a.shedLocked(c, "queue_full")
	}
	if err != nil {
		a.mu.Unlock()
		return nil, err
	}
	patience := a.policy.MaxWait
	if overloaded && c != Critical {
		patience = a.policy.TargetWait
	}
	w := a.enqueue(c, now)
	a.mu.Unlock()
	return a.await(ctx, w, patience)
}

func (a *Admission) await(ctx context.Context, w *waiter, patience time.Duration) (func(), error) {
	var tooLong <-chan time.Time
	if patience != Unbounded {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		tooLong = timer.C
	}
	reason := ""
	select {
	case err := <-w.fate:
		return a.released(ctx, w, err)
	case <-tooLong:
		reason = "queue_delay"
	case <-ctx.Done():
		reason = whyOver(ctx)
	}
	a.mu.Lock()
	if a.remove(w) {
		defer a.mu.Unlock()
		if now := time.Now(); now.Sub(w.since) > a.policy.TargetWait { // who leaves sooner proves nothing
			a.observeDelay(now.Sub(w.since), now)
		}
		return nil, a.shedLocked(w.criticality, reason)
	}
	a.mu.Unlock()
	return a.released(ctx, w, <-w.fate) // its turn came at the same moment
}

// released makes sure that no work is started whose time is over.
func (a *Admission) released(ctx context.Context, w *waiter, err error) (func(), error) {
	if err != nil {
		return nil, err
	}
	if isOver(ctx, time.Now()) {
		a.release()
		a.mu.Lock()
		defer a.mu.Unlock()
		return nil, a.shedLocked(w.criticality, whyOver(ctx))
	}
	return a.release, nil
}

func whyOver(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "cancelled"
	}
	return "expired"
}

func (a *Admission) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.work(-1, now)
	a.callNext(now)
}

// work changes the number of workers in use, and keeps the integral of it over time.
func (a *Admission) work(change int, now time.Time) {
	a.busy += time.Duration(a.inUse) * now.Sub(a.busySince)
	a.busySince = now
	a.inUse += change
	a.highWater = max(a.highWater, a.inUse)
	if a.inUse >= a.policy.Workers && a.saturated.IsZero() {
		a.saturated = now
	}
}

func (a *Admission) enqueue(c Criticality, now time.Time) *waiter {
	w := &waiter{criticality: c, since: now, fate: make(chan error, 1)}
	a.line(w)
	a.waiting++
	return w
}

// line puts w at the end of the line of its class, or of the one line that has no end.
func (a *Admission) line(w *waiter) {
	w.line = a.lines[w.criticality.rank()]
	if a.policy.Queue == Unlimited {
		w.line = a.lines[0]
	}
	w.place = w.line.PushBack(w)
}

// remove takes w out of its line; false: it is not in it any more, and its fate is sent.
func (a *Admission) remove(w *waiter) bool {
	if w.place == nil {
		return false
	}
	w.line.Remove(w.place)
	w.place = nil
	a.waiting--
	return true
}

// makeRoom refuses a waiter for the sake of a new one: of a lower class the one that came last. Under overload, when
// the newest are served first, it is the one that came first, and the default class gives way to its own newest.
func (a *Admission) makeRoom(c Criticality, overloaded bool) bool {
	if overloaded && c == Default {
		return a.evict(Critical.rank(), true)
	}
	return a.evict(c.rank(), overloaded)
}

// evict refuses a waiter of the lowest class there is below the rank.
func (a *Admission) evict(below int, oldest bool) bool {
	for rank := len(a.lines) - 1; rank > below; rank-- {
		place := a.lines[rank].Back()
		if oldest {
			place = a.lines[rank].Front()
		}
		if place != nil {
			w := place.Value.(*waiter)
			a.remove(w)
			w.fate <- a.shedLocked(w.criticality, "queue_full")
			return true
		}
	}
	return false
}

// callNext gives free workers to those in line: by class, and in it the oldest first; of those that are not critical
// the newest under overload.
func (a *Admission) callNext(now time.Time) {
	for a.waiting > 0 && a.inUse < a.policy.Workers {
		w := a.next(now)
		a.remove(w)
		a.observeDelay(now.Sub(w.since), now)
		a.work(+1, now)
		w.fate <- nil
	}
}

func (a *Admission) next(now time.Time) *waiter {
	for rank, line := range a.lines {
		if line.Len() == 0 {
			continue
		}
		if rank != Critical.rank() && a.overloaded(now) {
			return line.Back().Value.(*waiter)
		}
		return line.Front().Value.(*waiter)
	}
	panic("resilience: next called with empty lines")
}

func (a *Admission) observeDelay(delay time.Duration, now time.Time) {
	switch {
	case delay <= a.policy.TargetWait && a.waiting == 0:
		a.late = time.Time{}
	case delay > a.policy.TargetWait && a.late.IsZero():
		a.late = now
	}
}

func (a *Admission) overloaded(now time.Time) bool {
	return a.policy.TargetWait > 0 && !a.late.IsZero() && now.Sub(a.late) >= overloadAfter
}

func (a *Admission) shedLocked(c Criticality, reason string) error {
	a.shed[shedKey{c, reason}]++
	return &ShedError{Reason: reason}
}

// AdmissionSnapshot is what the workers of a server are doing now.
type AdmissionSnapshot struct {
	Limit       int // Unlimited where there is no limit
	InUse       int
	HighWater   int       // the most workers in use since the last Mark
	Queue       int       // how many wait
	SaturatedAt time.Time // first instant since the last Mark at which all workers were in use; zero: none
	Busy        time.Duration
	Shed        uint64
}

// Snapshot returns what the workers are doing now. Busy is the integral of the workers in use over time since the
// start: the difference of two, divided by the time between, is the exact mean of workers in use.
func (a *Admission) Snapshot() AdmissionSnapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.work(0, time.Now())
	s := AdmissionSnapshot{
		Limit: a.policy.Workers, InUse: a.inUse, HighWater: a.highWater, Queue: a.waiting,
		SaturatedAt: a.saturated, Busy: a.busy,
	}
	for _, n := range a.shed {
		s.Shed += n
	}
	return s
}

// Mark resets the marks: the high water to what is in use now, SaturatedAt to never, or to now if all are in use.
func (a *Admission) Mark() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.highWater, a.saturated = a.inUse, time.Time{}
	a.work(0, time.Now())
}

var (
	workersDesc      = desc("workers", "Requests that may be in progress at once; +Inf where unlimited.")
	workersInUseDesc = desc("workers_in_use", "Requests in progress.")
	queueDesc        = desc("queue_length", "Requests that wait for a worker.")
	shedDesc         = desc("shed_total", "Requests that got no worker.", "criticality", "reason")
)

// Describe implements prometheus.Collector.
func (a *Admission) Describe(ch chan<- *prometheus.Desc) {
	ch <- workersDesc
	ch <- workersInUseDesc
	ch <- queueDesc
	ch <- shedDesc
}

// Collect implements prometheus.Collector.
func (a *Admission) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gauge := func(desc *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
	gauge(workersDesc, limitValue(a.policy.Workers))
	gauge(workersInUseDesc, float64(a.inUse))
	gauge(queueDesc, float64(a.waiting))
	for _, c := range []Criticality{Critical, Default, Sheddable} {
		for _, reason := range shedReasons { // 0, too: a rate does not see a series begin
			n := a.shed[shedKey{c, reason}]
			ch <- prometheus.MustNewConstMetric(shedDesc, prometheus.CounterValue, float64(n), c.String(), reason)
		}
	}
}

func limitValue(limit int) float64 {
	if limit == Unlimited {
		return math.Inf(1)
	}
	return float64(limit)
}
