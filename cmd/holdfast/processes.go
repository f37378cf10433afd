package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	startWait = 10 * time.Second      // from a process's start to its announcement, and again to all being ready
	readyPoll = 20 * time.Millisecond // between two looks at /readyz
	drainWait = 15 * time.Second      // longer than a service drains by itself (DRAIN_TIMEOUT); then it is killed
	closeWait = drainWait + 5*time.Second
)

// launcher opens shops of five processes of this binary.
type launcher struct {
	environ   []string // what every process is given before anything else
	freePorts bool     // on ports that the kernel chooses, else on the standing ones
	log       logSink
}

// processes is a shop in five processes, one a service: each has its own sockets, memory and garbage collector.
// It is a loadtest.Shop.
type processes struct {
	addresses
	running []*process
	died    chan *process // those that ended before Close asked them to
	end     context.CancelFunc
}

// process is one service of a shop.
type process struct {
	service string
	cmd     *exec.Cmd
	tail    tail
	gone    chan struct{} // closed when the process has ended and its output is read
}

// announcement is the one line that `holdfast serve` prints when it listens.
type announcement struct{ Service, Public, Admin string }

// open starts the services, each after everything that it calls, and returns when all say that they are ready.
// What env sets for a service wins over what it sets for all, and both over what the launcher sets.
// The shop runs until Close: ctx bounds only its opening.
func (l launcher) open(ctx context.Context, env loadtest.Environment) (*processes, error) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name != "all" && !isService(name) {
			return nil, fmt.Errorf("no service is called %q: all, %s", name, serviceNames())
		}
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it as a service: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // Close ends it
	shop := &processes{addresses: addresses{}, died: make(chan *process, len(services)), end: end}
	for _, s := range services {
		if err := shop.start(ctx, life, executable, s, l, env); err != nil {
			_ = closeShop(ctx, shop) // it would say again what err says
			return nil, err
		}
	}
	if err := shop.awaitReady(ctx); err != nil {
		_ = closeShop(ctx, shop)
		return nil, err
	}
	return shop, nil
}

// start starts one service and returns when it has announced where it listens.
func (s *processes) start(
	ctx, life context.Context, executable string, at standing, l launcher, env loadtest.Environment,
) error {
	p := &process{service: at.name, gone: make(chan struct{})}
	announced := make(chan announcement, 1)
	stderr := &lines{each: func(line string) { p.tail.add(line); l.log(at.name, line) }}
	stdout := &lines{each: func(line string) {
		var a announcement
		if json.Unmarshal([]byte(line), &a) == nil && a.Public != "" && a.Admin != "" {
			select {
			case announced <- a:
			default:
			}
		}
	}}

	p.cmd = exec.CommandContext(life, executable, "serve", at.name)
	p.cmd.Args[0] = "holdfast"
	p.cmd.Env = l.environment(at, s.addresses, env)
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = drainWait
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", at.name, err)
	}
	s.running = append(s.running, p)
	go func() { // ends with the process; Close waits for it
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in ProcessState, without what our own context adds
		stderr.flush()
		if life.Err() == nil {
			s.died <- p
		}
	}()

	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	select {
	case a := <-announced:
		s.addresses[at.name] = address{"http://" + a.Public, "http://" + a.Admin}
		return nil
	case <-p.gone:
		return fmt.Errorf("%s did not start: %s", at.name, p.obituary())
	case <-ctx.Done():
		return fmt.Errorf("%s has not said within %v where it listens; its last lines:\n%s",
			at.name, startWait, p.tail.String())
	}
}

// environment is what the process of one service sees. The later of two values wins.
func (l launcher) environment(at standing, callees addresses, env loadtest.Environment) []string {
	public, admin := at.public, at.admin
	if l.freePorts {
		public, admin = "127.0.0.1:0", "127.0.0.1:0"
	}
	all := slices.Concat(l.environ, []string{"FAULTS=on", "ADDR=" + public, "ADMIN_ADDR=" + admin})
	for name, callee := range callees { // more than it calls: what it does not call it does not read
		all = append(all, strings.ToUpper(name)+"_URL="+callee.Public)
	}
	for _, values := range []map[string]string{env["all"], env[at.name]} {
		for name, value := range values {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// awaitReady returns when every service's /readyz has answered 200.
func (s *processes) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for _, service := range services {
		for !ready(ctx, s.Admin(service.name)) {
			select {
			case p := <-s.died:
				return fmt.Errorf("%s did not start: %s", p.service, p.obituary())
			case <-ctx.Done():
				return fmt.Errorf("%s is not ready after %v: ask %s/readyz why",
					service.name, startWait, s.Admin(service.name))
			case <-poll.C:
			}
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

// Close asks every process to end and returns when all have: those that have not drained in time, or by the
// end of ctx, are killed. It reports the processes that had ended by themselves before.
func (s *processes) Close(ctx context.Context) error {
	s.end()
	for _, p := range s.running {
		select {
		case <-p.gone:
		case <-ctx.Done():
			_ = p.cmd.Process.Kill() // fails only when it is gone already
			<-p.gone
		}
	}
	var early []error
	for {
		select {
		case p := <-s.died:
			early = append(early, fmt.Errorf("%s ended by itself: %s", p.service, p.obituary()))
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
