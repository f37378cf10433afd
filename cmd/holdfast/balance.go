package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

const (
	lookEvery     = 500 * time.Millisecond // between two looks at a replica's /readyz
	lookTimeout   = time.Second            // a look that has no answer by then has failed
	failedLooks   = 2                      // so many in a row take a replica out; one good look lets it in
	balancerConns = 8192                   // accepted, and again to each replica: what a service accepts
	balancerIdle  = 60 * time.Second       // shorter than a service keeps an idle connection, or it hangs up under us
	balancerDrain = 2 * time.Second        // for the answers in progress when the balancer itself ends
)

// balanceCommand faces the callers of a service with replicas. It defends nobody: it has no timeout of its own, does
// not retry, and refuses only when no replica is ready, so that a test of the shop's defences tests the shop's.
type balanceCommand struct {
	Service   string   `arg:"" enum:"${services}" help:"The service: ${services}."`
	Replicas  []string `arg:"" sep:"none" placeholder:"PUBLIC=ADMIN" help:"The two addresses of each replica, as http://127.0.0.1:8181=http://127.0.0.1:9181."`
	Addr      string   `env:"ADDR" default:"127.0.0.1:0" help:"Where requests are taken. Port 0: any free one."`
	AdminAddr string   `env:"ADMIN_ADDR" default:"127.0.0.1:0" help:"Where admin requests are taken: changes go to every replica, what is read is the first one's, faults are refused."`
}

func (c *balanceCommand) Run(ctx context.Context, t terminal) error {
	b, err := newBalancer(c.Service, c.Replicas)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	public, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("public listener: %w", err)
	}
	defer public.Close()
	admin, err := lc.Listen(ctx, "tcp", c.AdminAddr)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	defer admin.Close()
	at := announcement{c.Service, public.Addr().String(), admin.Addr().String()}
	if err := json.NewEncoder(t.out).Encode(at); err != nil {
		return fmt.Errorf("tell the addresses: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range b.replicas {
		group.Go(func() error { return r.watch(ctx) })
	}
	serveUntil(ctx, group, netutil.LimitListener(public, balancerConns), b.balance)
	serveUntil(ctx, group, admin, b.admin)
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveUntil serves until ctx ends. How long an answer may take is the replica's to say.
func serveUntil(ctx context.Context, group *errgroup.Group, l net.Listener, h http.HandlerFunc) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: service.ReadHeaderTimeout, IdleTimeout: service.IdleTimeout,
		MaxHeaderBytes: service.MaxHeaderBytes}
	group.Go(func() error { return s.Serve(l) })
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), balancerDrain)
		defer cancel()
		if s.Shutdown(ending) != nil {
			s.Close() // somebody still waits for a replica
		}
		return nil
	})
}

// balancer sends each request to the next replica that is ready.
type balancer struct {
	service  string
	replicas []*replica
	turn     atomic.Uint32
}

// replica is one process of the service.
type replica struct {
	admin   string
	forward *httputil.ReverseProxy
	failed  int // looks in a row
	in      atomic.Bool
}

func newBalancer(name string, pairs []string) (*balancer, error) {
	b := &balancer{service: name}
	transport := &http.Transport{MaxConnsPerHost: balancerConns, MaxIdleConnsPerHost: balancerConns,
		IdleConnTimeout: balancerIdle, DisableCompression: true}
	for _, pair := range pairs {
		public, admin, _ := strings.Cut(pair, "=")
		at, err := service.ParseAddresses(public + "," + admin)
		if err != nil || at.Len() != 2 {
			return nil, fmt.Errorf("replica %q: must be PUBLIC=ADMIN, two URLs as http://host:port", pair)
		}
		forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorHandler: badGateway}
		to := at.Next()
		forward.Rewrite = func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host, r.Out.URL.RawQuery = r.In.Host, r.In.URL.RawQuery
		}
		b.replicas = append(b.replicas, &replica{admin: admin, forward: forward, failed: failedLooks})
	}
	return b, nil
}

func badGateway(w http.ResponseWriter, r *http.Request, _ error) {
	p := problem.Problem{Status: http.StatusBadGateway, Detail: "The replica that was asked does not answer."}
	problem.Write(w, r, &p)
}

func (b *balancer) balance(w http.ResponseWriter, r *http.Request) {
	ready := b.ready()
	if len(ready) == 0 {
		problem.Write(w, r, problem.New(problem.Unavailable, "No replica of "+b.service+" is ready.").After(time.Second))
		return
	}
	ready[(b.turn.Add(1)-1)%uint32(len(ready))].forward.ServeHTTP(w, r)
}

func (b *balancer) ready() (in []*replica) {
	for _, r := range b.replicas {
		if r.in.Load() {
			in = append(in, r)
		}
	}
	return in
}

// watch looks at the replica until ctx ends.
func (r *replica) watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		r.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look asks the replica whether it wants requests.
func (r *replica) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	r.failed++
	if ready(ctx, r.admin) {
		r.failed = 0
	}
	r.in.Store(r.failed < failedLooks)
}
