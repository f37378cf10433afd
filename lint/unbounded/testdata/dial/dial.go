// Package dial: connections and look-ups that wait for whoever is not there.
package dial

import (
	"context"
	"crypto/tls"
	"net"
	"net/rpc"
	"net/smtp"
	"time"
)

func functions(to *net.TCPAddr) {
	net.Dial("tcp", "shop:80")                   // want `net.Dial has no timeout: an address that does not answer is waited for until the kernel gives up, minutes later; use a net.Dialer with Timeout`
	net.DialTCP("tcp", nil, to)                  // want `net.DialTCP has no timeout`
	tls.Dial("tcp", "shop:443", nil)             // want `tls.Dial has no timeout: .* the handshake has no limit at all; use a tls.Dialer whose NetDialer has Timeout`
	smtp.Dial("mail:25")                         // want `smtp.Dial has no timeout`
	smtp.SendMail("mail:25", nil, "a", nil, nil) // want `smtp.SendMail has no timeout: .* a server that stops talking is waited for without end`
	rpc.DialHTTP("tcp", "shop:80")               // want `rpc.DialHTTP has no timeout`
}

var asAValue = net.Dial // want `net.Dial has no timeout`

func lookups(ctx context.Context) {
	net.LookupHost("shop")        // want `net.LookupHost takes no context: a name server that does not answer is waited for, whoever has left meanwhile; use net.DefaultResolver.LookupHost`
	net.LookupIP("shop")          // want `net.LookupIP takes no context`
	net.LookupSRV("", "", "shop") // want `net.LookupSRV takes no context`
	net.LookupTXT("shop")         // want `net.LookupTXT takes no context`
}

var literal = &net.Dialer{KeepAlive: time.Minute} // want `the net.Dialer in literal has no Timeout: an address that does not answer is waited for .* set Timeout`

func zero(ctx context.Context) {
	var d net.Dialer // want `the net.Dialer in d has no Timeout`
	d.DialContext(ctx, "tcp", "shop:80")
}

func byNew() *net.Dialer { return new(net.Dialer) } // want `this net.Dialer has no Timeout`

func withDialer() {
	tls.DialWithDialer(&net.Dialer{}, "tcp", "shop:443", nil) // want `this net.Dialer has no Timeout`
}

func tlsDialer(ctx context.Context) {
	d := &tls.Dialer{Config: nil} // want `the tls.Dialer in d has no NetDialer`
	d.DialContext(ctx, "tcp", "shop:443")
}

// Bounded.

var bounded = &net.Dialer{Timeout: time.Second}

var deadline = &net.Dialer{Deadline: time.Now().Add(time.Second)}

func onAFollowingLine(timeout time.Duration) *net.Dialer {
	d := &net.Dialer{}
	d.Timeout = timeout
	return d
}

func byItsName() { net.DialTimeout("tcp", "shop:80", time.Second) }

func byContext(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	d.DialContext(ctx, "tcp", "shop:80")
	(&net.Dialer{}).DialContext(ctx, "tcp", "shop:80")
}

func tlsBounded() *tls.Dialer { return &tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}} }

func resolver(ctx context.Context) { net.DefaultResolver.LookupHost(ctx, "shop") }

// These wait for nobody.
func local() {
	net.Dial("unix", "/run/shop.sock")
	net.Dial("udp", "192.0.2.1:53")
	net.Dial("udp", "[2001:db8::1]:53")
}
