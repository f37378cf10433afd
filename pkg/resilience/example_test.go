package resilience_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/holdfast/pkg/resilience"
)

// open declares a dependency as a service would, and ends the example if its policy breaks a rule.
func open(p resilience.Policy) *resilience.Dependency {
	dep, err := resilience.New("recommendations", p)
	if err != nil {
		panic(err)
	}
	return dep
}

// A call over HTTP whose body counts: what does not decode is a failure, and a failure costs the page its carousel.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/related/typee" {
			fmt.Fprint(w, `["omoo", "mardi"]`)
			return
		}
		fmt.Fprint(w, `<html>please come back later</html>`)
	}))
	defer server.Close()

	recommendations := open(resilience.Policy{Timeout: 10 * time.Second, Slots: 20})
	related := recommendations.Endpoint("related")

	alsoBought := func(ctx context.Context, book string) ([]string, error) {
		return resilience.Call(ctx, related, func(ctx context.Context) (books []string, err error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/related/"+book, nil)
			if err != nil {
				return nil, err
			}
			resp, err := related.Client().Do(r) // joins the call: one slot, one outcome
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			err = json.NewDecoder(resp.Body).Decode(&books)
			return books, err
		}, resilience.FallbackTo([]string{}))
	}

	for _, book := range []string{"typee", "moby-dick"} {
		books, err := alsoBought(context.Background(), book)
		fmt.Println(book, books, err)
	}
	seen := recommendations.Snapshot().Endpoints[0]
	fmt.Println("success", seen.Outcomes["success"], "failure", seen.Outcomes["failure"], "fallbacks", seen.Fallbacks)
	// Output:
	// typee [omoo mardi] <nil>
	// moby-dick [] <nil>
	// success 1 failure 1 fallbacks 1
}

// Nothing has a default that a reader would not guess, and all that is wrong is told at once.
func ExampleNew() {
	_, err := resilience.New("recommendations", resilience.Policy{
		Slots: 20,
		Breaker: resilience.Breaker{
			TimeoutRate: 0.5, MinRequests: 3, Window: 10 * time.Second, Cooldown: 5 * time.Second,
		},
	})
	fmt.Println(err)

	recommendations, err := resilience.New("recommendations", resilience.Policy{
		Timeout: 250 * time.Millisecond,
		Slots:   20,
		Breaker: resilience.Breaker{
			TimeoutRate: 0.5, MinRequests: 20, Window: 10 * time.Second, Cooldown: 5 * time.Second,
		},
	})
	fmt.Println(recommendations.Name(), recommendations.Policy().Timeout, err)
	// Output:
	// dependency "recommendations": Timeout is 0s: must be positive; write Unbounded if you mean infinity
	// dependency "recommendations": Breaker.TimeoutRate is 0.5: times MinRequests (3) must be at least 2: one hiccup must not open a breaker
	// recommendations 250ms <nil>
}

// Any function can be guarded that ends with its context.
func ExampleCall() {
	search := open(resilience.Policy{Timeout: 10 * time.Millisecond, Slots: 4}).Endpoint("search")

	hang := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	_, err := resilience.Call(context.Background(), search, hang)
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// recommendations/search: timeout: context deadline exceeded
	// true
}

// A function that ignores its context is left behind when its time is over. Its slot stays taken until it returns, so
// that never more than Slots are left behind.
func ExampleCall_walkAway() {
	legacy := open(resilience.Policy{Timeout: 10 * time.Millisecond, Slots: 1, WalkAway: true})
	search := legacy.Endpoint("search")

	held := make(chan struct{})
	defer close(held)
	ignorant := func(context.Context) (string, error) {
		<-held
		return "too late", nil
	}
	for range 2 {
		_, err := resilience.Call(context.Background(), search, ignorant)
		fmt.Println(resilience.OutcomeOf(err))
	}
	fmt.Println("slots in use:", legacy.Snapshot().InUse)
	// Output:
	// timeout
	// rejected
	// slots in use: 1
}

// A fixed answer for when there is none.
func ExampleFallbackTo() {
	related := open(resilience.Policy{Timeout: time.Second, Slots: 20}).Endpoint("related")

	refused := func(context.Context) ([]string, error) { return nil, errors.New("connection refused") }
	books, err := resilience.Call(context.Background(), related, refused, resilience.FallbackTo([]string{"omoo"}))
	fmt.Println(books, err)
	// Output: [omoo] <nil>
}

