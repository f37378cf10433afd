package gateway

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func has(c *copies, key string) bool {
	_, _, ok := c.get(key)
	return ok
}

func TestCopiesAreFewAndTheLeastUsedGoes(t *testing.T) {
	c := newCopies()
	for i := range maxCopies {
		c.put(strconv.Itoa(i), []byte("x"), true)
	}
	c.get("0")
	c.put("one more", []byte("x"), true)
	if !has(c, "0") || has(c, "1") || !has(c, "one more") || c.used.Len() != maxCopies {
		t.Errorf("0 used last: %t, 1 not: %t, of %d", has(c, "0"), has(c, "1"), c.used.Len())
	}
}

func TestCopiesAreBoundedInBytes(t *testing.T) {
	c := newCopies()
	quarter := make([]byte, maxCopyBytes/4)
	for _, key := range []string{"a", "b", "c", "d", "a", "e"} {
		c.put(key, quarter, true)
	}
	if c.bytes > maxCopyBytes || has(c, "b") || !has(c, "a") || !has(c, "e") {
		t.Errorf("%d bytes, b kept: %t", c.bytes, has(c, "b"))
	}
	c.put("huge", make([]byte, maxCopyBytes+1), true)
	if has(c, "huge") || !has(c, "a") {
		t.Error("a copy that fits nowhere pushed others out")
	}
}

func TestCopiesGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopies()
		made := time.Now()
		c.put("a", []byte("x"), true)
		time.Sleep(maxCopyAge)
		if _, at, ok := c.get("a"); !ok || !at.Equal(made) {
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
		c.put("a", []byte("degraded"), false)
		c.put("a", []byte("whole"), true)
		c.put("a", []byte("degraded"), false)
		if body, _, _ := c.get("a"); string(body) != "whole" {
			t.Errorf("serves the %s one", body)
		}
		time.Sleep(maxCopyAge + 1)
		c.put("a", []byte("degraded"), false)
		if body, _, _ := c.get("a"); string(body) != "degraded" {
			t.Errorf("serves %q", body)
		}
	})
}
