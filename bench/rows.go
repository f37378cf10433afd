package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/sony/gobreaker/v2"
	zero "github.com/zeromicro/go-zero/core/breaker"

	"example.com/holdfast/pkg/resilience"
)

const slots = 100

var errDown = errors.New("down")

// guard is one means of guarding a call of fn: its error tells whether it was let through.
type guard func(fn func(context.Context) (int, error)) error

func work(context.Context) (int, error) { return 42, nil }

func allRows(ctx context.Context) ([]row, error) {
	var rows []row
	means := []struct {
		name string
		make func(ctx context.Context, slots int, open bool) (guard, error)
	}{
		{"failsafe-go", newFailsafe},
		{"holdfast", newHoldfast},
		{"hystrix-go", newHystrix},
		{"go-zero breaker", newZero},
		{"bare parts", newParts},
	}
	for _, m := range means {
		call, err := m.make(ctx, slots, false)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"success", m.name, serial(call, true)}, row{"success, parallel", m.name, parallel(call)})
	}
	for _, m := range means {
		if m.name == "go-zero breaker" {
			continue // it has no slots, and opens by chance
		}
		full, err := m.make(ctx, 1, false)
		if err != nil {
			return nil, err
		}
		occupy(full)
		open, err := m.make(ctx, slots, true)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"rejected", m.name, serial(full, false)}, row{"open", m.name, serial(open, false)})
	}
	get, err := getRows(ctx)
	return append(rows, get...), err
}

func serial(call guard, success bool) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := call(work); (err == nil) != success {
				b.Fatalf("error %v, want success %v", err, success)
			}
		}
	}
}

func parallel(call guard) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := call(work); err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// occupy takes a guard's only slot for as long as the program runs.
func occupy(call guard) {
	in := make(chan struct{})
	go func() {
		_ = call(func(context.Context) (int, error) { close(in); select {} })
	}()
	<-in
}

func newHoldfast(ctx context.Context, slots int, open bool) (guard, error) {
	dep, err := resilience.New("dependency", resilience.Policy{
		Timeout: time.Hour, Slots: slots,
		Breaker: resilience.Breaker{
			TimeoutRate: 0.5, FailureRate: 0.5, MinRequests: 20, Window: 3 * time.Hour, Cooldown: time.Hour,
		},
	})
	if err != nil {
		return nil, err
	}
	endpoint := dep.Endpoint("get")
	call := func(fn func(context.Context) (int, error)) error {
		_, err := resilience.Call(ctx, endpoint, fn)
		return err
	}
	return opened(call, open)
}

// opened fails a call until its breaker opens.
func opened(call guard, open bool) (guard, error) {
	for range 100 {
		if !open {
			return call, nil
		}
		ran := false
		_ = call(func(context.Context) (int, error) { ran = true; return 0, errDown })
		open = ran
	}
	return nil, errors.New("a breaker did not open")
}

func newFailsafe(ctx context.Context, slots int, open bool) (guard, error) {
	executor := failsafe.With[int](
		bulkhead.New[int](uint(slots)),
		circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 20, 10*time.Second).WithDelay(time.Hour).Build(),
		timeout.New[int](time.Hour),
	).WithContext(ctx)
	call := func(fn func(context.Context) (int, error)) error {
		_, err := executor.GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return fn(e.Context()) })
		return err
	}
	return opened(call, open)
}

var commands atomic.Int64

func newHystrix(ctx context.Context, slots int, open bool) (guard, error) {
	name := fmt.Sprint("command", commands.Add(1))
	if slots > 1 {
		slots *= 100 // it gives a ticket back in its own time: a tight loop runs ahead of it
	}
	hystrix.ConfigureCommand(name, hystrix.CommandConfig{
		Timeout: int(time.Hour / time.Millisecond), MaxConcurrentRequests: slots, RequestVolumeThreshold: 20,
		SleepWindow: int(time.Hour / time.Millisecond), ErrorPercentThreshold: 50,
	})
	call := func(fn func(context.Context) (int, error)) error {
		return hystrix.DoC(ctx, name, func(ctx context.Context) error { _, err := fn(ctx); return err }, nil)
	}
	if !open {
		return call, nil
	}
	// Its results are counted by a goroutine, in its own time.
	for range 1000 {
		if guarded, err := opened(call, true); err == nil {
			return guarded, nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, errors.New("hystrix did not open")
}

func newZero(ctx context.Context, _ int, _ bool) (guard, error) {
	b := zero.NewBreaker()
	return func(fn func(context.Context) (int, error)) error {
		return b.DoCtx(ctx, func() error { _, err := fn(ctx); return err })
	}, nil
}

// newParts is the least that the same promises can be made of: a deadline context, an atomic counter, gobreaker.
func newParts(ctx context.Context, slots int, open bool) (guard, error) {
	var inUse atomic.Int64
	breaker := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{
		Timeout:     time.Hour,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.TotalFailures >= 20 },
	})
	call := func(fn func(context.Context) (int, error)) error {
		defer inUse.Add(-1)
		if inUse.Add(1) > int64(slots) {
			return errDown
		}
		done, err := breaker.Allow()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_, err = fn(ctx)
		done(err)
		return err
	}
	return opened(call, open)
}

// getRows measures a guarded GET over loopback beside the same GET with a client that has a timeout and no more.
func getRows(ctx context.Context) ([]row, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"related":[]}`) })}
	go server.Serve(listener) // as long as the program runs
	dep, err := resilience.New("dependency", resilience.Policy{
		Timeout: time.Minute, Slots: slots,
		Breaker: resilience.Breaker{TimeoutRate: 0.5, MinRequests: 20, Window: 3 * time.Minute, Cooldown: time.Second},
	})
	if err != nil {
		return nil, err
	}
	endpoint := dep.Endpoint("get")
	bare := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: slots}}
	url := "http://" + listener.Addr().String()
	get := func(client *http.Client) func(ctx context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return 0, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, resp.Body)
			return int(n), err
		}
	}
	bareGet, joined, alone := get(bare), get(endpoint.Client()), get(endpoint.Client())
	bench := func(fn func() error) func(b *testing.B) {
		return serial(func(func(context.Context) (int, error)) error { return fn() }, true)
	}
	return []row{
		{"loopback GET", "bare", bench(func() error { _, err := bareGet(ctx); return err })},
		{"loopback GET", "holdfast, in a Call", bench(func() error { _, err := resilience.Call(ctx, endpoint, joined); return err })},
		{"loopback GET", "holdfast, Client alone", bench(func() error { _, err := alone(ctx); return err })},
	}, nil
}