// The last good answer, if it is recent enough. A fallback that has nothing to say keeps the call's own error.
func ExampleFallbackFunc() {
	rates := open(resilience.Policy{Timeout: time.Second, Slots: 20}).Endpoint("rates")
	age := time.Hour // of the rates at hand

	lastGood := resilience.FallbackFunc(func(_ context.Context, cause error) (float64, error) {
		if age > 72*time.Hour {
			return 0, errors.New("too old to be shown")
		}
		fmt.Println("instead of a", resilience.OutcomeOf(cause))
		return 0.88, nil
	})
	refused := func(context.Context) (float64, error) { return 0, errors.New("connection refused") }

	fmt.Println(resilience.Call(context.Background(), rates, refused, lastGood))
	age = 100 * time.Hour
	fmt.Println(resilience.Call(context.Background(), rates, refused, lastGood))
	// Output:
	// instead of a failure
	// 0.88 <nil>
	// 0 recommendations/rates: failure: connection refused
}

// Alone, each request is a call of its own: from its slot to the last byte of its body. The callee is told what time
// is left, and how much the request matters.
func ExampleEndpoint_Client() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("deadline told:", r.Header.Get(resilience.DeadlineHeader) != "")
		fmt.Println("criticality:", r.Header.Get(resilience.CriticalityHeader))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	dep := open(resilience.Policy{Criticality: resilience.Sheddable, Timeout: 10 * time.Second, Slots: 20})
	client := dep.Endpoint("related").Client()

	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		panic(err)
	}
	fmt.Println("in use until the body is closed:", dep.Snapshot().InUse)
	if err := resp.Body.Close(); err != nil {
		panic(err)
	}
	fmt.Println(resp.StatusCode, "counts as failure:", dep.Snapshot().Endpoints[0].Outcomes["failure"])
	fmt.Println("in use:", dep.Snapshot().InUse)
	// Output:
	// deadline told: true
	// criticality: sheddable
	// in use until the body is closed: 1
	// 503 counts as failure: 1
	// in use: 0
}

// Limits can be changed while calls are in flight. A wrong policy changes nothing.
func ExampleDependency_Apply() {
	dep := open(resilience.Policy{Timeout: 250 * time.Millisecond, Slots: 20})

	p := dep.Policy()
	p.Slots = 10
	fmt.Println(dep.Apply(p), dep.Policy().Slots)

	p.Slots = 0
	fmt.Println(dep.Apply(p))
	fmt.Println(dep.Policy().Slots)
	// Output:
	// <nil> 10
	// dependency "recommendations": Slots is 0: must be at least 1; write Unlimited if you mean no limit
	// 10
}

// A server with one worker and no queue refuses the second request at once, and says when to come back.
func ExampleAdmission() {
	admission, err := resilience.NewAdmission(resilience.AdmissionPolicy{Workers: 1})
	if err != nil {
		panic(err)
	}
	page := admission.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "a page")
	}))
	get := func() {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/books", nil))
		fmt.Printf("%d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}

	release, err := admission.Acquire(context.Background(), resilience.Default) // somebody is being served
	if err != nil {
		panic(err)
	}
	get()
	release()
	get()
	// Output:
	// 503, Retry-After "1": no worker is free: queue_full
	// 200, Retry-After "": a page
}

// A route's budget is a ceiling: a caller that has less left is believed, whatever makes no sense is not.
func ExampleDeadline() {
	deadline := &resilience.Deadline{Trust: true}
	page := deadline.Within(time.Minute)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		latest, _ := r.Context().Deadline()
		fmt.Println(time.Until(latest).Round(10 * time.Second))
	}))

	in20s := fmt.Sprintf("%d; remaining=20000", time.Now().Add(20*time.Second).UnixMilli())
	for _, header := range []string{"", in20s, "whenever", "1767225600123; remaining=-1"} {
		r := httptest.NewRequest(http.MethodGet, "/books", nil)
		r.Header.Set(resilience.DeadlineHeader, header)
		page.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// 1m0s
	// 20s
	// 1m0s
	// 1m0s
}

// 40 calls a second that take 100 ms keep four slots busy; three more are room for those that bunch.
func ExampleSlotsFor() {
	fmt.Println(resilience.SlotsFor(40, 100*time.Millisecond))
	fmt.Println(resilience.SlotsFor(400, 80*time.Millisecond))
	fmt.Println(resilience.SlotsFor(0.1, 5*time.Millisecond)) // two at least
	// Output:
	// 7 <nil>
	// 41 <nil>
	// 2 <nil>
}

