package loadtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The judge is judged: each case is a shop with one lie switched on, driven by the runner itself, which must notice,
// count it as what it is, and say it in words that a person understands.

// forged answers the requests of a method and a path with the honest answer, changed.
func forged(route string, change func(body string, h http.Header) string) lie {
	return func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if !on(route, r) {
			return false
		}
		rec := httptest.NewRecorder()
		s.honest.ServeHTTP(rec, r)
		body := change(rec.Body.String(), w.Header())
		w.WriteHeader(rec.Code)
		fmt.Fprint(w, body)
		return true
	}
}

// on tells whether a request is of a route, as "GET /gateway/books".
func on(route string, r *http.Request) bool {
	method, path, _ := strings.Cut(route, " ")
	return r.Method == method && strings.HasPrefix(r.URL.Path, path)
}

// asked answers the requests of a route as if something else had been asked for.
func asked(route string, change func(r *http.Request)) lie {
	return func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if on(route, r) {
			change(r)
		}
		return false
	}
}

// behind does something behind the shop's back once an honest answer has been given.
func behind(route string, do func(s *fakeShop, r *http.Request)) lie {
	return func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if !on(route, r) {
			return false
		}
		s.honest.ServeHTTP(w, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		do(s, r)
		return true
	}
}

// instead answers the requests of a route in its own way.
func instead(route string, answer http.HandlerFunc) lie {
	return func(_ *fakeShop, w http.ResponseWriter, r *http.Request) bool {
		if on(route, r) {
			answer(w, r)
		}
		return on(route, r)
	}
}

func replace(old, by string) func(string, http.Header) string {
	return func(body string, _ http.Header) string { return strings.Replace(body, old, by, 1) }
}

// marked says that something is degraded, and changes the page.
func marked(token string, change func(body string) string) func(string, http.Header) string {
	return func(body string, h http.Header) string {
		h.Set("X-Degraded", token)
		return change(body)
	}
}

func same(body string) string { return body }

func withoutCarousel(body string) string { return strings.Replace(body, carouselHTML, "", 1) }

var (
	pricePoint  = regexp.MustCompile(`value="(\d+)\.(\d)`)
	totalPoint  = regexp.MustCompile(`"total":{"number":"(\d+)\.(\d)`)
	bookInOrder = regexp.MustCompile(`"book":"[a-z-]+"`)
	lastArticle = regexp.MustCompile(`(?s)<article[^>]*>.*</article>\n(<article)`)
)

func tenfold(body string) string { return pricePoint.ReplaceAllString(body, `value="$1$2.`) }

func otherBook(body string) string { return bookInOrder.ReplaceAllString(body, `"book":"walden"`) }

func key(r *http.Request) string { return r.Header.Get("Idempotency-Key") }

func oneArticle(body string) string { return lastArticle.ReplaceAllString(body, "$1") }

// The scenario of every case: fifty people a second, for 0.3 s.
const (
	liedTo     = 15
	aMoment    = `[{name: healthy, for: 300ms}]`
	shelves    = "GET /gateway/books"
	pages      = "GET /gateway/books/"
	ordering   = "POST /gateway/api/v1/orders"
	ordersRead = "GET /checkout/orders/"
)

