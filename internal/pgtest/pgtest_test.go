package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a template with a table in it.
var table = Template{Prepare: func(ctx context.Context, url string) error {
	return execute(ctx, url, `create table t (n integer)`)
}}

func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func TestCopiesAreSeparateAndDropped(t *testing.T) {
	var at [2]string
	t.Run("copies", func(t *testing.T) {
		for i := range at {
			at[i] = table.Copy(t)
		}
		if err := execute(t.Context(), at[0], `drop table t`); err != nil {
			t.Fatal(err)
		}
		if err := execute(t.Context(), at[1], `insert into t values (1)`); err != nil {
			t.Error(err)
		}
	})
	for _, url := range at {
		if err := execute(t.Context(), url, `select`); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s after the test: %v", url, err)
		}
	}
}

// A server that is restarted breaks its connections, and has what it had.
func TestRestart(t *testing.T) {
	at := table.Copy(t)
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `insert into t values (1)`); err != nil {
		t.Fatal(err)
	}
	Restart(t)
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the connection has outlived its server")
	}
	if err := execute(t.Context(), at, `do $$ begin assert (select count(*) from t) = 1; end $$`); err != nil {
		t.Error(err)
	}
}

// The server of a test binary ends with it, however that is: here, the end of the pipe is closed as the kernel does.
func TestTheServerEndsWithItsProcess(t *testing.T) {
	bin := binaries("/usr/lib/postgresql/*/bin")
	if bin == "" {
		t.Skip("no server that could be started a second time")
	}
	s, err := startLocal(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	folder := s.at.Query().Get("host")
	pid, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
	if err != nil {
		t.Error(err)
	}
	number, _, _ := strings.Cut(string(pid), "\n")
	if err := s.life.Close(); err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for exists(folder) || exists("/proc/"+number) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("folder there: %t, process there: %t", exists(folder), exists("/proc/"+number))
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestAServerIsNamed(t *testing.T) {
	for given, ok := range map[string]bool{
		"postgres://me@127.0.0.1:5432/postgres": true, "postgresql:///postgres?host=/tmp": true,
		"127.0.0.1:5432": false, "mysql://me@host/db": false, ":": false,
	} {
		t.Setenv("TEST_DATABASE_URL", given)
		if _, err := find(t.Context()); (err == nil) != ok {
			t.Errorf("%s: error %v, want one: %t", given, err, !ok)
		}
	}
}

// verdict is a test that is only told how to end.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper()           {}
func (v *verdict) Skip(args ...any)  { v.skipped = fmt.Sprint(args...) }
func (v *verdict) Fatal(args ...any) { v.failed = fmt.Sprint(args...) }

// Without a server a test is skipped, and says how to get one; a CI does not get away with that. A server that does not
// work is a failure anywhere.
func TestWithoutAServer(t *testing.T) {
	for _, test := range []struct {
		ci            string
		err           error
		skips, failed bool
	}{
		{"", ErrNone, true, false},
		{"true", ErrNone, false, true},
		{"", errors.New("broken"), false, true},
	} {
		t.Setenv("CI", test.ci)
		v := new(verdict)
		judge(v, test.err)
		if (v.skipped != "") != test.skips || (v.failed != "") != test.failed {
			t.Errorf("CI=%q, %v: skipped with %q, failed with %q", test.ci, test.err, v.skipped, v.failed)
		}
		if test.skips && !strings.Contains(v.skipped, "apt-get install postgresql") {
			t.Errorf("skipped without saying how to get a server: %s", v.skipped)
		}
	}
}

func TestProxy(t *testing.T) {
	at := table.Copy(t)
	p := NewProxy(t, at)
	soon := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 100*time.Millisecond)
	}
	rows := func() (n int) {
		conn, err := pgx.Connect(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if err := conn.QueryRow(t.Context(), `select count(*) from t`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	insert := func(ctx context.Context) error { return execute(ctx, p.URL(), `insert into t values (1)`) }

	if err := insert(t.Context()); err != nil {
		t.Fatal("passing: ", err)
	}
	p.Hold()
	ctx, cancel := soon()
	defer cancel()
	if err := insert(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held: %v", err)
	}
	p.Gone()
	ctx, cancel = soon()
	defer cancel()
	if err := insert(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("gone: %v", err)
	}
	p.Pass()
	if got := rows(); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}

	for _, trap := range []struct {
		name string
		lay  func(string) <-chan struct{}
		want int
	}{{"before", p.TrapBefore, 1}, {"after", p.TrapAfter, 2}} {
		sprung := trap.lay("INSERT INTO t")
		done := make(chan error, 1)
		go func() { done <- insert(t.Context()) }()
		<-sprung
		p.Cut()
		if err := <-done; err == nil {
			t.Errorf("%s: no error", trap.name)
		}
		p.Pass()
		tick, late := time.NewTicker(5*time.Millisecond), time.After(5*time.Second)
		for got := rows(); got != trap.want; got = rows() {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s: %d rows, want %d", trap.name, got, trap.want)
			}
		}
		tick.Stop()
	}
}
