package simulate

// pool is the places of a shared client: who finds none waits, in line, without a word.
type pool struct {
	free int
	line []*place
}

type place struct {
	gone bool
	then func()
}

func (p *pool) enter(within *scope, then, left func()) {
	if p.free > 0 {
		p.free--
		then()
		return
	}
	w := &place{then: then}
	p.line = append(p.line, w)
	within.watch(func() {
		if !w.gone {
			w.gone = true
			left()
		}
	})
}

func (p *pool) leave() {
	for len(p.line) > 0 {
		w := p.line[0]
		p.line = p.line[1:]
		if !w.gone {
			w.gone = true
			w.then()
			return
		}
	}
	p.free++
}
