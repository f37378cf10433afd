package fault

import (
	"net/http"
	"time"
)

// hold answers rightly, but late: the shape of the ninety-seconds incident. A held request costs its goroutine and a
// timer. It goes on when its time is up, when the fault is cleared, and when the square wave falls; it ends when the
// caller leaves, which net/http tells only once the request's body has been read.
var hold = kind{name: "hold", timed: true, strike: strikeHold}

func strikeHold(_ *Injector, s *strike, w http.ResponseWriter, r *http.Request, next http.Handler) {
	wait := s.Hold
	if _, left := s.phase(time.Now()); left > 0 {
		wait = min(wait, left)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.over:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler) // nobody to answer
	}
	next.ServeHTTP(w, r)
}
