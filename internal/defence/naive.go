package defence

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// naiveConnectTimeout is the dial timeout of Go's own default transport: the one bound that ordinary code has.
const naiveConnectTimeout = 30 * time.Second

// ordinaryTransport is the transport of ordinary code, with Go's own defaults (see http.DefaultTransport), in which
// connections a host are without limit; of the idle ones it keeps as many a host as idle says.
func ordinaryTransport(idle int, connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   idle,
		IdleConnTimeout:       time.Minute, // Go's 90 s would race the servers' own idle timeout
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// sharedTransport is one ordinary transport for all dependencies of the process. pool, if positive, is a limit on all
// calls through it, as a client in a shared library may have.
func sharedTransport(idle, pool int, connect time.Duration) http.RoundTripper {
	t := ordinaryTransport(idle, connect)
	if pool <= 0 {
		return t
	}
	return &pooled{next: t, places: make(chan struct{}, pool)}
}

// pooled lets so many calls be in flight, to whomever, and makes the others wait: without a word, and as long as
// their context lasts.
type pooled struct {
	next   *http.Transport
	places chan struct{}
}

func (p *pooled) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.enter(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper closes it whatever happens
		}
		return nil, err
	}
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		<-p.places
		return nil, err
	}
	resp.Body = &pooledBody{ReadCloser: resp.Body, leave: sync.OnceFunc(func() { <-p.places })}
	return resp, nil
}

// CloseIdleConnections is http.Client's, which knows nothing of what is behind a RoundTripper.
func (p *pooled) CloseIdleConnections() { p.next.CloseIdleConnections() }

func (p *pooled) enter(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type pooledBody struct {
	io.ReadCloser
	leave func()
}

func (b *pooledBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}
