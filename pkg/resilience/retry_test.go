package resilience

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// received is what a server was asked.
type received struct{ method, key, body string }

// retrying is a policy that tries three times, without a pause.
func retrying() Policy {
	p := steady()
	p.Retry = Retry{Attempts: 3, Budget: Unbudgeted}
	return p
}

// A request is sent twice only if it may be: by its method, or by its key, which then is the same, as is the body.
func TestB27_OnlyWhatMayBeRepeated(t *testing.T) {
	cases := map[string]struct {
		method, key string
		attempts    int
	}{
		"GET":             {"GET", "", 3},
		"HEAD":            {"HEAD", "", 3},
		"PUT":             {"PUT", "", 3},
		"DELETE":          {"DELETE", "", 3},
		"OPTIONS":         {"OPTIONS", "", 3},
		"POST":            {"POST", "", 1},
		"PATCH":           {"PATCH", "", 1},
		"POST with a key": {"POST", "k-1", 3},
	}
	for name, c := range cases {
		for _, way := range []string{"joined", "alone"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var got []received
					p := retrying()
					p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						got = append(got, received{r.Method, r.Header.Get("Idempotency-Key"), string(body)})
						w.WriteHeader(http.StatusServiceUnavailable)
					})
					e := endpoint(t, p)
					send := func(ctx context.Context) (int, error) {
						r, err := http.NewRequestWithContext(ctx, c.method, "http://dep/", strings.NewReader("order"))
						if err != nil {
							t.Fatal(err)
						}
						if c.key != "" {
							r.Header.Set("Idempotency-Key", c.key)
						}
						resp, err := e.Client().Do(r)
						if err != nil {
							return 0, err
						}
						defer resp.Body.Close()
						return 0, errors.New(resp.Status)
					}
					if way == "joined" {
						Call(t.Context(), e, send)
					} else {
						send(t.Context())
					}
					if len(got) != c.attempts {
						t.Fatalf("%d attempts, want %d", len(got), c.attempts)
					}
					for _, r := range got {
						if want := (received{c.method, c.key, "order"}); r != want {
							t.Errorf("received %+v, want %+v", r, want)
						}
					}
					if retries := state(e).Retries; retries != uint64(c.attempts-1) {
						t.Errorf("%d retries counted, want %d", retries, c.attempts-1)
					}
					wantInUse(t, e, 0)
				})
			})
		}
	}
}

// A body that is gone once sent is not sent again, and spends none of the budget.
func TestB28_BodyThatCannotBeReplayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		attempts := 0
		p := retrying()
		p.Retry.Budget, p.Retry.Backoff = 0.1, time.Second
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
			attempts++
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		e := endpoint(t, p)
		start := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://dep/", io.MultiReader(strings.NewReader("once")))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.Client().Do(r)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("the answer is lost: %v", err)
		}
		resp.Body.Close()
		wantTook(t, start, 0)
		if tokens := e.dep.budget.read(); attempts != 1 || tokens != 3.1 {
			t.Errorf("%d attempts, %v tokens left of 3.1", attempts, tokens)
		}
	})
}

// A body that fails to come again ends the retries, with the error of the attempt.
func TestBodyThatFailsToComeAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := retrying()
		p.Transport = serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		e := endpoint(t, p)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://dep/", strings.NewReader("x"))
		r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		_, err := e.Client().Do(r)
		wantOutcome(t, err, Failure)
		wantInUse(t, e, 0)
	})
}

