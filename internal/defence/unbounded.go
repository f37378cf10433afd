package defence

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// So many requests are ended at a time, and then so long a pause made. To end thousands in one moment would make the
// whole service wait for its turn among them, its admin API and its new requests too.
const (
	endBatch = 50
	endPause = 5 * time.Millisecond
)

// unbounded are the requests that nothing but their work ends. The zero value is none.
type unbounded struct {
	mu       sync.Mutex
	requests list.List // of context.CancelFunc, oldest first
	ending   bool      // for good: who looked at the switches just before they changed comes too late
}

// add takes a request in, or ends it if the others have been ended; the function it returns takes it out when it is
// done.
func (u *unbounded) add(cancel context.CancelFunc) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ending {
		cancel()
		return func() {}
	}
	place := u.requests.PushBack(cancel)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.requests.Remove(place)
	}
}

// end ends them all: the newest first, which are in line, so that no worker that comes free is given to one of them.
func (u *unbounded) end() {
	for batch, more := u.take(endBatch); ; batch, more = u.take(endBatch) {
		for _, cancel := range batch {
			cancel()
		}
		if !more {
			return
		}
		time.Sleep(endPause)
	}
}

func (u *unbounded) take(n int) (batch []context.CancelFunc, more bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ending = true
	for len(batch) < n && u.requests.Len() > 0 {
		batch = append(batch, u.requests.Remove(u.requests.Back()).(context.CancelFunc))
	}
	return batch, u.requests.Len() > 0
}
