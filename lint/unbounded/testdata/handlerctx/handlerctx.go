// Package handlerctx: calls for a request that do not end with it.
package handlerctx

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"time"

	"example.com/other"
	"google.golang.org/grpc"
)

var (
	client = &http.Client{Timeout: time.Second}
	db     *sql.DB
)

func handler(w http.ResponseWriter, r *http.Request) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", "http://catalogue", nil) // want `http.NewRequestWithContext is called with context.Background, though r.Context\(\) is at hand: the call goes on when whoever asked has left, and waits as long as it likes; pass r.Context\(\)`
	client.Do(req)
	db.QueryContext(context.TODO(), "SELECT 1") // want `\(\*sql.DB\).QueryContext is called with context.TODO, though r.Context\(\) is at hand`
}

func given(ctx context.Context) {
	db.ExecContext(context.Background(), "UPDATE books") // want `\(\*sql.DB\).ExecContext is called with context.Background, though ctx is at hand`
	var resolver net.Resolver
	resolver.LookupHost(context.Background(), "shop") // want `though ctx is at hand`
}

func aVariable(ctx context.Context) {
	background := context.Background()
	db.PingContext(background) // want `\(\*sql.DB\).PingContext is called with context.Background, though ctx is at hand`
}

func inALiteral() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		db.PingContext(context.Background()) // want `though r.Context\(\) is at hand`
	}
}

// A function that calls out with the context that it is given is an outbound call too, wherever it is.

func load(ctx context.Context) { db.QueryRowContext(ctx, "SELECT 1") }

func loadLabelled(ctx context.Context) { load(context.WithValue(ctx, "label", "x")) }

func throughFunctions(ctx context.Context) {
	load(context.Background())                       // want `handlerctx.load is called with context.Background`
	loadLabelled(context.Background())               // want `handlerctx.loadLabelled is called with context.Background`
	other.Fetch(context.Background(), "http://shop") // want `other.Fetch is called with context.Background`
}

type catalogueClient interface {
	GetBook(ctx context.Context, id string, opts ...grpc.CallOption) (string, error)
}

func generated(ctx context.Context, c catalogueClient) {
	c.GetBook(context.Background(), "moby-dick") // want `\(handlerctx.catalogueClient\).GetBook is called with context.Background`
}

func stream(s grpc.ServerStream) {
	db.PingContext(context.Background()) // want `though s.Context\(\) is at hand`
}

type frameworkContext struct{ Request *http.Request }

func framework(c *frameworkContext) {
	db.PingContext(context.Background()) // want `though c.Request.Context\(\) is at hand`
}

// Left alone.

func handedOn(ctx context.Context) { db.PingContext(ctx) }

func noneAtHand() { db.PingContext(context.Background()) }

func ignored(_ context.Context) { db.PingContext(context.Background()) }

func limited(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	db.PingContext(ctx)
}

func outlives(ctx context.Context) {
	go db.PingContext(context.Background())
	go func() { db.ExecContext(context.Background(), "UPDATE seen") }()
	defer db.ExecContext(context.Background(), "DELETE FROM locks")
	context.AfterFunc(ctx, func() { db.ExecContext(context.Background(), "DELETE FROM locks") })
}

func whenItIsOver(ctx context.Context, done chan struct{}) {
	select {
	case <-ctx.Done():
		db.ExecContext(context.Background(), "DELETE FROM locks")
	case <-done:
	}
	if ctx.Err() != nil {
		db.ExecContext(context.Background(), "DELETE FROM locks")
	}
}

func inside(ctx context.Context) { remember(context.Background()) }

func remember(ctx context.Context) { _ = ctx.Value("x") }

func ownLimit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	db.PingContext(ctx)
}

func callsOwnLimit(ctx context.Context) { ownLimit(context.Background()) }

// A parameter that is given Background when it is nil holds something else as well.
func orBackground(ctx context.Context) {
	if ctx == nil {
		ctx = context.Background()
	}
	db.PingContext(ctx)
}
