package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/pkg/resilience"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// migrations make a table of numbers.
var migrations = fstest.MapFS{
	"migrations/001_numbers.sql": {Data: []byte(`create table numbers (n integer primary key);`)},
	"migrations/002_first.sql":   {Data: []byte(`insert into numbers values (1);`)},
}

// numbers is a database with 1 in it.
var numbers = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
	return Prepare(ctx, url, "numbers", migrations, nil)
}}

// plenty is enough for every test that is not of bounds.
var plenty = resilience.Policy{Timeout: time.Minute, Slots: 4}

func open(t *testing.T, url string, p resilience.Policy) *DB {
	t.Helper()
	dep, err := resilience.New("postgres", p)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(url, 4, dep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// insert puts numbers in, and returns then.
func insert(ctx context.Context, db *DB, then error, ns ...int) error {
	_, err := Write(ctx, db, "write", func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
		for _, n := range ns {
			if _, err := tx.Exec(ctx, `insert into numbers values ($1)`, n); err != nil {
				return none, err
			}
		}
		return none, then
	})
	return err
}

// ask reads one value.
func ask[T any](ctx context.Context, db *DB, query string) (T, error) {
	return Read(ctx, db, "read", func(ctx context.Context, tx pgx.Tx) (v T, err error) {
		return v, tx.QueryRow(ctx, query).Scan(&v)
	})
}

func wantCount(t *testing.T, db *DB, want int) {
	t.Helper()
	if got, err := ask[int](t.Context(), db, `select count(*) from numbers`); err != nil || got != want {
		t.Errorf("%d numbers, error %v; want %d", got, err, want)
	}
}

func outcomes(db *DB, endpoint string) map[string]uint64 {
	for _, e := range db.dep.Snapshot().Endpoints {
		if e.Name == endpoint {
			return e.Outcomes
		}
	}
	return nil
}

func TestATransactionIsWholeOrNothing(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	refused := errors.New("refused")

	if err := insert(t.Context(), db, nil, 2, 3); err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), db, refused, 4, 5); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of the function", err)
	}
	if err := insert(t.Context(), db, nil, 6, 1); resilience.OutcomeOf(err) != resilience.Failure {
		t.Errorf("a number twice: %v, want a failure", err)
	}
	_, err := Write(t.Context(), db, "write", func(ctx context.Context, tx pgx.Tx) (int, error) {
		_, _ = tx.Exec(ctx, `insert into numbers values (7)`)
		panic("on the way")
	})
	if resilience.OutcomeOf(err) != resilience.Panicked {
		t.Errorf("a panic: %v", err)
	}
	wantCount(t, db, 3)
	if in := db.pool.Stat().AcquiredConns(); in != 0 {
		t.Errorf("%d connections are still held", in)
	}
}

// An answer that is an error is the database's success, and comes back as it is.
func TestAnExpectedErrorIsAnAnswer(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	none := errors.New("no such number")
	if err := insert(t.Context(), db, resilience.Expected(none), 2); err != none {
		t.Errorf("error %v, want the function's own", err)
	}
	if got := outcomes(db, "write")["success"]; got != 1 {
		t.Errorf("%d successes, want 1", got)
	}
	wantCount(t, db, 1)
}

func TestAReadChangesNothing(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	_, err := Read(t.Context(), db, "read", func(ctx context.Context, tx pgx.Tx) (int, error) {
		_, err := tx.Exec(ctx, `insert into numbers values (2)`)
		return 0, err
	})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v, want one of a read-only transaction", err)
	}
}

// A statement ends with the call, at the server too; and the connection's place in the pool comes back.
func TestAStatementEndsWithItsCall(t *testing.T) {
	at := numbers.Copy(t)
	watch := open(t, at, plenty)
	db := open(t, at, resilience.Policy{Timeout: 100 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond, Slots: 4})
	for _, want := range []resilience.Outcome{resilience.Timeout, resilience.Cancelled} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Read(ctx, db, "read", func(ctx context.Context, tx pgx.Tx) (int, error) {
			if want == resilience.Cancelled {
				cancel()
			}
			_, err := tx.Exec(ctx, `select pg_sleep(60)`)
			return 0, err
		})
		cancel()
		if got := resilience.OutcomeOf(err); got != want {
			t.Errorf("outcome %v (%v), want %v", got, err, want)
		}
	}
	until(t, "no statement sleeps at the server, and no connection is held", func() bool {
		n, err := ask[int](t.Context(), watch, `select count(*) from pg_stat_activity
			where datname = current_database() and state <> 'idle' and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`)
		if err != nil {
			t.Fatal(err)
		}
		return n == 0 && db.pool.Stat().TotalConns() == 0
	})
}

