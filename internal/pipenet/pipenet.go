// Package pipenet is a network in memory: net.Listener on one side, DialContext on the other. A loopback socket hangs
// a testing/synctest bubble, since the kernel is outside of it; over a pipe a real http.Server and a real client work
// in fake time.
package pipenet

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Network is a set of listeners by address. The zero value has none.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

// Listen returns a listener on addr, "catalogue:80" for instance, of which there may be one at a time. Connections
// are not queued: a dial waits for an Accept, as one into a full backlog does.
func (n *Network) Listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, &net.OpError{Op: "listen", Net: "pipe", Addr: address(addr), Err: syscall.EADDRINUSE}
	}
	if n.listeners == nil {
		n.listeners = make(map[string]*listener)
	}
	l := &listener{network: n, addr: address(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// DialContext connects to the listener on addr; without one the connection is refused. It is an
// http.Transport.DialContext.
func (n *Network) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	failed := func(err error) error { return &net.OpError{Op: "dial", Net: "pipe", Addr: address(addr), Err: err} }
	if l == nil {
		return nil, failed(syscall.ECONNREFUSED)
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, failed(syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, failed(ctx.Err())
	}
}

type listener struct {
	network *Network
	addr    address
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "pipe", Addr: l.addr, Err: net.ErrClosed}
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.listeners, string(l.addr))
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }
