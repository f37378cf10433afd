//go:build !linux

package main

import "syscall"

// childAttributes leaves a service in its parent's process group: without a way to die with the parent, it had
// better hear the terminal's Ctrl-C itself.
func childAttributes() *syscall.SysProcAttr { return nil }

// reserve leaves the choice of a port to the service: elsewhere nobody but a listener can hold one. A service that is
// restarted under load may then find its port taken.
func reserve() (addr string, release func(), err error) { return "127.0.0.1:0", func() {}, nil }
