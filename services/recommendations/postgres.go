package recommendations

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/postgres"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Postgres is a Store in a database.
type Postgres struct{ db *postgres.DB } // the edge Database

var _ Store = (*Postgres)(nil)

// Seed is Store.Seed.
func (p *Postgres) Seed(ctx context.Context, history []Order) error {
	if err := checkHistory(history); err != nil {
		return err
	}
	_, err := postgres.Write(ctx, p.db, "seed", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		if first, err := postgres.IsFirst(ctx, tx, "history"); err != nil || !first {
			return 0, err
		}
		return tx.CopyFrom(ctx, pgx.Identifier{"history"}, []string{"position", "books"},
			pgx.CopyFromSlice(len(history), func(i int) ([]any, error) { return []any{i, []string(history[i])}, nil }))
	})
	return err
}

// Orders is Store.Orders.
func (p *Postgres) Orders(ctx context.Context) ([]Order, error) {
	return postgres.Read(ctx, p.db, "history", func(ctx context.Context, tx pgx.Tx) ([]Order, error) {
		rows, err := tx.Query(ctx, `select books from history order by position`)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[Order])
	})
}
