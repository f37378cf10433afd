package resilience

import (
	"context"
	"sync"
	"time"
)

// slots is a counted right to have calls in flight. Unlike a buffered channel it can be resized while in use.
type slots struct {
	mu        sync.Mutex
	limit     int
	inUse     int
	highWater int
	line      []chan struct{} // of those who wait, oldest first; never longer than limit
}

// take takes a slot if one is free.
func (s *slots) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked()
}

func (s *slots) takeLocked() bool {
	if s.inUse >= s.limit {
		return false
	}
	s.inUse++
	s.highWater = max(s.highWater, s.inUse)
	return true
}

// wait waits at most patience for a slot, or until ctx ends.
func (s *slots) wait(ctx context.Context, patience time.Duration) bool {
	s.mu.Lock()
	if s.takeLocked() {
		s.mu.Unlock()
		return true
	}
	if len(s.line) >= s.limit {
		s.mu.Unlock()
		return false
	}
	turn := make(chan struct{})
	s.line = append(s.line, turn)
	s.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-turn:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return !s.leave(turn)
}

// leave takes turn out of the line, and reports false if it has been called already: then the slot is ours.
func (s *slots) leave(turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.line {
		if t == turn {
			s.line = append(s.line[:i], s.line[i+1:]...)
			return true
		}
	}
	return false
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	s.callNextLocked()
}

func (s *slots) callNextLocked() {
	for len(s.line) > 0 && s.takeLocked() {
		close(s.line[0])
		s.line = s.line[1:]
	}
}

// resize changes the limit at once. Calls in flight keep their slots; none is given out until fewer are in use.
func (s *slots) resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.callNextLocked()
}

func (s *slots) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highWater = s.inUse
}

func (s *slots) read() (limit, inUse, highWater int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit, s.inUse, s.highWater
}
