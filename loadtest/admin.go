package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// State is what the load test reads of a service's GET /admin/state.
type State struct {
	Workers struct {
		Limit       int        `json:"limit"`
		InUse       int        `json:"in_use"`
		HighWater   int        `json:"high_water"`
		SaturatedAt *time.Time `json:"saturated_at"` // the first instant at which all were in use since the mark
		Queue       int        `json:"queue"`
		BusySeconds float64    `json:"busy_seconds"` // the integral of in_use
		Begun       int64      `json:"begun"`        // requests that were given a worker …
		BegunLate   int64      `json:"begun_late"`   // … when nobody waited for them any more
	} `json:"workers"`
	Process struct {
		Goroutines int     `json:"goroutines"`
		FDs        int     `json:"fds"`
		FDsLimit   int     `json:"fds_limit"`
		RSSBytes   int64   `json:"rss_bytes"`
		HeapBytes  int64   `json:"heap_bytes"`
		CPUSeconds float64 `json:"cpu_seconds"`
	} `json:"process"`
	Dependencies []DependencyState `json:"dependencies"`

	at time.Time // in the middle of the asking
}

// DependencyState is what is read of the calls to one dependency.
type DependencyState struct {
	Name      string          `json:"name"`
	Slots     int             `json:"slots"`
	InUse     int             `json:"in_use"`
	Endpoints []EndpointState `json:"endpoints"`
}

// EndpointState is what is read of the calls to one operation.
type EndpointState struct {
	Name     string           `json:"name"`
	Breaker  string           `json:"breaker"`
	Outcomes map[string]int64 `json:"outcomes"`
	Retries  int64            `json:"retries"`
	P50      float64          `json:"p50_ms"`
}

// Calls is what became of the attempts to call a dependency, over all its endpoints.
type Calls struct {
	Outcomes map[string]int64
	Retries  int64
	P50      time.Duration // the median latency of the busiest endpoint
}

// calls sums the endpoints of a dependency up.
func (s State) calls(dependency string) (c Calls, ok bool) {
	c.Outcomes = map[string]int64{}
	var busiest int64
	for _, d := range s.Dependencies {
		if d.Name != dependency {
			continue
		}
		ok = true
		for _, e := range d.Endpoints {
			var n int64
			for outcome, count := range e.Outcomes {
				c.Outcomes[outcome] += count
				n += count
			}
			c.Retries += e.Retries
			if n > busiest {
				busiest, c.P50 = n, time.Duration(e.P50*float64(time.Millisecond))
			}
		}
	}
	return c, ok
}

// unsentOutcomes are those of attempts of which the dependency heard nothing.
var unsentOutcomes = []string{"rejected", "short_circuited", "expired"}

// ended is how many attempts ended, in any way.
func (c Calls) ended() (n int64) {
	for _, count := range c.Outcomes {
		n += count
	}
	return n
}

// sent is how many of them the dependency heard of.
func (c Calls) sent() int64 {
	n := c.ended()
	for _, outcome := range unsentOutcomes {
		n -= c.Outcomes[outcome]
	}
	return n
}

// since is what has come to c since before.
func (c Calls) since(before Calls) Calls {
	more := Calls{Outcomes: map[string]int64{}, Retries: c.Retries - before.Retries, P50: c.P50}
	for outcome, n := range c.Outcomes {
		more.Outcomes[outcome] = n - before.Outcomes[outcome]
	}
	return more
}

// adminTimeout bounds every question to an admin listener. It answers from memory, whatever the service is at.
const adminTimeout = time.Second

// maxAnswer is the most that is read of any answer of a shop.
const maxAnswer = 1 << 20

// admin asks the admin listeners of a shop. Its connections are not those of the people: what they wait for must not
// keep the observer waiting.
type admin struct {
	shop   Shop
	client *http.Client
}

func newAdmin(shop Shop) *admin {
	return &admin{shop, &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4, MaxConnsPerHost: 8, IdleConnTimeout: 10 * time.Second},
		Timeout:   0, //unbounded:allow tinytimeout "every request has a deadline of its own"
	}}
}

