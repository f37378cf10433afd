package service

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/pprof"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/fault"
	"example.com/holdfast/internal/problem"
)

// adminWriteTimeout is how long an admin answer may take: a profile its seconds, and a probe that waits in line its
// prober's patience.
const adminWriteTimeout = 10 * time.Minute

// maxAdminBody is the most an admin request may say.
const maxAdminBody = 4 << 10

// admin is the admin API: a listener of its own, which no limit, fault or queue of the public one touches.
func (c *Chassis) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", c.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.registry, promhttp.HandlerOpts{
		Registry: c.registry, MaxRequestsInFlight: 4, Timeout: 5 * time.Second,
	}))
	mux.HandleFunc("GET /admin/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.state()) })
	mux.HandleFunc("POST /admin/mark", c.mark)
	mux.HandleFunc("GET /admin/defences", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.board.Get()) })
	mux.HandleFunc("POST /admin/defences", c.setDefences)
	mux.HandleFunc("GET /admin/faults", c.listFaults)
	mux.HandleFunc("POST /admin/faults", c.setFault)
	mux.HandleFunc("DELETE /admin/faults", c.clearFaults)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)

	return c.receive(notFromPages(mux))
}

// notFromPages lets nothing but reading pass that comes from a page in somebody's browser: it must not switch the
// defences off. No page is ours, and one that says it is of this origin has had its name point here (DNS rebinding).
func notFromPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reading := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if !reading && (len(r.Header["Origin"]) > 0 || len(r.Header["Sec-Fetch-Site"]) > 0) {
			problem.Write(w, r, problem.New(problem.Forbidden,
				"The admin API takes no orders from pages, of this origin or another."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mark resets the high-water marks and the instant of saturation.
func (c *Chassis) mark(w http.ResponseWriter, _ *http.Request) {
	c.board.Admission().Mark()
	for _, dep := range c.board.Dependencies() {
		dep.Mark()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *Chassis) setDefences(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Set string `json:"set"`
	}
	if err := readOrder(w, r, &order, `must be one JSON object, such as {"set":"all"}`); err != nil {
		problem.Write(w, r, err)
		return
	}
	set, err := defence.Parse(order.Set, c.board.Get())
	if err != nil {
		problem.Write(w, r, problem.Invalid(err.Error(), problem.FieldError{Field: "set", Message: err.Error()}))
		return
	}
	if err := c.board.Set(set); err != nil {
		c.log.ErrorContext(r.Context(), "defences not set", "set", order.Set, "error", err)
		problem.Write(w, r, err)
		return
	}
	c.log.InfoContext(r.Context(), "defences set", "set", order.Set)
	writeJSON(w, c.board.Get())
}

func (c *Chassis) listFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string][]fault.Fault{"faults": c.faults.List()})
}

func (c *Chassis) setFault(w http.ResponseWriter, r *http.Request) {
	if !c.faultsAllowed(w, r) {
		return
	}
	var order struct {
		Fault string `json:"fault"`
	}
	if err := readOrder(w, r, &order, `must be one JSON object, such as {"fault":"hold=90s"}`); err != nil {
		problem.Write(w, r, err)
		return
	}
	f, err := fault.Parse(order.Fault)
	if err != nil {
		problem.Write(w, r, problem.Invalid(err.Error(), problem.FieldError{Field: "fault", Message: err.Error()}))
		return
	}
	c.faults.Set(f)
	c.log.WarnContext(r.Context(), "fault set", "fault", f.String())
	c.listFaults(w, r)
}

func (c *Chassis) clearFaults(w http.ResponseWriter, r *http.Request) {
	if !c.faultsAllowed(w, r) {
		return
	}
	kind, err := kindAsked(r.URL)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	c.faults.Clear(kind)
	c.log.WarnContext(r.Context(), "faults cleared", "kind", kind)
	c.listFaults(w, r)
}

// kindAsked reads the kind of fault that a query names; "" is all. A query that says anything else is refused: who
// misspells one kind does not want to clear all.
func kindAsked(u *url.URL) (kind string, err error) {
	query, err := url.ParseQuery(u.RawQuery)
	kind = query.Get("kind")
	switch {
	case len(query) == 0 && err == nil:
		return "", nil
	case err != nil, len(query) > 1, len(query["kind"]) != 1, !fault.IsKind(kind):
		allowed := "must be given once, as " + fault.Kinds() + ", or not at all, for all of them"
		return "", problem.Invalid("The kind "+allowed+".", problem.FieldError{Field: "kind", Message: allowed})
	}
	return kind, nil
}

// faultsAllowed refuses unless FAULTS=on.
func (c *Chassis) faultsAllowed(w http.ResponseWriter, r *http.Request) bool {
	if !c.settings.faults {
		problem.Write(w, r, problem.New(problem.Forbidden,
			"This service takes no faults: it was not started with FAULTS=on."))
	}
	return c.settings.faults
}

// readOrder decodes the JSON body of an admin request; shape says what it must be.
func readOrder(w http.ResponseWriter, r *http.Request, into any, shape string) error {
	if err := RequireJSON(r); err != nil {
		return err
	}
	doc, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil { // the chassis has read it whole: only its length can be wrong
		return problem.New(problem.TooLarge, "An admin request may have at most 4 KiB.")
	}
	if broken := DecodeJSON(doc, into, shape); broken != nil {
		return problem.Invalid("The "+broken.Field+" "+broken.Message+".", *broken)
	}
	return nil
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // a caller that is gone needs no answer
}
