package resilience

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever bounds a call, a body of half a mebibyte arrives whole.
func TestB23_TheWholeBody(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 512<<10)
	parts := map[string]func(*Policy){
		"breaker":  func(p *Policy) { p.Breaker = breaking().Breaker },
		"retry":    func(p *Policy) { p.Retry = Retry{Attempts: 3, Budget: 0.1} },
		"wait":     func(p *Policy) { p.Slots, p.SlotWait = 1, time.Second },
		"walkaway": func(p *Policy) { p.WalkAway = true },
		"no limit": func(p *Policy) { p.Timeout, p.Slots = Unbounded, Unlimited },
		"no cap":   func(p *Policy) { p.MaxBody = 1<<63 - 1 },
		"reserve":  func(p *Policy) { p.Reserve = 50 * time.Millisecond },
	}
	names := []string{"breaker", "retry", "wait", "walkaway", "no limit", "no cap", "reserve"}
	bubble(t, func(t *testing.T) {
		transport := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
		transport.ReadBufferSize = 64 << 10 // a pipe hands over what fits, and waits
		for set := range 1 << len(names) {
			p := steady()
			var used []string
			for i, name := range names {
				if set&(1<<i) != 0 {
					used = append(used, name)
					parts[name](&p)
				}
			}
			p.Transport = transport
			if p.Timeout == Unbounded {
				p.SlowAfter = time.Second
			}
			e := endpoint(t, p)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			read := func(ctx context.Context) (int64, error) { // and keeps nothing: 256 bodies come
				resp, err := get(ctx, e)
				if err != nil {
					return 0, err
				}
				defer resp.Body.Close()
				return io.Copy(io.Discard, resp.Body)
			}
			if n, err := read(ctx); n != int64(len(body)) || err != nil {
				t.Errorf("%v, alone: %d bytes, %v", used, n, err)
			}
			if n, err := Call(ctx, e, read); n != int64(len(body)) || err != nil {
				t.Errorf("%v, joined: %d bytes, %v", used, n, err)
			}
			cancel()
			wantOutcomes(t, e, map[Outcome]int{Success: 2})
			wantInUse(t, e, 0)
		}
	})
}

// After a timeout the callee knows that nobody waits.
func TestB24_TheCalleeIsTold(t *testing.T) {
	for way, send := range map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var told time.Time
				p := steady()
				p.Transport = serve(t, func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					told = time.Now()
				})
				e := endpoint(t, p)
				start := time.Now()
				wantOutcome(t, send(t.Context(), e), Timeout)
				synctest.Wait()
				if got := told.Sub(start); got != p.Timeout {
					t.Errorf("the callee was told after %v, want %v", got, p.Timeout)
				}
			})
		})
	}
}

// A success leaves no timer: the attempt's context is over when the call returns.
func TestB24_NoTimerIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := endpoint(t, steady())
		var attempt context.Context
		if _, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
			attempt = ctx
			return 1, nil
		}); err != nil {
			t.Error(err)
		}
		if attempt.Err() == nil {
			t.Error("the attempt's context is still open")
		}
	})
}

// A thousand timeouts leave no goroutine behind.
func TestB24_TimeoutsLeaveNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Transport = serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		e := endpoint(t, p)
		before := goroutines()
		for range 10 { // a hundred at a time, which is what there are slots for
			for range 100 {
				go single(t.Context(), e)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		wantOutcomes(t, e, map[Outcome]int{Timeout: 1000})
		if after := goroutines(); after > before+3 { // the runtime starts a few of its own
			t.Errorf("%d goroutines, %d before", after, before)
		}
	})
}

// serverWithin answers with what its context has left.
func serverWithin(d *Deadline, budget time.Duration) http.Handler {
	return d.Within(budget)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		latest, _ := r.Context().Deadline()
		fmt.Fprint(w, time.Until(latest))
	}))
}

