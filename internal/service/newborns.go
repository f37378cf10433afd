package service

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// newborns are the connections that have not sent a request yet. A client's pool keeps such connections (it dialled,
// and then another became free), and Shutdown would give each of them five seconds.
type newborns struct{ conns sync.Map } // of net.Conn

// newbornGrace is how long a connection may be silent once the service stops.
const newbornGrace = 250 * time.Millisecond

// track is an http.Server's ConnState.
func (n *newborns) track(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		n.conns.Store(c, nil)
	} else {
		n.conns.Delete(c)
	}
}

// close closes those that are still silent.
func (n *newborns) close() {
	n.conns.Range(func(c, _ any) bool {
		c.(net.Conn).Close() // whatever it says, its server notices
		return true
	})
}
