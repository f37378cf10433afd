// Package service is the chassis that the shop's services are built on: listeners and their limits, the way of a
// request through the defences, the admin API, health, logs, metrics, start and stop.
//
// A service declares its dependencies with Open, bounds its routes with Within, hands its background work to Go and
// its handler to Run. It calls others with GetJSON and PostJSON.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/net/netutil"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/fault"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

// The limits of the public listener. WriteTimeout counts from the end of the request's header, or of a fault that
// held it, and is lifted for a request that begins while the defence `timeouts` is off.
const (
	ReadHeaderTimeout = 5 * time.Second
	ReadTimeout       = 10 * time.Second
	WriteTimeout      = 15 * time.Second
	IdleTimeout       = 90 * time.Second
	MaxHeaderBytes    = 32 << 10
	MaxRequestBody    = 64 << 10
)

// Chassis runs one service. Make it with New; Open, Within, Go and DependsOn belong before Run.
type Chassis struct {
	name     string
	settings settings
	announce io.Writer
	log      *slog.Logger
	warnings *sampler

	board    *defence.Switchboard
	faults   *fault.Injector
	registry *prometheus.Registry
	metrics  *requestMetrics
	window   *window
	newborns newborns

	lookup lookup // of names of services

	work    []work
	callees []callee
	asks    []ask
	routes  []defence.Route

	ready                 chan struct{}
	publicAddr, adminAddr string
	ran, draining         atomic.Bool
	requests              atomic.Int64 // public requests in progress, the held ones included
}

type work struct {
	name string
	fn   func(ctx context.Context) error
}

// Option changes what a Config does not say.
type Option func(*options)

type options struct {
	announce, logs io.Writer
}

// AnnounceTo writes the line that tells the addresses to w. The default is standard output.
func AnnounceTo(w io.Writer) Option { return func(o *options) { o.announce = w } }

// LogTo writes the log to w. The default is standard error.
func LogTo(w io.Writer) Option { return func(o *options) { o.logs = w } }

// New returns the chassis of the named service. It validates all of cfg, and binds no port.
func New(name string, cfg Config, opts ...Option) (*Chassis, error) {
	o := options{announce: os.Stdout, logs: os.Stderr}
	for _, opt := range opts {
		opt(&o)
	}
	s, err := cfg.settings(name)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s:\n%w", name, err)
	}
	if cfg.FDLimit > 0 {
		if err := setFDLimit(cfg.FDLimit); err != nil {
			return nil, fmt.Errorf("FD_LIMIT=%d: %w", cfg.FDLimit, err)
		}
	}
	log := slog.New(idHandler{slog.NewJSONHandler(o.logs, &slog.HandlerOptions{Level: s.level})}).With("service", name)
	board, err := defence.New(s.defences, s.env, log)
	if err != nil {
		return nil, fmt.Errorf("defences of %s: %w", name, err)
	}
	c := &Chassis{
		name: name, settings: s, announce: o.announce, log: log, warnings: newSampler(log),
		board: board, faults: fault.New(log), registry: prometheus.NewRegistry(), metrics: newRequestMetrics(),
		window: newWindow(), lookup: net.DefaultResolver.LookupNetIP, ready: make(chan struct{}),
	}
	board.Admission().Refuse = refuse
	for _, col := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		board.Admission(), board.Deadline(), c.metrics, replicaMetrics{&c.callees},
	} {
		if err := c.registry.Register(col); err != nil {
			return nil, fmt.Errorf("metrics of %s: %w", name, err)
		}
	}
	return c, nil
}

// refuse tells that admission turned a request away.
func refuse(w http.ResponseWriter, r *http.Request, reason string, retryAfter time.Duration) {
	p := problem.New(problem.Overloaded, "The shop is busier than it can serve. Try again in a moment.")
	problem.Write(w, r, p.With("reason", reason).After(max(retryAfter, time.Second)))
}

// Open declares a dependency and opens it: its slots enter the capacity ledger, its metrics the registry, its state
// the admin API.
func (c *Chassis) Open(e defence.Edge) (*resilience.Dependency, error) {
	dep, err := c.board.Open(e)
	if err != nil {
		return nil, err
	}
	if err := c.registry.Register(dep); err != nil {
		return nil, fmt.Errorf("metrics of dependency %s: %w", e.Dependency, err)
	}
	return dep, nil
}

// Routes declares what the service's routes may take. Run refuses to start when their calls do not fit their budgets.
func (c *Chassis) Routes(routes ...defence.Route) { c.routes = append(c.routes, routes...) }

// FaceStrangers makes the service drop the deadline and criticality of incoming requests, as the edge of the shop
// must: it sets its own. Call it before Run.
func (c *Chassis) FaceStrangers() { c.board.Deadline().Trust = false }

// Go hands background work to the chassis: fn runs while Run runs, its context ends when the service stops, and Run
// waits for it. Work that fails now and then handles that itself: an error returned before the context ends stops
// the service, for half a service that looks whole is worse than a restart.
func (c *Chassis) Go(name string, fn func(ctx context.Context) error) {
	c.work = append(c.work, work{name, fn})
}

// Log returns the service's logger. A line logged with the context of a request carries its id.
func (c *Chassis) Log() *slog.Logger { return c.log }

// Registry is where the service's own metrics are registered.
func (c *Chassis) Registry() *prometheus.Registry { return c.registry }

// Defences returns the switches in force.
func (c *Chassis) Defences() defence.Set { return c.board.Get() }

