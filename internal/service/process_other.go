//go:build !linux

package service

import (
	"errors"
	"runtime"
)

// readProcess tells what Go itself knows; the rest is 0.
func readProcess() ProcessState {
	return ProcessState{Goroutines: runtime.NumGoroutine(), HeapBytes: liveHeap()}
}

// setFDLimit is not for this system.
func setFDLimit(int) error { return errors.New("only Linux lets a process set it here") }

// fdLimit is 0: not known.
func fdLimit() uint64 { return 0 }