func TestD10TheJudgeIsNotFooled(t *testing.T) {
	t.Parallel()
	const browse, book, order = `kind: browse`, `kind: book`, `kind: order`
	for name, c := range map[string]struct {
		class   string
		lie     lie
		workers int

		void    bool // else the run fails
		missed  Counts
		reason  string // in the reasons
		example string // in what a person is told
	}{
		"pages without a price": {
			class: browse, lie: forged(shelves, replace(`data class="price"`, `span class="price"`)),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "has no price",
		},
		"no price but that of the carousel": {
			class: book, lie: forged(pages, replace(`data class="price"`, `span class="price"`)),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "has no price",
		},
		"an empty page": {
			class: browse, lie: instead(shelves, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, pageHTML("<h1>Welcome</h1>"))
			}),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "a shelf without a book",
		},
		"another book's page": {
			class: book, lie: asked(pages, func(r *http.Request) {
				i := fakeIndex(strings.TrimPrefix(r.URL.Path, "/gateway/books/"))
				r.URL.Path = "/gateway/books/" + fakeBooks[(i+1)%len(fakeBooks)].id
			}),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: `the page of "`,
		},
		"a shelf of one book": {
			class: browse, lie: forged(shelves, func(body string, _ http.Header) string { return oneArticle(body) }),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "1 of the 2 books of page",
		},
		"page 2 for page 1": {
			class: browse, lie: asked(shelves, func(r *http.Request) {
				q := r.URL.Query()
				q.Set("page", map[string]string{"1": "2", "2": "1"}[q.Get("page")])
				r.URL.RawQuery = q.Encode()
			}),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "of the shelf, not page",
		},
		"prices in another currency": {
			class:  browse + `, currencies: {EUR: 100%}`,
			lie:    asked(shelves, func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "EUR", "USD", 1) }),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: " USD, not ",
		},
		"ten times the price": {
			class: book, lie: forged(pages, func(body string, _ http.Header) string { return tenfold(body) }),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "0 USD, not ",
		},
		"degraded prices that nobody has set": {
			class: browse + `, currencies: {EUR: 100%}, fallbacks: [prices]`, lie: forged(shelves, marked("prices", tenfold)),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "EUR, not ",
		},
		"an empty carousel, and not a word of it": {
			class: book + `, fallbacks: [carousel]`, lie: forged(pages, replace(carouselHTML, "")),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "no carousel, and nothing says so",
		},
		"a carousel on a page marked as without": {
			class: book + `, fallbacks: [carousel]`, lie: forged(pages, marked("carousel", same)),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "carousel on a page that says it has none",
		},
		"a fallback that is not allowed": {
			class: browse + `, fallbacks: [prices]`, lie: forged(shelves, marked("copy", same)),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "degraded copy, which is not allowed",
		},
		"half a body, and then nothing": {
			class: browse, lie: instead(shelves, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, bookHTML("typee", "Typee <a peep>", amount{"9.00", "USD"}))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}),
			missed: Counts{Failed: liedTo}, reason: "15 failed", example: "EOF",
		},
		"half a body, passed off as whole": {
			class: browse, lie: forged(shelves, func(body string, _ http.Header) string { return body[:len(body)-10] }),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "before its end",
		},
		"a redirect": {
			class: browse, lie: instead(shelves, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/gateway/elsewhere", http.StatusFound)
			}),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "status 302",
		},
		"a refusal": {
			class: browse, lie: instead(shelves, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "come again", http.StatusServiceUnavailable)
			}),
			missed: Counts{Refused: liedTo}, reason: "15 refused",
		},
		"an answer that is right, and too late": {
			class:  browse + `, in_time: 20ms`,
			lie:    asked(shelves, func(r *http.Request) { wait(r.Context(), 60*time.Millisecond) }),
			missed: Counts{Late: liedTo}, reason: "15 late",
		},
		"an answer that never comes": {
			class:  browse + `, in_time: 50ms, patience: 400ms`,
			lie:    asked(shelves, func(r *http.Request) { <-r.Context().Done() }),
			missed: Counts{GaveUp: liedTo}, reason: "15 gave up",
		},
		"an order with other lines": {
			class: order, lie: forged(ordering, func(body string, _ http.Header) string { return otherBook(body) }),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "has 1 × walden, not 1 × ",
		},
		"an order of ten times the price": {
			class: order, lie: forged(ordering, func(body string, _ http.Header) string {
				return totalPoint.ReplaceAllString(body, `"total":{"number":"$1$2.`)
			}),
			missed: Counts{Wrong: liedTo}, reason: "15 wrong", example: "0 USD, not ",
		},
		"an order that was never stored": {
			class: order, lie: behind(ordering, func(s *fakeShop, r *http.Request) { delete(s.orders, s.keys[key(r)]) }),
			reason: "accepted are there: want 15 of 15, got 0 of 15; order ord_",
		},
		"an order stored with other lines": {
			class: order, lie: forged(ordersRead, func(body string, _ http.Header) string { return otherBook(body) }),
			reason: "was accepted and is stored otherwise: order ord_",
		},
		"an order stored at another total": {
			class: order, lie: forged(ordersRead, func(body string, _ http.Header) string {
				return totalPoint.ReplaceAllString(body, `"total":{"number":"$1$2.`)
			}),
			reason: "was accepted and is stored otherwise: order ord_",
		},
		"an order read back as another": {
			class: order, lie: forged(ordersRead, replace(`"id":"ord_`, `"id":"ord_9`)),
			reason: "was accepted and is stored otherwise: it is order ord_9",
		},
		"a key that is forgotten": {
			class: order, lie: behind(ordering, func(s *fakeShop, r *http.Request) { delete(s.keys, key(r)) }),
			reason: "sent again under its key: it became order ord_",
		},
		"an order sold twice under one key": {
			class: order, lie: behind(ordering, func(s *fakeShop, r *http.Request) {
				if s.seen[key(r)] == 1 {
					s.sell(s.orders[s.keys[key(r)]], 1)
				}
			}),
			reason: "copies left the stock, ",
		},
		"an order that takes nothing from the stock": {
			class: order, lie: behind(ordering, func(s *fakeShop, r *http.Request) {
				if s.seen[key(r)] == 1 {
					s.sell(s.orders[s.keys[key(r)]], -1)
				}
			}),
			reason: "got 0; moby-dick: 0 copies left the stock, ",
		},
		"one order for all who want the same": {
			class: order, lie: asked(ordering, func(r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Header.Set("Idempotency-Key", string(body))
				r.Body = io.NopCloser(bytes.NewReader(body))
			}),
			reason: " was given to ",
		},
		"a sender that stalls": {
			class: browse + ", in_time: 5s", workers: 1, void: true,
			lie:    asked(shelves, func(r *http.Request) { wait(r.Context(), 50*time.Millisecond) }),
			reason: "the sender was late",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small(t, "{"+c.class+", rate: 50/s}", aMoment)
			r := run(t, s, newFakeShop(t, c.lie), Options{Workers: c.workers})
			want := Void
			if !c.void {
				want = Fail
				calm(r, true)
			}
			if r.Verdict != want {
				t.Errorf("verdict %s, want %s: %q", r.Verdict, want, r.Reasons)
			}
			if reasons := strings.Join(r.Reasons, "\n"); !strings.Contains(reasons, c.reason) {
				t.Errorf("the reasons do not say %q: %s", c.reason, reasons)
			}
			got := r.Acts[0].Phases[0].Classes["people"]
			wanted := c.missed
			wanted.Asked, wanted.Sent = liedTo, liedTo
			wanted.Good = liedTo - c.missed.Wrong - c.missed.Late - c.missed.Failed - c.missed.GaveUp - c.missed.Refused
			wanted.Tries, wanted.Errors = liedTo, c.missed.Wrong+c.missed.Failed+c.missed.Refused
			if got.Counts != wanted {
				t.Errorf("counted %+v, want %+v", got.Counts, wanted)
			}
			var text strings.Builder
			if err := r.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), c.example) {
				t.Errorf("a person is not told %q: %s", c.example, &text)
			}
		})
	}
}

