// Package fault makes a service slow or absent on purpose.
//
// An Injector stands in front of a service's public handler and behind its listener. A fault is set with a line such
// as "hold=90s share=0.1 seed=7 every=10s for=5s" and is over the moment it is cleared. It acts before admission: a
// held request costs the service a connection, never a worker. It knows nothing of the admin listener.
//
// A new kind of fault is one file with its behaviour and one line in kinds.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// kind is one way to misbehave.
type kind struct {
	name string // its word in a line: hold
	// timed says that the word has a duration: hold=90s.
	timed bool
	// strike does it to one request. next is the rest of the way; a kind may call it, late, or not at all.
	strike func(in *Injector, s *strike, w http.ResponseWriter, r *http.Request, next http.Handler)
}

// kinds lists every kind, in the order in which they act on a request.
var kinds = []kind{refuse, hold}

// Fault is what is done, to which requests, and when.
type Fault struct {
	Kind  string        // hold or refuse
	Hold  time.Duration // how long a request is held; of kind hold only
	Share float64       // which share of the requests is struck, 0..1
	Seed  uint64        // of the draw; the same seed strikes the same requests of the sequence
	Every time.Duration // square wave: active for the first For of each Every since it was set. 0: all the time
	For   time.Duration
	Since time.Time // when it was set
}

// Parse reads a line: one kind ("hold=90s" or "refuse"), then any of share=, seed=, every= with for=. A share not given
// is 1, a seed not given is 1. The error names every word that is wrong and what is allowed.
func Parse(line string) (Fault, error) {
	f := Fault{Share: 1, Seed: 1}
	var errs []error
	broken := func(word, allowed string) { errs = append(errs, fmt.Errorf("%q: must be %s", word, allowed)) }
	seen := make(map[string]bool)
	for word := range strings.FieldsSeq(line) {
		key, value, valued := strings.Cut(word, "=")
		if seen[key] {
			broken(word, "given once")
			continue
		}
		seen[key] = true
		var err error
		switch key {
		case "share":
			if f.Share, err = strconv.ParseFloat(value, 64); err != nil || !(f.Share >= 0 && f.Share <= 1) {
				broken(word, "share=S with S in 0..1")
			}
		case "seed":
			if f.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				broken(word, "seed=N with N a whole number from 0")
			}
		case "every":
			if f.Every, err = parseDuration(value); err != nil {
				broken(word, "every=D with D a duration such as 10s, at most 24h")
			}
		case "for":
			if f.For, err = parseDuration(value); err != nil {
				broken(word, "for=D with D a duration such as 5s, at most 24h")
			}
		default:
			i := slices.IndexFunc(kinds, byName(key))
			switch {
			case i < 0:
				broken(word, "one of "+words())
				continue
			case f.Kind != "":
				broken(word, "left out: "+f.Kind+" is given already, and a fault has one kind")
				continue
			}
			f.Kind = key
			if kinds[i].timed {
				if f.Hold, err = parseDuration(value); err != nil {
					broken(word, key+"=D with D a duration such as 90s, at most 24h")
				}
			} else if valued {
				broken(word, key+", without a value")
			}
		}
	}
	if f.Kind == "" && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("no kind of fault: give one, %s", Kinds()))
	}
	if len(errs) == 0 && (f.Every > 0 || f.For > 0) && !(0 < f.For && f.For <= f.Every) {
		errs = append(errs, errors.New("every and for: must be given together, for at most every"))
	}
	if len(errs) > 0 {
		return Fault{}, fmt.Errorf("fault %q: %w", line, errors.Join(errs...))
	}
	return f, nil
}

// words lists what a line may say.
func words() string {
	var list []string
	for _, k := range kinds {
		if k.timed {
			list = append(list, k.name+"=D")
		} else {
			list = append(list, k.name)
		}
	}
	return strings.Join(append(list, "share=S", "seed=N", "every=D", "for=D"), ", ")
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && (d <= 0 || d > 24*time.Hour) {
		err = errors.New("out of range")
	}
	return d, err
}

// String is the line that Parse reads.
func (f Fault) String() string {
	line := f.Kind
	if f.Hold > 0 {
		line += "=" + f.Hold.String()
	}
	if f.Share != 1 {
		line += " share=" + strconv.FormatFloat(f.Share, 'g', -1, 64)
	}
	if f.Seed != 1 {
		line += " seed=" + strconv.FormatUint(f.Seed, 10)
	}
	if f.Every > 0 {
		line += " every=" + f.Every.String() + " for=" + f.For.String()
	}
	return line
}

// MarshalJSON writes the fault with its durations as text.
func (f Fault) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return json.Marshal(struct {
		Kind  string    `json:"kind"`
		Hold  string    `json:"hold,omitempty"`
		Share float64   `json:"share"`
		Seed  uint64    `json:"seed"`
		Every string    `json:"every,omitempty"`
		For   string    `json:"for,omitempty"`
		Since time.Time `json:"since,omitzero"`
	}{f.Kind, text(f.Hold), f.Share, f.Seed, text(f.Every), text(f.For), f.Since})
}

// phase tells whether the square wave is up at now, and for how long it stays as it is; 0 is for ever.
func (f Fault) phase(now time.Time) (up bool, left time.Duration) {
	if f.Every == 0 || f.For == f.Every {
		return true, 0
	}
	at := now.Sub(f.Since) % f.Every
	if at < f.For {
		return true, f.For - at
	}
	return false, f.Every - at
}

// strike is a fault in force.
type strike struct {
	Fault
	kind  kind
	drawn atomic.Uint64 // requests that have had their draw
	over  chan struct{} // closed when the fault is cleared or replaced
}

// hits draws for one request.
func (s *strike) hits(now time.Time) bool {
	if up, _ := s.phase(now); !up {
		return false
	}
	// The n-th draw depends on seed and n alone, so there is no generator to lock and a run can be repeated.
	return s.Share == 1 || rand.New(rand.NewPCG(s.Seed, s.drawn.Add(1))).Float64() < s.Share
}

func byName(name string) func(kind) bool { return func(k kind) bool { return k.name == name } }

// Kinds names every kind: "hold or refuse".
func Kinds() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return strings.Join(names, " or ")
}

// IsKind tells whether there is a kind of fault of that name.
func IsKind(name string) bool { return slices.ContainsFunc(kinds, byName(name)) }
