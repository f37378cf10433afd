package gateway

import (
	"encoding/json"
	"errors"
	"html/template"
	"sync/atomic"
)

// body is what a document of the catalogue says.
type body interface {
	degraded() []string
	complete() bool
	named() []book
}

// document is an answer of the catalogue, read. The same bytes from the same address are the same document, so whoever
// has one shares it, and must not change it.
//
// The catalogue is asked for every page, but what it says changes seldom. Reading the answer and making HTML of it was
// two thirds of what a page cost, so a document keeps what was made of it. It is dropped with the document: what bounds
// the copies bounds this.
type document[T body] struct {
	Body T
	raw  []byte
	page atomic.Pointer[keptHTML]
}

// keptHTML is the last HTML that was made of a document, and what it shows that is not in the document.
type keptHTML struct {
	besides string
	html    template.HTML
}

func readDocument[T body](raw []byte) (*document[T], error) {
	d := &document[T]{raw: raw}
	if err := json.Unmarshal(raw, &d.Body); err != nil {
		return nil, err
	}
	if !d.Body.complete() {
		return nil, errors.New("the answer lacks what was asked for")
	}
	return d, nil
}

func (d *document[T]) size() int { return len(d.raw) }

// keep returns what was last made of the document, if that showed the same besides it, or makes it.
func (d *document[T]) keep(besides string, make func() (template.HTML, error)) func() (template.HTML, error) {
	return func() (template.HTML, error) {
		if k := d.page.Load(); k != nil && k.besides == besides {
			return k.html, nil
		}
		html, err := make()
		if err == nil {
			d.page.Store(&keptHTML{besides, html})
		}
		return html, err
	}
}
