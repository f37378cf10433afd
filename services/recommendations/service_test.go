package recommendations

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns the service on a chassis that takes ownWork for each answer and binds free ports if it is run.
func open(t *testing.T, ownWork time.Duration) (*Service, *service.Chassis) {
	t.Helper()
	cfg := Config{Config: service.Defaults("recommendations")}
	cfg.Addr, cfg.AdminAddr, cfg.OwnWork = "127.0.0.1:0", "127.0.0.1:0", ownWork
	c, err := service.New("recommendations", cfg.Config, service.AnnounceTo(io.Discard), service.LogTo(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func get(t *testing.T, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	return w
}

// A good request gets as many related books as it asks for, the best ones, in one JSON document.
func TestRelatedAnswers(t *testing.T) {
	s, _ := open(t, 0)
	for _, tt := range []struct {
		target string
		want   int
	}{
		{"/related/moby-dick", 5},
		{"/related/moby-dick?limit=1", 1},
		{"/related/moby-dick?limit=20", 20},
		{"/related/walden?limit=3&other=x", 3},
	} {
		t.Run(tt.target, func(t *testing.T) {
			w := get(t, s, tt.target)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			var got answer
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			book := strings.TrimPrefix(strings.Split(tt.target, "?")[0], "/related/")
			if diff := cmp.Diff(answer{book, s.related[book][:tt.want]}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A book that nothing is related to has an empty list, not null: a consumer need not know the difference.
func TestRelatedOfALonelyBook(t *testing.T) {
	_, c := open(t, 0)
	s, err := newService(c, new(Memory), []Book{{ID: "alone"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, s, "/related/alone").Body.String(), `{"book":"alone","related":[]}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
}

// The offers are the most bought books, as many as are asked for.
func TestOffersAnswer(t *testing.T) {
	s, _ := open(t, 0)
	for target, want := range map[string]int{
		"/offers": 5, "/offers?limit=1": 1, "/offers?limit=20": 20, "/offers?limit=4&other=x": 4,
	} {
		t.Run(target, func(t *testing.T) {
			w := get(t, s, target)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			var got offersAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(offersAnswer{s.offers[:want]}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A shop that has sold nothing of what it has now offers an empty list, not null.
func TestNothingToOffer(t *testing.T) {
	_, c := open(t, 0)
	s, err := newService(c, new(Memory), []Book{{ID: "alone"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, s, "/offers").Body.String(), `{"offers":[]}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
}

// What is wrong with a request is told, all of it, by field; what does not exist is a 404; and neither costs any work.
func TestD11BadRequests(t *testing.T) {
	s, _ := open(t, 0)
	for _, tt := range []struct {
		target string
		status int
		fields []string
	}{
		{"/related/the-book-nobody-wrote", http.StatusNotFound, nil},
		{"/related/" + strings.Repeat("a", 100), http.StatusNotFound, nil},
		{"/related/" + strings.Repeat("a", 101), http.StatusBadRequest, []string{"book"}},
		{"/related/" + strings.Repeat("a", 10<<10), http.StatusBadRequest, []string{"book"}},
		{"/related/Moby-Dick", http.StatusBadRequest, []string{"book"}},
		{"/related/moby--dick", http.StatusBadRequest, []string{"book"}},
		{"/related/..%2F..%2Fetc%2Fpasswd", http.StatusBadRequest, []string{"book"}},
		{"/related/%00", http.StatusBadRequest, []string{"book"}},
		{"/related/moby-dick?limit=0", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=21", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=-1", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=five", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=1e1", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=99999999999999999999", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=5&limit=6", http.StatusBadRequest, []string{"limit"}},
		{"/related/moby-dick?limit=%zz", http.StatusBadRequest, []string{"query"}},
		{"/related/_?limit=0", http.StatusBadRequest, []string{"book", "limit"}},
		{"/offers?limit=0", http.StatusBadRequest, []string{"limit"}},
		{"/offers?limit=21", http.StatusBadRequest, []string{"limit"}},
		{"/offers?limit=five", http.StatusBadRequest, []string{"limit"}},
		{"/offers?limit=5&limit=6", http.StatusBadRequest, []string{"limit"}},
		{"/offers?limit=%zz", http.StatusBadRequest, []string{"query"}},
		{"/offers/more", http.StatusNotFound, nil},
		{"/related/", http.StatusNotFound, nil},
		{"/related/moby-dick/more", http.StatusNotFound, nil},
		{"/", http.StatusNotFound, nil},
	} {
		t.Run(tt.target[:min(len(tt.target), 60)], func(t *testing.T) {
			p, fields := problemOf(t, get(t, s, tt.target))
			kind := problem.NotFound
			if tt.status == http.StatusBadRequest {
				kind = problem.InvalidRequest
			}
			if p.Status != tt.status || !kind.Is(p) {
				t.Errorf("problem %d %s, want %d %s", p.Status, p.Type, tt.status, kind.URI)
			}
			if diff := cmp.Diff(tt.fields, fields); diff != "" {
				t.Errorf("fields (-want +got)\n%s", diff)
			}
		})
	}
}

// problemOf reads the problem that w holds, and the fields that it blames.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) (*problem.Problem, []string) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != problem.ContentType {
		t.Fatalf("content type %q, want %q: %s", got, problem.ContentType, w.Body)
	}
	var list struct {
		Errors []problem.FieldError `json:"errors"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, e := range list.Errors {
		if e.Message == "" {
			t.Errorf("field %s is blamed without a word", e.Field)
		}
		fields = append(fields, e.Field)
	}
	return problem.Read(w.Result()), fields
}

// Only reading is offered, and a refusal says so.
func TestOnlyReading(t *testing.T) {
	s, _ := open(t, 0)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/related/moby-dick", nil))
	if p, _ := problemOf(t, w); p.Status != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %v, Allow %q", p, w.Header().Get("Allow"))
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/related/moby-dick", nil))
	if w.Code != http.StatusOK {
		t.Errorf("HEAD: status %d, want 200", w.Code)
	}
}

// An answer takes OWN_WORK, whatever it says.
func TestOwnWorkIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, 80*time.Millisecond)
		for target, want := range map[string]time.Duration{
			"/related/moby-dick": 80 * time.Millisecond, "/offers": 80 * time.Millisecond, "/elsewhere": 0,
		} {
			start := time.Now()
			get(t, s, target)
			if took := time.Since(start); took != want {
				t.Errorf("%s took %v, want %v", target, took, want)
			}
		}
	})
}

// Work ends with the request, whoever ends it: the caller who leaves, or the route's own budget. Nothing is left behind.
func TestB24OwnWorkEndsWithTheRequest(t *testing.T) {
	for _, tt := range []struct {
		name string
		stay time.Duration // how long the caller does
		want time.Duration
	}{
		{"the caller leaves", 30 * time.Millisecond, 30 * time.Millisecond},
		{"the budget is used up", time.Hour, routeBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := open(t, time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), tt.stay)
				defer cancel()
				w := httptest.NewRecorder()
				start := time.Now()
				s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/related/moby-dick", nil))
				if took := time.Since(start); took < tt.want-100*time.Millisecond || took > tt.want {
					t.Errorf("took %v, want at most %v and little less", took, tt.want)
				}
				if p, _ := problemOf(t, w); !problem.Unavailable.Is(p) {
					t.Errorf("problem %v, want unavailable", p)
				}
			})
		})
	}
}

// The store's history is what is answered from; one that cannot be had keeps the service from starting.
func TestHistoryComesFromTheStore(t *testing.T) {
	_, c := open(t, 0)
	store := new(Memory)
	var history []Order
	for range minSupport {
		history = append(history, Order{"emma", "walden"})
	}
	if err := store.Seed(t.Context(), history); err != nil {
		t.Fatal(err)
	}
	s, err := newService(c, store, booksOnSale())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.related["emma"][0]; got != "walden" {
		t.Errorf("readers of Emma also bought %s first, want walden, as the store says", got)
	}
	if diff := cmp.Diff([]string{"emma", "walden"}, s.offers); diff != "" {
		t.Errorf("offers, as the store says (-want +got)\n%s", diff)
	}
	for _, broken := range []Store{brokenStore{seed: errBroken}, brokenStore{orders: errBroken}} {
		if _, err := newService(c, broken, booksOnSale()); !errors.Is(err, errBroken) {
			t.Errorf("error %v, want that of the store", err)
		}
	}
}

var errBroken = errors.New("broken")

type brokenStore struct{ seed, orders error }

func (b brokenStore) Seed(context.Context, []Order) error     { return b.seed }
func (b brokenStore) Orders(context.Context) ([]Order, error) { return nil, b.orders }

// A leaf waits for nobody while it is asked, and its routes fit their budgets.
func TestIsALeaf(t *testing.T) {
	for _, e := range Dependencies {
		if !e.Background {
			t.Errorf("%s is waited for", e.Dependency)
		}
	}
	if err := defence.CheckRoutes(Routes); err != nil {
		t.Error(err)
	}
}

// The whole of it once, over a real connection: listens, answers, stops and leaves nothing behind.
func TestServes(t *testing.T) {
	s, c := open(t, time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, s) }()
	select {
	case <-c.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	public, _ := c.Addrs()
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	target := "http://" + public + "/related/moby-dick?limit=2"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	client.CloseIdleConnections()
	want := `{"book":"moby-dick","related":["`
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), want) {
		t.Errorf("status %d, body %s, error %v", resp.StatusCode, body, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
