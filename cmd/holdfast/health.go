package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// healthWait is how long a health check waits. A service that needs longer to say that it lives does not.
const healthWait = time.Second

// healthCommand is the health check of a container that holds nothing but this binary.
type healthCommand struct {
	URL string `arg:"" help:"Where to ask, as http://127.0.0.1:9081/livez."`
}

func (c *healthCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return err
	}
	if req.URL.Scheme != "http" || req.URL.Host == "" {
		return fmt.Errorf("%q is not an http:// address", c.URL)
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		return exitError{exitMissed, err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return exitError{exitMissed, fmt.Errorf("%s answered %s", c.URL, resp.Status)}
	}
	return nil
}
