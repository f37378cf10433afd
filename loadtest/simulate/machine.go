package simulate

import "time"

// machine is the processors that all services of a shop share. Who finds none free stands in one line.
type machine struct {
	clock *clock
	free  []time.Duration // by processor, from when on
}

// use calls then when a processor has been used for d. The nil machine has one, free of charge, for everybody.
func (m *machine) use(d time.Duration, then func()) {
	if m == nil {
		then()
		return
	}
	first := 0
	for n, at := range m.free {
		if at < m.free[first] {
			first = n
		}
	}
	m.free[first] = max(m.free[first], m.clock.now) + d
	m.clock.at(m.free[first], then)
}
