package loadtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// sender sends a schedule. Vegeta keeps the workers and the pace; what is sent, and what becomes of it, is decided
// here: vegeta's Targeter is not told which hit it is for, but the request is (X-Vegeta-Seq), so the sender stands in
// for vegeta's transport and there replaces the request by schedule[Seq].
type sender struct {
	schedule
	people  []people // by class
	tally   *tally
	shelf   *shelf
	start   time.Time // of the load: a hit is meant to start at start + hit.at
	workers uint64
	run0    string // begins every idempotency key of this run

	ctx  context.Context // of the run: vegeta's own requests have none
	fail error           // what vegeta complained of: nothing, unless it and we disagree on what a hit is
}

// people are the members of a class, who all sit in front of the same kind of browser.
type people struct {
	Class
	base      string // URL of the gateway
	transport *http.Transport
}

// maxIdle is how many connections are kept open between requests: as many as a busy second can leave behind.
const maxIdle = 2048

func newSender(s *Scenario, shop Shop, sched schedule, t *tally, sh *shelf, workers int) *sender {
	snd := &sender{schedule: sched, tally: t, shelf: sh, run0: rand.Text(), workers: uint64(max(workers, 0))}
	needed := 0.0
	for _, name := range sched.names {
		c := s.Classes[name]
		patience := time.Duration(c.Patience)
		needed += float64(sched.fastest[len(snd.people)]) * patience.Seconds() * 1.5
		snd.people = append(snd.people, people{c, strings.TrimSuffix(shop.Public("gateway"), "/"), newTransport(patience)})
	}
	if workers == 0 {
		snd.workers = uint64(math.Ceil(needed)) + 1
	}
	return snd
}

// newTransport makes connections as an impatient person has them. A dial outlives the request that began it, so it is
// bounded by itself. Linger 0: a connection that is closed while its request is under way is reset, and leaves no port
// of the sender waiting for a minute, of which a long run would have none left.
func newTransport(patience time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: patience}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				err = tcp.SetLinger(0)
			}
			return conn, err
		},
		DisableCompression: true, // bytes are cheap here, the processor is the shop's
		MaxIdleConns:       0,    // no limit of its own
		// The shop closes idle connections later than this, or requests would meet the closing.
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: 20 * time.Second,
	}
}

// run sends the whole schedule. The channel closes when the last visit has ended, at the latest when its patience is
// over; or soon after ctx ends.
func (s *sender) run(ctx context.Context) <-chan struct{} {
	s.ctx = ctx
	attacker := vegeta.NewAttacker(
		//unbounded:allow clienttimeout "every visit ends with its person's patience"
		vegeta.Client(&http.Client{Transport: s, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}),
		vegeta.Workers(min(vegeta.DefaultWorkers, s.workers)),
		vegeta.MaxWorkers(s.workers),
	)
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: "http://schedule.invalid/"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopped := context.AfterFunc(ctx, func() { attacker.Stop() })
		defer stopped()
		for res := range attacker.Attack(target, s, 0, "") {
			if res.Error != "" && s.fail == nil {
				s.fail = errors.New(res.Error)
			}
		}
		for _, p := range s.people {
			p.transport.CloseIdleConnections()
		}
	}()
	return done
}

// Pace is vegeta's question how long to wait before the next hit.
func (s *sender) Pace(_ time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits >= uint64(len(s.hits)) || s.ctx.Err() != nil {
		return 0, true
	}
	return time.Until(s.start.Add(s.hits[hits].at)), false
}

// Rate is for vegeta's reports, which nobody reads here.
func (s *sender) Rate(time.Duration) float64 { return 0 }

