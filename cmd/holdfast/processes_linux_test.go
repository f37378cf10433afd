package main

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// A reserved address is there for a listener, again and again, and in between for no outgoing connection.
func TestReserve(t *testing.T) {
	addr, release, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	local, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	from := net.Dialer{LocalAddr: local}
	for range 2 {
		if c, err := from.Dial("tcp", elsewhere.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a connection from the reserved address: %v, %v", c, err)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
		if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens, and a dial gets %v, %v", c, err)
		}
	}
}
