package gateway

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// text is a document of a test.
type text string

func (t text) size() int { return len(t) }

func has(c *copies, key string) bool {
	_, _, ok := c.lastGood(key)
	return ok
}

func TestCopiesAreFewAndTheLeastUsedGoes(t *testing.T) {
	c := newCopies()
	for i := range maxCopies {
		c.put(strconv.Itoa(i), text("x"), true)
	}
	c.lastGood("0")
	c.put("one more", text("x"), true)
	if !has(c, "0") || has(c, "1") || !has(c, "one more") || c.used.Len() != maxCopies {
		t.Errorf("0 used last: %t, 1 not: %t, of %d", has(c, "0"), has(c, "1"), c.used.Len())
	}
}

func TestCopiesAreBoundedInBytes(t *testing.T) {
	c := newCopies()
	quarter := text(make([]byte, maxCopyBytes/4))
	for _, key := range []string{"a", "b", "c", "d", "a", "e"} {
		c.put(key, quarter, true)
	}
	if c.bytes > maxCopyBytes || has(c, "b") || !has(c, "a") || !has(c, "e") {
		t.Errorf("%d bytes, b kept: %t", c.bytes, has(c, "b"))
	}
	c.put("huge", text(make([]byte, maxCopyBytes+1)), true)
	if has(c, "huge") || !has(c, "a") {
		t.Error("a copy that fits nowhere pushed others out")
	}
}

func TestCopiesGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopies()
		made := time.Now()
		c.put("a", text("x"), true)
		time.Sleep(maxCopyAge)
		if _, at, ok := c.lastGood("a"); !ok || !at.Equal(made) {
			t.Errorf("at ten minutes: %t, made %v, want %v", ok, at, made)
		}
		time.Sleep(time.Nanosecond)
		if has(c, "a") || c.bytes != 0 {
			t.Error("older than ten minutes, and still served")
		}
	})
}

// What was degraded when it was copied does not push out what was whole, until that is too old to be served.
func TestWholeCopyIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopies()
		c.put("a", text("degraded"), false)
		c.put("a", text("whole"), true)
		c.put("a", text("degraded"), false)
		if body, _, _ := c.lastGood("a"); body != text("whole") {
			t.Errorf("serves the %s one", body)
		}
		time.Sleep(maxCopyAge + 1)
		c.put("a", text("degraded"), false)
		if body, _, _ := c.lastGood("a"); body != text("degraded") {
			t.Errorf("serves %q", body)
		}
	})
}

// The latest answer is known again even where an earlier one is the better copy; both count.
func TestTheLatestAnswerIsKnownAgain(t *testing.T) {
	c := newCopies()
	c.put("a", text("whole"), true)
	c.put("a", text("degraded"), false)
	if good, _, _ := c.lastGood("a"); good != text("whole") || c.latest("a") != text("degraded") {
		t.Errorf("serves %q, knows %q", good, c.latest("a"))
	}
	if want := len("whole") + len("degraded"); c.bytes != want {
		t.Errorf("counts %d bytes, want %d", c.bytes, want)
	}
	c.put("a", text("whole"), true)
	if c.latest("a") != text("whole") || c.bytes != len("whole") || c.latest("b") != nil {
		t.Errorf("knows %q in %d bytes, and of nothing %v", c.latest("a"), c.bytes, c.latest("b"))
	}
}
