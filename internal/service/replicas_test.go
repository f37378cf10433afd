package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

func addressesOf(t *testing.T, list string) *Addresses {
	t.Helper()
	a, err := ParseAddresses(list)
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

func TestACallGoesToTheReplicaWithTheFewestUnderWay(t *testing.T) {
	rs := addressesOf(t, "http://a:1,http://b:1,http://c:1").replicas
	var order []string
	take := func() *replica {
		r := rs.take()
		order = append(order, r.base.Host[:1])
		return r
	}
	slow := take() // a, for the whole test
	for range 4 {  // one after the other: b and c in turn
		take().giveBack(t.Context(), nil)
	}
	take()
	take() // b and c have one under way, too
	take()
	slow.giveBack(t.Context(), nil)
	if got := strings.Join(order, ""); got != "abcbcbca" {
		t.Errorf("taken in the order %s", got)
	}
}

func TestWhatLeavesAReplicaOut(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	broken := errors.New("connection reset")
	tests := []struct {
		name  string
		ctx   context.Context
		calls []error
		out   bool
	}{
		{"three failures", t.Context(), []error{broken, broken, broken}, true},
		{"three timeouts", late, []error{context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded}, true},
		{"three 503", t.Context(), []error{refused(503), refused(503), refused(503)}, true},
		{"three 429", t.Context(), []error{refused(429), refused(429), refused(429)}, true},
		{"two failures", t.Context(), []error{broken, broken}, false},
		{"an answer between", t.Context(), []error{broken, broken, nil, broken, broken}, false},
		{"404 is an answer", t.Context(), []error{broken, broken, refused(404), broken}, false},
		{"the caller left", left, []error{context.Canceled, context.Canceled, context.Canceled}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs := addressesOf(t, "http://a:1,http://b:1").replicas
			for _, err := range tt.calls {
				a := rs.all[0]
				a.inFlight++
				a.giveBack(tt.ctx, err)
			}
			if _, out := rs.count(); (out == 1) != tt.out {
				t.Errorf("%d left out", out)
			}
			if rs.take(); tt.out && rs.all[0].inFlight != 0 {
				t.Error("it is given a call all the same")
			}
		})
	}
}

func refused(status int) error { return resilience.Expected(&problem.Problem{Status: status}) }

// Where all fail the trouble is elsewhere: half of them stay, and one alone does.
func TestAtMostHalfAreLeftOut(t *testing.T) {
	for list, want := range map[string]int{"http://a": 0, "http://a,http://b": 1, "http://a,http://b,http://c": 1,
		"http://a,http://b,http://c,http://d": 2} {
		rs := addressesOf(t, list).replicas
		for range 50 {
			rs.take().giveBack(t.Context(), errors.New("broken"))
		}
		if _, out := rs.count(); out != want {
			t.Errorf("%s: %d left out, want %d", list, out, want)
		}
	}
}

func TestNamesAreLookedUpAgain(t *testing.T) {
	a := addressesOf(t, "http://catalogue:8081/under,http://127.0.0.1:9,https://far:1")
	var answer []netip.Addr
	var broken error
	find := func(ips ...string) string {
		answer = nil
		for _, ip := range ips {
			answer = append(answer, netip.MustParseAddr(ip))
		}
		a.find(t.Context(), func(_ context.Context, network, host string) ([]netip.Addr, error) {
			if host != "catalogue" {
				t.Errorf("looked %s up", host)
			}
			if network == "ip6" && len(ips) > 0 && !answer[0].Is6() || network == "ip4" && len(ips) > 0 && answer[0].Is6() {
				return nil, errors.New("no such host")
			}
			return answer, broken
		})
		var at []string
		for _, r := range a.replicas.all {
			at = append(at, strings.TrimPrefix(join(r.base, "/"), "http://"))
		}
		return strings.Join(at, " ")
	}
	const others = " 127.0.0.1:9/ https://far:1/"
	three := "10.0.0.1:8081/under/ 10.0.0.2:8081/under/ 10.0.0.3:8081/under/" + others
	for _, step := range []struct {
		ips    []string
		broken error
		want   string
	}{
		{[]string{"10.0.0.1"}, nil, "catalogue:8081/under/" + others}, // the dialler finds it
		{[]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, nil, three},
		{nil, errors.New("the name server is down"), three},
		{nil, nil, three},
		{[]string{"10.0.0.2", "10.0.0.4"}, nil, "10.0.0.2:8081/under/ 10.0.0.4:8081/under/" + others},
		{[]string{"fd00::1", "fd00::2"}, nil, "[fd00::1]:8081/under/ [fd00::2]:8081/under/" + others},
	} {
		broken = step.broken
		if got := find(step.ips...); got != step.want {
			t.Errorf("%v: %s, want %s", step.ips, got, step.want)
		}
	}
	if host := a.replicas.all[0].host; host != "catalogue:8081" {
		t.Errorf("the Host of a request would be %q", host)
	}
}

