package main

import (
	"fmt"
	"os"
	"syscall"
)

// childAttributes gives a service a process group of its own, so that Ctrl-C reaches only the parent, which
// closes the shop in order. The kernel kills the service when the thread that started it ends: in Go that is
// when the parent dies, since threads stay (only one that a goroutine locked and left would not, and none does).
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reserve returns a free address on loopback that the kernel gives to nobody else until release: not even to an
// outgoing connection, of which a load test makes thousands while a restarted service is away. The socket that holds
// it never listens; a service can listen beside it, since both set SO_REUSEADDR, as every listener of Go does.
func reserve() (addr string, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) }
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var bound syscall.Sockaddr
	if err == nil {
		bound, err = syscall.Getsockname(fd)
	}
	if err != nil {
		release()
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), release, nil
}