// The server is told how long a statement may last, and a pause between two: for when it cannot be told to stop.
func TestTheServerKnowsTheDeadline(t *testing.T) {
	at := numbers.Copy(t)
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		query := `select setting::integer from pg_settings where name = '` + limit + `'`
		bounded, err := ask[int](t.Context(), open(t, at, resilience.Policy{Timeout: 5 * time.Second, Slots: 4}), query)
		if err != nil || bounded < 1 || bounded > 5000 {
			t.Errorf("%s: %d ms, error %v; want what is left of 5 s", limit, bounded, err)
		}
		unbounded, err := ask[int](t.Context(), open(t, at, resilience.Policy{Timeout: resilience.Unbounded, Slots: 4}), query)
		if err != nil || unbounded != 0 {
			t.Errorf("%s without a timeout: %d ms, error %v; want none", limit, unbounded, err)
		}
	}
}

// A broken connection costs a read nothing; a write is not tried again, since it may have happened.
func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	network := pgtest.NewProxy(t, numbers.Copy(t))
	repeating := plenty
	repeating.Retry = resilience.Retry{Attempts: 2, Budget: 1}
	reading, writing := open(t, network.URL(), repeating), open(t, network.URL(), plenty)
	wantCount(t, reading, 1)
	wantCount(t, writing, 1)
	network.Cut()
	wantCount(t, reading, 1)
	if err := insert(t.Context(), writing, nil, 2); resilience.OutcomeOf(err) != resilience.Failure {
		t.Errorf("a write on a broken connection: %v, want a failure", err)
	}
	if err := insert(t.Context(), reading, nil, 3); err == nil || !strings.Contains(err.Error(), "not written") {
		t.Errorf("a write where calls are repeated: %v, want a refusal", err)
	}
	wantCount(t, reading, 1)
}

// A frozen database holds a call until its timeout, a dead one not even that; afterwards both serve as before.
func TestAFrozenOrDeadDatabase(t *testing.T) {
	network := pgtest.NewProxy(t, numbers.Copy(t))
	db := open(t, network.URL(),
		resilience.Policy{Timeout: 200 * time.Millisecond, ConnectTimeout: 150 * time.Millisecond, Slots: 4})
	within := func(limit time.Duration, want resilience.Outcome) {
		t.Helper()
		began := time.Now()
		_, err := ask[int](t.Context(), db, `select 1`)
		if took := time.Since(began); resilience.OutcomeOf(err) != want || took > limit {
			t.Errorf("%v after %v (%v), want %v within %v", resilience.OutcomeOf(err), took, err, want, limit)
		}
	}
	within(time.Minute, resilience.Success)
	network.Hold()
	within(time.Second, resilience.Timeout)
	network.Pass()
	wantCount(t, db, 1)
	network.Gone()
	within(time.Second, resilience.Failure)
	network.Pass()
	wantCount(t, db, 1)
}

// To connect has a limit of its own, which the policy in force says.
func TestConnectingIsBounded(t *testing.T) {
	network := pgtest.NewProxy(t, numbers.Copy(t))
	p := resilience.Policy{Timeout: time.Minute, ConnectTimeout: time.Minute, Slots: 4}
	db := open(t, network.URL(), p)
	p.ConnectTimeout = 50 * time.Millisecond
	if err := db.dep.Apply(p); err != nil {
		t.Fatal(err)
	}
	network.Hold()
	began := time.Now()
	_, err := ask[int](t.Context(), db, `select 1`)
	if took := time.Since(began); resilience.OutcomeOf(err) != resilience.Failure || took > 5*time.Second {
		t.Errorf("after %v: %v, want a failure at once", took, err)
	}
	network.Pass()
}