// A replica that stays keeps what is known of it; of those that remain, no more than half are left out.
func TestReplicasThatStayAreRemembered(t *testing.T) {
	a := addressesOf(t, "http://catalogue:1")
	look := func(ips ...string) {
		a.find(t.Context(), func(context.Context, string, string) (at []netip.Addr, _ error) {
			for _, ip := range ips {
				at = append(at, netip.MustParseAddr(ip))
			}
			return at, nil
		})
	}
	look("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
	for _, r := range a.replicas.all[:2] {
		for range leftOutAfter {
			r.inFlight++
			r.giveBack(t.Context(), errors.New("broken"))
		}
	}
	for _, step := range []struct {
		ips       []string
		all, left int
	}{
		{[]string{"10.0.0.4", "10.0.0.3", "10.0.0.2", "10.0.0.1"}, 4, 2},
		{[]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, 3, 1},
		{[]string{"10.0.0.7", "10.0.0.8"}, 2, 0},
	} {
		look(step.ips...)
		if all, out := a.replicas.count(); all != step.all || out != step.left {
			t.Errorf("%v: %d replicas, %d left out, want %d and %d", step.ips, all, out, step.all, step.left)
		}
	}
}

// C11: one replica of three that hangs costs the calls that it holds, and no more; when it answers again it is used again.
func TestC11OneReplicaOfThree(t *testing.T) {
	var frozen atomic.Bool
	frozen.Store(true)
	var asked [3]atomic.Int32
	var urls []string
	for i := range asked {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i == 0 && frozen.Load() {
				<-r.Context().Done()
				return
			}
			if r.URL.Path != HealthPath {
				asked[i].Add(1)
			}
			fmt.Fprint(w, `{"base":"USD"}`)
		}))
		t.Cleanup(server.Close)
		urls = append(urls, server.URL)
	}
	to := addressesOf(t, strings.Join(urls, ","))
	e := endpoint(t, func(p *resilience.Policy) { p.Timeout = 200 * time.Millisecond })
	c, log, _ := chassis(t, testConfig())

	var failed atomic.Int32
	load := func() {
		var people sync.WaitGroup
		for range 4 {
			people.Go(func() {
				for range 100 {
					if _, err := GetJSON[rates](t.Context(), e, to, "/rates"); err != nil {
						failed.Add(1)
					}
				}
			})
		}
		people.Wait()
	}
	load()
	if n := failed.Load(); n < leftOutAfter || n > leftOutAfter+3 { // four people can find it at once
		t.Errorf("%d of 400 calls failed", n)
	}
	if _, out := to.replicas.count(); out != 1 {
		t.Fatalf("%d left out", out)
	}

	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	silent := to.replicas.silent()[0]
	c.ask(short, "currency", silent)
	c.ask(short, "currency", silent)
	if n := strings.Count(log.String(), "replica left out"); n != 1 {
		t.Errorf("told %d times that it is left out", n)
	}
	frozen.Store(false)
	c.ask(t.Context(), "currency", silent)
	failed.Store(0)
	load()
	if n := asked[0].Load(); failed.Load() != 0 || n < 50 {
		t.Errorf("answering again, it was asked %d times of 400, and %d failed", n, failed.Load())
	}
}
