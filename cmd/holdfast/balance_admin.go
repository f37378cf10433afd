package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

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
		readStates(w, r, b.admins())
	case r.Method == http.MethodGet:
		askAdmins(w, r, b.admins()[:1])
	case r.Method == http.MethodPost && r.URL.Path == "/admin/faults":
		problem.Write(w, r, problem.New(problem.Forbidden, fmt.Sprintf("A fault is set on one process, and %s has %d "+
			"replicas: open the shop without its REPLICAS to set one.", b.service, len(b.replicas))))
	default:
		askAdmins(w, r, b.admins())
	}
}

// stateTimeout is for one replica: who asks for the state of all waits a second.
const stateTimeout = 400 * time.Millisecond

// readStates answers with the state of the first replica that tells its own, and what the processes of all of them
// take: a machine that only knew of one would book the others' to somebody else.
func readStates(w http.ResponseWriter, r *http.Request, admins []string) {
	var sum *service.State
	var failed error
	for _, admin := range admins {
		ctx, cancel := context.WithTimeout(r.Context(), stateTimeout)
		s, err := readState(ctx, admin+r.URL.Path)
		cancel()
		switch {
		case err != nil:
			failed = err // it is being restarted, or frozen
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

func (b *balancer) admins() (all []string) {
	for _, r := range b.replicas {
		all = append(all, r.admin)
	}
	return all
}

// askAdmins sends an admin request to the replicas of a service in turn. The answer is the last one's, or the first that
// is no success.
func askAdmins(w http.ResponseWriter, r *http.Request, admins []string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, service.MaxRequestBody))
	if err != nil {
		problem.Write(w, r, problem.New(problem.TooLarge, fmt.Sprintf("Send at most %d bytes.", service.MaxRequestBody)))
		return
	}
	for i, admin := range admins {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, admin+r.URL.RequestURI(), bytes.NewReader(body))
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
		if i == len(admins)-1 || resp.StatusCode/100 != 2 {
			w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body) // the first byte is out: a break can only end the answer
			resp.Body.Close()
			return
		}
		resp.Body.Close()
	}
}