func TestAContextThatIsOverBeginsNothing(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := insert(over, db, nil, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if asked := outcomes(db, "write"); asked != nil {
		t.Errorf("it is counted as a call: %v", asked)
	}
}

// Whoever is in a transaction holds a connection, and only they.
func TestHolding(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	_, err := Read(t.Context(), db, "read", func(ctx context.Context, _ pgx.Tx) (int, error) {
		if !Holding(ctx) {
			t.Error("not within a transaction")
		}
		return 0, nil
	})
	if err != nil || Holding(t.Context()) {
		t.Errorf("outside of a transaction, error %v", err)
	}
}

func TestOpenRefusesAnAddressAndTellsNoPassword(t *testing.T) {
	dep, err := resilience.New("postgres", plenty)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open("postgres://me:secret@host:port/db", 1, dep)
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

// Several that start at once migrate and seed once; one that starts later changes nothing.
func TestPrepareTogether(t *testing.T) {
	var empty pgtest.Template
	at := empty.Copy(t)
	var seeded atomic.Int32
	prepare := func() error {
		return Prepare(t.Context(), at, "numbers", migrations, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `create table if not exists names (name text)`); err != nil {
				return err
			}
			first, err := IsFirst(ctx, tx, "names")
			if err == nil && first {
				seeded.Add(1)
				_, err = tx.Exec(ctx, `insert into names values ('one')`)
			}
			return err
		})
	}
	var all sync.WaitGroup
	if err := prepare(); err != nil { // names is there before the race for its first row
		t.Fatal(err)
	}
	db := open(t, at, plenty)
	if _, err := Write(t.Context(), db, "write", func(ctx context.Context, tx pgx.Tx) (int, error) {
		_, err := tx.Exec(ctx, `truncate names; drop table numbers, numbers_schema_version`)
		return 0, err
	}); err != nil {
		t.Fatal(err)
	}
	seeded.Store(0)
	for range 8 {
		all.Go(func() {
			if err := prepare(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := seeded.Load(); n != 1 {
		t.Errorf("seeded %d times, want once", n)
	}
	wantCount(t, db, 1)
}

// Of those who look into a table at the same moment, one finds it empty, and the others what that one has stored.
func TestOneIsFirst(t *testing.T) {
	db := open(t, numbers.Copy(t), plenty)
	if _, err := Write(t.Context(), db, "write", func(ctx context.Context, tx pgx.Tx) (int, error) {
		_, err := tx.Exec(ctx, `truncate numbers`)
		return 0, err
	}); err != nil {
		t.Fatal(err)
	}
	var begun, all sync.WaitGroup
	begun.Add(plenty.Slots)
	for range plenty.Slots {
		all.Go(func() {
			_, err := Write(t.Context(), db, "write", func(ctx context.Context, tx pgx.Tx) (int, error) {
				begun.Done()
				begun.Wait()
				first, err := IsFirst(ctx, tx, "numbers")
				if err == nil && first {
					_, err = tx.Exec(ctx, `insert into numbers select coalesce(max(n), 0) + 1 from numbers`)
				}
				return 0, err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantCount(t, db, 1)
}

// A server that comes late is waited for; one that does not come is told, and where.
func TestPrepareWaitsForTheServer(t *testing.T) {
	var empty pgtest.Template
	network := pgtest.NewProxy(t, empty.Copy(t))
	network.Gone()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := Prepare(ctx, network.URL(), "numbers", migrations, nil)
	if err == nil || !strings.Contains(err.Error(), "database of numbers: not reached in time") {
		t.Errorf("error %v", err)
	}
	prepared := make(chan error, 1)
	go func() { prepared <- Prepare(t.Context(), network.URL(), "numbers", migrations, nil) }()
	network.Pass()
	if err := <-prepared; err != nil {
		t.Error(err)
	}
}

// A server that answers late is waited for, and what was waited for is a connection that the first call has.
func TestAwait(t *testing.T) {
	network := pgtest.NewProxy(t, numbers.Copy(t))
	db := open(t, network.URL(), plenty)
	network.Gone()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := db.Await(ctx); err == nil || !strings.Contains(err.Error(), "postgres: not reached in time") {
		t.Errorf("error %v", err)
	}
	there := make(chan error, 1)
	go func() { there <- db.Await(t.Context()) }()
	network.Pass()
	if err := <-there; err != nil {
		t.Error(err)
	}
	if n := db.pool.Stat().IdleConns(); n != 1 {
		t.Errorf("%d connections are there, want one", n)
	}
}

// A migration that fails leaves nothing of itself, and the database at the one before.
func TestAMigrationIsWholeOrNothing(t *testing.T) {
	at := numbers.Copy(t)
	more := fstest.MapFS{"migrations/003_more.sql": {Data: []byte(`insert into numbers values (2); select nothing;`)}}
	for name, file := range migrations {
		more[name] = file
	}
	if err := Prepare(t.Context(), at, "numbers", more, nil); err == nil {
		t.Error("no error")
	}
	wantCount(t, open(t, at, plenty), 1)
	if err := Prepare(t.Context(), at, "numbers", migrations, nil); err != nil {
		t.Errorf("the database as it was: %v", err)
	}
}

// until waits for the event that ok tells of.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
