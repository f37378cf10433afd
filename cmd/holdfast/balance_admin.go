package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// admin answers as the admin listener of one service does, so that nobody who marks, switches or watches a service
// needs to know of its replicas. What is read is the first one's, except that the service is ready while any is, and that
// its state tells what the processes of all take; a change goes to all of them.
func (b *balancer) admin(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/readyz":
		if len(b.ready()) == 0 {
			problem.Write(w, r, problem.New(problem.Unavailable, "No replica of "+b.service+" is ready."))
		}
	case r.Method == http.MethodGet && r.URL.Path == "/admin/state":
		b.state(w, r)
	case r.Method == http.MethodGet:
		b.ask(w, r, b.replicas[:1])
	case r.Method == http.MethodPost && r.URL.Path == "/admin/faults":
		problem.Write(w, r, problem.New(problem.Forbidden, fmt.Sprintf("A fault is set on one process, and %s has %d "+
			"replicas: open the shop without its REPLICAS to set one.", b.service, len(b.replicas))))
	default:
		b.ask(w, r, b.replicas)
	}
}

// state answers with the state of the first replica that tells its own, and what the processes of all of them take: a
// machine that only knew of one would book the others' to somebody else.
func (b *balancer) state(w http.ResponseWriter, r *http.Request) {
	var sum *service.State
	var failed error
	for _, to := range b.replicas {
		s, err := readState(r.Context(), to.admin+r.URL.Path)
		switch {
		case err != nil:
			failed = err // it is being restarted, perhaps
		case sum == nil:
			sum = s
		default:
			sum.Process = sum.Process.Plus(s.Process)
		}
	}
	if sum == nil {
		badGateway(w, r, failed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sum) // nobody is left to be told
}

func readState(ctx context.Context, address string) (*service.State, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	var s service.State
	return &s, json.NewDecoder(io.LimitReader(resp.Body, adminBody)).Decode(&s)
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
