package service

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/pprof"
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

	// A page in somebody's browser must not switch the defences off.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.Forbidden, "The admin API takes no orders from pages of another origin."))
	}))
	return c.receive(protection.Handler(mux))
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
	if err := readOrder(w, r, &order); err != nil {
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
	if err := readOrder(w, r, &order); err != nil {
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
	kind := r.URL.Query().Get("kind")
	if kind != "" && !fault.IsKind(kind) {
		unknown := problem.FieldError{Field: "kind", Message: "unknown"}
		problem.Write(w, r, problem.Invalid("There is no such kind of fault.", unknown))
		return
	}
	c.faults.Clear(kind)
	c.log.WarnContext(r.Context(), "faults cleared", "kind", kind)
	c.listFaults(w, r)
}

// faultsAllowed refuses unless FAULTS=on.
func (c *Chassis) faultsAllowed(w http.ResponseWriter, r *http.Request) bool {
	if !c.settings.faults {
		problem.Write(w, r, problem.New(problem.Forbidden,
			"This service takes no faults: it was not started with FAULTS=on."))
	}
	return c.settings.faults
}

// readOrder decodes the JSON body of an admin request.
func readOrder(w http.ResponseWriter, r *http.Request, into any) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return problem.New(problem.UnsupportedMedia, "Send Content-Type: application/json.")
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAdminBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, extra := dec.Token(); extra != io.EOF {
			err = errors.New("more than one JSON document")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem.New(problem.TooLarge, "An admin request may have at most 4 KiB.")
	}
	if err != nil {
		return problem.Invalid("The body is not the JSON that this takes: " + err.Error() + ".")
	}
	return nil
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // a caller that is gone needs no answer
}
