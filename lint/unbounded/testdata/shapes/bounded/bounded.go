// Package bounded has one shape under each comment that looks like an unbounded call and is none.
package bounded

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

const (
	address = "http://shop.example/books"
	host    = "shop.example:443"
)

var (
	bounded = &http.Client{Timeout: time.Second}
	db      *sql.DB
)

// http.Client with Timeout
func clientTimeout() *http.Client { return &http.Client{Timeout: 2 * time.Second} }

// Timeout set on a following line
func timeoutLater(d time.Duration) *http.Client {
	c := &http.Client{}
	c.Timeout = d
	return c
}

// Timeout set through a field
type caller struct{ client *http.Client }

func timeoutField(d time.Duration) *caller {
	c := &caller{client: &http.Client{}}
	c.client.Timeout = d
	return c
}

// Timeout set by another function
func configure(c *http.Client) { c.Timeout = time.Second }

func timeoutByOther() *http.Client {
	c := new(http.Client)
	configure(c)
	return c
}

// embedded http.Client whose Timeout is set
type embeds struct{ http.Client }

func timeoutEmbedded() *embeds {
	var e embeds
	e.Timeout = time.Second
	return &e
}

// Transport with ResponseHeaderTimeout
func transportHeader() *http.Client {
	return &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Second}}
}

// RoundTripper that gives each request a deadline
type limiting struct{ next http.RoundTripper }

func (l limiting) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	resp, err := l.next.RoundTrip(r.WithContext(ctx))
	context.AfterFunc(ctx, cancel)
	return resp, err
}

func transportLimits(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: limiting{next}}
}

// clone of the default transport
func transportClone() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

// otelhttp around a transport of one's own
func transportOtel() http.RoundTripper {
	return otelhttp.NewTransport(&http.Transport{MaxConnsPerHost: 20})
}

// DefaultClient, each request with a deadline
func deadline(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// local client, only used within a deadline
func localClient(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	c := &http.Client{CheckRedirect: nil}
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.Server with ReadHeaderTimeout
func serverTimeout(h http.Handler) *http.Server {
	return &http.Server{Addr: "localhost:8080", Handler: h, ReadHeaderTimeout: time.Second}
}

// http.Server with ReadTimeout, set later
func serverLater(h http.Handler) *http.Server {
	s := &http.Server{Handler: h}
	s.ReadTimeout = time.Minute
	return s
}

// request given its context later
func contextLater(ctx context.Context) error {
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := bounded.Do(r.WithContext(ctx))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// request that a handler of this process serves
func served(h http.Handler, w http.ResponseWriter) error {
	r, err := http.NewRequest(http.MethodGet, "/books", http.NoBody)
	if err != nil {
		return err
	}
	h.ServeHTTP(w, r)
	return nil
}

// handler that passes its request's context on
func handler(_ http.ResponseWriter, r *http.Request) {
	if err := db.PingContext(r.Context()); err != nil {
		r.Close = true
	}
}

// work that is started to outlive its request
func outlives(_ http.ResponseWriter, r *http.Request) {
	go func() { _ = db.PingContext(context.Background()) }()
	r.Close = true
}

// Background with a timeout in a handler
func limitedBackground(_ http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		r.Close = true
	}
}

// net.Dialer with Timeout
func dialer(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second}
	return d.DialContext(ctx, "tcp", host)
}

// net.Dialer, only used within a deadline
func dialerDeadline(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", host)
}

// net.Dial to a Unix socket
func unix() (net.Conn, error) { return net.Dial("unix", "/run/shop.sock") }

// look-up with a context
func lookup(ctx context.Context) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, "shop.example")
}

// body read through a limit
func limitedBody(resp *http.Response) ([]byte, error) {
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

// body replaced by a limited one
func replacedBody(resp *http.Response, v any) error {
	resp.Body = http.MaxBytesReader(nil, resp.Body, 1<<20)
	return json.NewDecoder(resp.Body).Decode(v)
}

// body copied to a file
func copiedBody(w io.Writer, resp *http.Response) error {
	_, err := io.Copy(w, resp.Body)
	return err
}

// pool with limits on its configuration
func pool(ctx context.Context, conn string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(conn)
	if err != nil {
		return nil, err
	}
	c.MaxConns = 20
	c.ConnConfig.ConnectTimeout = time.Second
	return pgxpool.NewWithConfig(ctx, c)
}

// query with the caller's context
func query(ctx context.Context, p *pgxpool.Pool) error {
	_, err := p.Exec(ctx, "UPDATE seen SET n = n + 1")
	return err
}
