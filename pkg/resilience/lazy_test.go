package resilience

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A lazy context must be told from the standard library's by nothing but its cost.
func TestLazyEndsAsTheStandardContextDoes(t *testing.T) {
	type end struct {
		name   string
		do     func(leave, cancel func())
		want   error
		causes error
	}
	ends := []end{
		{"at its instant", func(_, _ func()) { time.Sleep(2 * time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"when the caller leaves", func(leave, _ func()) { leave() }, context.Canceled, errGone},
		{"when cancelled", func(_, cancel func()) { cancel() }, context.Canceled, context.Canceled},
		{"first cancelled, then late", func(_, cancel func()) { cancel(); time.Sleep(2 * time.Second) }, context.Canceled, context.Canceled},
		{"first late, then cancelled", func(_, cancel func()) { time.Sleep(2 * time.Second); cancel() }, context.DeadlineExceeded, context.DeadlineExceeded},
	}
	for _, e := range ends {
		for _, armed := range []bool{false, true} {
			name := e.name + ", nobody waiting"
			if armed {
				name = e.name + ", somebody waiting"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					caller, leave := context.WithCancelCause(t.Context())
					defer leave(nil)
					l := &lazy{caller: caller, latest: time.Now().Add(time.Second)}
					defer l.end()
					if armed {
						l.Done()
					}
					if err := l.Err(); err != nil {
						t.Fatalf("over from the start: %v", err)
					}
					e.do(func() { leave(errGone) }, l.end)
					synctest.Wait()
					if err := l.Err(); err != e.want {
						t.Errorf("Err() = %v, want %v", err, e.want)
					}
					if cause := context.Cause(l); cause != e.causes {
						t.Errorf("Cause() = %v, want %v", cause, e.causes)
					}
					select {
					case <-l.Done():
					default:
						t.Error("it is over, and Done is open")
					}
					if err := l.Err(); err != e.want {
						t.Errorf("Err() became %v", err)
					}
				})
			})
		}
	}
}

var errGone = errors.New("the caller left")

func TestLazyPassesItsEndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lazy{caller: t.Context(), latest: time.Now().Add(time.Second)}
		defer l.end()
		child, cancel := context.WithCancel(l)
		defer cancel()
		begun := time.Now()
		<-child.Done()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("its child ended after %v, want 1s", took)
		}
		if child.Err() != context.DeadlineExceeded {
			t.Errorf("its child says %v", child.Err())
		}
	})
}

func TestLazyHasTheCallersValuesAndDeadline(t *testing.T) {
	type key struct{}
	caller, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "v"), time.Hour)
	defer cancel()
	l := &lazy{caller: caller}
	defer l.end()
	for _, when := range []string{"before Done", "after Done"} {
		if l.Value(key{}) != "v" {
			t.Errorf("%s the caller's value is lost", when)
		}
		got, ok := l.Deadline()
		if want, _ := caller.Deadline(); !ok || got != want {
			t.Errorf("%s the deadline is %v, %v; want %v", when, got, ok, want)
		}
		l.Done()
	}
}