// left returns what the server has left of its budget of ten seconds, for a header.
func left(t *testing.T, d *Deadline, header string) time.Duration {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(DeadlineHeader, header)
	w := httptest.NewRecorder()
	serverWithin(d, 10*time.Second).ServeHTTP(w, r)
	got, err := time.ParseDuration(w.Body.String())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Clocks that disagree cost nothing but a count: the time remaining needs none.
func TestB25_ClocksThatDisagree(t *testing.T) {
	cases := map[string]struct {
		ahead     time.Duration // the caller's clock
		left      time.Duration
		disagrees float64
	}{
		"together":              {0, 800 * time.Millisecond, 0},
		"on the way for 60 ms":  {-60 * time.Millisecond, 740 * time.Millisecond, 0},
		"ahead within reason":   {100 * time.Millisecond, 800 * time.Millisecond, 0},
		"5 s behind":            {-5 * time.Second, 800 * time.Millisecond, 1},
		"5 s ahead":             {5 * time.Second, 800 * time.Millisecond, 1},
		"just out of tolerance": {101 * time.Millisecond, 800 * time.Millisecond, 1},
		"a year behind":         {-365 * 24 * time.Hour, 800 * time.Millisecond, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &Deadline{Trust: true}
				theirs := time.Now().Add(c.ahead)
				if got := left(t, d, formatDeadline(theirs, theirs.Add(800*time.Millisecond))); got != c.left {
					t.Errorf("%v left, want %v", got, c.left)
				}
				if got := gathered(t, d)["resilience_deadline_disagreements_total"]; got != c.disagrees {
					t.Errorf("%v disagreements, want %v", got, c.disagrees)
				}
			})
		})
	}
}

// sillyDeadlines are headers that make no sense, or just about, and what a server of the budget has left by them.
func sillyDeadlines(at time.Time, budget time.Duration) []sillyDeadline {
	now := strconv.FormatInt(at.UnixMilli(), 10)
	return []sillyDeadline{
		{"missing", "", budget},
		{"words", "soon", budget},
		{"instant alone", now, budget},
		{"remaining alone", "remaining=100", budget},
		{"empty parts", ";", budget},
		{"no instant", "; remaining=100", budget},
		{"no number", now + "; remaining=", budget},
		{"zero", now + "; remaining=0", budget},
		{"zeroes", now + "; remaining=000", budget},
		{"negative", now + "; remaining=-5", budget},
		{"plus", now + "; remaining=+5", budget},
		{"fraction", now + "; remaining=5.5", budget},
		{"exponent", now + "; remaining=1e3", budget},
		{"hexadecimal", now + "; remaining=0x10", budget},
		{"underscores", now + "; remaining=1_000", budget},
		{"space within", now + "; remaining=1 000", budget},
		{"space before", now + "; remaining= 100", budget},
		{"tab after", now + "; remaining=200\t", 200 * time.Millisecond}, // trimmed, as HTTP does
		{"unit", now + "; remaining=100ms", budget},
		{"other digits", now + "; remaining=１００", budget},
		{"another parameter", now + "; remaining=100; x=1", budget},
		{"another name", now + "; left=100", budget},
		{"negative instant", "-" + now + "; remaining=100", budget},
		{"instant of words", "now; remaining=100", budget},
		{"64 bits", now + "; remaining=18446744073709551616", budget},
		{"14 digits", now + "; remaining=10000000000000", budget},
		{"13 digits", now + "; remaining=9999999999999", budget},
		{"instant of 14 digits", "10" + now + "; remaining=100", budget},
		{"one hour", now + "; remaining=3600000", budget},
		{"instant of year 1970", "0; remaining=100", 100 * time.Millisecond},
		{"instant of year 2286", "9999999999999; remaining=100", 100 * time.Millisecond},
		{"no space", now + ";remaining=100", time.Millisecond}, // the instant is now, and they agree
		{"10 KB", now + "; remaining=" + strings.Repeat("0", 10<<10) + "100", budget},
		{"NUL", now + "; remaining=1\x0000", budget},
		{"no text", "\x00; remaining=\xff", budget},
	}
}

