package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	tailLines = 20       // how much of a log is kept to say why its process died
	lineBytes = 64 << 10 // of a log line; a longer one comes in pieces
)

// logSink takes the services' logs, line by line, from several goroutines.
type logSink func(service, line string)

func dropLogs(string, string) {}

// prefixLogs writes each line to w behind its service's name.
func prefixLogs(w io.Writer) logSink {
	var mu sync.Mutex
	return func(service, line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%-15s | %s\n", service, line)
	}
}

// fileLogs appends to one file a service, DIR/SERVICE.log. The files are open until closed is called.
func fileLogs(dir string) (sink logSink, closed func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make a place for the logs: %w", err)
	}
	files := map[string]*os.File{}
	closed = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, s := range services {
		f, err := os.OpenFile(filepath.Join(dir, s.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("open a log: %w", err), closed())
		}
		files[s.name] = f
	}
	return func(service, line string) { _, _ = files[service].WriteString(line + "\n") }, closed, nil
}

// tail keeps the last lines of a log.
type tail struct {
	mu   sync.Mutex
	kept []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == tailLines {
		t.kept = slices.Delete(t.kept, 0, 1)
	}
	t.kept = append(t.kept, line)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, line := range t.kept {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines hands on what is written to it line by line, without the line's end.
type lines struct {
	each func(line string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, found := bytes.Cut(p, []byte("\n"))
		l.rest = append(l.rest, line...)
		if !found {
			break
		}
		l.each(string(l.rest))
		l.rest, p = l.rest[:0], after
	}
	if len(l.rest) >= lineBytes {
		l.flush()
	}
	return n, nil
}

// flush hands on a last line that has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.each(string(l.rest))
		l.rest = l.rest[:0]
	}
}

// logsFlag says where the logs of a shop go that the command starts.
type logsFlag struct {
	Logs string `placeholder:"DIR" help:"Append the services' logs to DIR/SERVICE.log."`
}

// open returns the sink that was asked for, or otherwise.
func (f logsFlag) open(otherwise logSink) (sink logSink, closed func() error, err error) {
	if f.Logs == "" {
		return otherwise, func() error { return nil }, nil
	}
	return fileLogs(f.Logs)
}
