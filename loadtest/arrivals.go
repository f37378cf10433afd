package loadtest

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// Visits are the instants, from the start of the load, at which people come in an act of these phases, in order, and
// their classes. They are a pure function of the scenario, the phases and the seed: a run and a simulation of it are
// visited by the same people.
func (s *Scenario) Visits(phases []Phase, seed uint64) iter.Seq2[time.Duration, string] {
	names := s.classNames()
	return func(yield func(time.Duration, string) bool) {
		for at, i := range s.visits(phases, seed) {
			if !yield(at, names[i]) {
				return
			}
		}
	}
}

// visits are the same, with the place of the class among classNames.
func (s *Scenario) visits(phases []Phase, seed uint64) iter.Seq2[time.Duration, int] {
	type visit struct {
		at    time.Duration
		class int
	}
	names := s.classNames()
	fastest := Rate(1)
	for _, name := range names {
		fastest = max(fastest, s.Classes[name].busiest(name, phases))
	}
	// Evenly spaced classes are shifted against each other, or they would all come at the same instant.
	shift := time.Duration(float64(time.Second) / float64(fastest) / float64(len(names)))
	var all []visit
	for i, name := range names {
		chance := rand.New(rand.NewPCG(seed, uint64(i)+1)) // of the class alone: another class changes nothing here
		from := time.Duration(0)
		for _, st := range stretches(name, s.Classes[name].Rate, phases) {
			for at := range st.arrivals(s.Arrivals, time.Duration(i)*shift, chance) {
				all = append(all, visit{from + at, i})
			}
			from += st.length
		}
	}
	slices.SortStableFunc(all, func(a, b visit) int { return cmp.Compare(a.at, b.at) })
	return func(yield func(time.Duration, int) bool) {
		for _, v := range all {
			if !yield(v.at, v.class) {
				return
			}
		}
	}
}

// busiest is the highest rate that the class has in any phase.
func (c Class) busiest(name string, phases []Phase) Rate {
	most := c.Rate
	for _, p := range phases {
		most = max(most, p.rate(name, c.Rate))
	}
	return most
}

// stretch is a time in which a class comes at one rate.
type stretch struct {
	rate   Rate
	length time.Duration
}

// stretches are those of a class over the phases of an act: as long as they can be, so that a phase in which nothing
// changes leaves no mark in the arrivals.
func stretches(class string, usual Rate, phases []Phase) []stretch {
	var all []stretch
	for _, p := range phases {
		rate, length := p.rate(class, usual), time.Duration(p.For)
		if n := len(all); n > 0 && all[n-1].rate == rate {
			all[n-1].length += length
			continue
		}
		all = append(all, stretch{rate, length})
	}
	return all
}

// arrivals are the instants within the stretch at which somebody comes.
func (st stretch) arrivals(how Arrivals, shift time.Duration, chance *rand.Rand) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if st.rate == 0 {
			return
		}
		at := shift
		if how == Poisson {
			at = gap(st.rate, chance)
		}
		for n := 1; at < st.length && yield(at); n++ {
			if how == Poisson {
				at += gap(st.rate, chance)
			} else {
				at = shift + time.Duration(float64(n)/float64(st.rate)*float64(time.Second))
			}
		}
	}
}

// gap is the time between two arrivals of a Poisson process.
func gap(r Rate, chance *rand.Rand) time.Duration {
	return time.Duration(chance.ExpFloat64() / float64(r) * float64(time.Second))
}
