package gateway

import (
	"strings"
	"sync"
)

// maxTitles bounds what is remembered; it is far above the size of the shop.
const maxTitles = 20_000

// titles remembers what the catalogue has called its books. Pages that hold only an id (an order, a cart while the
// catalogue cannot be asked) name the book from here rather than add a call to their path.
type titles struct {
	mu   sync.RWMutex
	byID map[string]string
}

func newTitles() *titles { return &titles{byID: make(map[string]string)} }

func (t *titles) learn(id, title string) {
	t.mu.RLock()
	known := t.byID[id] == title
	t.mu.RUnlock()
	if known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxTitles {
		for any := range t.byID { // not all: a document that is known is not read, and learnt from, again
			delete(t.byID, any)
			break
		}
	}
	t.byID[id] = title
}

// of returns the title of a book, or its id in words: ids are slugs of titles.
func (t *titles) of(id string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if title, ok := t.byID[id]; ok {
		return title
	}
	words := strings.ReplaceAll(id, "-", " ")
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}
