package main

import "syscall"

// childAttributes gives a service a process group of its own, so that Ctrl-C reaches only the parent, which
// closes the shop in order. The kernel kills the service when the thread that started it ends: in Go that is
// when the parent dies, since threads stay (only one that a goroutine locked and left would not, and none does).
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
