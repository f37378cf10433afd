package checkout

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// These tests run checkout as a process of its own and kill it, which nothing in it can prepare for.

// victimVariable makes the test binary a checkout. Its addresses come from the usual variables.
const victimVariable = "CHECKOUT_UNDER_TEST"

// beVictim serves until it is killed, or until the test that started it has ended.
func beVictim() int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	err := serveVictim()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func serveVictim() error {
	cfg := Config{Config: service.Defaults("checkout"), DatabaseURL: os.Getenv("DATABASE_URL")}
	cfg.Addr, cfg.AdminAddr, cfg.LogLevel = "127.0.0.1:0", "127.0.0.1:0", "error"
	var err error
	if cfg.CatalogueURL, err = service.ParseAddresses(os.Getenv("CATALOGUE_URL")); err != nil {
		return err
	}
	cfg.CurrencyURL = cfg.CatalogueURL
	c, err := service.New("checkout", cfg.Config)
	if err != nil {
		return err
	}
	s, err := New(cfg, c)
	if err != nil {
		return err
	}
	return c.Run(context.Background(), s)
}

// victim is a checkout that can be killed, and is then another.
type victim struct {
	t         *testing.T
	env       []string
	transport *http.Transport

	cmd *exec.Cmd
	in  io.Closer
	at  atomic.Pointer[http.Handler]
}

func newVictim(t *testing.T, database string, catalogue http.HandlerFunc) *victim {
	t.Helper()
	to := leaf(t, catalogue)
	v := &victim{t: t, transport: &http.Transport{}, env: append(os.Environ(),
		victimVariable+"=1", "DATABASE_URL="+database, "CATALOGUE_URL="+to.String())}
	t.Cleanup(v.transport.CloseIdleConnections)
	v.start()
	t.Cleanup(v.kill)
	return v
}

// start starts a process and returns when it listens.
func (v *victim) start() {
	v.t.Helper()
	v.cmd = exec.Command(os.Args[0])
	v.cmd.Env, v.cmd.Stderr = v.env, os.Stderr
	in, err := v.cmd.StdinPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	v.in = in
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	var announced struct{ Public string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &announced)
	}
	if err != nil {
		v.t.Fatalf("not started: %v %s", err, line)
	}
	shop := reach(v.transport, announced.Public)
	v.at.Store(&shop)
}

// kill ends the process as kill -9 does.
func (v *victim) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
	_ = v.in.Close()
	v.transport.CloseIdleConnections()
}

// post sends an order. An answer that did not come is a 502.
func (v *victim) post(key string) answer {
	return post(v.t.Context(), answersInJSON{*v.at.Load()}, key, emma())
}

// answersInJSON gives the empty answer that a proxy has for a broken connection a body that tests can read.
type answersInJSON struct{ http.Handler }

func (h answersInJSON) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(&badGateway{w}, r)
}

type badGateway struct{ http.ResponseWriter }

func (w *badGateway) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	if status == http.StatusBadGateway {
		_, _ = io.WriteString(w.ResponseWriter, "{}")
	}
}

