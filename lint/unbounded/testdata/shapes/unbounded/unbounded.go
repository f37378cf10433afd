// Package unbounded has one shape of unbounded call under each comment.
package unbounded

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"strings"
	"time"

	"example.com/other"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"google.golang.org/grpc"
)

const (
	address = "http://shop.example/books"
	host    = "shop.example:443"
)

var (
	bounded = &http.Client{Timeout: time.Second}
	db      *sql.DB
)

// http.Get
func httpGet() error {
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.Head
func httpHead() error {
	resp, err := http.Head(address)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.Post
func httpPost() error {
	resp, err := http.Post(address, "text/plain", strings.NewReader("x"))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.PostForm
func httpPostForm() error {
	resp, err := http.PostForm(address, url.Values{})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.Get as a value
var get = http.Get

func getAsValue() error {
	resp, err := get(address)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.DefaultClient.Do
func defaultClientDo(r *http.Request) error {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.DefaultClient kept in a struct
type caller struct{ client *http.Client }

func defaultClientKept() *caller { return &caller{client: http.DefaultClient} }

// http.DefaultClient where none is given
func defaultClientInstead(c *http.Client) *http.Client {
	if c == nil {
		return http.DefaultClient
	}
	return c
}

// &http.Client{}
func clientLiteral() *http.Client { return &http.Client{} }

// new(http.Client)
func clientNew() *http.Client { return new(http.Client) }

// var c http.Client
func clientVar(r *http.Request) error {
	var c http.Client
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// struct that embeds http.Client
type clientEmbedded struct{ http.Client }

// struct with a field http.Client
type clientField struct {
	name   string
	client http.Client
}

func (c *clientField) do(r *http.Request) error {
	r.Header.Set("From", c.name)
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.Client with a bare http.Transport
func clientBareTransport() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: 100}}
}

// http.Client with limits on dial and handshake only
func clientDialLimits() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
		TLSHandshakeTimeout: time.Second,
	}}
}

// http.Client around a RoundTripper that passes on
type passing struct{ next http.RoundTripper }

func (p passing) RoundTrip(r *http.Request) (*http.Response, error) { return p.next.RoundTrip(r) }

func clientWrapper(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: passing{next}}
}

// client of another module, without Timeout
func clientOfOthers() *http.Client { return other.NewClient() }

// Timeout: 5
func timeoutFive() *http.Client { return &http.Client{Timeout: 5} }

// Timeout: 0
func timeoutZero() *http.Client { return &http.Client{Timeout: 0} }

// Timeout: time.Duration(cfg.TimeoutSeconds)
type config struct{ TimeoutSeconds int }

func timeoutUnit(c config) *http.Client {
	return &http.Client{Timeout: time.Duration(c.TimeoutSeconds)}
}

// context.WithTimeout(ctx, 30)
func contextThirty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30)
	defer cancel()
	return db.PingContext(ctx)
}

// Transport: http.DefaultTransport
func transportDefault() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: http.DefaultTransport}
}

// otelhttp.NewTransport(http.DefaultTransport)
func transportOtel() http.RoundTripper { return otelhttp.NewTransport(http.DefaultTransport) }

// otelhttp.NewTransport(nil)
func transportOtelNil() http.RoundTripper { return otelhttp.NewTransport(nil) }

// own wrapper around http.DefaultTransport
func transportWrapped() http.RoundTripper { return passing{next: http.DefaultTransport} }

// http.ListenAndServe
func listenAndServe(h http.Handler) error { return http.ListenAndServe("localhost:8080", h) }

// http.Serve
func httpServe(l net.Listener, h http.Handler) error { return http.Serve(l, h) }

// &http.Server{} without ReadHeaderTimeout
func serverLiteral(h http.Handler) *http.Server {
	return &http.Server{Addr: "localhost:8080", Handler: h}
}

// new(http.Server)
func serverNew(h http.Handler) *http.Server {
	s := new(http.Server)
	s.Handler = h
	return s
}

// var s http.Server
func serverVar(l net.Listener) error {
	var s http.Server
	return s.Serve(l)
}

// http.NewRequest, sent
func requestSent() error {
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := bounded.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// http.NewRequest, returned
func requestReturned() (*http.Request, error) {
	return http.NewRequest(http.MethodGet, address, http.NoBody)
}

// &http.Request{}, sent
func requestLiteral(u *url.URL) error {
	resp, err := bounded.Do(&http.Request{Method: http.MethodGet, URL: u})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// request with Background in a handler
func handlerRequest(w http.ResponseWriter, in *http.Request) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	if err != nil {
		http.Error(w, in.URL.Path, http.StatusInternalServerError)
		return
	}
	if resp, err := bounded.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// query with Background in a handler
func handlerQuery(w http.ResponseWriter, r *http.Request) {
	if _, err := db.ExecContext(context.Background(), "UPDATE seen SET n = n + 1"); err != nil {
		http.Error(w, r.URL.Path, http.StatusInternalServerError)
	}
}

// gRPC call with TODO where ctx is at hand
type catalogue interface {
	GetBook(ctx context.Context, id string, opts ...grpc.CallOption) (string, error)
}

func grpcTODO(ctx context.Context, c catalogue) error {
	_, err := c.GetBook(context.TODO(), "moby-dick")
	if err != nil {
		return fmt.Errorf("%v: %w", ctx, err)
	}
	return nil
}

// Background through a function that queries
func load(ctx context.Context) error { return db.PingContext(ctx) }

func helperBackground(_ http.ResponseWriter, r *http.Request) {
	if err := load(context.Background()); err != nil {
		r.Close = true
	}
}

// net.Dial
func netDial() (net.Conn, error) { return net.Dial("tcp", host) }

// net.Dialer without Timeout
func dialerLiteral() *net.Dialer { return &net.Dialer{KeepAlive: time.Minute} }

// var d net.Dialer
func dialerVar(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", host)
}

// tls.Dial
func tlsDial() (*tls.Conn, error) {
	return tls.Dial("tcp", host, &tls.Config{MinVersion: tls.VersionTLS13})
}

// smtp.SendMail
func sendMail() error {
	return smtp.SendMail(host, nil, "a@example.com", []string{"b@example.com"}, nil)
}

// net.LookupHost
func lookupHost() ([]string, error) { return net.LookupHost("shop.example") }

// io.ReadAll(resp.Body)
func readBody(resp *http.Response) ([]byte, error) { return io.ReadAll(resp.Body) }

// json.NewDecoder(resp.Body)
func decodeBody(resp *http.Response, v any) error { return json.NewDecoder(resp.Body).Decode(v) }

// buf.ReadFrom(resp.Body)
func bufferBody(resp *http.Response) (buf bytes.Buffer, err error) {
	_, err = buf.ReadFrom(resp.Body)
	return buf, err
}

// resp.Body through a function that reads all
func decode(r io.Reader, v any) error { return json.NewDecoder(r).Decode(v) }

func helperBody(resp *http.Response, v any) error { return decode(resp.Body, v) }

// pgxpool.New without limits
func pool(ctx context.Context) (*pgxpool.Pool, error) {
	return pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
}

// pgxpool.Config with MaxConns only
func poolConfig(ctx context.Context, conn string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(conn)
	if err != nil {
		return nil, err
	}
	c.MaxConns = 20
	return pgxpool.NewWithConfig(ctx, c)
}

// pgx query with Background
func poolQuery(p *pgxpool.Pool) error {
	_, err := p.Exec(context.Background(), "UPDATE seen SET n = n + 1")
	return err
}
