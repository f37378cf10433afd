//go:build !linux

package main

import "syscall"

// childAttributes leaves a service in its parent's process group: without a way to die with the parent, it had
// better hear the terminal's Ctrl-C itself.
func childAttributes() *syscall.SysProcAttr { return nil }
