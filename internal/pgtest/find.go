package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNone is wrapped where there is no server, and says how to get one.
var ErrNone = errors.New("pgtest: no PostgreSQL server for this test: install one (apt-get install postgresql), " +
	"start a Docker engine, or name one with TEST_DATABASE_URL")

// image is what a Docker engine is asked for.
const image = "postgres:17"

// find returns the server that tests are to use, and starts it if it must.
func find(ctx context.Context) (*server, error) {
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		at, err := url.Parse(given)
		if err != nil || at.Scheme != "postgres" && at.Scheme != "postgresql" {
			return nil, errors.New("pgtest: TEST_DATABASE_URL must be a URL such as postgres://user@127.0.0.1:5432/postgres")
		}
		return &server{at: at}, nil
	}
	if bin := binaries("/usr/lib/postgresql/*/bin"); bin != "" {
		return startLocal(ctx, bin)
	}
	if docker, err := exec.LookPath("docker"); err == nil {
		return startContainer(ctx, docker)
	}
	return nil, ErrNone
}

// binaries returns the folder of the newest server among those that pattern matches, or else the one that the PATH
// leads to; "" where there is none.
func binaries(pattern string) string {
	folders, _ := filepath.Glob(pattern) // the only error is a pattern that is none
	version := func(folder string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		return n
	}
	slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if found, err := exec.LookPath("postgres"); err == nil {
		if found, err = filepath.EvalSymlinks(found); err == nil {
			folders = append(folders, filepath.Dir(found))
		}
	}
	for _, folder := range folders {
		_, noInit := exec.LookPath(filepath.Join(folder, "initdb"))
		_, noServer := exec.LookPath(filepath.Join(folder, "postgres"))
		if noInit == nil && noServer == nil {
			return folder
		}
	}
	return ""
}

// startLocal makes a cluster in a temporary folder and starts a server that listens on a socket there and nowhere
// else. It forgets what it wrote in a crash, and is quicker for it.
func startLocal(ctx context.Context, bin string) (*server, error) {
	folder, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s, err := startIn(ctx, bin, folder)
	if err != nil {
		// While the server stops, the folder may be removed for us.
		return nil, errors.Join(fmt.Errorf("pgtest: start %s/postgres: %w", bin, err), os.RemoveAll(folder))
	}
	return s, nil
}

func startIn(ctx context.Context, bin, folder string) (*server, error) {
	user, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if err := user.give(folder); err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	user.become(initdb)
	initdb.Dir, initdb.Env = folder, environment()
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	life, err := keep(ctx, user, folder, "QUIT", filepath.Join(bin, "postgres"), "-D", data, "-F",
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+folder, "-c", "max_connections=200",
		"-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	if err != nil {
		return nil, err
	}
	s := &server{life: life, at: &url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: url.Values{"host": {folder}}.Encode()}}
	return s, s.await(ctx, folder)
}

// startContainer starts a container whose port is published on loopback.
func startContainer(ctx context.Context, docker string) (*server, error) {
	if exec.CommandContext(ctx, docker, "image", "inspect", image).Run() != nil {
		if out, err := exec.CommandContext(ctx, docker, "pull", "--quiet", image).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w. The Docker engine cannot serve: %w: %s", ErrNone, err, bytes.TrimSpace(out))
		}
	}
	folder, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	name := filepath.Base(folder)
	life, err := keep(ctx, account{}, folder, "TERM", docker, "run", "--rm", "--name", name,
		"--env", "POSTGRES_HOST_AUTH_METHOD=trust", "--publish", "127.0.0.1::5432", image,
		"-F", "-c", "max_connections=200")
	if err != nil {
		return nil, err
	}
	s := &server{life: life, at: &url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: "sslmode=disable"}}
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for s.at.Host == "" {
		out, err := exec.CommandContext(ctx, docker, "port", name, "5432/tcp").Output()
		if err == nil {
			s.at.Host, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
			break
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("pgtest: the container has no port: %w\n%s", err, said(folder)), life.Close())
		}
	}
	return s, s.await(ctx, folder)
}

// await returns when the server takes connections. A container's takes some while it initialises itself, and then
// restarts: there, only one that lasts counts, which is one over TCP.
func (s *server) await(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.at.String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("it takes no connections: %w\n%s", err, said(folder)), s.life.Close())
		}
	}
}

// keeper runs a program until its own standard input ends, which is when the process that has the other end of the
// pipe does, in whatever way; then it stops the program with the signal $1, and removes the folder that it works in.
// For a line of input it stops the program with the signal that the line names, and runs it again.
const keeper = `signal=$1; shift
while :; do
	"$@" >>log 2>&1 &
	program=$!
	if read -r again; then kill -"$again" $program; wait $program; else break; fi
done
kill -"$signal" $program
wait $program
rm -rf "$PWD"`

// keep starts a program in folder, as the account says. It is stopped, and the folder removed, when the returned end
// of a pipe is closed, and so at the latest when this process ends.
func keep(ctx context.Context, user account, folder, signal string, program ...string) (life *os.File, err error) {
	in, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	// Not the caller's context: it ends when the server has started.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh",
		append([]string{"-c", keeper, "pgtest", signal}, program...)...)
	user.become(cmd)
	cmd.Dir, cmd.Env, cmd.Stdin = folder, environment(), in
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, life.Close())
	}
	return life, nil
}

// environment is the little that a server needs.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// said is the last that a server said.
func said(folder string) string {
	log, _ := os.ReadFile(filepath.Join(folder, "log")) // without one there is nothing to tell
	return string(log[max(0, len(log)-2000):])
}
