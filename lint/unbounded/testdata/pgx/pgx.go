// Package pgx: pools of a size that nobody chose, and queries without an end.
package pgx

import (
	"context"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func pools(ctx context.Context) {
	pgxpool.New(ctx, os.Getenv("DATABASE_URL"))              // want `the pool of pgxpool.New has no connect timeout: .*; and no MaxConns: the number of processors decides`
	pgxpool.New(ctx, "postgres://db/shop?connect_timeout=2") // want `the pool of pgxpool.New has no MaxConns`
	pgxpool.New(ctx, "postgres://db/shop?pool_max_conns=20") // want `the pool of pgxpool.New has no connect timeout`
	pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))           // want `the pool of pgxpool.ParseConfig has no connect timeout`
}

func sizeOnly(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url) // want `the pool of pgxpool.ParseConfig has no connect timeout`
	if err != nil {
		return nil, err
	}
	config.MaxConns = 20
	return pgxpool.NewWithConfig(ctx, config)
}

func queries(ctx context.Context, pool *pgxpool.Pool, conn *pgx.Conn) {
	pool.Query(context.Background(), "SELECT 1") // want `\(\*pgxpool.Pool\).Query with context.Background holds its connection for as long as the database likes; pass ctx`
	pool.QueryRow(context.TODO(), "SELECT 1")    // want `\(\*pgxpool.Pool\).QueryRow with context.TODO`
	conn.Query(context.Background(), "SELECT 1") // want `\(\*pgx.Conn\).Query with context.Background`
}

func atStart(pool *pgxpool.Pool) error {
	return pool.Ping(context.Background()) // want `\(\*pgxpool.Pool\).Ping with context.Background .*; pass a context that ends`
}

func aVariable(pool *pgxpool.Pool) {
	ctx := context.Background()
	tx, _ := pool.Begin(ctx) // want `\(\*pgxpool.Pool\).Begin with context.Background`
	tx.Commit(ctx)           // want `\(pgx.Tx\).Commit with context.Background`
}

// Bounded.

func inTheString(ctx context.Context) {
	pgxpool.New(ctx, "postgres://db/shop?connect_timeout=2&pool_max_conns=20")
}

func onTheConfig(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 20
	config.ConnConfig.ConnectTimeout = 2 * time.Second
	return pgxpool.NewWithConfig(ctx, config)
}

func tune(config *pgxpool.Config) {
	config.MaxConns = 20
	config.ConnConfig.ConnectTimeout = 2 * time.Second
}

func byAnother(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	tune(config)
	return pgxpool.NewWithConfig(ctx, config)
}

func forEachConnection(ctx context.Context, url string, timeout func() time.Duration) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 20
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.ConnectTimeout = timeout()
		return nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func withContext(ctx context.Context, pool *pgxpool.Pool) {
	pool.Query(ctx, "SELECT 1")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pool.Exec(ctx, "SELECT 1")
}

func givesUp(ctx context.Context, pool *pgxpool.Pool) {
	tx, _ := pool.Begin(ctx)
	defer tx.Rollback(context.Background())
}
