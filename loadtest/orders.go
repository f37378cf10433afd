package loadtest

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// orders is what people were told of their orders. One person is one order, under one key, however often they try.
type orders struct {
	chance   *rand.Rand
	accepted map[*hit]acceptedOrder // those that the shop says it has stored, without their key
	open     map[string]int         // by book, the copies asked for by people who got no right answer
}

func newOrders(seed uint64) orders {
	return orders{rand.New(rand.NewPCG(seed, 0)), map[*hit]acceptedOrder{}, map[string]int{}}
}

// record takes in how one person's order ended. Whoever got no right answer may have been sold something all the same:
// even a refusal is written by a gateway that may have given up a call which then went through.
func (o *orders) record(h *hit, j judged) {
	switch j.verdict {
	case good, late:
		o.accepted[h] = acceptedOrder{ask: cmp.Or(j.ask, h.ask), id: j.order}
	case unsent: // the shop never heard of it
	default:
		for _, l := range h.ask.lines {
			o.open[l.book] += l.quantity
		}
	}
}

// lookedUp is how many orders are placed before an act in which people look some up.
const lookedUp = 20

// placeOrders places them, and counts the stock anew: they are none of the act's.
func (p *act) placeOrders(ctx context.Context, seed uint64) error {
	looks := func(name string) bool { return p.scenario.Classes[name].Kind == Lookup }
	if !slices.ContainsFunc(p.scenario.classNames(), looks) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shelfTimeout)
	defer cancel()
	chance := rand.New(rand.NewPCG(seed, 0))
	buyer := Class{Kind: Order, Currencies: map[string]Share{home: 1}}
	for range lookedUp {
		o := acceptedOrder{ask: newAsk(buyer, p.shelf, chance), key: cryptorand.Text()}
		got, err := p.tryOnce(ctx, "gateway", o.ask, o.key)
		if err == nil {
			o.id, err = judgeOrder(o.ask, got)
		}
		if err != nil {
			return err
		}
		p.shelf.orders = append(p.shelf.orders, o)
	}
	var err error
	p.shelf.left, err = readStock(ctx, p.admin, p.shop)
	return err
}

// acceptedOrder is an order that the shop says it has stored.
type acceptedOrder struct {
	*ask
	id, key string
}

