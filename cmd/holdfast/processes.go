package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/holdfast/loadtest"
)

const (
	startWait = 10 * time.Second      // from a process's start to its announcement, and again to its being ready
	readyPoll = 20 * time.Millisecond // between two looks at /readyz
	drainWait = 15 * time.Second      // longer than a service drains by itself (DRAIN_TIMEOUT); then it is killed
	closeWait = drainWait + 5*time.Second

	// replicaDrainDelay is how long a replica that was told to end still takes requests, until its balancer has seen
	// it and sends no more: twice what that needs, for a machine that is late.
	replicaDrainDelay = 2 * failedLooks * lookEvery
)

// launcher opens shops of processes of this binary.
type launcher struct {
	environ   []string // what every process is given before anything else
	freePorts bool     // on ports that the kernel chooses, else on the standing ones
	log       logSink
}

// processes is a shop of one process a service, or of several behind a balancer, whose addresses are then the
// service's. Each process has its own sockets, memory and garbage collector. It is a loadtest.Shop.
type processes struct {
	addresses
	executable string
	log        logSink
	running    []*process
	died       chan *process // those that ended before they were asked to
	reserved   []func()      // release the ports
}

// program is what a process is started with, the second time as well as the first.
type program struct {
	service string
	name    string // for people: of the service, or of one process of several
	command []string
	environ []string
}

// process is a program that was started.
type process struct {
	program
	address
	cmd       *exec.Cmd
	end       context.CancelFunc // asks it to end; after drainWait it is killed
	announced chan announcement
	tail      tail
	gone      chan struct{} // closed when the process has ended and its output is read
}

// announcement is the one line that `holdfast serve` and `holdfast balance` print when they listen.
type announcement struct {
	Service string `json:"service"`
	Public  string `json:"public"`
	Admin   string `json:"admin"`
}

// open starts the services, each after everything that it calls, and returns when all say that they are ready.
// What env sets for a service wins over what it sets for all, and both over what the launcher sets.
// The shop runs until Close: ctx bounds only its opening.
func (l launcher) open(ctx context.Context, env loadtest.Environment) (*processes, error) {
	replicas, err := readReplicas(env, l.environ)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it as a service: %w", err)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	// One for all gateways, before and after a restart. A key that the environment has comes later and wins.
	l.environ = slices.Concat([]string{"CART_KEY=" + hex.EncodeToString(key)}, l.environ)

	shop := &processes{addresses: addresses{}, executable: executable, log: l.log,
		died: make(chan *process, len(services)*(maxReplicas+1))}
	for _, s := range services {
		if err = shop.startService(ctx, l, s, env, replicas[s.name]); err != nil {
			break
		}
	}
	for _, p := range shop.running {
		if err == nil {
			err = p.awaitReady(ctx)
		}
	}
	if err != nil {
		_ = closeShop(ctx, shop) // it would say again what err says
		return nil, err
	}
	return shop, nil
}

// startService starts the processes of one service and returns when all have announced where they listen.
func (s *processes) startService(
	ctx context.Context, l launcher, at standing, env loadtest.Environment, replicas int,
) (err error) {
	if l.freePorts {
		if at, err = s.reserve(at.name); err != nil {
			return err
		}
	}
	facing := program{at.name, at.name, []string{"serve", at.name}, l.environment(at, s.addresses, env)}
	if replicas > 1 {
		facing.name, facing.command = "the balancer of "+at.name, []string{"balance", at.name}
		l.environ = append(slices.Clone(l.environ), fmt.Sprintf("DRAIN_DELAY=%v", replicaDrainDelay))
		for i := range replicas {
			own, err := s.reserve(at.name)
			if err != nil {
				return err
			}
			p, err := s.start(ctx, program{at.name, fmt.Sprintf("%s (replica %d of %d)", at.name, i+1, replicas),
				[]string{"serve", at.name}, l.environment(own, s.addresses, env)})
			if err != nil {
				return err
			}
			facing.command = append(facing.command, p.Public+"="+p.Admin)
		}
	}
	p, err := s.start(ctx, facing)
	if err != nil {
		return err
	}
	s.addresses[at.name] = p.address
	return nil
}

// reserve finds a service two addresses that stay its own until Close, whether or not it listens.
func (s *processes) reserve(service string) (standing, error) {
	var found [2]string
	for i := range found {
		addr, release, err := reserve()
		if err != nil {
			return standing{}, fmt.Errorf("find a port for %s: %w", service, err)
		}
		found[i], s.reserved = addr, append(s.reserved, release)
	}
	return standing{service, found[0], found[1]}, nil
}

// start starts a program and returns when it has announced where it listens.
func (s *processes) start(ctx context.Context, prog program) (*process, error) {
	p, err := s.launch(ctx, prog)
	if err != nil {
		return nil, err
	}
	s.running = append(s.running, p)
	return p, p.awaitAddress(ctx)
}