// RoundTrip is where vegeta's hit becomes ours. Its own response says nothing.
func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(req.Header.Get("X-Vegeta-Seq"), 10, 64)
	if err != nil || seq >= uint64(len(s.hits)) {
		return nil, fmt.Errorf("vegeta sent hit %q of %d", req.Header.Get("X-Vegeta-Seq"), len(s.hits))
	}
	s.visit(seq)
	return &http.Response{
		StatusCode: http.StatusNoContent, Status: "204 No Content", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

// visit is one person's coming, from the intended start to the answer, or to the end of their patience.
func (s *sender) visit(seq uint64) {
	h := &s.hits[seq]
	p := &s.people[h.class]
	meant := s.start.Add(h.at)
	lag := time.Since(meant)
	patience := time.Duration(p.Patience)
	if lag >= patience {
		s.tally.record(h, judged{verdict: unsent}, lag, lag)
		return
	}
	ctx, cancel := context.WithDeadline(s.ctx, meant.Add(patience))
	defer cancel()
	key := ""
	if h.ask.kind == Order {
		key = s.key(seq)
	}
	for tries, errors := 1, 0; ; tries++ {
		began := time.Now()
		j := s.try(ctx, p, h.ask, key)
		took := time.Since(meant)
		if slices.Contains([]verdict{wrong, refused, failed}, j.verdict) {
			errors++
		}
		j.tries, j.errors = tries, errors
		switch {
		case s.ctx.Err() != nil:
			j.verdict = cut
		case j.verdict == good && took > time.Duration(p.InTime):
			j.verdict = late
		case j.verdict != good && p.Refresh > 0 && ctx.Err() == nil:
			// The same person, before the same page, a moment later.
			if sleepUntil(ctx, began.Add(time.Duration(p.Refresh))) == nil {
				continue
			}
		}
		s.tally.record(h, j, lag, min(took, patience))
		return
	}
}

// try sends the request once and judges what comes. Refreshing closes the connection after p.Refresh.
func (s *sender) try(ctx context.Context, p *people, a *ask, key string) judged {
	tryCtx := ctx
	if p.Refresh > 0 {
		var cancel context.CancelFunc
		tryCtx, cancel = context.WithTimeout(ctx, time.Duration(p.Refresh))
		defer cancel()
	}
	got, err := fetch(tryCtx, p.transport, p.base, a, key)
	accepted := err == nil && a.isQuotedAtHome(got) && slices.Contains(p.Fallbacks, "prices")
	if accepted {
		a = a.atHome
		got, err = fetch(tryCtx, p.transport, p.base, a, key)
	}
	switch {
	case err == nil:
		j := s.shelf.judge(a, p.Fallbacks, got)
		j.ask, j.fallback = a, j.fallback || accepted
		return j
	case errors.Is(err, errTooLong):
		return judged{verdict: wrong, why: fmt.Errorf("%s: %w", a.path, err)}
	case tryCtx.Err() != nil:
		return judged{verdict: gaveUp}
	default:
		return judged{verdict: failed, why: err}
	}
}

// errTooLong is the answer that does not end.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)

// fetch asks once, to the last byte of the answer.
func fetch(ctx context.Context, t http.RoundTripper, base string, a *ask, key string) (answer, error) {
	var body io.Reader
	if a.body != nil {
		body = bytes.NewReader(a.body)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, base+a.path, body)
	if err != nil {
		return answer{}, err
	}
	if a.kind == Order {
		req.Header["Content-Type"] = []string{"application/json"}
		req.Header["Idempotency-Key"] = []string{key}
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got := answer{status: res.StatusCode, degraded: tokens(res.Header.Values("X-Degraded"))}
	if got.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1)); err != nil {
		return answer{}, err
	}
	if len(got.body) > maxAnswer {
		return answer{}, errTooLong
	}
	return got, nil
}

// tokens splits the values of a header that holds a list.
func tokens(values []string) []string {
	var all []string
	for _, v := range values {
		for token := range strings.SplitSeq(v, ",") {
			if token = strings.TrimSpace(token); token != "" {
				all = append(all, token)
			}
		}
	}
	return all
}
