package fault

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// injector is an Injector with these faults.
func injector(t *testing.T, lines ...string) *Injector {
	t.Helper()
	in := New(slog.New(slog.DiscardHandler))
	for _, line := range lines {
		set(t, in, line)
	}
	return in
}

func set(t *testing.T, in *Injector, line string) {
	t.Helper()
	f, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	in.Set(f)
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })

// ask sends a request through the faults, without a network; it returns when it is over, and what it got: "" when the
// connection was cut.
func ask(ctx context.Context, in *Injector) (got string) {
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		got = w.Body.String()
	}()
	in.Middleware(ok).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	return
}

func TestHold(t *testing.T) {
	tests := []struct {
		name  string
		line  string
		then  func(in *Injector, leave context.CancelFunc) // 3 s after the request began
		after time.Duration
		got   string
	}{
		{"for its time, then the right answer", "hold=90s", func(*Injector, context.CancelFunc) {}, 90 * time.Second, "ok"},
		{"until cleared", "hold=90s", func(in *Injector, _ context.CancelFunc) { in.Clear("") }, 3 * time.Second, "ok"},
		{"until its kind is cleared", "hold=90s", func(in *Injector, _ context.CancelFunc) { in.Clear("hold") },
			3 * time.Second, "ok"},
		{"not until another kind is", "hold=90s", func(in *Injector, _ context.CancelFunc) { in.Clear("refuse") },
			90 * time.Second, "ok"},
		{"until replaced", "hold=90s", func(in *Injector, _ context.CancelFunc) {
			in.Set(Fault{Kind: "hold", Hold: time.Hour, Share: 1})
		}, 3 * time.Second, "ok"},
		{"until the caller leaves", "hold=90s", func(_ *Injector, leave context.CancelFunc) { leave() }, 3 * time.Second, ""},
		{"until the wave falls", "hold=90s every=10s for=5s", func(*Injector, context.CancelFunc) {}, 5 * time.Second, "ok"},
		{"not beyond its time in the wave", "hold=2s every=10s for=5s", func(*Injector, context.CancelFunc) {},
			2 * time.Second, "ok"},
		{"nobody at share 0", "hold=90s share=0", func(*Injector, context.CancelFunc) {}, 0, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injector(t, tt.line)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				began := time.Now()
				act := time.AfterFunc(3*time.Second, func() { tt.then(in, leave) })
				defer act.Stop()
				got := ask(ctx, in)
				if took := time.Since(began); took != tt.after || got != tt.got {
					t.Errorf("got %q after %v, want %q after %v", got, took, tt.got, tt.after)
				}
			})
		})
	}
}

// A wave strikes those who come while it is up, and nobody while it is down.
func TestHoldSquareWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, "hold=1s every=10s for=5s")
		var held []int
		for second := range 20 {
			began := time.Now()
			ask(t.Context(), in)
			if time.Since(began) > 0 {
				held = append(held, second)
			}
			time.Sleep(time.Second - time.Since(began))
		}
		if want := 10; len(held) != want || held[0] != 0 || held[5] != 10 {
			t.Errorf("held in seconds %v", held)
		}
	})
}

// D9: ten thousand are held, and setting, listing and clearing wait for none of them; cleared, all go at once.
func TestD9TenThousandHeldBlockNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, "hold=90s")
		var answered atomic.Int32
		var wg sync.WaitGroup
		for range 10_000 {
			wg.Go(func() {
				if ask(t.Context(), in) == "ok" {
					answered.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		in.List()
		set(t, in, "refuse share=0")
		if n := answered.Load(); n != 0 {
			t.Errorf("%d answered before the clear", n)
		}
		in.Clear("")
		wg.Wait()
		if took := time.Since(began); took != 0 || answered.Load() != 10_000 {
			t.Errorf("%d answered, %v after the clear", answered.Load(), took)
		}
	})
}

// Faults of two kinds act one after the other, a refusal first: what is refused is not held.
func TestKindsActInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, "hold=90s", "refuse share=1")
		if list := in.List(); len(list) != 2 || list[0].Kind != "refuse" || list[0].Since.IsZero() {
			t.Errorf("in force: %v", list)
		}
		began := time.Now()
		if got := ask(t.Context(), in); got != "" || time.Since(began) != 0 {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
		in.Clear("refuse")
		if got := ask(t.Context(), in); got != "ok" || time.Since(began) != 90*time.Second {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
	})
}

