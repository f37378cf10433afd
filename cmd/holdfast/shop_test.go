package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestShop is the smoke test of the whole: it opens the shop as a person does, buys a book, hangs a leaf, switches
// the defences, and closes the shop.
func TestShop(t *testing.T) {
	target := filepath.Join(t.TempDir(), "shop.json")
	closeUp := openUp(t, "up", "--free-ports", "--addresses", target, "--set", "all:LOG_LEVEL=warn")
	at, err := readAddresses(target)
	if err != nil {
		t.Fatal(err)
	}
	api := at.Public("gateway") + "/api/v1"
	page := api + "/books/moby-dick"

	t.Run("buy a book", func(t *testing.T) {
		var shown struct {
			Book struct {
				Price struct{ Number, Currency string }
			}
		}
		fetch(t, http.MethodGet, page, "", "", http.StatusOK, &shown)
		price := shown.Book.Price
		body := fmt.Sprintf(`{"items":[{"book":"moby-dick","quantity":1}],"currency":%q,"expected_total":%q}`,
			price.Currency, price.Number)
		var first, again, read struct{ ID, Status string }
		fetch(t, http.MethodPost, api+"/orders", "smoke-1", body, http.StatusCreated, &first)
		fetch(t, http.MethodPost, api+"/orders", "smoke-1", body, http.StatusCreated, &again)
		fetch(t, http.MethodGet, api+"/orders/"+first.ID, "", "", http.StatusOK, &read)
		if first.ID == "" || first != again || first != read || first.Status != "accepted" {
			t.Errorf("ordered %v, the same key again %v, read back %v: want one accepted order", first, again, read)
		}
	})

	t.Run("hold a leaf", func(t *testing.T) {
		if n := related(t, page); n == 0 {
			t.Error("a healthy page has no carousel")
		}
		command(t, `^recommendations +hold=1m30s$`, "fault", "set", "recommendations", "hold=90s", "--target", target)
		began := time.Now()
		if n := related(t, page); n != 0 || time.Since(began) > time.Second {
			t.Errorf("held: %d related books after %v, want none within a second", n, time.Since(began))
		}
		command(t, `recommendations +hold=1m30s`, "fault", "list", "--target", target)
		command(t, `^currency +hold=2s share=0.1 seed=7$`, "fault", "set", "currency", "hold=2s share=0.1 seed=7", "--target", target)
		command(t, `^currency +no fault$`, "fault", "clear", "currency", "--target", target)
		command(t, `^recommendations +no fault$`, "fault", "clear", "recommendations", "--target", target)
		if n := related(t, page); n == 0 {
			t.Error("let go: the page still has no carousel")
		}
	})

	t.Run("switch the defences", func(t *testing.T) {
		command(t, `catalogue +bulkheads off\n$`,
			"defences", "set", "bulkheads=off", "--service", "catalogue", "--target", target)
		command(t, `\nbulkheads +on +on +off +on +on\n`, "defences", "get", "--target", target)
		command(t, `^gateway +as it was\n(.*\n)*catalogue +bulkheads on\n`,
			"defences", "set", "all", "--target", target)
	})

	t.Run("watch it with Prometheus", func(t *testing.T) { rulesNameWhatThereIs(t, at) })

	closeUp()
	for _, s := range services {
		if ready(t.Context(), at.Admin(s.name)) {
			t.Errorf("%s still answers after the shop was closed", s.name)
		}
	}
}

// TestADeathIsTold proves that a service which ends by itself is named, with how it ended, and that one which cannot
// start is named with what it said.
func TestADeathIsTold(t *testing.T) {
	l := launcher{environ: append(plainEnviron(), "LOG_LEVEL=warn"), freePorts: true, log: dropLogs}
	_, err := l.open(t.Context(), map[string]map[string]string{"currency": {"WORKERS": "-1"}})
	if told := fmt.Sprint(err); !strings.Contains(told, "currency did not start: exit status 2") ||
		!strings.Contains(told, "WORKERS=-1") {
		t.Errorf("a service that cannot start is told as %v", err)
	}

	shop, err := l.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	victim := shop.running[0]
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-victim.gone
	err = closeShop(t.Context(), shop)
	if want := "currency ended by itself: signal: killed"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a killed service is told as %v, want %s", err, want)
	}
}

// together is what several write at once, the services' logs among them, as to a terminal.
type together struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *together) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *together) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// openUp runs `holdfast up` until the test ends or the returned function is called, and returns when the shop is open.
func openUp(t *testing.T, args ...string) (closeUp func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // cleaning up outlives the test's context
	out, in := io.Pipe()
	var errs together
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, in, &errs)
		_ = in.Close()
	}()
	closed := false
	closeUp = func() {
		if cancel(); closed {
			return
		}
		closed = true
		go func() { _, _ = io.Copy(io.Discard, out) }() // ends when run does
		if c := <-code; c != 0 {
			t.Errorf("holdfast up ended with code %d: %s", c, errs.String())
		}
	}
	t.Cleanup(closeUp)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "The shop is open") {
			return closeUp
		}
	}
	t.Fatalf("holdfast up did not open the shop: %s", errs.String())
	return nil
}

// command runs holdfast and holds what it prints to a pattern.
func command(t *testing.T, want string, args ...string) {
	t.Helper()
	var out, errs strings.Builder
	if code := run(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("holdfast %s: code %d: %s", strings.Join(args, " "), code, errs.String())
	}
	if !regexp.MustCompile("(?m)" + want).MatchString(out.String()) {
		t.Errorf("holdfast %s printed\n%swant %s", strings.Join(args, " "), out.String(), want)
	}
}

// related counts the books of the carousel of a page.
func related(t *testing.T, page string) int {
	t.Helper()
	var answer struct{ Related []struct{} }
	fetch(t, http.MethodGet, page, "", "", http.StatusOK, &answer)
	return len(answer.Related)
}

func fetch(t *testing.T, method, url, key, body string, status int, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d: %s (%v)", method, url, resp.Status, status, text, err)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		t.Fatalf("%s %s: %v in %s", method, url, err, text)
	}
}
