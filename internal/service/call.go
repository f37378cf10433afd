package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"example.com/holdfast/internal/postgres"
	"example.com/holdfast/internal/problem"
	"example.com/holdfast/pkg/resilience"
)

// GetJSON asks an endpoint for one JSON document: inside one guarded call of e, each attempt on the replica of to
// that has the fewest calls under way. pathAndQuery starts with a slash and is escaped: "/books?page=2".
//
// An answer of 2xx is read whole, at most the policy's MaxBody, and decoded into T; unknown members are ignored, since
// the consumer owns only the fields it reads. An answer of 4xx (429 apart) comes back as a *problem.Problem and is no
// failure of the dependency; every other answer, and a body that does not decode, is one.
//
// It refuses the context of a transaction, and asks nobody: a connection that is held during a slow call is a pool
// that runs out.
func GetJSON[T any](
	ctx context.Context, e *resilience.Endpoint, to *Addresses, pathAndQuery string, fallback ...resilience.Fallback[T],
) (T, error) {
	return Get(ctx, e, to, pathAndQuery, decode[T], fallback...)
}

// Get is GetJSON for a caller that reads the document itself: one that has read the same bytes before, say. What read
// cannot read is a failure of the dependency. The bytes are read's to keep.
func Get[T any](
	ctx context.Context, e *resilience.Endpoint, to *Addresses, pathAndQuery string,
	read func(doc []byte) (T, error), fallback ...resilience.Fallback[T],
) (T, error) {
	return call(ctx, e, to, http.MethodGet, pathAndQuery, nil, nil, read, fallback...)
}

// PostJSON sends body as JSON and otherwise is as GetJSON. Every attempt sends the same header and the same bytes; put
// an Idempotency-Key into header where the endpoint's policy may retry.
func PostJSON[T any](
	ctx context.Context, e *resilience.Endpoint, to *Addresses, pathAndQuery string, header http.Header, body any,
	fallback ...resilience.Fallback[T],
) (T, error) {
	doc, err := json.Marshal(body)
	if err != nil {
		var none T
		return none, fmt.Errorf("encode request to %s: %w", e.Name(), err)
	}
	return call(ctx, e, to, http.MethodPost, pathAndQuery, header, doc, decode[T], fallback...)
}

func call[T any](
	ctx context.Context, e *resilience.Endpoint, to *Addresses, method, pathAndQuery string, header http.Header,
	body []byte, read func(doc []byte) (T, error), fallback ...resilience.Fallback[T],
) (T, error) {
	if postgres.Holding(ctx) {
		var none T
		return none, fmt.Errorf("%s %s is called within a transaction: end that first", e.Dependency().Name(), e.Name())
	}
	id := RequestID(ctx)
	if id == "" {
		id = rand.Text() // background work: nobody's request, but its calls can be found in the callee's log
	}
	return resilience.Call(ctx, e, func(ctx context.Context) (v T, err error) {
		at := to.replicas.take()
		defer func() { at.giveBack(ctx, err) }()
		req, err := http.NewRequestWithContext(ctx, method, join(at.base, pathAndQuery), bytes.NewReader(body))
		if err != nil {
			return v, err
		}
		req.Host = at.host
		if header != nil {
			req.Header = header.Clone()
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set(RequestIDHeader, id)
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		return exchange(e, req, read)
	}, fallback...)
}

// exchange sends req and reads the answer.
func exchange[T any](e *resilience.Endpoint, req *http.Request, read func(doc []byte) (T, error)) (v T, err error) {
	resp, err := e.Client().Do(req)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		p := problem.Read(resp)
		p.Instance = "" // an address of ours, not of whom it may be passed on to
		if p.Status >= 400 && p.Status < 500 && p.Status != http.StatusTooManyRequests {
			return v, resilience.Expected(p)
		}
		return v, p
	}
	// Read whole, then decode: rubbish after the document is seen, and the connection can be used again.
	doc, err := io.ReadAll(resp.Body) //unbounded:allow readall "the policy's MaxBody bounds it"
	if err != nil {
		return v, fmt.Errorf("read answer: %w", err)
	}
	if v, err = read(doc); err != nil {
		return v, fmt.Errorf("decode answer: %w", err)
	}
	return v, nil
}

func decode[T any](doc []byte) (v T, err error) {
	err = json.Unmarshal(doc, &v)
	return v, err
}
