package loadtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells a person what is going on: on a terminal by a line that is renewed every second, elsewhere by a line
// a phase, so that a log stays short.
type progress struct {
	mu   sync.Mutex
	w    io.Writer // nil: quiet
	live bool
	now  string // the phase that is being played
}

func newProgress(w io.Writer) *progress {
	file, ok := w.(*os.File)
	return &progress{w: w, live: ok && term.IsTerminal(int(file.Fd()))}
}

// clearLine takes away the live line, which what is said next would be glued to.
const clearLine = "\r\x1b[K"

// say tells something that stays.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	if p.live {
		format = clearLine + format
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

// phase tells that a phase has begun.
func (p *progress) phase(a *act, ph *playedPhase) {
	var what []string
	for _, service := range Services {
		for _, f := range ph.Faults[service] {
			what = append(what, service+" "+f)
		}
	}
	if ph.Phase.Defences != "" {
		what = append(what, "defences "+ph.Phase.Defences)
	}
	text := ""
	if what != nil {
		text = ": " + strings.Join(what, ", ")
	}
	p.say("%s: %s, %s%s", a.Name, ph.Name, ph.For, text)
	p.mu.Lock()
	p.now = ph.Name
	p.mu.Unlock()
}

// follow renews the live line until ctx ends; the channel closes when it has stopped.
func (p *progress) follow(ctx context.Context, a *act) <-chan struct{} {
	done := make(chan struct{})
	if p.w == nil || !p.live {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var before liveFigures
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(p.w, clearLine)
				return
			case <-tick.C:
			}
			before = p.renew(a, before)
		}
	}()
	return done
}

// liveFigures are running totals by class.
type liveFigures struct {
	answers, goods []int
	asked          int
}

func (p *progress) renew(a *act, before liveFigures) liveFigures {
	elapsed := time.Since(a.tally.start)
	now := liveFigures{}
	now.answers, now.goods = a.tally.progress()
	classes, _ := a.classesOf(nil)
	now.asked = a.tally.window(classes, 0, max(elapsed, 0)).Asked
	if before.goods == nil {
		before = liveFigures{make([]int, len(now.answers)), make([]int, len(now.goods)), 0}
	}
	var parts []string
	goods := 0
	for i, name := range a.sender.names {
		parts = append(parts, fmt.Sprintf("%s %d/%d", name, now.goods[i]-before.goods[i], now.answers[i]-before.answers[i]))
		goods += now.goods[i] - before.goods[i]
	}
	var workers []string
	for _, service := range Services {
		if s, ok := a.watch.last(service); ok && !s.dead {
			workers = append(workers, fmt.Sprintf("%s %d/%d", service, s.state.Workers.InUse, s.state.Workers.Limit))
		} else if ok {
			workers = append(workers, service+" dead")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%s%s %s %3.0f s · asked %d/s, good %d/s (%s) · workers %s", clearLine, a.Name, p.now,
		elapsed.Seconds(), now.asked-before.asked, goods, strings.Join(parts, ", "), strings.Join(workers, ", "))
	return now
}
