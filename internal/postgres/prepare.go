package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

// knockEvery is the pause between two tries to reach a server that is still starting.
const knockEvery = 250 * time.Millisecond

// Prepare brings the database at url to the newest schema, and then gives it its first rows. It waits for the server,
// and for others who do the same, as long as ctx lasts.
//
// migrations has a folder of that name with files such as 001_orders.sql. Each is run once, in a transaction, by one
// process at a time (an advisory lock sees to it), and must never be changed afterwards; a table of the owner's name
// keeps the number of the last one. A database that is newer than the migrations is refused.
//
// seed, unless nil, runs in a transaction of its own every time, and perhaps at once with others.
func Prepare(
	ctx context.Context, url, owner string, migrations fs.FS, seed func(context.Context, pgx.Tx) error,
) error {
	conn, err := reach(ctx, url)
	if err != nil {
		return fmt.Errorf("database of %s: %w", owner, err)
	}
	err = migrateAll(ctx, conn, owner, migrations)
	if err == nil && seed != nil {
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return seed(ctx, tx) })
	}
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("prepare the database of %s: %w", owner, err)
	}
	return nil
}

func migrateAll(ctx context.Context, conn *pgx.Conn, owner string, migrations fs.FS) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	m, err := migrate.NewMigrator(ctx, conn, owner+"_schema_version")
	if err != nil {
		return err
	}
	if err := m.LoadMigrations(files); err != nil {
		return err
	}
	return m.Migrate(ctx)
}

// IsFirst tells whether table has no row yet, and keeps others who ask the same waiting until tx ends: so one of
// several finds it empty. Readers do not wait.
func IsFirst(ctx context.Context, tx pgx.Tx, table string) (bool, error) {
	name := pgx.Identifier{table}.Sanitize()
	if _, err := tx.Exec(ctx, "lock table "+name+" in share row exclusive mode"); err != nil {
		return false, err
	}
	var empty bool
	err := tx.QueryRow(ctx, "select not exists (select from "+name+")").Scan(&empty)
	return empty, err
}

// reach connects, and tries again while there is time. A URL that is none is not tried again.
func reach(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	pause := time.NewTicker(knockEvery)
	defer pause.Stop()
	for {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn, nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("not reached in time: %w", err)
		}
	}
}
