package fault

import (
	"context"
	"net"
	"sync"
)

// Listener is a TCP listener that can go away and come back on the same address. Accept waits while it is away.
type Listener struct {
	addr  net.Addr
	conns sync.Map // remote address (string) → *net.TCPConn: by it a request finds the connection under it

	mu      sync.Mutex
	current net.Listener  // nil while away
	back    chan struct{} // closed when current is there again, or the listener closed for good
	closed  bool
}

func listen(ctx context.Context, addr string) (*Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Listener{addr: l.Addr(), current: l}, nil
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		current, back, closed := l.current, l.back, l.closed
		l.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if current == nil {
			<-back
			continue
		}
		c, err := current.Accept()
		if err != nil {
			if l.left(current) {
				continue
			}
			return nil, err
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, nil
		}
		remote := c.RemoteAddr().String()
		l.conns.Store(remote, tcp)
		return &conn{TCPConn: tcp, forget: func() { l.conns.CompareAndDelete(remote, tcp) }}, nil
	}
}

// left tells whether the listener has gone away from that one since, so that its error means nothing.
func (l *Listener) left(from net.Listener) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != from
}

// Addr is the address that was opened first: after ":0" the port that came of it.
func (l *Listener) Addr() net.Addr { return l.addr }

// Close closes the listener for good.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.current == nil {
		close(l.back)
		return nil
	}
	err := l.current.Close()
	l.current = nil
	return err
}

// shut goes away, until reopen; it tells whether the listener was there.
func (l *Listener) shut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return false
	}
	l.current.Close() // whatever it says, no more is accepted
	l.current, l.back = nil, make(chan struct{})
	return true
}

// reopen comes back; it tells whether the listener was away.
func (l *Listener) reopen() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil || l.closed {
		return false, nil
	}
	var lc net.ListenConfig
	current, err := lc.Listen(context.Background(), "tcp", l.addr.String()) // a bind does not wait
	if err != nil {
		return false, err
	}
	l.current = current
	close(l.back)
	return true, nil
}

// linger makes the close of the connection from that address a reset.
func (l *Listener) linger(remote string) {
	if c, ok := l.conns.Load(remote); ok {
		_ = c.(*net.TCPConn).SetLinger(0) // fails only on a connection that is gone, and then nobody is there to be reset
	}
}

// conn is a connection that its listener knows until it closes.
type conn struct {
	*net.TCPConn
	forget func()
}

func (c *conn) Close() error {
	c.forget()
	return c.TCPConn.Close()
}
