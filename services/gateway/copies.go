package gateway

import (
	"container/list"
	"sync"
	"time"
)

// What bounds the copies. Ten minutes is how old a price may be that nobody has confirmed; the order asks for the true
// one anyway. The bytes are those of the documents; read, and with their HTML, they are about three times as many.
const (
	maxCopies    = 500
	maxCopyBytes = 8 << 20
	maxCopyAge   = 10 * time.Minute
)

// copies keeps answers of the catalogue by query, the least recently used dropped first: the latest, so that it need
// not be read again when it comes again, and the last good one, to be served when none comes.
type copies struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *answerCopy, the most recently used in front
	bytes int
}

type answerCopy struct {
	key    string
	latest sized
	good   sized // what is served; mostly the latest
	at     time.Time
	whole  bool // good has nothing in it that was degraded
}

// sized is a *document of any kind.
type sized interface{ size() int }

func newCopies() *copies {
	return &copies{byKey: make(map[string]*list.Element), used: list.New()}
}

// put keeps doc, which the caller must not change any more. An answer that is not whole, because something in it
// was degraded already, does not push out a whole one that could still be served.
func (c *copies) put(key string, doc sized, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := answerCopy{key: key, latest: doc, good: doc, at: time.Now(), whole: whole}
	if e, ok := c.byKey[key]; ok {
		if old := e.Value.(*answerCopy); old.whole && !whole && time.Since(old.at) <= maxCopyAge {
			next.good, next.at, next.whole = old.good, old.at, true
		}
		c.drop(e)
	}
	if next.bytes() > maxCopyBytes {
		return
	}
	c.byKey[key] = c.used.PushFront(&next)
	c.bytes += next.bytes()
	for c.used.Len() > maxCopies || c.bytes > maxCopyBytes {
		c.drop(c.used.Back())
	}
}

// latest returns what was put under key last; nil: nothing that is still there.
func (c *copies) latest(key string) sized {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		return e.Value.(*answerCopy).latest
	}
	return nil
}

// lastGood returns the copy of key to serve and when it was made, unless there is none or it is too old.
func (c *copies) lastGood(key string) (doc sized, at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, time.Time{}, false
	}
	found := e.Value.(*answerCopy)
	if time.Since(found.at) > maxCopyAge {
		c.drop(e)
		return nil, time.Time{}, false
	}
	c.used.MoveToFront(e)
	return found.good, found.at, true
}

func (c *copies) drop(e *list.Element) {
	old := c.used.Remove(e).(*answerCopy)
	delete(c.byKey, old.key)
	c.bytes -= old.bytes()
}

// bytes is how much the copy counts.
func (a *answerCopy) bytes() int {
	if a.good == a.latest {
		return a.latest.size()
	}
	return a.latest.size() + a.good.size()
}
