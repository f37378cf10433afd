package service

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// readProcess asks the kernel about this process.
func readProcess() ProcessState {
	p := ProcessState{
		Goroutines: runtime.NumGoroutine(), HeapBytes: liveHeap(), FDs: countFDs(), FDsLimit: fdLimit(),
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			p.RSSBytes = pages * int64(os.Getpagesize())
		}
	}
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		p.CPUSeconds = seconds(use.Utime) + seconds(use.Stime)
	}
	return p
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// countFDs counts the open descriptors. Since Linux 6.2 the size of the directory is their number, without a read of
// ten thousand entries.
func countFDs() int {
	if info, err := os.Stat("/proc/self/fd"); err == nil && info.Size() > 0 {
		return int(info.Size())
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return max(len(entries)-1, 0) // less the one that reads
}

// setFDLimit lets the process have at most n descriptors open.
func setFDLimit(n int) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	if uint64(n) > lim.Max {
		return fmt.Errorf("the system allows %d", lim.Max)
	}
	lim.Cur = uint64(n)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim)
}

// fdLimit is the number of descriptors that the process may have open.
func fdLimit() uint64 {
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim) != nil {
		return 0
	}
	return lim.Cur
}
