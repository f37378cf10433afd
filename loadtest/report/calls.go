package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"example.com/holdfast/loadtest"
)

// called is a dependency of a service as it was seen through an act.
type called struct {
	service, name string
	at            []float64
	loadtest.DependencySeries
}

func (d called) title() string { return d.service + " → " + d.name }

// ended sums the outcomes.
func (d called) ended() map[string]int64 {
	sums := map[string]int64{}
	for outcome, counts := range d.Outcomes {
		for _, n := range counts {
			sums[outcome] += n
		}
	}
	return sums
}

// unsuccessful counts the attempts that did not end well.
func (d called) unsuccessful() int64 {
	all := int64(0)
	for outcome, n := range d.ended() {
		if outcome != "success" {
			all += n
		}
	}
	return all
}

// calls lists the dependencies that were called, those with the most attempts that ended badly first.
func calls(a *loadtest.ActResult) []called {
	var all []called
	for _, service := range loadtest.Services {
		s := a.Series.Services[service]
		for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
			d := called{service: service, name: name, at: s.At, DependencySeries: s.Dependencies[name]}
			if len(d.ended()) > 0 || slices.ContainsFunc(d.InUse, func(n int) bool { return n > 0 }) {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b called) int { return cmp.Compare(b.unsuccessful(), a.unsuccessful()) })
	return all
}

// maxLines is how many lines a picture of slots holds and stays readable.
const maxLines = 6

// slots draws the calls in flight as a share of each dependency's slots; of those that had none, or had none at first,
// the number.
func slots(a *loadtest.ActResult, t timeline) (limited, unlimited chart) {
	limited = chart{title: "Slots in use, of those there are", unit: " %", top: 100, time: t, marks: unnamed(predictions(a))}
	unlimited = chart{title: "Calls in flight, where slots are not limited", time: t, marks: unnamed(predictions(a))}
	all := calls(a)
	busiest := func(d called) int { return slices.Max(append([]int{0}, d.InUse...)) }
	slices.SortStableFunc(all, func(a, b called) int { return cmp.Compare(busiest(b), busiest(a)) })
	for _, d := range all {
		into, factor, value := &unlimited, 1.0, func(n int) string { return strconv.Itoa(n) }
		if d.Slots > 0 && busiest(d) <= d.Slots {
			into, factor = &limited, 100/float64(d.Slots)
			value = func(n int) string { return fmt.Sprintf("%d/%d", n, d.Slots) }
		}
		if n := len(d.InUse); n > 0 && len(into.lines) < maxLines {
			l := series{name: d.service + " →\n" + d.name, points: t.seen(d.at, floats(d.InUse, factor)), value: value(d.InUse[n-1])}
			l.tone, l.dashes = stroke(len(into.lines))
			into.lines = append(into.lines, l)
		}
	}
	return limited, unlimited
}

// outcomes draws how the attempts to a dependency ended, by the second.
func outcomes(d called, t timeline) chart {
	c := chart{title: "Attempts that ended, " + d.title(), unit: "/s", time: t}
	for i, outcome := range slices.Sorted(maps.Keys(d.Outcomes)) {
		l := series{name: outcome, points: t.rates(d.at, d.Outcomes[outcome])}
		l.tone, l.dashes = stroke(i)
		l.value = newest(l.points, "/s")
		c.lines = append(c.lines, l)
	}
	return c
}

// rates turns what was counted from one look to the next into counts a second.
func (t timeline) rates(at []float64, counts []int64) []point {
	var points []point
	for i := 1; i < min(len(at), len(counts)); i++ {
		if elapsed := at[i] - at[i-1]; elapsed > 0 {
			points = append(points, point{at[i] - t.zero, float64(counts[i]) / elapsed})
		}
	}
	return points
}

// retries draws how many attempts that are no first ones the shop made for each person who came.
func retries(a *loadtest.ActResult, t timeline) (chart, bool) {
	asked := peopleOf(a).asked
	again := make([]float64, len(asked))
	ok := false
	for _, d := range calls(a) {
		for i, n := range d.Retries {
			if i < len(d.at) && d.at[i] >= 0 && int(d.at[i]) < len(again) && n > 0 {
				again[int(d.at[i])] += float64(n)
				ok = true
			}
		}
	}
	var points []point
	for i, n := range again {
		if asked[i] > 0 {
			points = append(points, point{float64(i) + .5 - t.zero, n / asked[i]})
		}
	}
	c := chart{title: "Retries for each person who came", time: t}
	c.lines = []series{{name: "retries", points: points, tone: first, filled: true, value: newest(points, "")}}
	return c, ok
}
