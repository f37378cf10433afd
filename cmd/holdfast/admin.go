package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/holdfast/internal/problem"
)

// adminClient talks to the admin listeners. They answer at once or something is wrong with them.
var adminClient = &http.Client{
	Timeout: 5 * time.Second,
	Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: time.Second}).DialContext,
		ResponseHeaderTimeout: 5 * time.Second,
		MaxConnsPerHost:       4,
		MaxIdleConnsPerHost:   1,
		IdleConnTimeout:       10 * time.Second,
	},
}

// adminBody is the most that an admin answer may hold.
const adminBody = 1 << 20

// ask sends one request to a service's admin API, body as JSON unless nil, and decodes the answer into answer
// unless that is nil. A change goes to all replicas, one after the other; what is read is the first one's.
func (a addresses) ask(ctx context.Context, method, service, path string, body, answer any) error {
	admins := a[service].admins()
	if method == http.MethodGet {
		admins = admins[:1]
	}
	for _, admin := range admins {
		if err := askAdmin(ctx, method, service, admin, path, body, answer); err != nil {
			return err
		}
	}
	return nil
}

func askAdmin(ctx context.Context, method, service, admin, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, admin+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w\nIs the shop open? holdfast up, or --target for one elsewhere",
			service, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%s: there is no admin API at %s: is that its public address?", service, admin)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %w", service, problem.Read(resp))
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, adminBody)).Decode(answer); err != nil {
		return fmt.Errorf("%s: read its answer to %s %s: %w", service, method, path, err)
	}
	return nil
}
