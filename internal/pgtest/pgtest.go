// Package pgtest gives tests databases of their own on a real PostgreSQL server, and a network between to break.
//
// The server is the first of these that there is: the one that TEST_DATABASE_URL names, whose user must be allowed to
// create databases; one of the binaries that the system has, started for this test binary and stopped with it,
// however that ends; one in a container of a Docker engine, likewise. Where there is none the test is skipped, and
// says how to get one; with CI=true it fails.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds everything that a server is asked to do.
const patience = 30 * time.Second

// TB is what is needed of a *testing.T, a *testing.B or a *rapid.T.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
	Cleanup(func())
}

// Template is a database that is prepared once in a test binary, when it is first needed, and then copied. To copy is
// quicker than to prepare. The zero value is an empty database.
type Template struct {
	// Prepare makes of an empty database at url what tests start with. It must leave no connection open.
	Prepare func(ctx context.Context, url string) error

	once sync.Once
	name string
	err  error
}

// Copy returns the URL of a database that is t's alone, and dropped when t ends.
func (p *Template) Copy(t TB) string {
	t.Helper()
	s := need(t)
	// A test that was cancelled must still be able to clean up, so the context is not the test's.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.once.Do(func() { p.name, p.err = p.make(ctx, s) })
	if p.err != nil {
		t.Fatal("pgtest: prepare the template: ", p.err)
	}
	name, err := s.create(ctx, p.name)
	if err != nil {
		t.Fatal("pgtest: copy the template: ", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Fatal("pgtest: drop the copy: ", err)
		}
	})
	return s.database(name)
}

func (p *Template) make(ctx context.Context, s *server) (string, error) {
	name, err := s.create(ctx, "template1")
	if err == nil && p.Prepare != nil {
		err = p.Prepare(ctx, s.database(name))
	}
	return name, err
}

// New returns the URL of an empty database, and what drops it, for an experiment that is no test. Its error wraps ErrNone
// where there is no server.
func New(ctx context.Context) (url string, drop func(context.Context) error, err error) {
	s, err := theServer()
	if err != nil {
		return "", nil, err
	}
	name, err := s.create(ctx, "template1")
	if err != nil {
		return "", nil, fmt.Errorf("pgtest: create a database: %w", err)
	}
	return s.database(name), func(ctx context.Context) error { return s.drop(ctx, name) }, nil
}

// need returns the server of this test binary, or skips or fails t.
func need(t TB) *server {
	t.Helper()
	s, err := theServer()
	judge(t, err)
	return s
}

// judge ends a test whose server cannot be had.
func judge(t TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrNone) && os.Getenv("CI") != "true":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// theServer finds the server once.
var theServer = sync.OnceValues(func() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	return find(ctx)
})

// Restart stops the server, which breaks every connection, and returns when it takes connections again. It is for
// tests that do not run beside others. A server that is not this test binary's to restart skips t: a container's, which
// would forget everything, or a given one.
func Restart(t TB) {
	t.Helper()
	s := need(t)
	folder := s.at.Query().Get("host")
	if s.life == nil || folder == "" {
		t.Skip("this PostgreSQL server cannot be restarted: it takes one that is installed here (apt-get install postgresql)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.restart(ctx, folder); err != nil {
		t.Fatal("pgtest: restart the server: ", err)
	}
}

// restart lets the server end as an administrator does: what was committed is kept.
func (s *server) restart(ctx context.Context, folder string) error {
	began, err := s.began(ctx)
	if err != nil {
		return err
	}
	if _, err := s.life.WriteString("INT\n"); err != nil {
		return err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if at, err := s.began(ctx); err == nil && at != began {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", ctx.Err(), said(folder))
		}
	}
}

// began is when the server was started.
func (s *server) began(ctx context.Context) (at time.Time, err error) {
	conn, err := pgx.Connect(ctx, s.at.String())
	if err != nil {
		return at, err
	}
	err = conn.QueryRow(ctx, "select pg_postmaster_start_time()").Scan(&at)
	return at, errors.Join(err, conn.Close(ctx))
}

// server is one on which databases may be created and dropped.
type server struct {
	at *url.URL
	// life is the end of a pipe. The server is stopped when it is closed, which the kernel does when this process
	// ends. Kept, lest the garbage collector close it.
	life *os.File
}

// database returns the URL of one of the server's databases.
func (s *server) database(name string) string {
	at := *s.at
	at.Path = "/" + name
	return at.String()
}

// create copies a database and returns the copy's name.
func (s *server) create(ctx context.Context, template string) (string, error) {
	name := "pgtest_" + strings.ToLower(rand.Text())
	return name, s.execute(ctx, "create database "+name+" template "+template)
}

func (s *server) drop(ctx context.Context, name string) error {
	return s.execute(ctx, "drop database "+name+" with (force)")
}

// execute runs one statement on a connection of its own.
func (s *server) execute(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.at.String())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