type sillyDeadline struct {
	name, header string
	left         time.Duration
}

// A header that makes no sense leaves the server's own cap: never infinity, and never nothing.
func TestSillyDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range sillyDeadlines(time.Now(), 10*time.Second) {
			if got := left(t, &Deadline{Trust: true}, c.header); got != c.left {
				t.Errorf("%s: %v left, want %v", c.name, got, c.left)
			}
		}
	})
}

// Of several headers of the name the first is read, and the cap stays.
func TestRepeatedDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Add(DeadlineHeader, "9999999999999; remaining=9999999999")
		r.Header.Add(DeadlineHeader, "1; remaining=1")
		w := httptest.NewRecorder()
		serverWithin(&Deadline{Trust: true}, time.Second).ServeHTTP(w, r)
		if got := w.Body.String(); got != "1s" {
			t.Errorf("%s left, want 1s", got)
		}
	})
}

// Strangers are not believed, whatever they send.
func TestUntrustedHeaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &Deadline{}
		if got := left(t, d, formatDeadline(time.Now(), time.Now().Add(time.Millisecond))); got != 10*time.Second {
			t.Errorf("%v left, want 10s", got)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(CriticalityHeader, "critical")
		r.Header.Set(RetryHeader, "outer")
		d.Within(time.Second)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := requestFrom(r.Context()); got != (request{}) {
				t.Errorf("believed %+v", got)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	})
}

// The class of a request is one of three words; all else is as if nothing were said.
func TestSillyCriticalities(t *testing.T) {
	cases := map[string]Criticality{
		"critical": Critical, "default": Default, "sheddable": Sheddable,
		"": Default, "CRITICAL": Default, " critical": Default, "critical ": Default, "critical,sheddable": Default,
		"0": Default, "-1": Default, strings.Repeat("critical", 1<<10): Default, "critical\x00": Default,
	}
	for header, want := range cases {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(CriticalityHeader, header)
		(&Deadline{Trust: true}).Within(time.Second)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := CriticalityFrom(r.Context()); got != want {
				t.Errorf("%.20q: %s, want %s", header, got, want)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
}

// A value that is no class ranks last and breaks nothing.
func TestCriticalityOutOfRange(t *testing.T) {
	if c := Criticality(200); c.rank() != Sheddable.rank() || c.String() != "sheddable" {
		t.Errorf("rank %d, %s", c.rank(), c)
	}
}

// An edge's class is the most that its requests may have; a less critical caller's stays.
func TestCriticalityTravels(t *testing.T) {
	cases := []struct{ edge, request, sent Criticality }{
		{Critical, Critical, Critical}, {Critical, Default, Default}, {Critical, Sheddable, Sheddable},
		{Default, Critical, Default}, {Default, Sheddable, Sheddable},
		{Sheddable, Critical, Sheddable}, {Sheddable, Default, Sheddable},
	}
	bubble(t, func(t *testing.T) {
		transport := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get(CriticalityHeader)) })
		for _, c := range cases {
			p := steady()
			p.Criticality, p.Transport = c.edge, transport
			got, err := fetch(WithCriticality(t.Context(), c.request), endpoint(t, p))
			if got != c.sent.String() || err != nil {
				t.Errorf("%s edge, %s request: sent %q, %v", c.edge, c.request, got, err)
			}
		}
		p := steady()
		p.Criticality, p.Transport = Critical, transport
		if got, _ := fetch(t.Context(), endpoint(t, p)); got != "critical" {
			t.Errorf("where nothing was said the edge's class is sent, not %q", got)
		}
	})
}

// hop is a server that asks the next one, all its time being the caller's less its reserve.
func hop(t *testing.T, seen *[]time.Duration, budget time.Duration, next *Endpoint) *http.Transport {
	d := &Deadline{Trust: true}
	return serve(t, d.Within(budget)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		latest, _ := r.Context().Deadline()
		*seen = append(*seen, time.Until(latest))
		time.Sleep(5 * time.Millisecond) // of work
		if next == nil || joined(r.Context(), next) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})).ServeHTTP)
}

