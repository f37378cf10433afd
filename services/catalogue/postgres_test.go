package catalogue

import (
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/service"
)

// A database gets the books of the program once. A price that its owner changes is seen with the next copy; and while
// the database is away, the copy before is served.
func TestBooksOfADatabase(t *testing.T) {
	at := database.Copy(t)
	network := pgtest.NewProxy(t, at)
	cfg := Config{Config: service.Defaults("catalogue"), DatabaseURL: network.URL()}
	cfg.Addr, cfg.AdminAddr, cfg.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", 0
	cfg.RecommendationsURL = addresses(t, "http://127.0.0.1:1")
	cfg.CurrencyURL = addresses(t, "http://127.0.0.1:1")
	open := func() *shop {
		t.Helper()
		c, err := service.New("catalogue", cfg.Config, service.LogTo(io.Discard), service.AnnounceTo(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, s) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return &shop{Service: s}
	}
	wantPrice := func(s *shop, want string) {
		t.Helper()
		if got := s.get(t, "/books/moby-dick").Book.Price.Number; got != want {
			t.Errorf("price %s, want %s", got, want)
		}
	}

	first := open()
	all := first.get(t, "/books").Total
	if books, err := firstBooks(); err != nil || all != len(books) {
		t.Fatalf("%d books, want %d (%v)", all, len(books), err)
	}
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `update books set price_cents = 4321 where id = 'moby-dick'`); err != nil {
		t.Fatal(err)
	}
	if err := first.copyStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantPrice(first, "43.21")
	wantPrice(open(), "43.21") // another start has seeded nothing

	network.Gone()
	if err := first.copyStore(t.Context()); err == nil {
		t.Error("a copy of a database that is gone")
	}
	wantPrice(first, "43.21")
}
