package recommendations

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/holdfast/internal/pgtest"
	"example.com/holdfast/internal/service"
)

// Instances that start at once on an empty database recommend the same, and the same as one without a database; and
// they go on when it freezes.
func TestADatabaseIsNeededAtTheStartOnly(t *testing.T) {
	var empty pgtest.Template
	network := pgtest.NewProxy(t, empty.Copy(t))
	var instances [2]*Service
	var starting sync.WaitGroup
	for i := range instances {
		cfg := Config{Config: service.Defaults("recommendations"), DatabaseURL: network.URL()}
		cfg.Addr, cfg.AdminAddr, cfg.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", 0
		c, err := service.New("recommendations", cfg.Config, service.AnnounceTo(io.Discard), service.LogTo(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		starting.Go(func() {
			s, err := New(cfg, c)
			if err != nil {
				t.Error(err)
				return
			}
			instances[i] = s
		})
	}
	starting.Wait()
	if t.Failed() {
		return
	}
	for _, s := range instances {
		runUntilTheEnd(t, s)
	}

	network.Hold()
	defer network.Pass()
	want, _ := open(t, 0)
	for _, s := range instances {
		if diff := cmp.Diff(want.related, s.related); diff != "" {
			t.Errorf("related (-in memory +from the database)\n%s", diff)
		}
		if w := get(t, s, "/related/moby-dick"); w.Code != http.StatusOK {
			t.Errorf("frozen: %d %s", w.Code, w.Body)
		}
	}
}

// runUntilTheEnd runs a service, and closes its connections, when the test ends.
func runUntilTheEnd(t *testing.T, s *Service) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.chassis.Run(ctx, s) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