// No time is left for the pause: the call returns at once, with the last real error.
func TestB29_NoTimeLeftForThePause(t *testing.T) {
	refused := errors.New("refused")
	cases := map[string]struct {
		left, backoff, reserve time.Duration
		retryAfter             string
		attempts               int
	}{
		"100 ms left, 200 ms of back-off":  {100 * time.Millisecond, 200 * time.Millisecond, 0, "", 1},
		"just as much":                     {200 * time.Millisecond, 200 * time.Millisecond, 0, "", 1},
		"the reserve is not for the pause": {240 * time.Millisecond, 200 * time.Millisecond, 50 * time.Millisecond, "", 1},
		"enough":                           {300 * time.Millisecond, 200 * time.Millisecond, 50 * time.Millisecond, "", 2},
		"asked for more than there is":     {900 * time.Millisecond, time.Second, 0, "1", 1},
		"asked for less than the back-off": {1100 * time.Millisecond, 2 * time.Second, 0, "1", 2},
		"no pause, and a little time":      {time.Millisecond, 0, 0, "", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := retrying()
				p.Retry.Attempts, p.Retry.Backoff, p.Reserve = 2, c.backoff, c.reserve
				e := endpoint(t, p)
				ctx, cancel := context.WithTimeout(t.Context(), c.left)
				defer cancel()
				attempts := 0
				start := time.Now()
				_, err := Call(ctx, e, func(ctx context.Context) (int, error) {
					attempts++
					if c.retryAfter != "" {
						attemptFrom(ctx).retryAfter.Store(int64(parseRetryAfter(c.retryAfter, time.Now())))
					}
					return 0, refused
				})
				if attempts != c.attempts || !errors.Is(err, refused) {
					t.Errorf("%d attempts, want %d; %v", attempts, c.attempts, err)
				}
				if c.attempts == 1 {
					wantTook(t, start, 0)
				}
			})
		})
	}
}

// A caller that leaves in the pause ends it; the last real error stays.
func TestLeavingInThePause(t *testing.T) {
	for _, way := range []string{"joined", "alone"} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := retrying()
				p.Retry.Backoff = time.Hour
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				e := endpoint(t, p)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, func() {
					wantInUse(t, e, 0) // a pause holds no slot
					cancel()
				})
				start := time.Now()
				var err error
				if way == "joined" {
					err = joined(ctx, e)
				} else {
					_, err = get(ctx, e)
				}
				wantOutcome(t, err, Failure)
				wantTook(t, start, 100*time.Millisecond)
				if got := state(e).Retries; got != 0 {
					t.Errorf("%d retries", got)
				}
			})
		})
	}
}

// A hundred calls that fail at once are retried as the budget has it, and the first attempts are unharmed.
func TestB30_Budget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Retry = Retry{Attempts: 4, Budget: 0.1}
		e := endpoint(t, p)
		attempts := 0
		fails := func(ctx context.Context) (int, error) { attempts++; return fail(ctx) }
		times(100, func() Outcome { return call(t.Context(), e, fails) })
		if attempts != 113 {
			t.Errorf("%d attempts, want 100 first ones, 10 of the budget and the 3 to begin with", attempts)
		}
		if tokens := e.dep.budget.read(); tokens >= 1 {
			t.Errorf("%v tokens left", tokens)
		}
		// Empty, it harms nobody.
		for range 9 {
			if got := call(t.Context(), e, ok); got != Success {
				t.Errorf("with an empty budget: %s", got)
			}
		}
		// However long all is well, no more than the most is kept for a bad moment.
		times(10_000, func() Outcome { return call(t.Context(), e, ok) })
		attempts = 0
		times(10, func() Outcome { return call(t.Context(), e, fails) })
		if attempts > 10+10+1 {
			t.Errorf("%d attempts of 10 calls after a long healthy time, the most kept is 10", attempts)
		}
	})
}

// Rejections, an open breaker and the caller's own end are not retried.
func TestWhatIsNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := retrying()
		p.Breaker = breaking().Breaker
		p.Breaker.MinRequests = 6
		e := endpoint(t, p)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		call(over, e, ok)
		leaves, cancel := context.WithCancel(t.Context())
		call(leaves, e, func(ctx context.Context) (int, error) { cancel(); return hang(ctx) })
		call(t.Context(), e, func(context.Context) (int, error) { panic("x") })
		wantOutcomes(t, e, map[Outcome]int{Expired: 1, Cancelled: 1, Panicked: 1})
		times(2, func() Outcome { return call(t.Context(), e, fail) }) // three attempts, and two until it opens
		wantOutcomes(t, e, map[Outcome]int{Expired: 1, Cancelled: 1, Panicked: 1, Failure: 5, ShortCircuited: 1})
	})
}

