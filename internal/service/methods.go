package service

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"example.com/holdfast/internal/problem"
)

// MethodNotAllowed answers a request by a method that its path does not take, and names those that it takes. It is
// for a chi router that answers HEAD as GET: r.Use(middleware.GetHead).
func MethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	if c := chi.RouteContext(r.Context()); c != nil {
		path := cmp.Or(r.URL.RawPath, r.URL.Path) // as chi finds it
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if !c.Routes.Match(chi.NewRouteContext(), method, path) {
				continue
			}
			allowed = append(allowed, method)
			if method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	problem.Write(w, r, problem.New(problem.MethodNotAllowed,
		"This address does not take "+r.Method+", only "+list+"."))
}
