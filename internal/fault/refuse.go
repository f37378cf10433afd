package fault

import (
	"net/http"
	"time"
)

// refuse answers nothing: the connection is reset before any byte. With a share of 1 the Injector also closes the
// listener and the idle connections, so that a new connection is refused by the kernel, as by a process that is gone.
var refuse = kind{name: "refuse", strike: strikeRefuse}

func strikeRefuse(in *Injector, _ *strike, _ http.ResponseWriter, r *http.Request, _ http.Handler) {
	if l := in.listener.Load(); l != nil {
		l.linger(r.RemoteAddr)
	}
	panic(http.ErrAbortHandler) // net/http closes the connection, and the lingering of zero makes that a reset
}

// refusing tells whether nothing at all is to be accepted at now, and for how long that stays so; 0 is until the
// faults change.
func refusing(strikes []*strike, now time.Time) (bool, time.Duration) {
	for _, s := range strikes {
		if s.Kind == refuse.name && s.Share == 1 {
			return s.phase(now)
		}
	}
	return false, 0
}