// Ready is closed when both listeners are open.
func (c *Chassis) Ready() <-chan struct{} { return c.ready }

// Addrs returns the addresses of the listeners, host:port. They are empty until Ready.
func (c *Chassis) Addrs() (public, admin string) {
	select {
	case <-c.ready:
		return c.publicAddr, c.adminAddr
	default:
		return "", ""
	}
}

// Run listens, announces, and serves h until ctx ends; then /readyz says no, the service accepts for another
// DRAIN_DELAY, finishes what is in progress within DRAIN_TIMEOUT, and closes. It returns when every goroutine of it
// has ended; nil after an orderly stop. A Chassis runs once.
func (c *Chassis) Run(ctx context.Context, h http.Handler) error {
	if c.ran.Swap(true) {
		return errors.New("service: Run called twice")
	}
	if err := errors.Join(defence.CheckRoutes(c.routes), c.settings.env.Tuning.Check(c.board.Edges()), c.checkLedger()); err != nil {
		return err
	}
	var lc net.ListenConfig
	public, err := c.faults.Listen(ctx, c.settings.Addr)
	if err != nil {
		return fmt.Errorf("public listener: %w", err)
	}
	defer public.Close()
	admin, err := lc.Listen(ctx, "tcp", c.settings.AdminAddr)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	defer admin.Close()
	c.publicAddr, c.adminAddr = public.Addr().String(), admin.Addr().String()

	// Requests and background work outlive the signal to stop, by the time of the drain: so their context is not ctx.
	requestCtx, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	workCtx, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()

	publicServer := c.server(requestCtx, c.public(h))
	publicServer.ConnState = c.newborns.track
	c.faults.Guard(publicServer)
	adminServer := c.server(requestCtx, c.admin())
	adminServer.WriteTimeout = adminWriteTimeout

	failed := make(chan error, len(c.work)+5)
	var servers, background sync.WaitGroup
	serve := func(name string, s *http.Server, l net.Listener) {
		servers.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("%s server: %w", name, err)
			}
		})
	}
	limited := net.Listener(public)
	if c.settings.MaxConns > 0 {
		limited = netutil.LimitListener(public, c.settings.MaxConns)
	}
	serve("public", publicServer, limited)
	serve("admin", adminServer, admin)
	for _, w := range append(slices.Clone(c.work), work{"faults", c.faults.Run}, work{"window", c.watch},
		work{"replicas", c.followReplicas}) {
		background.Go(func() {
			if err := w.fn(workCtx); err != nil && workCtx.Err() == nil {
				failed <- fmt.Errorf("background work %s: %w", w.name, err)
			}
		})
	}
	close(c.ready)
	c.tellAddresses()

	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
		c.log.Error("stopping", "error", err)
	}
	err = errors.Join(err, c.drain(publicServer, endRequests))
	endRequests() // those of the admin listener: a profile, a probe that waits in line
	endWork()
	background.Wait()
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if adminServer.Shutdown(closeCtx) != nil {
		adminServer.Close() // somebody reads an answer too slowly
	}
	servers.Wait()
	c.hangUp()
	return err
}

// server returns an http.Server with every limit set.
func (c *Chassis) server(base context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
}

// tellAddresses writes the one line by which a parent process learns where the service listens.
func (c *Chassis) tellAddresses() {
	line, err := json.Marshal(struct {
		Service string `json:"service"`
		Public  string `json:"public"`
		Admin   string `json:"admin"`
	}{c.name, c.publicAddr, c.adminAddr})
	if err == nil {
		_, err = c.announce.Write(append(line, '\n'))
	}
	if err != nil {
		c.log.Error("announce", "error", err)
	}
	c.log.Info("listening", "public", c.publicAddr, "admin", c.adminAddr)
}

// drain stops the public server: no new connections, what is in progress finishes, or is ended at DRAIN_TIMEOUT.
func (c *Chassis) drain(s *http.Server, endRequests context.CancelFunc) error {
	c.draining.Store(true)
	time.Sleep(c.settings.DrainDelay) // what routes to us needs this long to see that we are not ready
	c.faults.Clear("")
	// The end of the service has no caller, so nothing but its own time bounds it.
	ctx, cancel := context.WithTimeout(context.Background(), c.settings.DrainTimeout)
	defer cancel()
	closeNewborns := time.AfterFunc(newbornGrace, c.newborns.close)
	defer closeNewborns.Stop()
	if s.Shutdown(ctx) == nil {
		return nil
	}
	// Out of patience. The base context ends the requests that it reaches; switching the defences on ends those that
	// began with the detached context of ordinary code. They answer 503, and only then do the connections close.
	c.log.Warn("requests in progress are ended", "requests", c.requests.Load(), "after", c.settings.DrainTimeout)
	endRequests()
	if err := c.board.Set(defence.All); err != nil {
		c.log.Error("cannot end requests without a deadline", "error", err)
	}
	ended := c.idle(time.Second)
	s.Close()
	if !ended {
		return fmt.Errorf("drain: %d requests ignore the end of their context", c.requests.Load())
	}
	return nil
}

// idle waits, at most so long, until no request is in progress: after Shutdown has given up, nobody else does.
func (c *Chassis) idle(patience time.Duration) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); c.requests.Load() > 0; <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// hangUp closes the idle connections to the dependencies, and with them their goroutines.
func (c *Chassis) hangUp() {
	for i, dep := range c.board.Dependencies() {
		for _, name := range c.board.Edges()[i].Endpoints {
			dep.Endpoint(name).Client().CloseIdleConnections()
		}
	}
}
