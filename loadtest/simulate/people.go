package simulate

import (
	"math/rand/v2"
	"time"

	"example.com/holdfast/internal/seed"
	"example.com/holdfast/loadtest"
)

// ending is how a visit ended, as the judge of a run says it.
type ending uint8

const (
	good ending = iota
	late
	wrong
	turnedAway
	failed
	gaveUp
)

// visit is one person's coming and what became of it.
type visit struct {
	at       time.Duration
	took     time.Duration // from the intended start
	ended    ending
	fallback bool
	tries    int
	errors   int
}

// perPage is how many books a page of the shelf shows.
const perPage = 24

var titles = len(seed.Books())

// class is people who want the same thing.
type class struct {
	loadtest.Class
	name    string
	chance  *rand.Rand
	allowed lack
	visits  []*visit // in the order in which they came
}

func newClass(name string, c loadtest.Class, seed, n uint64) *class {
	k := &class{Class: c, name: name, chance: rand.New(rand.NewPCG(seed, n))}
	for _, token := range c.Fallbacks {
		k.allowed |= lacks[token]
	}
	return k
}

// come has a person of the class come to the gateway now.
func (k *class) come(c *clock, gateway *fleet) {
	v := &visit{at: c.now}
	k.visits = append(k.visits, v)
	settings := gateway.instances[0].settings
	a := ask{
		route: entrances[k.Kind], deadline: never, inline: !settings.deferred, offers: settings.offers,
		abroad: k.chance.Float64() < k.shareAbroad(), key: k.draw(),
	}
	a.class = gateway.instances[0].routes[a.route].class
	p := &person{class: k, visit: v, clock: c, gateway: gateway, ask: a}
	p.patience = c.scope(c.now + time.Duration(k.Patience))
	p.try()
}

func (k *class) shareAbroad() float64 { return 1 - float64(k.Currencies["USD"]) }

// draw chooses the page, or the book.
func (k *class) draw() int {
	n := titles
	if k.Kind == loadtest.Browse {
		n = (n + perPage - 1) / perPage
	}
	return k.chance.IntN(n)
}

// person is somebody before a browser.
type person struct {
	*class
	visit    *visit
	clock    *clock
	gateway  *fleet
	ask      ask
	patience *scope
	atHome   bool // has agreed to the shop's own currency
	done     bool
}

// try asks once; who refreshes waits no longer than that, and tries again.
func (p *person) try() {
	p.visit.tries++
	began, trying := p.clock.now, p.patience
	if p.Refresh > 0 {
		trying = p.patience.within(p.clock.now + time.Duration(p.Refresh))
	}
	judged := false
	judge := func(e ending, fallback bool) {
		if judged {
			return
		}
		judged = true
		if trying != p.patience {
			trying.end(false)
		}
		p.judge(began, e, fallback)
	}
	p.gateway.serve(trying, p.ask, func(r reply) {
		switch {
		case trying.over: // nobody is there to hear it
		case r.status == conflict && p.allowed&lacksPrices != 0 && !p.atHome && !judged:
			judged, p.atHome, p.ask.abroad = true, true, false
			p.visit.tries--
			p.try()
		case r.status == served && r.lacks&^p.allowed == 0:
			judge(good, r.lacks != 0 || p.atHome)
		case r.status == refused:
			judge(turnedAway, false)
		case r.status == broken:
			judge(failed, false)
		default:
			judge(wrong, false)
		}
	})
	trying.watch(func() { judge(gaveUp, false) })
}

func (p *person) judge(began time.Duration, e ending, fallback bool) {
	if p.done {
		return
	}
	if e == wrong || e == turnedAway || e == failed {
		p.visit.errors++
	}
	took := p.clock.now - p.visit.at
	if e == good && took > time.Duration(p.InTime) {
		e = late
	} else if e != good && p.Refresh > 0 && !p.patience.over {
		p.patience.wait(max(began+time.Duration(p.Refresh)-p.clock.now, 0), func() {
			if p.patience.over {
				p.record(e, false)
				return
			}
			p.try()
		})
		return
	}
	p.record(e, fallback)
}

func (p *person) record(e ending, fallback bool) {
	p.done = true
	p.visit.ended, p.visit.fallback = e, fallback
	p.visit.took = min(p.clock.now-p.visit.at, time.Duration(p.Patience))
	p.patience.close()
}