func (a *admin) close() { a.client.CloseIdleConnections() }

// state reads the state of one service.
func (a *admin) state(ctx context.Context, service string) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	var s State
	asked := time.Now()
	err := a.get(ctx, a.shop.Admin(service)+"/admin/state", &s)
	s.at = asked.Add(time.Since(asked) / 2)
	return s, err
}

// states reads the states of all services at once. One that does not answer is not in it.
func (a *admin) states(ctx context.Context) map[string]State {
	states := make(map[string]State, len(Services))
	var mu sync.Mutex
	a.each(func(service string) {
		if s, err := a.state(ctx, service); err == nil {
			mu.Lock()
			defer mu.Unlock()
			states[service] = s
		}
	})
	return states
}

// mark resets the high-water marks of all services at once. One that does not answer keeps its own.
func (a *admin) mark(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	a.each(func(service string) {
		_ = a.do(ctx, http.MethodPost, a.shop.Admin(service)+"/admin/mark", nil, nil) // the watch tells of the dead
	})
}

// each runs f for all services at once and waits for all.
func (a *admin) each(f func(service string)) {
	var wg sync.WaitGroup
	for _, service := range Services {
		wg.Go(func() { f(service) })
	}
	wg.Wait()
}

// setDefences switches the defences of all services, callers before their callees: a switch that bounds calls ends the
// stuck ones, thousands of them, and a callee's would come back as failures to a caller that is still without defences
// and makes the best of each.
func (a *admin) setDefences(ctx context.Context, expr string) error {
	for _, service := range slices.Backward(Services) {
		if err := a.setDefencesOf(ctx, service, expr); err != nil {
			return err
		}
	}
	return nil
}

func (a *admin) setDefencesOf(ctx context.Context, service, expr string) error {
	body := map[string]string{"set": expr}
	if err := a.ask(ctx, http.MethodPost, service, "/admin/defences", body, nil); err != nil {
		return fmt.Errorf("switch the defences of %s to %s: %w", service, expr, err)
	}
	return nil
}

func (a *admin) getDefences(ctx context.Context, service string) (map[string]bool, error) {
	var set map[string]bool
	if err := a.ask(ctx, http.MethodGet, service, "/admin/defences", nil, &set); err != nil {
		return nil, fmt.Errorf("read the defences of %s: %w", service, err)
	}
	return set, nil
}

func (a *admin) setFault(ctx context.Context, service, fault string) error {
	if err := a.ask(ctx, http.MethodPost, service, "/admin/faults", map[string]string{"fault": fault}, nil); err != nil {
		return fmt.Errorf("set the fault %s at %s: %w", fault, service, err)
	}
	return nil
}

func (a *admin) clearFaults(ctx context.Context, service string) error {
	if err := a.ask(ctx, http.MethodDelete, service, "/admin/faults", nil, nil); err != nil {
		return fmt.Errorf("clear the faults of %s: %w", service, err)
	}
	return nil
}

// ask is do for one service, with the patience for a command: switching ends thousands of requests on the way.
func (a *admin) ask(ctx context.Context, method, service, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*adminTimeout)
	defer cancel()
	return a.do(ctx, method, a.shop.Admin(service)+path, body, into)
}

func (a *admin) get(ctx context.Context, address string, into any) error {
	return a.do(ctx, http.MethodGet, address, nil, into)
}

// do sends one request and reads its JSON answer; anything but a 2xx is an error that quotes the answer.
func (a *admin) do(ctx context.Context, method, address string, body, into any) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return fmt.Errorf("%q is no address of a service", address)
	}
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	if res.StatusCode/100 != 2 {
		return &statusError{
			res.StatusCode,
			fmt.Sprintf("%s %s: %s: %.200s", method, address, res.Status, bytes.TrimSpace(text)),
		}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	return nil
}

// statusError is an answer that is not a 2xx.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }
