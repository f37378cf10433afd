package checkout

// The store of a shop that lasts: one PostgreSQL database for all instances of the service.
//
// Why nothing is half done, whenever a process dies: an order, its stock and its key change in one transaction, and
// nobody is asked while it is open. Why many at once do not block each other for good: every transaction locks the key
// first, then the titles in the order of their ids, and no lock outlives its transaction, which the server bounds.

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bojanz/currency"
	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/pkg/resilience"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Postgres is a Store in a database. Instances of the service may share it.
type Postgres struct {
	orders  *postgres.DB // the edge Keeping
	reading *postgres.DB // the edge Reading
}

var _ Store = (*Postgres)(nil)

// prepare makes a database ready, and stores the first stock in one that has none. What the shop gets later is put into
// the table by whoever buys it in.
func prepare(ctx context.Context, url string, stock map[string]int) error {
	return postgres.Prepare(ctx, url, "checkout", migrations, func(ctx context.Context, tx pgx.Tx) error {
		return seedStock(ctx, tx, stock)
	})
}

func seedStock(ctx context.Context, tx pgx.Tx, stock map[string]int) error {
	if first, err := postgres.IsFirst(ctx, tx, "stock"); err != nil || !first {
		return err
	}
	var rows [][]any
	for _, book := range slices.Sorted(maps.Keys(stock)) {
		rows = append(rows, []any{book, stock[book]})
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"stock"}, []string{"book", "copies"}, pgx.CopyFromRows(rows))
	return err
}

// claimed is what Claim finds: a claim or an order.
type claimed struct {
	claim Claim
	order *Order
}

// Claim implements Store. There is room as long as there is disk: it never returns ErrFull.
func (p *Postgres) Claim(ctx context.Context, key string, fp Fingerprint, lease time.Duration) (Claim, *Order, error) {
	found, err := postgres.Write(ctx, p.orders, "claim", func(ctx context.Context, tx pgx.Tx) (claimed, error) {
		mine := Claim{Key: key, Token: rand.Text()}
		// The server's clock, at this moment, so that instances need not agree on the time.
		took, err := tx.Exec(ctx, `
			insert into idempotency_keys as k (key, fingerprint, token, lapses_at)
			values ($1, $2, $3, clock_timestamp() + $4::interval)
			on conflict (key) do update
			set fingerprint = excluded.fingerprint, token = excluded.token, lapses_at = excluded.lapses_at
			where k.order_id is null and k.lapses_at <= clock_timestamp()`,
			mine.Key, fp[:], mine.Token, lease)
		if err != nil {
			return claimed{}, err
		}
		if took.RowsAffected() == 1 {
			return claimed{claim: mine}, nil
		}
		return taken(ctx, tx, key, fp)
	})
	return found.claim, found.order, err
}

// taken tells what stands in the way of a claim. The key's row is there: the insert has locked it.
func taken(ctx context.Context, tx pgx.Tx, key string, fp Fingerprint) (claimed, error) {
	var same bool
	var id *string
	err := tx.QueryRow(ctx, `select fingerprint = $2, order_id from idempotency_keys where key = $1`, key, fp[:]).
		Scan(&same, &id)
	switch {
	case err != nil:
		return claimed{}, err
	case !same:
		return claimed{}, resilience.Expected(ErrKeyReused)
	case id == nil:
		return claimed{}, resilience.Expected(ErrInProgress)
	}
	o, err := orderOfID(ctx, tx, *id)
	return claimed{order: &o}, err
}

// Place implements Store.
func (p *Postgres) Place(ctx context.Context, c Claim, o Order) error {
	_, err := postgres.Write(ctx, p.orders, "place", func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
		completed, err := tx.Exec(ctx,
			`update idempotency_keys set order_id = $3 where key = $1 and token = $2 and order_id is null`,
			c.Key, c.Token, o.ID)
		if err != nil {
			return none, err
		}
		if completed.RowsAffected() == 0 {
			return none, resilience.Expected(ErrClaimLost)
		}
		if _, err := tx.Exec(ctx, `insert into orders (id, created_at, currency, total) values ($1, $2, $3, $4::numeric)`,
			o.ID, o.CreatedAt, o.Total.CurrencyCode(), o.Total.Number()); err != nil {
			return none, err
		}
		if err := insertLines(ctx, tx, o); err != nil {
			return none, err
		}
		return none, takeOut(ctx, tx, o.Lines) // last: these rows are what others wait for
	})
	return err
}