// accepted counts the orders that were accepted of people who came between two instants.
func (p *act) accepted(from, to time.Time) int {
	n := 0
	for h := range p.tally.orders.accepted {
		if at := p.tally.start.Add(h.at); at.After(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// key is the idempotency key of a hit.
func (s *sender) key(seq uint64) string { return s.run0 + "-" + strconv.FormatUint(seq, 10) }

// acceptedOrders returns all of the act, in a sequence that is left to chance: however far a check of them comes, what
// it has seen is a fair sample.
func (p *act) acceptedOrders() []acceptedOrder {
	var all []acceptedOrder
	for seq := range p.sender.hits {
		h := &p.sender.hits[seq]
		if o, ok := p.tally.orders.accepted[h]; ok {
			o.key = p.sender.key(uint64(seq))
			all = append(all, o)
		}
	}
	p.tally.orders.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

const (
	// checkFor bounds the check of all orders of an act. Two processors with nothing else to do read back some thousand
	// orders a second.
	checkFor = 30 * time.Second
	// checkers is how many orders are asked for at once: few of the slots of that route, so that the check is not itself
	// turned away, and enough to keep two processors busy.
	checkers = 4
	// checkTry bounds one question, checkPause is the time to the next try: a shop that has just been let go needs a
	// little time to come to itself.
	checkTry   = 3 * time.Second
	checkPause = 200 * time.Millisecond
	// checkTold is how often a person is told how far it is.
	checkTold = 2 * time.Second
	// maxRepeats is how many orders are sent again under their key.
	maxRepeats = 200
	// stockFor bounds the counting of the stock.
	stockFor = 10 * time.Second
)

// orderCheck is what became of the orders that the shop said it had stored.
type orderCheck struct {
	findings          // of reading them back
	repeats  findings // of sending some of them again
	stock    stockCheck
}

// findings are what a check has found out about orders.
type findings struct {
	asked, found int   // of which the shop told, and of them those that are as they must be
	missing      error // the first that is not
	untold       error // why the shop did not tell of the last of the others
}

func (f *findings) add(told bool, err error) {
	switch {
	case !told:
		f.untold = err
		return
	case err == nil:
		f.found++
	case f.missing == nil:
		f.missing = err
	}
	f.asked++
}

// checkOrders reads back every order that the shop accepted during the act, sends some of them again under their key,
// and counts the stock. What the shop does not answer to the end of the time is no proof that an order is missing, nor
// that it is there: it makes the act void.
func (p *act) checkOrders(ctx context.Context) orderCheck {
	all := p.acceptedOrders()
	if len(all) == 0 && len(p.tally.orders.open) == 0 {
		return orderCheck{}
	}
	if last := p.phases[len(p.phases)-1]; len(last.Faults) > 0 {
		for _, service := range Services {
			_ = p.admin.clearFaults(ctx, service) // one that does not obey will not tell of its orders either
		}
	}
	people := make(map[string]int, len(all))
	for _, o := range all {
		people[o.id]++
	}
	timed, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	var check orderCheck
	check.findings = p.checkEach(timed, "read back", all, func(ctx context.Context, o acceptedOrder) (bool, error) {
		if n := people[o.id]; n > 1 {
			return true, fmt.Errorf("order %s was given to %d people", o.id, n)
		}
		return p.readBack(ctx, o)
	})
	check.repeats = p.checkEach(timed, "sent again", all[:min(len(all), maxRepeats)], p.repeat)

	var err error
	if check.stock, err = p.checkStock(ctx, all); err != nil {
		p.void = append(p.void, fmt.Sprintf("what was sold is not known: %v", err))
	}
	return check
}

// checkEach checks orders a few at a time. told, of a check, says whether its error is about the order, or about an
// answer that did not come.
func (p *act) checkEach(ctx context.Context, what string, all []acceptedOrder,
	check func(context.Context, acceptedOrder) (told bool, err error)) findings {
	var (
		f    findings
		mu   sync.Mutex
		wg   sync.WaitGroup
		work = make(chan acceptedOrder)
	)
	for range checkers {
		wg.Go(func() {
			for o := range work {
				told, err := check(ctx, o)
				mu.Lock()
				f.add(told, err)
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(checkTold)
	defer tick.Stop()
	for given := 0; given < len(all) && ctx.Err() == nil; {
		select {
		case work <- all[given]:
			given++
		case <-tick.C:
			p.show.say("%s: orders %s: %d of %d", p.Name, what, given, len(all))
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	if n := len(all) - f.asked; n > 0 {
		if f.untold == nil { // nothing was asked any more
			f.untold = ctx.Err()
		}
		p.void = append(p.void, fmt.Sprintf("%d of %d accepted orders could not be %s within %s, the last for: %v",
			n, len(all), what, checkFor, f.untold))
	}
	return f
}

// readBack wants an order to be stored as it was accepted.
func (p *act) readBack(ctx context.Context, o acceptedOrder) (told bool, err error) {
	got, err := p.answerTo(ctx, &ask{method: http.MethodGet, path: "/orders/" + url.PathEscape(o.id)}, "")
	if err != nil {
		return false, err
	}
	if got.status != http.StatusOK {
		return true, fmt.Errorf("order %s was accepted and cannot be read back: status %d: %.200s",
			o.id, got.status, got.body)
	}
	id, err := o.readOrder(got.body)
	if err == nil && id != o.id {
		err = fmt.Errorf("it is order %s", id)
	}
	if err != nil {
		return true, fmt.Errorf("order %s was accepted and is stored otherwise: %w", o.id, err)
	}
	return true, nil
}

// repeat wants an order that is sent again under its key to be the order that it was.
func (p *act) repeat(ctx context.Context, o acceptedOrder) (told bool, err error) {
	again := *o.ask
	again.path = "/orders"
	got, err := p.answerTo(ctx, &again, o.key)
	if err != nil {
		return false, err
	}
	id, err := judgeOrder(o.ask, got)
	if err == nil && id != o.id {
		err = fmt.Errorf("it became order %s", id)
	}
	if err != nil {
		return true, fmt.Errorf("order %s, sent again under its key: %w", o.id, err)
	}
	return true, nil
}

// answerTo asks checkout until it answers or ctx ends. A 5xx is no answer. Checkout owns the orders, and a gateway that
// an experiment has made slow would keep the check waiting.
func (p *act) answerTo(ctx context.Context, a *ask, key string) (answer, error) {
	var last error
	for {
		got, err := p.tryOnce(ctx, "checkout", a, key)
		if err == nil && got.status < http.StatusInternalServerError {
			return got, nil
		}
		if err == nil {
			err = fmt.Errorf("%s: status %d", a.path, got.status)
		}
		if last == nil || ctx.Err() == nil { // that the time was over says less than what came before
			last = err
		}
		if sleepUntil(ctx, time.Now().Add(checkPause)) != nil {
			return answer{}, last
		}
	}
}

func (p *act) tryOnce(ctx context.Context, service string, a *ask, key string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTry)
	defer cancel()
	return fetch(ctx, p.admin.client.Transport, p.shop.Public(service), a, key)
}

// stockCheck is what left the stock during the act, in copies.
type stockCheck struct {
	counted bool
	ordered int   // by orders that were accepted
	open    int   // by people who got no right answer: they may have been sold something, or nothing
	sold    int   // what left the stock
	wrong   error // the first book of which more was sold than ordered, or less
}

// checkStock wants every copy that left the stock to belong to an order, and every order to have taken its copies. It
// takes for granted that nobody else buys meanwhile.
func (p *act) checkStock(ctx context.Context, all []acceptedOrder) (stockCheck, error) {
	ctx, cancel := context.WithTimeout(ctx, stockFor)
	defer cancel()
	after, err := readStock(ctx, p.admin, p.shop)
	for err != nil && sleepUntil(ctx, time.Now().Add(checkPause)) == nil {
		after, err = readStock(ctx, p.admin, p.shop)
	}
	if err != nil {
		return stockCheck{}, err
	}
	ordered := map[string]int{}
	for _, o := range all {
		for _, l := range o.lines {
			ordered[l.book] += l.quantity
		}
	}
	return compareStock(p.shelf.left, after, ordered, p.tally.orders.open), nil
}

// compareStock compares what left the stock with what was ordered, book by book.
func compareStock(before, after, ordered, open map[string]int) stockCheck {
	s := stockCheck{counted: true}
	for _, book := range slices.Sorted(maps.Keys(before)) {
		sold := before[book] - after[book]
		s.sold += sold
		s.ordered += ordered[book]
		s.open += open[book]
		if s.wrong == nil && (sold < ordered[book] || sold > ordered[book]+open[book]) {
			s.wrong = fmt.Errorf("%s: %d copies left the stock, %s were ordered",
				book, sold, copies(ordered[book], open[book]))
		}
	}
	return s
}

// copies is how many were ordered, as far as that is known.
func copies(ordered, open int) string {
	if open == 0 {
		return strconv.Itoa(ordered)
	}
	return fmt.Sprintf("%d to %d", ordered, ordered+open)
}

// bars are what must hold of the orders of every act, beyond that they are there.
func (c orderCheck) bars(act string) []BarResult {
	var all []BarResult
	if c.asked > 0 {
		all = append(all, BarResult{Name: act + ": orders that were accepted are there",
			Want: fmt.Sprintf("%d of %[1]d", c.asked), Got: because(fmt.Sprintf("%d of %d", c.found, c.asked), c.missing),
			Pass: c.found == c.asked})
	}
	if f := c.repeats; f.asked > 0 {
		all = append(all, BarResult{Name: act + ": an order sent again under its key is the same order",
			Want: fmt.Sprintf("%d of %[1]d", f.asked), Got: because(fmt.Sprintf("%d of %d", f.found, f.asked), f.missing),
			Pass: f.found == f.asked})
	}
	if s := c.stock; s.counted {
		all = append(all, BarResult{Name: act + ": copies that left the stock were ordered",
			Want: copies(s.ordered, s.open), Got: because(strconv.Itoa(s.sold), s.wrong), Pass: s.wrong == nil})
	}
	for i := range all {
		all[i].always = true
	}
	return all
}

func because(got string, err error) string {
	if err == nil {
		return got
	}
	return got + "; " + err.Error()
}