// A machine that others keep busy proves nothing, whatever the shop has answered.
func TestAStarvedMachineIsVoid(t *testing.T) { // not in parallel: the machine is everybody's
	for name, c := range map[string]struct {
		after string // /proc/stat at the end: user, nice, system, idle
		lie   lie
		want  Verdict
	}{
		"busy with others, all well":  {"cpu 900 0 80 20 0 0 0 0 0 0", nil, Void},
		"busy with others, all wrong": {"cpu 900 0 80 20 0 0 0 0 0 0", forged(shelves, marked("copy", same)), Void},
		"idle, all well":              {"cpu 100 0 80 820 0 0 0 0 0 0", nil, Pass},
		"idle, all wrong":             {"cpu 100 0 80 820 0 0 0 0 0 0", forged(shelves, marked("copy", same)), Fail},
	} {
		t.Run(name, func(t *testing.T) {
			proc := fakeProc(t)
			proc.write("stat", "cpu 0 0 0 0 0 0 0 0 0 0")
			shop := newFakeShop(t, func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool {
				if on("POST /admin/gateway/admin/mark", r) { // as a phase begins, after the first look at the machine
					proc.write("stat", c.after)
				}
				return c.lie != nil && c.lie(s, w, r)
			})
			r := run(t, small(t, `{kind: browse, rate: 50/s, in_time: 5s}`, aMoment), shop, Options{})
			r.voids = slices.DeleteFunc(r.voids, func(v string) bool { return strings.Contains(v, "the sender was late") })
			r.conclude(true)
			if r.Verdict != c.want {
				t.Errorf("verdict %s, want %s: %q", r.Verdict, c.want, r.Reasons)
			}
			starved := "act, healthy: the machine was starved: other programs took "
			if got := strings.Contains(strings.Join(r.Reasons, "\n"), starved); got != (c.want == Void) {
				t.Errorf("the reasons are %q", r.Reasons)
			}
		})
	}
}

