package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// askTimeout is how long a dependency may take to say that it is there, while readiness asks.
const askTimeout = time.Second

// ask is one dependency that readiness may be made to ask.
type ask struct {
	dependency string
	ask        func(context.Context) error // nil: it says yes
}

// DependsOn names a service whose replicas are followed: found behind its name, and left out while they fail. /readyz
// asks it, too (at HealthPath, through its admission), while the defence `shallow_readiness` is off: the mistake by which
// one slow leaf takes every caller out of the load balancer.
func (c *Chassis) DependsOn(service string, to *Addresses) {
	c.callees = append(c.callees, callee{service, to})
	c.asks = append(c.asks, ask{service, func(ctx context.Context) error { return askService(ctx, to.URL(HealthPath)) }})
}

// readyz tells whether this process wants requests. With the defences on it looks at nothing but itself.
func (c *Chassis) readyz(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	set := c.board.Get()
	if c.draining.Load() {
		writeText(w, http.StatusServiceUnavailable, "not ready: stopping")
		return
	}
	if !set.IsolatedProbes {
		// As a probe on the public port: it waits in line with everybody, until the prober gives up.
		release, err := c.board.Admission().Acquire(ctx, resilience.Default)
		if err != nil {
			writeText(w, http.StatusServiceUnavailable, "not ready: no worker")
			return
		}
		defer release()
	}
	if !set.ShallowReadiness {
		if err := c.askAll(ctx); err != nil {
			writeText(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
	}
	writeText(w, http.StatusOK, "ready")
}

// askAll asks every dependency at once and returns the first that does not say yes.
func (c *Chassis) askAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	errs := make([]error, len(c.asks))
	var wg sync.WaitGroup
	for i, a := range c.asks {
		wg.Go(func() { errs[i] = a.ask(ctx) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s %w", c.asks[i].dependency, err)
		}
	}
	return nil
}

// errNoAnswer is all that a prober is told of what went wrong.
var errNoAnswer = errors.New("does not answer")

// askService asks a service for a sign of life at a URL.
func askService(ctx context.Context, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	// A new connection each time: an answer over a connection from better days would prove little. The client's own
	// limit is the second one, and looser, so that the context's is the one that is told.
	client := &http.Client{Timeout: 2 * askTimeout, Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: askTimeout}).DialContext,
		DisableKeepAlives: true,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return errNoAnswer
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answers %d", resp.StatusCode)
	}
	return nil
}
