package simulate

import "time"

// scope is what Go calls a context: a stretch of work that ends with what it is part of, at its deadline, or when it is
// called off. What waits within it is told so.
type scope struct {
	clock    *clock
	deadline time.Duration // never: none
	over     bool
	expired  bool // it ended by a deadline, its own or one around it
	watchers []func()
	timer    *event
}

// scope returns one that is part of nothing.
func (c *clock) scope(deadline time.Duration) *scope {
	s := &scope{clock: c, deadline: deadline}
	if deadline != never {
		s.timer = c.at(max(deadline, c.now), func() { s.end(true) })
	}
	return s
}

// within returns a scope that ends with s, or at its own deadline if that is sooner.
func (s *scope) within(deadline time.Duration) *scope {
	if deadline >= s.deadline { // the end of s is soon enough: no alarm of its own
		part := &scope{clock: s.clock, deadline: s.deadline}
		s.watch(func() { part.end(s.expired) })
		return part
	}
	part := s.clock.scope(deadline)
	s.watch(func() { part.end(s.expired) })
	return part
}

// watch has f called when s ends: now, if it has.
func (s *scope) watch(f func()) {
	if s.over {
		f()
		return
	}
	s.watchers = append(s.watchers, f)
}

// end ends s for those who wait within it.
func (s *scope) end(expired bool) {
	if s.over {
		return
	}
	s.over, s.expired = true, expired
	s.timer.callOff()
	watchers := s.watchers
	s.watchers = nil
	for _, f := range watchers {
		f()
	}
}

// close ends s without a word: its work is done.
func (s *scope) close() {
	s.over, s.watchers = true, nil
	s.timer.callOff()
}

// wait calls then after d, or as soon as s is over; which it was, s knows.
func (s *scope) wait(d time.Duration, then func()) {
	if s.over {
		then()
		return
	}
	if d == 0 {
		then()
		return
	}
	done := false
	once := func() {
		if !done {
			done = true
			then()
		}
	}
	alarm := s.clock.after(d, once)
	s.watch(func() { alarm.callOff(); once() })
}
