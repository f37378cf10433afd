package resilience

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A body of just MaxBody is read whole; one byte more is a failure, and what was read before is there.
func TestMaxBody(t *testing.T) {
	const most = 1000
	cases := map[string]struct {
		size    int
		chunked bool
		outcome Outcome
	}{
		"empty":            {0, false, Success},
		"one less":         {most - 1, false, Success},
		"just as much":     {most, false, Success},
		"as much, chunked": {most, true, Success},
		"one more":         {most + 1, false, Failure},
		"more, chunked":    {most + 1, true, Failure},
		"far more":         {1 << 20, true, Failure},
	}
	for name, c := range cases {
		for _, way := range []string{"joined", "alone"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := steady()
					p.MaxBody = most
					p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
						if c.chunked {
							w.(http.Flusher).Flush()
						}
						io.WriteString(w, strings.Repeat("x", c.size))
					})
					e := endpoint(t, p)
					body, err := fetch(t.Context(), e)
					if way == "joined" {
						body, err = Call(t.Context(), e, func(ctx context.Context) (string, error) { return fetch(ctx, e) })
					}
					wantOutcome(t, err, c.outcome)
					if len(body) != min(c.size, most) {
						t.Errorf("%d bytes read, want %d", len(body), min(c.size, most))
					}
					if tooLarge := errors.Is(err, errBodyTooLarge); tooLarge != (c.outcome == Failure) {
						t.Errorf("error %v", err)
					}
				})
			})
		}
	}
}

// Reading on after the end tells the same again.
func TestReadingOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.MaxBody = 3
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", len(r.URL.Path))) })
		e := endpoint(t, p)
		for path, want := range map[string]error{"/": io.EOF, "/long": errBodyTooLarge} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://dep"+path, nil)
			resp, err := e.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			for range 3 {
				if n, err := resp.Body.Read(make([]byte, 10)); n != 0 || !errors.Is(err, want) {
					t.Errorf("%s: read on: %d, %v", path, n, err)
				}
			}
			resp.Body.Close()
			if n, err := resp.Body.Read(make([]byte, 10)); n != 0 || err == nil {
				t.Errorf("%s: read after Close: %d, %v", path, n, err)
			}
		}
	})
}

// Closing early ends the call as its caller wants it: what was read was enough.
func TestEarlyClose(t *testing.T) {
	cases := map[string]struct {
		status  int
		read    int64
		outcome Outcome
	}{
		"unread":            {200, 0, Success},
		"half read":         {200, 100, Success},
		"404":               {404, 0, Success},
		"503, all the same": {503, 0, Failure},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := steady()
				p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(c.status)
					io.WriteString(w, strings.Repeat("x", 200))
					w.(http.Flusher).Flush()
					<-r.Context().Done() // and never ends
				})
				e := endpoint(t, p)
				start := time.Now()
				resp, err := get(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				io.CopyN(io.Discard, resp.Body, c.read)
				resp.Body.Close()
				wantTook(t, start, drainTime) // it does not wait for the rest
				wantInUse(t, e, 0)
				wantOutcomes(t, e, map[Outcome]int{c.outcome: 1})
			})
		})
	}
}

// Closing while another goroutine reads ends the read, as it does with any response.
func TestCloseWhileReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Timeout = time.Minute
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		e := endpoint(t, p)
		resp, err := get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := io.ReadAll(resp.Body)
			read <- err
		}()
		synctest.Wait()
		start := time.Now()
		resp.Body.Close()
		if err := <-read; err == nil {
			t.Error("the read ended well")
		}
		wantTook(t, start, 0)
		wantInUse(t, e, 0)
		wantOutcomes(t, e, map[Outcome]int{Success: 1})
	})
}

// A body held open while others call costs its own slot and nothing else.
func TestBodyHeldOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Slots = 2
		p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "body") })
		e := endpoint(t, p)
		held, err := get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			wantOutcome(t, single(t.Context(), e), Success)
		}
		wantInUse(t, e, 1)
		if body, err := io.ReadAll(held.Body); string(body) != "body" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		held.Body.Close()
		wantInUse(t, e, 0)
	})
}

// A server that never reads the request's body holds a call no longer than its time.
func TestRequestBodyNeverRead(t *testing.T) {
	for name, answers := range map[string]bool{"and no answer": false, "and an answer": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				p := steady()
				p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) {
					if answers {
						w.WriteHeader(http.StatusNoContent)
						return
					}
					<-release // it is not told of a client that leaves while the body is unread
				})
				e := endpoint(t, p)
				start := time.Now()
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://dep/", strings.NewReader(strings.Repeat("x", 1<<20)))
				resp, err := e.Client().Do(r)
				if answers {
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				} else {
					wantOutcome(t, err, Timeout)
					wantTook(t, start, p.Timeout)
				}
				wantInUse(t, e, 0)
				close(release)
			})
		})
	}
}

