// Package postgres makes a PostgreSQL database a dependency like any other: calls to it are bounded by a policy, and
// a transaction is a function that gets one.
//
// A DB is a database for one purpose, with connections of its own: as many as its edge has slots. So a call that has
// its slot need not wait for a connection, and one purpose cannot take another's. Its transactions are calls of
// pkg/resilience: counted, timed, and turned away when there is no slot or the breaker is open.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/holdfast/pkg/resilience"
)

// closeWithin is how long Close waits for connections to be taken leave of. A frozen server would let it wait for 15 s.
const closeWithin = time.Second

// DB is a database for one purpose. It may be used by many at once.
type DB struct {
	dep  *resilience.Dependency
	pool *pgxpool.Pool
}

// Open returns the database at url, a postgres:// URL, with at most conns connections. They are made when they are
// needed, each within the ConnectTimeout that dep's policy has then, so Open cannot tell whether there is a server.
func Open(url string, conns int, dep *resilience.Dependency) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err) // which leaves the password out
	}
	cfg.MaxConns = int32(conns)
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		p := dep.Policy()
		c.ConnectTimeout = cmp.Or(p.ConnectTimeout, p.Timeout)
		return nil
	}
	// The pool looks after its connections in the background, until Close and no request.
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("connections to %s: %w", dep.Name(), err)
	}
	return &DB{dep: dep, pool: pool}, nil
}

// Close closes the connections, once the transactions in progress have ended.
func (db *DB) Close() error {
	closed := make(chan struct{})
	go func() {
		db.pool.Close()
		close(closed)
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-closed:
		return nil
	case <-timer.C:
		return errors.New("the database does not let go of its connections")
	}
}

// Await returns when the server has answered on a connection of db's own, which is then there for the first call. It tries
// again as long as ctx lasts: where everything starts at once, a connection may take longer than it ever will again.
func (db *DB) Await(ctx context.Context) error {
	pause := time.NewTicker(knockEvery)
	defer pause.Stop()
	for {
		err := db.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not reached in time: %w", db.dep.Name(), err)
		}
	}
}

// Ping asks the server for a sign of life.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }
