package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/holdfast/pkg/resilience"
)

// Read runs fn in a transaction that changes nothing, as a call of the endpoint; it is repeated if the policy says so.
// What fn returns is returned. Its context ends with the attempt, and a statement with its context: the server is told
// to stop, and were it not, stops by itself (statement_timeout). fn must not keep tx, nor call another service.
//
// An error that is an answer, such as "no such order", is to be marked with resilience.Expected. Any other counts as
// the database's failure. A context that is over begins nothing.
func Read[T any](
	ctx context.Context, db *DB, endpoint string, fn func(context.Context, pgx.Tx) (T, error),
) (T, error) {
	return transact(ctx, db, endpoint, "begin read only", fn)
}

// Write is Read for a transaction that changes something: all of it, or nothing where fn returns an error. It is never
// repeated.
//
// When the error is not one of fn's own, the transaction may have been committed all the same: the answer to a commit
// can be lost. So what is written must be found again by who asked for it.
func Write[T any](
	ctx context.Context, db *DB, endpoint string, fn func(context.Context, pgx.Tx) (T, error),
) (T, error) {
	if db.dep.Policy().Retry.Attempts > 1 {
		var none T
		return none, fmt.Errorf("dependency %s repeats its calls: it may be read, not written", db.dep.Name())
	}
	return transact(ctx, db, endpoint, "begin", fn)
}

func transact[T any](
	ctx context.Context, db *DB, endpoint, begin string, fn func(context.Context, pgx.Tx) (T, error),
) (T, error) {
	if err := ctx.Err(); err != nil { // a call would say that no time is left, whoever has left
		var none T
		return none, fmt.Errorf("%s/%s: %w", db.dep.Name(), endpoint, err)
	}
	return resilience.Call(ctx, db.dep.Endpoint(endpoint), func(ctx context.Context) (T, error) {
		ctx = context.WithValue(ctx, holdingKey{}, true)
		var v, none T
		opts := pgx.TxOptions{BeginQuery: begin + limits(ctx)}
		err := pgx.BeginTxFunc(ctx, db.pool, opts, func(tx pgx.Tx) (err error) {
			v, err = fn(ctx, tx)
			return err
		})
		if err != nil {
			return none, err
		}
		return v, nil
	})
}

// limits are what the server heeds when we cannot tell it to stop any more: no statement, and no pause between two,
// may last longer than the whole transaction has. Without a deadline there are none.
func limits(ctx context.Context) string {
	latest, bounded := ctx.Deadline()
	if !bounded {
		return ""
	}
	// Rounded up, and of the server's range: 0 would be no limit.
	ms := min(max(1, (time.Until(latest)+time.Millisecond-1).Milliseconds()), math.MaxInt32)
	return fmt.Sprintf("; set local statement_timeout = %d; set local idle_in_transaction_session_timeout = %d", ms, ms)
}

type holdingKey struct{}

// Holding tells whether ctx is one that a transaction was given. Who has one holds a connection that others wait for,
// and rows perhaps, and must not wait for another service meanwhile.
func Holding(ctx context.Context) bool { return ctx.Value(holdingKey{}) != nil }