// Three hops that all fail: only the outermost retries, so that the leaf sees each request at most once more for each
// retry of it.
func TestB31_OneLayerRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var atLeaf atomic.Int32
		d := &Deadline{Trust: true}
		p := steady()
		p.Retry = Retry{Attempts: 4, Budget: 0.1}
		over := func(h http.HandlerFunc) *Endpoint {
			p := p
			p.Transport = serve(t, d.Within(time.Second)(h).ServeHTTP)
			return endpoint(t, p)
		}
		leaf := over(func(w http.ResponseWriter, _ *http.Request) {
			atLeaf.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		middle := over(func(w http.ResponseWriter, r *http.Request) {
			wantOutcome(t, joined(r.Context(), leaf), Failure)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		outer := over(func(w http.ResponseWriter, r *http.Request) {
			wantOutcome(t, joined(r.Context(), middle), Failure)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		const requests = 200
		for range requests {
			joined(t.Context(), outer)
		}
		if got := atLeaf.Load(); got > requests*11/10+retryFloor {
			t.Errorf("the leaf saw %d requests for %d", got, requests)
		}
		if middle, leaf := state(middle).Retries, state(leaf).Retries; middle != 0 || leaf != 0 {
			t.Errorf("inner hops retried %d and %d times", middle, leaf)
		}
	})
}

// A pause is drawn anew each time, from nothing to the back-off, which doubles up to its cap.
func TestBackoff(t *testing.T) {
	r := Retry{Backoff: 100 * time.Millisecond, MaxBackoff: time.Second}
	for try, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if got := r.backoff(try+1, 0); got != want*time.Millisecond {
			t.Errorf("after try %d: %v, want %v ms", try+1, got, int(want))
		}
	}
	cases := map[string]struct {
		r     Retry
		try   int
		asked time.Duration
		want  time.Duration
	}{
		"no pause":               {Retry{}, 5, 0, 0},
		"no cap of its own":      {Retry{Backoff: time.Second}, 9, 0, time.Second},
		"never overflows":        {Retry{Backoff: Unbounded/2 + 1, MaxBackoff: Unbounded}, 1 << 30, 0, Unbounded},
		"asked for less":         {r, 5, time.Millisecond, time.Millisecond},
		"asked for more":         {r, 1, time.Hour, time.Second},
		"asked where none is":    {Retry{}, 1, time.Hour, 0},
		"first, far below a cap": {Retry{Backoff: 0, MaxBackoff: time.Second}, 1 << 30, 0, 0},
	}
	for name, c := range cases {
		if got := c.r.backoff(c.try, c.asked); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Pauses are spread over the whole back-off: full jitter.
func TestJitterOfThePause(t *testing.T) {
	p := &policy{Policy: retrying()}
	p.Retry.Backoff = time.Second
	e := endpoint(t, p.Policy)
	var tenths [10]int
	for range 1000 {
		pause, ok := e.mayRetry(t.Context(), p, 1, &Error{Outcome: Failure})
		if !ok || pause < 0 || pause >= time.Second {
			t.Fatalf("pause %v, %v", pause, ok)
		}
		tenths[pause*10/time.Second]++
	}
	for i, n := range tenths {
		if n < 50 {
			t.Errorf("%d of 1000 pauses in tenth %d", n, i)
		}
	}
}

// Retry-After is honoured up to MaxBackoff, exactly, in both of its forms.
func TestRetryAfterIsHonoured(t *testing.T) {
	for _, way := range []string{"joined", "alone"} {
		for name, format := range map[string]func() string{
			"seconds":  func() string { return "3" },
			"date":     func() string { return time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) },
			"too long": func() string { return "3600" },
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := retrying()
					p.Retry.Attempts, p.Retry.Backoff, p.Retry.MaxBackoff = 2, 10*time.Millisecond, 5*time.Second
					p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Retry-After", format())
						w.WriteHeader(http.StatusTooManyRequests)
					})
					e := endpoint(t, p)
					start := time.Now()
					err := map[string]func(context.Context, *Endpoint) error{"joined": joined, "alone": single}[way](t.Context(), e)
					want := 3 * time.Second
					if name == "too long" {
						want = 5 * time.Second
					}
					wantTook(t, start, want)
					if way == "joined" {
						if call, ok := errors.AsType[*Error](err); !ok || call.RetryAfter == 0 {
							t.Errorf("the caller is not told: %v", err)
						}
					}
				})
			})
		}
	}
}

