// Package loadtest drives a shop the way people do and says what became of them.
//
// The load is open: people come when the schedule says, whether or not those before them have been served, and what
// each of them felt is counted from the instant at which they meant to come. So a stalled shop cannot slow its own
// judge. A scenario says who comes, what is done to the shop meanwhile, what is predicted, and the bars that must hold.
// A run that did not send what it meant to send, or on a machine that was starved, is void: it proves nothing.
//
// The package knows a shop by its URLs and by the interface Shop; who started it, and how, is not its business.
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Environment is what each process of a shop gets: by service ("all" for every one), variable → value.
type Environment map[string]map[string]string

// With returns the environment as another changes it.
func (e Environment) With(other Environment) Environment {
	both := maps.Clone(e)
	if both == nil {
		both = Environment{}
	}
	for service, values := range other {
		both[service] = maps.Clone(both[service])
		if both[service] == nil {
			both[service] = map[string]string{}
		}
		maps.Copy(both[service], values)
	}
	return both
}

// Shop is a running bookshop.
type Shop interface {
	// Public and Admin return a service's base URL, as "http://127.0.0.1:8080".
	Public(service string) string
	Admin(service string) string
	// Restart ends the process of a service as an orchestrator would and starts it anew at the same addresses; it
	// returns when the service is ready.
	Restart(ctx context.Context, service string) error
	// Close stops what the Opener started. It must work after the Opener's context has ended.
	Close(ctx context.Context) error
}

// Opener starts a fresh shop for an act, and returns when it can be asked.
type Opener func(ctx context.Context, env Environment) (Shop, error)

// Options say how to run a scenario.
type Options struct {
	Open Opener // required

	// Acts are the names of those to run, in this order; nil runs all.
	Acts []string
	// Defences replaces the acts by a single one, with the phases of the last act and these defences. Nothing is
	// judged.
	Defences string
	// FaultSeconds is the length of every phase "fault"; 0 leaves it to the scenario.
	FaultSeconds float64
	// Seed decides every choice that is left to chance. The same seed sends the same requests at the same instants.
	Seed uint64
	// Progress is told what is happening: a live line a second on a terminal, a line a phase elsewhere. Nil: quiet.
	Progress io.Writer
	// Workers bounds the requests under way; 0 is rate × patience × 1.5, which a sound sender cannot reach.
	Workers int
	// Outside is what hurts the shop in place of the scenario's faults; nil: those.
	Outside *Outside
}

// ErrCannotRun is wrapped by every error of Run that is about the way it was asked, or a shop that did not open.
var ErrCannotRun = errors.New("cannot run")

const (
	settle    = 100 * time.Millisecond // from the making of the sender to the first arrival
	closeWait = 20 * time.Second       // a shop's time to stop
)