// launch starts a program, which runs until end or Close.
func (s *processes) launch(ctx context.Context, prog program) (*process, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // end, not the caller's patience, ends it
	p := &process{program: prog, end: end, announced: make(chan announcement, 1), gone: make(chan struct{})}
	stderr := &lines{each: func(line string) { p.tail.add(line); s.log(p.service, line) }}
	stdout := &lines{each: func(line string) {
		var a announcement
		if json.Unmarshal([]byte(line), &a) == nil && a.Public != "" && a.Admin != "" {
			select {
			case p.announced <- a:
			default:
			}
		}
	}}
	p.cmd = exec.CommandContext(life, s.executable, p.command...)
	p.cmd.Args[0] = "holdfast"
	p.cmd.Env = p.environ
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = drainWait
	if err := p.cmd.Start(); err != nil {
		end()
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() { // ends with the process; Close waits for it
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in ProcessState, without what our own context adds
		stderr.flush()
		if life.Err() == nil {
			s.died <- p
		}
	}()
	return p, nil
}

// awaitAddress returns when the process has announced where it listens.
func (p *process) awaitAddress(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	select {
	case a := <-p.announced:
		p.address = address{Public: "http://" + a.Public, Admin: "http://" + a.Admin}
		return nil
	case <-p.gone:
		return fmt.Errorf("%s did not start: %s", p.name, p.obituary())
	case <-ctx.Done():
		return fmt.Errorf("%s has not said within %v where it listens; its last lines:\n%s",
			p.name, startWait, p.tail.String())
	}
}

// awaitReady returns when the process's /readyz has answered 200.
func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for !ready(ctx, p.Admin) {
		select {
		case <-p.gone:
			return fmt.Errorf("%s did not start: %s", p.name, p.obituary())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: ask %s/readyz why", p.name, startWait, p.Admin)
		case <-poll.C:
		}
	}
	return nil
}

func ready(ctx context.Context, admin string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// environment is what the process of one service sees. The later of two values wins.
func (l launcher) environment(at standing, callees addresses, env loadtest.Environment) []string {
	all := slices.Concat(l.environ, []string{"FAULTS=on", "ADDR=" + at.public, "ADMIN_ADDR=" + at.admin})
	for name, callee := range callees { // more than it calls: what it does not call it does not read
		all = append(all, strings.ToUpper(name)+"_URL="+callee.Public)
	}
	for _, values := range []map[string]string{env["all"], env[at.name]} {
		for name, value := range values {
			if name != replicasVariable { // it is for the launcher
				all = append(all, name+"="+value)
			}
		}
	}
	return all
}

// Restart ends the processes of a service and starts them again, with the same environment at the same addresses, one
// after the other: the next when the last is ready. As an orchestrator does, it asks each to end, and kills it after
// drainWait. What a process has in its memory is lost, such as the orders of a checkout without a database; and of a
// service with a single process nobody listens meanwhile. Restart is not to be called at once with itself or Close.
func (s *processes) Restart(ctx context.Context, service string) error {
	if !isService(service) {
		return fmt.Errorf("no service is called %q: %s", service, serviceNames())
	}
	for i, p := range s.running {
		if p.service != service || p.command[0] != "serve" {
			continue
		}
		select {
		case <-p.gone:
			return fmt.Errorf("%s ended by itself: %s", p.name, p.obituary())
		default:
		}
		p.end()
		select {
		case <-p.gone:
		case <-ctx.Done():
			return fmt.Errorf("%s has not ended: %w", p.name, ctx.Err())
		}
		next, err := s.launch(ctx, p.again())
		if err != nil {
			return err
		}
		s.running[i] = next
		if err := next.awaitAddress(ctx); err != nil {
			return err
		}
		if err := next.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// again is the process's program, at the addresses that the process found.
func (p *process) again() program {
	prog := p.program
	prog.environ = slices.Concat(prog.environ, []string{
		"ADDR=" + strings.TrimPrefix(p.Public, "http://"), "ADMIN_ADDR=" + strings.TrimPrefix(p.Admin, "http://")})
	return prog
}

// Close asks every process to end and returns when all have: those that have not drained in time, or by the
// end of ctx, are killed. It reports the processes that had ended by themselves before.
func (s *processes) Close(ctx context.Context) error {
	for _, p := range s.running {
		p.end()
	}
	for _, p := range s.running {
		select {
		case <-p.gone:
		case <-ctx.Done():
			_ = p.cmd.Process.Kill() // fails only when it is gone already
			<-p.gone
		}
	}
	for _, release := range s.reserved {
		release()
	}
	var early []error
	for {
		select {
		case p := <-s.died:
			early = append(early, fmt.Errorf("%s ended by itself: %s", p.name, p.obituary()))
		default:
			return errors.Join(early...)
		}
	}
}

// closeShop closes a shop also when ctx is over, which is when most shops are closed.
func closeShop(ctx context.Context, shop *processes) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	return shop.Close(ctx)
}

// obituary tells how a process ended and what it said last. Only after gone.
func (p *process) obituary() string {
	said := p.tail.String()
	if said == "" {
		return p.cmd.ProcessState.String() + ", without a word"
	}
	return p.cmd.ProcessState.String() + "; its last lines:\n" + said
}