// sillyRetryAfters are values of Retry-After, from the sound to the silly, and what they ask for at sillyInstant.
var (
	sillyInstant     = time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)
	sillyRetryAfters = []struct {
		name, header string
		asked        time.Duration
	}{
		{"missing", "", 0},
		{"zero", "0", 0},
		{"seconds", "120", 2 * time.Minute},
		{"leading zeroes", "0000120", 2 * time.Minute},
		{"spaces around", "  120\t", 2 * time.Minute},
		{"an hour", "3600", time.Hour},
		{"more than an hour", "3601", time.Hour},
		{"nanoseconds overflow", "9223372037", time.Hour},
		{"64 bits", "18446744073709551615", time.Hour},
		{"more than 64 bits", "18446744073709551616", 0},
		{"negative", "-1", 0},
		{"plus", "+1", 0},
		{"fraction", "1.5", 0},
		{"exponent", "1e3", 0},
		{"hexadecimal", "0x10", 0},
		{"underscores", "1_000", 0},
		{"unit", "10s", 0},
		{"two values", "1, 2", 0},
		{"space within", "1 2", 0},
		{"other digits", "１２０", 0},
		{"words", "soon", 0},
		{"NUL", "1\x00", 0},
		{"10 KB of digits", strings.Repeat("9", 10<<10), 0},
		{"10 KB of spaces", strings.Repeat(" ", 10<<10) + "5", 5 * time.Second},
		{"date", "Thu, 24 Sep 2026 12:01:00 GMT", time.Minute},
		{"date, RFC 850", "Thursday, 24-Sep-26 12:01:00 GMT", time.Minute},
		{"date, asctime", "Thu Sep 24 12:01:00 2026", time.Minute},
		{"date in the past", "Thu, 24 Sep 2026 11:59:00 GMT", 0},
		{"date long past", "Mon, 01 Jan 0001 00:00:00 GMT", 0},
		{"date far ahead", "Fri, 31 Dec 9999 23:59:59 GMT", time.Hour},
		{"date that is none", "Thu, 31 Feb 2026 12:00:00 GMT", 0},
		{"date of another zone", "Thu, 24 Sep 2026 12:01:00 +0200", 0},
		{"date with no zone", "Thu, 24 Sep 2026 12:01:00", 0},
		{"date in ISO 8601", "2026-09-24T12:01:00Z", 0},
	}
)

// What Retry-After says, in every silly form: never negative, never above an hour.
func TestSillyRetryAfters(t *testing.T) {
	for _, c := range sillyRetryAfters {
		if got := parseRetryAfter(c.header, sillyInstant); got != c.asked {
			t.Errorf("%s: %v, want %v", c.name, got, c.asked)
		}
	}
}

// Whatever the header: no crash, nothing below 0, nothing above an hour.
func FuzzRetryAfter(f *testing.F) {
	for _, c := range sillyRetryAfters {
		f.Add(c.header, sillyInstant.Unix())
	}
	f.Fuzz(func(t *testing.T, header string, now int64) {
		if got := parseRetryAfter(header, time.Unix(now, 0)); got < 0 || got > time.Hour {
			t.Errorf("%q is %v", header, got)
		}
	})
}

// A connection serves again after an attempt on it has failed by its status; a broken one is replaced.
func TestConnectionsAfterAFailedAttempt(t *testing.T) {
	cases := map[string]struct {
		answer func(w http.ResponseWriter)
		dials  int32
	}{
		"503":              {func(w http.ResponseWriter) { w.WriteHeader(503) }, 1},
		"503 with a page":  {func(w http.ResponseWriter) { w.WriteHeader(503); w.Write(bytes.Repeat([]byte("x"), 3<<10)) }, 1},
		"cut in its body":  {func(w http.ResponseWriter) { w.Header().Set("Content-Length", "9"); panic(http.ErrAbortHandler) }, 3},
		"nothing readable": {func(w http.ResponseWriter) { io.WriteString(w, "}{") }, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var dials atomic.Int32
				transport := serve(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })
				dial := transport.DialContext
				transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials.Add(1)
					return dial(ctx, network, addr)
				}
				p := retrying()
				p.Transport = transport
				e := endpoint(t, p)
				_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
					resp, err := get(ctx, e)
					if err != nil {
						return 0, err
					}
					defer resp.Body.Close() // unread
					return 0, errors.New("not what was asked for")
				})
				wantOutcome(t, err, Failure)
				synctest.Wait()
				if got := dials.Load(); got != c.dials || state(e).Retries != 2 {
					t.Errorf("%d dials, want %d; %d retries", got, c.dials, state(e).Retries)
				}
			})
		})
	}
}
