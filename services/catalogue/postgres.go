package catalogue

import (
	"context"
	"embed"

	"github.com/bojanz/currency"
	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/postgres"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Postgres is a Store in a database, whose owner may change the books while the shop is open: everybody sees it
// copyEvery later.
type Postgres struct{ db *postgres.DB } // the edge Database

var _ Store = (*Postgres)(nil)

// prepare makes a database ready, and stores the first books in one that has none. What the shop gets later is put into
// the table by whoever buys it in.
func prepare(ctx context.Context, url string, books []Book) error {
	return postgres.Prepare(ctx, url, "catalogue", migrations, func(ctx context.Context, tx pgx.Tx) error {
		return seedBooks(ctx, tx, books)
	})
}

func seedBooks(ctx context.Context, tx pgx.Tx, books []Book) error {
	if first, err := postgres.IsFirst(ctx, tx, "books"); err != nil || !first {
		return err
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"books"},
		[]string{"id", "title", "author", "year", "language", "subjects", "description", "price_cents"},
		pgx.CopyFromSlice(len(books), func(i int) ([]any, error) {
			b := books[i]
			cents, err := b.Price.Int64()
			return []any{b.ID, b.Title, b.Author, b.Year, b.Language, b.Subjects, b.Description, cents}, err
		}))
	return err
}

// All implements Store.
func (p *Postgres) All(ctx context.Context) ([]Book, error) {
	return postgres.Read(ctx, p.db, "books", func(ctx context.Context, tx pgx.Tx) ([]Book, error) {
		rows, err := tx.Query(ctx, `select id, title, author, year, language, subjects, description, price_cents
			from books order by id`)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Book, err error) {
			var cents int64
			if err := row.Scan(&b.ID, &b.Title, &b.Author, &b.Year, &b.Language, &b.Subjects, &b.Description,
				&cents); err != nil {
				return b, err
			}
			b.Price, err = currency.NewAmountFromInt64(cents, Home)
			return b, err
		})
	})
}