// Over three hops, retries included, the deadline only comes nearer; an hour from outside is capped.
func TestB26_DeadlineDecreases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []time.Duration
		p := Policy{Timeout: time.Hour, Slots: 10, Reserve: 50 * time.Millisecond, Retry: Retry{Attempts: 2, Budget: Unbudgeted}}
		over := func(transport http.RoundTripper) *Endpoint {
			p := p
			p.Transport = transport
			return endpoint(t, p)
		}
		first := over(hop(t, &seen, time.Second, over(hop(t, &seen, time.Second, over(hop(t, &seen, time.Second, nil))))))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		joined(ctx, first)

		// first hop, and under it two attempts at the second, each with two at the third; and all that again.
		if len(seen) != 14 {
			t.Fatalf("%d requests seen, want 14: %v", len(seen), seen)
		}
		half := seen[:7]
		want := []time.Duration{1000, 945, 890, 885, 930, 875, 870}
		for i := range half {
			if half[i] != want[i]*time.Millisecond {
				t.Errorf("request %d had %v left, want %v ms", i, half[i], int(want[i]))
			}
		}
		for _, left := range seen {
			if left > time.Second {
				t.Errorf("%v left: not capped", left)
			}
		}
	})
}

// An attempt's header is its own deadline, not the caller's.
func TestDeadlineHeaderIsTheAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Timeout = 250 * time.Millisecond
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get(DeadlineHeader)) })
		e := endpoint(t, p)
		want := fmt.Sprintf("%d; remaining=250", time.Now().Add(p.Timeout).UnixMilli())
		if got, err := fetch(t.Context(), e); got != want {
			t.Errorf("sent %q, want %q (%v)", got, want, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if got, _ := fetch(ctx, e); !strings.HasSuffix(got, "; remaining=100") {
			t.Errorf("sent %q, want what the caller has left", got)
		}
		p.Timeout = Unbounded
		if err := e.dep.Apply(p); err != nil {
			t.Fatal(err)
		}
		if got, _ := fetch(t.Context(), e); got != "" {
			t.Errorf("sent %q where there is no deadline", got)
		}
	})
}

// The caller's own header map is left as it was.
func TestRequestIsNotChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Transport = serve(t, func(http.ResponseWriter, *http.Request) {})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://dep/", nil)
		for _, header := range []http.Header{{"Accept": {"x"}}, nil} {
			r.Header = header
			resp, err := guarded{endpoint(t, p)}.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if len(r.Header) != len(header) {
				t.Errorf("header is now %v", r.Header)
			}
		}
	})
}

// Whatever the header: no crash, nothing below a millisecond, and nothing above what the server allows by itself.
func FuzzDeadline(f *testing.F) {
	const budget = 10 * time.Second
	at := time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)
	f.Add(formatDeadline(at, at.Add(742*time.Millisecond)), at.UnixMilli())
	for _, c := range sillyDeadlines(at, budget) {
		f.Add(c.header, at.UnixMilli())
	}
	f.Fuzz(func(t *testing.T, header string, nowMillis int64) {
		h := http.Header{DeadlineHeader: {header}}
		if _, left := (&Deadline{Trust: true}).read(t.Context(), h, budget); left < time.Millisecond || left > budget {
			t.Errorf("%q leaves %v of %v", header, left, budget)
		}
		now := time.UnixMilli(nowMillis)
		left, agree, ok := parseDeadline(header, now)
		switch {
		case !ok && (left != 0 || agree):
			t.Errorf("%q makes no sense and is %v, %v", header, left, agree)
		case ok && (left < time.Millisecond || left > maxRemaining):
			t.Errorf("%q: %v left", header, left)
		}
		// What is written is read again, to the millisecond.
		if ok && agree {
			again, _, ok := parseDeadline(formatDeadline(now, now.Add(left)), now)
			if !ok || again > left || left-again > time.Millisecond {
				t.Errorf("%v left became %v", left, again)
			}
		}
	})
}