// Run plays the acts of a scenario one after the other, each on a fresh shop, and judges them. When ctx ends it stops
// at once, closes the shop and returns the error of ctx. A missed bar is no error: it is in the Result.
func Run(ctx context.Context, s *Scenario, o Options) (*Result, error) {
	if o.Open == nil {
		return nil, fmt.Errorf("%w: nobody opens a shop", ErrCannotRun)
	}
	s, err := s.with(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if o.Outside != nil && !s.hurts() {
		return nil, fmt.Errorf("%w: %s sets no fault in whose place the shop could be hurt", ErrCannotRun, s.Name)
	}
	r := &Result{
		Scenario: s.Name, About: strings.Join(strings.Fields(s.About), " "), Seed: o.Seed, Machine: thisMachine(),
		Reasons: []string{}, Acts: []ActResult{}, Bars: []BarResult{},
	}
	show := newProgress(o.Progress)
	for i := range s.Acts {
		a, err := play(ctx, s, &s.Acts[i], o, show)
		if err != nil {
			return nil, fmt.Errorf("act %s: %w", s.Acts[i].Name, err)
		}
		r.add(s, a)
	}
	r.conclude(o.Defences == "")
	return r, nil
}

// act is one act as it is played, and afterwards everything that was seen of it.
type act struct {
	*Act
	scenario *Scenario
	shop     Shop
	admin    *admin
	shelf    *shelf
	sender   *sender
	tally    *tally
	watch    *watch
	show     *progress
	outside  *Outside // nil: the scenario's faults
	hurt     bool     // by it

	defences  map[string]bool
	phases    []playedPhase
	predicted map[string]time.Duration // saturation by service
	values    map[string]float64       // what else was predicted, by the prediction's name
	canaries  map[string]*canary       // by the phase that lets them go
	orders    orderCheck
	void      []string
}

// playedPhase is a phase as it happened. Offsets count from the first arrival.
type playedPhase struct {
	Phase
	from, to time.Duration
	// began and changed are just before and just after its faults and switches were put in place.
	began, changed time.Time
	before         map[string]State // each service's state at its start …
	after          map[string]State // … and at its end
	machine        machine          // what became of its processors meanwhile
}

// play opens a shop, sends people through all phases of an act, and closes the shop.
func play(ctx context.Context, s *Scenario, a *Act, o Options, show *progress) (_ *act, err error) {
	env := s.Environment.With(a.Environment).With(Environment{"all": {"DEFENCES": a.Defences}})
	show.say("%s: opening a shop, defences %s", a.Name, a.Defences)
	shop, err := o.Open(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("%w: open a shop: %w", ErrCannotRun, err)
	}
	defer func() { err = closeShop(ctx, shop, err) }()

	p := &act{Act: a, scenario: s, shop: shop, admin: newAdmin(shop), show: show, outside: o.Outside,
		canaries: map[string]*canary{}}
	defer p.admin.close()
	if err := p.prepare(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if p.shelf, err = readShelf(ctx, shop, s.currencies()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if err := p.placeOrders(ctx, o.Seed); err != nil {
		return nil, fmt.Errorf("%w: place the orders that people look up: %w", ErrCannotRun, err)
	}
	if err := errors.Join(p.load(ctx, o), p.heal(ctx)); err != nil {
		return nil, err
	}
	p.orders = p.checkOrders(ctx)
	return p, ctx.Err()
}

// closeShop closes a shop, above all when ctx has ended, and returns the error that there was, or else its own.
func closeShop(ctx context.Context, shop Shop, err error) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	if e := shop.Close(closing); e != nil && err == nil {
		return fmt.Errorf("close the shop: %w", e)
	}
	return err
}

// prepare brings a shop that may have stood before to where the act begins: its defences, and no fault.
func (p *act) prepare(ctx context.Context) error {
	for _, service := range Services {
		if err := p.admin.clearFaults(ctx, service); err != nil {
			return err
		}
	}
	if err := p.admin.setDefences(ctx, p.Defences); err != nil {
		return err
	}
	var err error
	p.defences, err = p.admin.getDefences(ctx, "gateway")
	return err
}

// load sends the people and, on the beat of the same clock, plays the phases.
func (p *act) load(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	var length time.Duration
	for _, ph := range p.Phases {
		p.phases = append(p.phases, playedPhase{Phase: ph, from: length, to: length + time.Duration(ph.For)})
		length += time.Duration(ph.For)
	}
	arrivals := newSchedule(p.scenario, p.shelf, p.Phases, o.Seed)
	p.tally = newTally(p.scenario, p.phases, arrivals, o.Seed)
	p.sender = newSender(p.scenario, p.shop, arrivals, p.tally, p.shelf, o.Workers)
	start := time.Now().Add(settle)
	p.tally.start, p.sender.start = start, start

	p.watch = newWatch(p.admin)
	watching, endWatch := context.WithCancel(ctx)
	defer endWatch()
	watched := p.watch.run(watching)
	sent := p.sender.run(ctx)
	shown := p.show.follow(watching, p)

	err := p.playPhases(ctx, start)
	if err != nil {
		stop()
	}
	<-sent
	endWatch()
	<-watched
	<-shown
	stop() // nobody is to be asked any more: this ends a canary that was not let go
	for _, c := range p.canaries {
		<-c.done
	}
	return errors.Join(err, p.sender.fail)
}

// playPhases changes the shop as each phase begins, and returns when the last has ended.
func (p *act) playPhases(ctx context.Context, start time.Time) error {
	if err := sleepUntil(ctx, start); err != nil {
		return err
	}
	machine := readMachine()
	states := p.admin.states(ctx)
	for i := range p.phases {
		ph := &p.phases[i]
		ph.before = states
		if err := p.change(ctx, i); err != nil {
			return fmt.Errorf("%w: phase %s: %w", ErrCannotRun, ph.Name, err)
		}
		p.show.phase(p, ph)
		if err := p.sendCanaries(ctx, i+1, start.Add(ph.to)); err != nil {
			return err
		}
		if err := sleepUntil(ctx, start.Add(ph.to)); err != nil {
			return err
		}
		states = p.admin.states(ctx)
		ph.after = states
		now := readMachine()
		ph.machine, machine = now.since(machine), now
		if ph.Name == phaseHealthy {
			p.predict()
		}
	}
	return ctx.Err()
}

// change puts in place what a phase says: the marks, then the faults, then the switches.
func (p *act) change(ctx context.Context, i int) error {
	ph := &p.phases[i]
	p.admin.mark(ctx)
	var before map[string]Faults
	if i > 0 {
		before = p.phases[i-1].Faults
	}
	ph.began = time.Now()
	set := p.setFaults
	if p.outside != nil {
		set = p.setOutside
	}
	if err := set(ctx, before, ph.Faults); err != nil {
		return err
	}
	if ph.Defences != "" {
		if err := p.admin.setDefences(ctx, ph.Defences); err != nil {
			return err
		}
	}
	if err := p.restart(ctx, i); err != nil {
		return err
	}
	ph.changed = time.Now()
	return nil
}

// restart restarts what the phase says, and gives each service back what is not in its environment: the switches as they
// stand, and its faults. What the phase measures of it counts from then on.
func (p *act) restart(ctx context.Context, i int) error {
	ph := &p.phases[i]
	for _, service := range ph.Restart {
		if err := p.shop.Restart(ctx, service); err != nil {
			return fmt.Errorf("restart %s: %w", service, err)
		}
		for _, earlier := range slices.Backward(p.phases[:i+1]) {
			if earlier.Defences == "" {
				continue
			}
			if err := p.admin.setDefencesOf(ctx, service, earlier.Defences); err != nil {
				return err
			}
			break
		}
		if p.outside == nil {
			if err := p.setFaults(ctx, nil, map[string]Faults{service: ph.Faults[service]}); err != nil {
				return err
			}
		}
		state, err := p.admin.state(ctx, service)
		if err != nil {
			return err
		}
		ph.before = maps.Clone(ph.before) // it is the last phase's after, too
		ph.before[service] = state
	}
	return nil
}

// A canary is one request to a held service that was under way when the fault was cleared.
type canary struct {
	answered time.Time
	err      error
	done     chan struct{}
}

// canaryLead is how long before the fault is cleared the canary is sent.
const canaryLead = 500 * time.Millisecond

// sendCanaries sends one for each bar that judges how fast the phase that comes next lets go.
func (p *act) sendCanaries(ctx context.Context, next int, at time.Time) error {
	if next == len(p.phases) {
		return nil
	}
	for _, b := range p.Bars {
		if b.Kind != "let-go" || b.Phase != p.phases[next].Name {
			continue
		}
		if err := sleepUntil(ctx, at.Add(-canaryLead)); err != nil {
			return err
		}
		c := &canary{done: make(chan struct{})}
		p.canaries[b.Phase] = c
		go func() {
			defer close(c.done)
			c.err = p.admin.get(ctx, p.shop.Public(b.Service)+b.Path, nil)
			c.answered = time.Now()
		}()
	}
	return nil
}

func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
