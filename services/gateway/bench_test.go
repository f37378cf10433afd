//go:build unix

package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/holdfast/internal/seed"
)

// BenchmarkPages measures what a page costs the gateway, from the request to the last byte. The catalogue beside it
// answers from bytes made before, in the same process, so its share and that of the loopback are the same in every
// version of the pages. cpu-µs/op is the process's own time: on a busy machine it says more than the clock.
func BenchmarkPages(b *testing.B) {
	books := seed.Books()
	seeded := func(at int, code string) map[string]any {
		s := books[at]
		price := map[string]string{"number": "18.50", "currency": code}
		return map[string]any{
			"id": s.ID, "title": s.Title, "author": s.Author, "year": s.Year, "language": s.Language,
			"subjects": s.Subjects, "description": s.Description, "price": price,
		}
	}
	several := func(from, n int) (list []any) {
		for i := range n {
			list = append(list, seeded(from+i, "EUR"))
		}
		return list
	}
	var counts []any
	for i, name := range seed.Subjects {
		counts = append(counts, map[string]any{"subject": name, "count": 40 - i})
	}
	shelf := map[string]any{
		"books": several(0, 24), "total": len(books), "page": 1, "pages": 10, "subjects": counts, "currency": "EUR",
	}
	book := map[string]any{"book": seeded(30, "EUR"), "related": several(60, 5), "rates_as_of": "2026-09-24"}
	for _, page := range []struct {
		name, path string
		doc        map[string]any
	}{{"shelf", "/books?currency=EUR", shelf}, {"book", "/books/" + books[30].ID + "?currency=EUR", book}} {
		for name, answers := range map[string]int{page.name: 1, page.name + ", each answer another": 2} {
			b.Run(name, func(b *testing.B) { benchmarkPage(b, page.path, page.doc, answers) })
		}
	}
}

// benchmarkPage asks for a page of which the catalogue says one of several things in turn.
func benchmarkPage(b *testing.B, path string, doc map[string]any, answers int) {
	docs := make([][]byte, answers)
	for i := range docs {
		doc["answer"] = i
		var err error
		if docs[i], err = json.Marshal(doc); err != nil {
			b.Fatal(err)
		}
	}
	g := open(b)
	var asked atomic.Int64
	g.fake.set(func() {
		g.fake.books = func(w http.ResponseWriter, _ *http.Request) {
			w.Write(docs[int(asked.Add(1))%len(docs)])
		}
	})
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.svc.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	if w := get(); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "€18.50") {
		b.Fatalf("%d: %s", w.Code, w.Body)
	}
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		get()
	}
	used := processorTime(b) - before
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
