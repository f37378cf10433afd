//go:build !linux

package service

import "runtime"

// readProcess tells what Go itself knows; the rest is 0.
func readProcess() ProcessState { return ProcessState{Goroutines: runtime.NumGoroutine()} }

// fdLimit is 0: not known.
func fdLimit() uint64 { return 0 }
