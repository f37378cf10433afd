// Package pgx stands in for github.com/jackc/pgx/v5.
package pgx

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

type ConnConfig struct{ pgconn.Config }

type Rows interface{ Next() bool }

type Row interface{ Scan(dest ...any) error }

type Conn struct{}

func (*Conn) Query(ctx context.Context, sql string, args ...any) (Rows, error) { return nil, nil }

type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}
