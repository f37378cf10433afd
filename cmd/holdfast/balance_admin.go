package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// admin answers as the admin listener of one service does, so that nobody who marks, switches or watches a service
// needs to know of its replicas. What is read is the first one's, except that the service is ready while any is; a
// change goes to all of them.
func (b *balancer) admin(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/readyz":
		if len(b.ready()) == 0 {
			problem.Write(w, r, problem.New(problem.Unavailable, "No replica of "+b.service+" is ready."))
		}
	case r.Method == http.MethodGet:
		b.ask(w, r, b.replicas[:1])
	case r.Method == http.MethodPost && r.URL.Path == "/admin/faults":
		problem.Write(w, r, problem.New(problem.Forbidden, fmt.Sprintf("A fault is set on one process, and %s has %d "+
			"replicas: open the shop without its REPLICAS to set one.", b.service, len(b.replicas))))
	default:
		b.ask(w, r, b.replicas)
	}
}

// ask sends an admin request to the replicas in turn. The answer is the last one's, or the first that is no success.
func (b *balancer) ask(w http.ResponseWriter, r *http.Request, replicas []*replica) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, service.MaxRequestBody))
	if err != nil {
		problem.Write(w, r, problem.New(problem.TooLarge, fmt.Sprintf("Send at most %d bytes.", service.MaxRequestBody)))
		return
	}
	for i, to := range replicas {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, to.admin+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		req.Header["Content-Type"] = r.Header["Content-Type"]
		resp, err := adminClient.Do(req)
		if err != nil {
			badGateway(w, r, err)
			return
		}
		if i == len(replicas)-1 || resp.StatusCode/100 != 2 {
			w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body) // the first byte is out: a break can only end the answer
			resp.Body.Close()
			return
		}
		resp.Body.Close()
	}
}
