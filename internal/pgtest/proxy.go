package pgtest

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
)

// Proxy is the network between a client and a database, to be broken by a test.
type Proxy struct {
	url      string
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	serving  sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]bool
	up, down chan struct{} // to the database and back; what is not closed holds everything
	refuse   bool
	trap     *trap // nil: none
}

// trap is what is waited for in what clients send.
type trap struct {
	text   string // in lower case
	before bool   // what has the text is held too, else only what comes back
	sprung chan struct{}
}

// NewProxy returns a proxy to the database at target that passes everything on. It ends with t.
func NewProxy(t TB, target string) *Proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal("pgtest: ", err)
	}
	network, address := "tcp", to.Host
	if folder := to.Query().Get("host"); folder != "" {
		network, address = "unix", folder+"/.s.PGSQL.5432"
	}
	p := &Proxy{conns: map[net.Conn]bool{}, up: open(), down: open()}
	//unbounded:allow dial "a database of this machine, for tests"
	p.dial = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, address) }
	ctx, cancel := context.WithCancel(context.Background()) // ended by Cleanup: it outlives the test's own context
	if p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal("pgtest: ", err)
	}
	query := to.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	to.Host, to.RawQuery = p.listener.Addr().String(), query.Encode()
	p.url = to.String()
	p.serving.Go(func() { p.serve(ctx) })
	t.Cleanup(func() {
		cancel()
		_ = p.listener.Close()
		p.Cut()
		p.Pass()
		p.serving.Wait()
	})
	return p
}

// URL is the database's address through the proxy.
func (p *Proxy) URL() string { return p.url }

// Hold makes the database a frozen one: connections are accepted, and nothing comes back.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	shut(&p.up)
	shut(&p.down)
}

// Gone makes the database one whose server has died: connections break, new ones are turned away.
func (p *Proxy) Gone() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Cut()
}

// Pass ends Hold, Gone and Trap. What was held arrives now.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse, p.trap = false, nil
	for _, way := range []chan struct{}{p.up, p.down} {
		if !isOpen(way) {
			close(way)
		}
	}
}

func open() chan struct{} {
	way := make(chan struct{})
	close(way)
	return way
}

func isOpen(way chan struct{}) bool {
	select {
	case <-way:
		return true
	default:
		return false
	}
}

func shut(way *chan struct{}) {
	if isOpen(*way) {
		*way = make(chan struct{})
	}
}

// Cut breaks every connection that there is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// TrapBefore is Hold from when a client sends text, which does not arrive. The channel is closed then.
func (p *Proxy) TrapBefore(text string) <-chan struct{} { return p.lay(text, true) }

// TrapAfter is as TrapBefore, but text arrives: the database does what it says, and no one learns of it.
func (p *Proxy) TrapAfter(text string) <-chan struct{} { return p.lay(text, false) }

func (p *Proxy) lay(text string, before bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trap = &trap{strings.ToLower(text), before, make(chan struct{})}
	return p.trap.sprung
}

func (p *Proxy) serve(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.serving.Go(func() { p.carry(ctx, client) })
	}
}

// carry passes on what one connection says, either way, until an end of it closes.
func (p *Proxy) carry(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	if !p.keep(client) {
		return
	}
	defer p.forget(client)
	server, err := p.dial(ctx)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.forget(server)
	defer func() { _ = server.Close() }()

	var back sync.WaitGroup
	back.Go(func() {
		p.pass(client, server, false)
		_ = client.Close()
	})
	p.pass(server, client, true)
	_ = server.Close()
	back.Wait()
}

// keep notes a connection that Cut breaks, and refuses one while the database is gone.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// pass copies until one of the two ends, and waits while its way is shut.
func (p *Proxy) pass(to io.Writer, from io.Reader, up bool) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			way, done := p.way(chunk[:n], up)
			<-way
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
			done()
		}
		if err != nil {
			return
		}
	}
}

// way returns what to wait for before a chunk is passed on, and what to do when it has been. It springs the trap if
// the chunk has its text: what must not come back is held before anything is passed on that it could answer.
func (p *Proxy) way(chunk []byte, up bool) (way <-chan struct{}, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !up {
		return p.down, func() {}
	}
	t := p.trap
	if t == nil || !strings.Contains(strings.ToLower(string(chunk)), t.text) {
		return p.up, func() {}
	}
	p.trap = nil
	shut(&p.down)
	if t.before {
		shut(&p.up)
		close(t.sprung)
		return p.up, func() {}
	}
	return p.up, func() { close(t.sprung) }
}