func insertLines(ctx context.Context, tx pgx.Tx, o Order) error {
	batch := new(pgx.Batch)
	for i, l := range o.Lines {
		batch.Queue(`insert into order_lines (order_id, position, book, quantity, unit_price, total)
			values ($1, $2, $3, $4, $5::numeric, $6::numeric)`,
			o.ID, i, l.Book, l.Quantity, l.UnitPrice.Number(), l.Total.Number())
	}
	return tx.SendBatch(ctx, batch).Close()
}

// takeOut takes the copies of all lines out of stock, or tells what there is too little of.
func takeOut(ctx context.Context, tx pgx.Tx, lines []Line) error {
	asked := make(map[string]int, len(lines))
	for _, l := range lines {
		asked[l.Book] += l.Quantity
	}
	books := slices.Sorted(maps.Keys(asked))
	// Locked in one order by everybody, so that two orders of the same titles cannot wait for each other.
	rows, err := tx.Query(ctx, `select book, copies from stock where book = any($1) order by book for update`, books)
	if err != nil {
		return err
	}
	left, err := collectStock(rows)
	if err != nil {
		return err
	}
	if short := shortages(lines, func(book string) int { return left[book] }); short != nil {
		return resilience.Expected(short)
	}
	quantities := make([]int, len(books))
	for i, book := range books {
		quantities[i] = asked[book]
	}
	_, err = tx.Exec(ctx, `
		update stock set copies = copies - asked.quantity
		from unnest($1::text[], $2::integer[]) as asked (book, quantity)
		where stock.book = asked.book`, books, quantities)
	return err
}

// Release implements Store.
func (p *Postgres) Release(ctx context.Context, c Claim) error {
	_, err := postgres.Write(ctx, p.orders, "release", func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
		_, err = tx.Exec(ctx, `delete from idempotency_keys where key = $1 and token = $2 and order_id is null`,
			c.Key, c.Token)
		return none, err
	})
	return err
}

// Order implements Store.
func (p *Postgres) Order(ctx context.Context, id string) (Order, error) {
	return postgres.Read(ctx, p.reading, "order", func(ctx context.Context, tx pgx.Tx) (Order, error) {
		return orderOfID(ctx, tx, id)
	})
}

// orderOfID reads an order whole. Its rows never change, so two statements see the same.
func orderOfID(ctx context.Context, tx pgx.Tx, id string) (Order, error) {
	o := Order{ID: id}
	var code, total string
	err := tx.QueryRow(ctx, `select created_at, currency, total::text from orders where id = $1`, id).
		Scan(&o.CreatedAt, &code, &total)
	if errors.Is(err, pgx.ErrNoRows) {
		return Order{}, resilience.Expected(ErrNotFound)
	}
	if err != nil {
		return Order{}, err
	}
	o.CreatedAt = o.CreatedAt.UTC()
	if o.Total, err = currency.NewAmount(total, code); err != nil {
		return Order{}, fmt.Errorf("order %s: %w", id, err)
	}
	rows, err := tx.Query(ctx, `select book, quantity, unit_price::text, total::text
		from order_lines where order_id = $1 order by position`, id)
	if err != nil {
		return Order{}, err
	}
	o.Lines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Line, err error) {
		var unit, total string
		if err := row.Scan(&l.Book, &l.Quantity, &unit, &total); err != nil {
			return l, err
		}
		if l.UnitPrice, err = currency.NewAmount(unit, code); err == nil {
			l.Total, err = currency.NewAmount(total, code)
		}
		return l, err
	})
	return o, err
}

// Stock implements Store.
func (p *Postgres) Stock(ctx context.Context) (map[string]int, error) {
	return postgres.Read(ctx, p.reading, "stock", func(ctx context.Context, tx pgx.Tx) (map[string]int, error) {
		rows, err := tx.Query(ctx, `select book, copies from stock`)
		if err != nil {
			return nil, err
		}
		return collectStock(rows)
	})
}

func collectStock(rows pgx.Rows) (map[string]int, error) {
	stock := make(map[string]int)
	var book string
	var copies int
	_, err := pgx.ForEachRow(rows, []any{&book, &copies}, func() error {
		stock[book] = copies
		return nil
	})
	return stock, err
}
