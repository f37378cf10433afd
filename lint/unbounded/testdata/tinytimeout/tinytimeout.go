// Package tinytimeout: timeouts that end before anything can have happened, or never.
package tinytimeout

import (
	"context"
	"net"
	"net/http"
	"time"
)

const seconds = 30

const quick = 200 * time.Microsecond

const wrong time.Duration = 30

var (
	five  = http.Client{Timeout: 5}                 // want `http.Client.Timeout of 5 is 5ns, for a time.Duration counts nanoseconds: .* write the unit, such as 5 \* time.Second`
	named = http.Client{Timeout: seconds}           // want `http.Client.Timeout of 30 is 30ns`
	typed = http.Client{Timeout: wrong}             // want `http.Client.Timeout of 30 is 30ns`
	milli = http.Client{Timeout: 5000}              // want `is 5µs`
	conv  = http.Client{Timeout: time.Duration(10)} // want `is 10ns`
	none  = http.Client{Timeout: 0}                 // want `http.Client.Timeout of 0 is no timeout: whoever does not answer is waited for without end`
	never = http.Client{Timeout: -1}                // want `http.Client.Timeout of -1 is no timeout`
	dials = net.Dialer{Timeout: 0}                  // want `net.Dialer.Timeout of 0 is no timeout`
	reads = http.Server{ReadHeaderTimeout: 5}       // want `http.Server.ReadHeaderTimeout of 5 is 5ns`
)

// Policy is nobody's but ours: what is called a timeout is one.
type Policy struct {
	ConnectTimeout time.Duration
	Attempts       time.Duration
	TimeoutSeconds int
}

var policy = Policy{ConnectTimeout: 250} // want `tinytimeout.Policy.ConnectTimeout of 250 is 250ns`

var requestTimeout time.Duration = 10 // want `requestTimeout of 10 is 10ns`

func assigned(c *http.Client, p *Policy) {
	c.Timeout = 5          // want `http.Client.Timeout of 5 is 5ns`
	c.Timeout = 0          // want `http.Client.Timeout of 0 is no timeout`
	p.ConnectTimeout = 100 // want `tinytimeout.Policy.ConnectTimeout of 100 is 100ns`
}

func arguments(ctx context.Context, h http.Handler) {
	context.WithTimeout(ctx, 5)            // want `context.WithTimeout of 5 is 5ns`
	net.DialTimeout("tcp", "shop:80", 10)  // want `net.DialTimeout of 10 is 10ns`
	http.TimeoutHandler(h, 30, "too long") // want `http.TimeoutHandler of 30 is 30ns`
	withRetries("shop", 3, 30)             // want `tinytimeout.withRetries of 30 is 30ns`
}

func withRetries(name string, attempts int, timeout time.Duration) {}

func converted(p Policy, timeoutMillis int64) {
	_ = http.Client{Timeout: time.Duration(p.TimeoutSeconds)} // want `http.Client.Timeout is given time.Duration\(p.TimeoutSeconds\) as nanoseconds: .* multiply it by its unit, time.Duration\(n\) \* time.Second`
	_ = http.Client{Timeout: time.Duration(timeoutMillis)}    // want `time.Duration\(n\) \* time.Millisecond`
}

// With a unit.

func right(ctx context.Context, p Policy, timeout time.Duration, nanoseconds int64) {
	_ = http.Client{Timeout: 5 * time.Second}
	_ = http.Client{Timeout: seconds * time.Second}
	_ = http.Client{Timeout: quick}
	_ = http.Client{Timeout: time.Millisecond / 2}
	_ = http.Client{Timeout: 3_000_000_000}
	_ = http.Client{Timeout: timeout}
	_ = http.Client{Timeout: time.Duration(p.TimeoutSeconds) * time.Second}
	_ = http.Client{Timeout: time.Duration(nanoseconds)}
	context.WithTimeout(ctx, 5*time.Second)
}

// Durations that count seconds, and are multiplied by their unit where they are used.

const thirty time.Duration = 30

type counted struct{ Timeout time.Duration }

func use(c counted) time.Duration { return c.Timeout * time.Second }

var (
	usedAsSeconds = use(counted{Timeout: 30})
	client        = http.Client{Timeout: thirty * time.Second}
)

func retry(timeout time.Duration) { time.Sleep(time.Second * timeout) }

func retried() { retry(30) }

// Zero is a choice where it does not mean for ever.
func zeros(ctx context.Context) {
	_ = http.Server{ReadHeaderTimeout: time.Second, WriteTimeout: 0}
	_ = Policy{ConnectTimeout: 0, Attempts: 3}
	context.WithTimeout(ctx, 0)
}
