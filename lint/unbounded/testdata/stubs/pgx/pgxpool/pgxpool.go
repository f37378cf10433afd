// Package pgxpool stands in for pgx's.
package pgxpool

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type Config struct {
	ConnConfig    *pgx.ConnConfig
	BeforeConnect func(context.Context, *pgx.ConnConfig) error
	MaxConns      int32
}

type Pool struct{}

func ParseConfig(connString string) (*Config, error)                   { return nil, nil }
func New(ctx context.Context, connString string) (*Pool, error)        { return nil, nil }
func NewWithConfig(ctx context.Context, config *Config) (*Pool, error) { return nil, nil }

func (*Pool) Begin(ctx context.Context) (pgx.Tx, error) { return nil, nil }
func (*Pool) Ping(ctx context.Context) error            { return nil }
func (*Pool) Close()                                    {}

func (*Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, nil
}
func (*Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) { return nil, nil }
func (*Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row        { return nil }