// The budget is the ceiling, the healthy p99.9 the floor. Where they cross, no timeout is right.
func ExampleTimeoutFrom() {
	p50, p99, p999 := 120*time.Millisecond, 300*time.Millisecond, 340*time.Millisecond

	fmt.Println(resilience.TimeoutFrom(450*time.Millisecond, p50, p99, p999))
	fmt.Println(resilience.TimeoutFrom(350*time.Millisecond, p50, p99, p999)) // no more than the budget

	_, err := resilience.TimeoutFrom(250*time.Millisecond, p50, p99, p999)
	fmt.Println(errors.Is(err, resilience.ErrNoRoom), err)
	// Output:
	// 396ms <nil>
	// 350ms <nil>
	// true the budget of 250ms is below the healthy p99.9 of 340ms: the call does not belong on this path
}

// What a caller tells a person depends on how the call ended, not on the text of its error.
func ExampleOutcomeOf() {
	orders := open(resilience.Policy{Timeout: time.Second, Slots: 1}).Endpoint("order")
	place := func(fn func(context.Context) (string, error)) {
		_, err := resilience.Call(context.Background(), orders, fn)
		switch o := resilience.OutcomeOf(err); o {
		case resilience.Success:
			fmt.Println("thank you")
		case resilience.Rejected, resilience.ShortCircuited, resilience.Expired:
			fmt.Println("nothing was sent, try again:", o)
		default:
			fmt.Println("it may have been placed, try again with the same key:", o)
		}
	}

	place(func(context.Context) (string, error) {
		place(func(context.Context) (string, error) { return "", nil }) // the only slot is taken
		return "order 1", nil
	})
	place(func(context.Context) (string, error) { return "", errors.New("connection reset") })
	// Output:
	// nothing was sent, try again: rejected
	// thank you
	// it may have been placed, try again with the same key: failure
}

// No rows are an answer of a healthy database: no fallback, no retry, nothing for the breaker.
func ExampleExpected() {
	dep := open(resilience.Policy{Timeout: time.Second, Slots: 20})
	find := dep.Endpoint("find")

	_, err := resilience.Call(context.Background(), find, func(context.Context) (string, error) {
		err := sql.ErrNoRows // as QueryRowContext(…).Scan(…) returns it
		if errors.Is(err, sql.ErrNoRows) {
			err = resilience.Expected(err)
		}
		return "", err
	}, resilience.FallbackTo("never used"))

	fmt.Println(err == sql.ErrNoRows, resilience.OutcomeOf(err))
	fmt.Println("success:", dep.Snapshot().Endpoints[0].Outcomes["success"])
	// Output:
	// true success
	// success: 1
}

// What no waiting heals opens the breaker at once; the next probe, after the cooldown, finds out whether it has been mended.
func ExamplePermanent() {
	rates := open(resilience.Policy{
		Timeout: time.Second, Slots: 20,
		Breaker: resilience.Breaker{Consecutive: 5, Window: time.Minute, Cooldown: 30 * time.Second},
	}).Endpoint("latest")
	ask := func(context.Context) (int, error) {
		return 0, resilience.Permanent(errors.New("the key is revoked"))
	}
	for range 2 {
		_, err := resilience.Call(context.Background(), rates, ask)
		fmt.Println(err)
	}

	// Output:
	// recommendations/latest: failure: the key is revoked
	// recommendations/latest: short_circuited: the breaker is open
}

// A new breaker that only observes: it counts what it would have refused.
func ExampleBreakerMode() {
	dep := open(resilience.Policy{
		Timeout: time.Second, Slots: 20,
		Breaker: resilience.Breaker{Mode: resilience.Observing, Consecutive: 3, Window: time.Minute, Cooldown: 30 * time.Second},
	})
	for range 10 {
		_, _ = resilience.Call(context.Background(), dep.Endpoint("related"), func(context.Context) (int, error) {
			return 0, errors.New("status 500")
		})
	}
	seen := dep.Snapshot().Endpoints[0]
	fmt.Println("sent", seen.Outcomes["failure"], "refused", seen.Outcomes["short_circuited"], "would have refused", seen.Observed)

	// Output:
	// sent 10 refused 0 would have refused 7
}