// D13: a checkout that is killed in the middle of an order, wherever that is, leaves the whole order or none. Its key
// answers afterwards: at once if the order is there, else when the dead process's claim has lapsed.
func TestD13KilledInMidOrder(t *testing.T) {
	tests := map[string]struct {
		trap   func(*pgtest.Proxy) <-chan struct{} // nil: while the catalogue is asked
		stored bool
	}{
		"while it is priced":        {nil, false},
		"before its stock is taken": {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapBefore("update stock") }, false},
		"before the commit":         {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapBefore("commit") }, false},
		"after the commit":          {func(p *pgtest.Proxy) <-chan struct{} { return p.TrapAfter("commit") }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at := database.Copy(t)
			network := pgtest.NewProxy(t, at)
			reached := make(chan (<-chan struct{}), 1)
			var asked atomic.Int32
			v := newVictim(t, network.URL(), func(w http.ResponseWriter, r *http.Request) {
				switch {
				case asked.Add(1) > 1:
				case test.trap == nil:
					now := make(chan struct{})
					close(now)
					reached <- now
					<-r.Context().Done()
					return
				default:
					reached <- test.trap(network)
				}
				says(http.StatusOK, goodPrices)(w, r)
			})
			first := stockOfEmma(t, at)
			ordering := make(chan answer, 1)
			go func() { ordering <- v.post("k") }()
			<-<-reached
			v.kill()
			if a := <-ordering; a.status != http.StatusBadGateway {
				t.Errorf("an answer of the dead: %v", a)
			}
			network.Cut()
			network.Pass()
			v.start()

			a := v.post("k")
			if test.stored {
				if a.status != http.StatusCreated || a.header.Get("Idempotent-Replay") != "true" {
					t.Errorf("the key of a stored order: %v", a)
				}
			} else {
				if !a.is(problem.OrderInProgress) || a.header.Get("Retry-After") == "" {
					t.Errorf("the key of a claim that stands: %v", a)
				}
				wantOrders(t, at, first, 0)
				lapse(t, at)
				if a = v.post("k"); a.status != http.StatusCreated {
					t.Errorf("the key of a claim that has lapsed: %v", a)
				}
			}
			if found := get(t, *v.at.Load(), "/orders/"+a.ID); found.body != a.body {
				t.Errorf("found %v, want %v", found, a)
			}
			wantOrders(t, at, first, 1)
		})
	}
}

var (
	ordersUnderKills = flag.Int("orders", 200, "orders of TestD13OrdersUnderKills")
	killsUnderOrders = flag.Int("kills", 3, "how often checkout is killed meanwhile")
	restartDatabase  = flag.Bool("restart", false, "whether PostgreSQL is restarted meanwhile")
)

// D13: eight people place 200 orders while checkout is killed three times and every connection to the database broken
// in between, as a restart of it does. Each tries until told that it is ordered; then each has ordered once, and the
// stock adds up. Flags make more of it, and the restart a real one.
func TestD13OrdersUnderKills(t *testing.T) {
	const people = 8
	at := database.Copy(t)
	network := pgtest.NewProxy(t, at)
	v := newVictim(t, network.URL(), says(http.StatusOK, goodPrices))
	first := stockOfEmma(t, at)

	var placed, unanswered atomic.Int32
	var mu sync.Mutex
	ids := map[string]string{}
	var ordering sync.WaitGroup
	for p := range people {
		ordering.Go(func() {
			pause := time.NewTicker(20 * time.Millisecond) // of a person before another try
			defer pause.Stop()
			for n := p; n < *ordersUnderKills; n += people {
				key := fmt.Sprint(n)
				a := v.post(key)
				for ; a.status != http.StatusCreated; a = v.post(key) {
					unanswered.Add(1)
					if a.status < 500 && !a.is(problem.OrderInProgress) {
						t.Errorf("%s: %v", key, a)
						return
					}
					<-pause.C
				}
				placed.Add(1)
				mu.Lock()
				ids[key] = a.ID
				mu.Unlock()
			}
		})
	}
	// reached waits until so many are placed: what happens, happens in the middle of others.
	reached := func(n int32) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		late := time.After(time.Minute)
		for placed.Load() < n {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%d orders after a minute", placed.Load())
			}
		}
	}
	happening := []func(){func() { v.kill(); v.start() }}
	for range *killsUnderOrders - 1 {
		happening = append(happening, network.Cut, happening[0])
	}
	if *restartDatabase {
		happening = append(happening, func() { pgtest.Restart(t) })
	}
	for i, happens := range happening {
		reached(int32(*ordersUnderKills * (i + 1) / (len(happening) + 1)))
		happens()
		lapse(t, at) // also of those who live: they may lose their claims, and must then not complete them
	}
	ordering.Wait()
	t.Logf("%d orders, %d tries that had no answer, checkout killed %d times, PostgreSQL restarted: %t",
		placed.Load(), unanswered.Load(), *killsUnderOrders, *restartDatabase)
	wantOrders(t, at, first, *ordersUnderKills)
	for key, id := range ids {
		if got := ask[string](t, at, `select order_id from idempotency_keys where key = '`+key+`'`); got != id {
			t.Errorf("key %s was told order %s, and has %s", key, id, got)
		}
	}
}
