package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// composed is a shop in containers as a load test drives it: somebody else's to start and to stop. The ports of a
// container change when it is started again, so they are asked for anew. It is a loadtest.Shop.
type composed struct {
	front string // base URL of what answers in the name of several replicas
	group *errgroup.Group
	stop  context.CancelFunc

	mu sync.RWMutex
	at addresses
}

// openComposed returns the shop that is up.
func openComposed(ctx context.Context) (*composed, error) {
	at, err := compose(ctx)
	if err != nil {
		return nil, err
	}
	return openComposedAt(ctx, at)
}

func openComposedAt(ctx context.Context, at addresses) (*composed, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx)) // Close, not the caller's patience, ends it
	group, life := errgroup.WithContext(life)
	shop := &composed{front: "http://" + l.Addr().String(), group: group, stop: stop, at: at}
	serveUntil(life, group, l, shop.admin)
	return shop, nil
}

func (s *composed) of(service string) address {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.at[service]
}

// look asks the engine anew where the services are. Where one is not to be found, all stay where they were.
func (s *composed) look(ctx context.Context) error {
	at, err := compose(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	return nil
}

func (s *composed) Public(service string) string { return s.of(service).Public }

// Admin is the service's own, or for one that was scaled an address that tells all replicas what it is told.
func (s *composed) Admin(service string) string {
	at := s.of(service)
	if len(at.others) > 0 {
		return s.front + "/" + service
	}
	return at.Admin
}

// admin answers for the replicas of the service that the path begins with.
func (s *composed) admin(w http.ResponseWriter, r *http.Request) {
	service, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	http.StripPrefix("/"+service, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admins := s.of(service).admins()
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/admin/state":
			readStates(w, r, admins)
		case r.Method == http.MethodGet:
			askAdmins(w, r, admins[:1])
		default:
			askAdmins(w, r, admins)
		}
	})).ServeHTTP(w, r)
}

// Restart lets the engine restart a service's containers and returns when they are ready.
func (s *composed) Restart(ctx context.Context, service string) error {
	if _, err := dockerCompose(ctx, "restart", service); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	if err := s.look(ctx); err != nil {
		return err
	}
	for _, admin := range s.of(service).admins() {
		for !ready(ctx, admin) {
			select {
			case <-poll.C:
			case <-ctx.Done():
				return fmt.Errorf("%s is not ready after %v: ask %s/readyz why", service, startWait, admin)
			}
		}
	}
	return nil
}

// Close stops what answers in the name of others. The shop goes on.
func (s *composed) Close(context.Context) error {
	s.stop()
	if err := s.group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
