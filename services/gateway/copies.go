package gateway

import (
	"container/list"
	"sync"
	"time"
)

// What bounds the last good copies. Ten minutes is how old a price may be that nobody has confirmed; the order asks
// for the true one anyway.
const (
	maxCopies    = 500
	maxCopyBytes = 8 << 20
	maxCopyAge   = 10 * time.Minute
)

// copies keeps the last good answers of the catalogue by query, the least recently used dropped first.
type copies struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *answerCopy, the most recently used in front
	bytes int
}

type answerCopy struct {
	key   string
	body  []byte
	at    time.Time
	whole bool
}

func newCopies() *copies {
	return &copies{byKey: make(map[string]*list.Element), used: list.New()}
}

// put keeps body, which the caller must not change any more. An answer that is not whole, because something in it
// was degraded already, does not push out a whole one that could still be served.
func (c *copies) put(key string, body []byte, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		if old := e.Value.(*answerCopy); old.whole && !whole && time.Since(old.at) <= maxCopyAge {
			return
		}
		c.drop(e)
	}
	if len(body) > maxCopyBytes {
		return
	}
	c.byKey[key] = c.used.PushFront(&answerCopy{key, body, time.Now(), whole})
	c.bytes += len(body)
	for c.used.Len() > maxCopies || c.bytes > maxCopyBytes {
		c.drop(c.used.Back())
	}
}

// get returns the copy of key and when it was made, unless there is none or it is too old.
func (c *copies) get(key string) (body []byte, at time.Time, ok bool) {
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
	return found.body, found.at, true
}

func (c *copies) drop(e *list.Element) {
	old := c.used.Remove(e).(*answerCopy)
	delete(c.byKey, old.key)
	c.bytes -= len(old.body)
}