// served is a server behind an Injector, with a client whose connections are kept.
type served struct {
	*Injector
	url    string
	client *http.Client
}

func serve(t *testing.T) served {
	t.Helper()
	in := injector(t)
	l, err := in.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: in.Middleware(ok), ReadHeaderTimeout: time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	in.Guard(server)
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(l) })
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { in.Run(ctx) })
	transport := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		server.Close()
		wg.Wait()
	})
	return served{in, "http://" + l.Addr().String(), &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

func (s served) get() error {
	resp, err := s.client.Get(s.url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// C2: at share 1 nobody gets in, over connections new or kept; cleared, the same address serves again, at once.
func TestC2RefuseIsConnectionRefused(t *testing.T) {
	s := serve(t)
	for range 3 { // the listener goes and comes more than once
		if err := s.get(); err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		set(t, s.Injector, "refuse")
		for range 2 {
			if err := s.get(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("refused: %v, want ECONNREFUSED", err)
			}
		}
		s.Clear("refuse")
	}
}

// A connection that was open and silent when the refusal began gets a reset, not an answer.
func TestRefuseResetsSilentConnections(t *testing.T) {
	s := serve(t)
	conn, err := net.Dial("tcp", s.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.get(); err != nil { // the dialled connection was accepted before this one
		t.Fatal(err)
	}
	set(t, s.Injector, "refuse")
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// Below share 1 the listener stays, and those whom the draw picks are reset before any byte.
func TestRefuseAShareIsReset(t *testing.T) {
	s := serve(t)
	s.client.Transport.(*http.Transport).DisableKeepAlives = true // or net/http repeats what was reset
	set(t, s.Injector, "refuse share=0.5 seed=7")
	want := &strike{Fault: Fault{Share: 0.5, Seed: 7}}
	reset := 0
	for n := range 40 {
		err := s.get()
		if hit := want.hits(time.Now()); hit != (err != nil) {
			t.Errorf("request %d: struck %t, got %v", n, hit, err)
		}
		if err != nil {
			reset++
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("request %d: %v, want ECONNRESET", n, err)
			}
		}
	}
	if reset == 0 || reset == 40 {
		t.Errorf("%d of 40 reset", reset)
	}
}

// A wave of refusals takes the listener away and brings it back, by itself.
func TestRefuseSquareWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t)
		l, err := in.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go in.Run(ctx)
		set(t, in, "refuse every=10s for=4s")
		for second := range 30 {
			time.Sleep(time.Second / 2)
			synctest.Wait()
			there := in.listener.Load().there()
			if want := second%10 >= 4; there != want {
				t.Errorf("second %d: there %t, want %t", second, there, want)
			}
			time.Sleep(time.Second / 2)
		}
		cancel()
	})
}

// When the port is taken while the listener is away, it comes back as soon as the port is free.
func TestReopenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t)
		l, err := in.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go in.Run(ctx)
		set(t, in, "refuse")
		thief, err := net.Listen("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		in.Clear("")
		if in.listener.Load().there() {
			t.Error("two listeners on one port")
		}
		thief.Close()
		time.Sleep(2 * retryOpen)
		synctest.Wait()
		if !in.listener.Load().there() {
			t.Error("did not come back")
		}
	})
}

// Closing ends an Accept that waits for a refusal to end.
func TestCloseWhileAway(t *testing.T) {
	in := injector(t, "refuse")
	l, err := in.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { _, err := l.Accept(); got <- err }()
	l.Close()
	if err := <-got; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	in.Clear("")
	if in.listener.Load().there() {
		t.Error("a closed listener came back")
	}
}

// there tells whether connections are accepted now.
func (l *Listener) there() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil
}