// A call that is refused closes the request's body, as a RoundTripper must.
func TestRefusedRequestIsClosed(t *testing.T) {
	e := endpoint(t, Policy{Timeout: time.Second, Slots: 1, Transport: http.NewFileTransport(http.Dir("."))})
	e.dep.slots.take()
	body := &closing{Reader: strings.NewReader("x")}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://dep/", body)
	_, err := e.Client().Do(r)
	wantOutcome(t, err, Rejected)
	if !body.closed {
		t.Error("the body is still open")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// An answer of 200 that does not decode is a failure if its client joined a call, and answered by the fallback.
func TestUndecodableAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := breaking()
		p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"related": oops}`) })
		e := endpoint(t, p)
		for range 4 {
			v, err := Call(t.Context(), e, func(ctx context.Context) (string, error) {
				resp, err := get(ctx, e)
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				var answer struct{ Related string }
				return answer.Related, json.NewDecoder(resp.Body).Decode(&answer)
			}, FallbackTo("none"))
			if v != "none" || err != nil {
				t.Errorf("%q, %v", v, err)
			}
		}
		wantBreaker(t, e, "open")
		wantOutcomes(t, e, map[Outcome]int{Failure: 4})
	})
}

// Inside a call of its own endpoint a request takes no slot and makes no outcome; of another endpoint it does.
func TestJoining(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Slots = 2
		p.Transport = serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "body") })
		e := endpoint(t, p)
		other := e.dep.Endpoint("other")
		_, err := Call(t.Context(), e, func(ctx context.Context) (int, error) {
			for range 3 {
				wantOutcome(t, single(ctx, e), Success)
				wantInUse(t, e, 1)
			}
			resp, err := get(ctx, other)
			if err != nil {
				return 0, err
			}
			wantInUse(t, e, 2)
			return 0, resp.Body.Close()
		})
		wantOutcome(t, err, Success)
		wantOutcomes(t, e, map[Outcome]int{Success: 1})
		wantOutcomes(t, other, map[Outcome]int{Success: 1})
	})
}

// A request whose context has been detached from the call, or has outlived it, is a call of its own: bounded, and with
// a slot.
func TestDetachedRequestsDoNotJoin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Transport = serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		e := endpoint(t, p)
		var kept context.Context
		Call(t.Context(), e, func(ctx context.Context) (int, error) {
			kept = context.WithoutCancel(ctx)
			start := time.Now()
			go time.AfterFunc(time.Millisecond, func() { wantInUse(t, e, 2) })
			wantOutcome(t, single(kept, e), Timeout)
			wantTook(t, start, p.Timeout)
			return 1, nil
		})
		wantInUse(t, e, 0)
		start := time.Now()
		wantOutcome(t, single(kept, e), Timeout)
		wantTook(t, start, p.Timeout)
	})
}

// A dependency is one destination: it cannot send its caller elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := steady()
		p.Transport = serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				t.Errorf("followed to %s", r.URL.Path)
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		})
		resp, err := get(t.Context(), endpoint(t, p))
		if err != nil || resp.StatusCode != http.StatusFound {
			t.Fatalf("%v, %v", resp, err)
		}
		resp.Body.Close()
	})
}

// A dependency has connections of its own, bounded as its policy says.
func TestOwnTransport(t *testing.T) {
	d, err := New("dep", Policy{Timeout: time.Second, ConnectTimeout: 50 * time.Millisecond, Slots: 7})
	if err != nil {
		t.Fatal(err)
	}
	own := func() *http.Transport { return d.policy.Load().transport.(*http.Transport) }
	first := own()
	if first.MaxIdleConnsPerHost != 7 || first.TLSHandshakeTimeout != 50*time.Millisecond || first.IdleConnTimeout != time.Minute {
		t.Errorf("%+v", first)
	}
	apply := func(p Policy) {
		t.Helper()
		if err := d.Apply(p); err != nil {
			t.Fatal(err)
		}
	}
	apply(Policy{Timeout: 2 * time.Second, ConnectTimeout: 50 * time.Millisecond, Slots: 7})
	if own() != first {
		t.Error("connections are thrown away where nothing about them has changed")
	}
	apply(Policy{Timeout: Unbounded, Slots: Unlimited})
	if got := own(); got == first || got.MaxIdleConnsPerHost != 100 || got.TLSHandshakeTimeout != 30*time.Second {
		t.Errorf("%+v", got)
	}
	shared := &http.Transport{}
	apply(Policy{Timeout: time.Second, Slots: 7, Transport: shared})
	if own() != shared {
		t.Error("the policy's transport is not used")
	}
	apply(Policy{Timeout: time.Second, Slots: 7})
	if own() == shared {
		t.Error("the shared transport is still used")
	}
}

// closable is a transport that notes that its idle connections were closed.
type closable struct {
	http.RoundTripper
	closed bool
}

func (c *closable) CloseIdleConnections() { c.closed = true }

// A client that is done with its dependency can let its connections go.
func TestIdleConnectionsCanBeClosed(t *testing.T) {
	transport := &closable{}
	p := steady()
	p.Transport = transport
	endpoint(t, p).Client().CloseIdleConnections()
	if !transport.closed {
		t.Error("they stay open")
	}
}