// procDir stands in for /proc.
type procDir struct {
	t    *testing.T
	path string
}

// fakeProc puts a machine in the place of the real one on which this process has used nothing.
func fakeProc(t *testing.T) procDir {
	d := procDir{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(d.path, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("1", filepath.Join(d.path, "self")); err != nil {
		t.Fatal(err)
	}
	d.write("1/stat", "1 (holdfast) S"+strings.Repeat(" 0", 49))
	real := procMount
	procMount = d.path
	t.Cleanup(func() { procMount = real })
	return d
}

// write changes a file in one step: the runner may be reading it.
func (d procDir) write(name, text string) {
	path := filepath.Join(d.path, name)
	if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o644); err != nil {
		d.t.Error(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Error(err)
	}
}

// What is degraded, says so and may be so is good, and counted apart, even where nothing seems to be missing.
func TestFallbacksAreGoodAndCountedApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class string
		lie   lie
	}{
		"no carousel":        {`kind: book, fallbacks: [carousel]`, forged(pages, marked("carousel", withoutCarousel))},
		"the last good copy": {`kind: browse, fallbacks: [copy]`, forged(shelves, marked("copy", same))},
		"a copy without a carousel": {
			`kind: book, fallbacks: [carousel, copy]`, forged(pages, marked("carousel, copy", withoutCarousel)),
		},
		"the last rates": {
			`kind: browse, fallbacks: [prices], currencies: {EUR: 100%}`, forged(shelves, marked("prices", same)),
		},
		"the shop's own currency": {
			`kind: browse, fallbacks: [prices], currencies: {EUR: 100%}`,
			func(s *fakeShop, w http.ResponseWriter, r *http.Request) bool {
				if on(shelves, r) {
					w.Header().Set("X-Degraded", "prices")
					r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "EUR", "USD", 1)
				}
				return false
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, small(t, "{"+c.class+", rate: 50/s, in_time: 5s}", aMoment), newFakeShop(t, c.lie), Options{})
			calm(r, true)
			if r.Verdict != Pass {
				t.Errorf("verdict %s: %q", r.Verdict, r.Reasons)
			}
			want := Counts{Asked: liedTo, Sent: liedTo, Good: liedTo, Fallback: liedTo, Tries: liedTo}
			if got := r.Acts[0].Phases[0].Classes["people"].Counts; got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
		})
	}
}
