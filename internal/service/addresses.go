package service

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
)

// Addresses is one or more base URLs of a service, "http://a:1,http://b:1". Each attempt of a call takes one of its
// replicas: the one with the fewest calls under way. A chassis that depends on the service finds the replicas behind
// a name, and leaves out one that does not answer.
// It unmarshals from text, so kong reads it from the environment. A copy shares the replicas of the original.
type Addresses struct {
	urls     []*url.URL
	turn     *atomic.Uint32
	replicas *replicas
}

// ParseAddresses reads a comma list of base URLs. The error names every one that is wrong.
func ParseAddresses(list string) (Addresses, error) {
	var a Addresses
	err := a.UnmarshalText([]byte(list))
	return a, err
}

// UnmarshalText reads a comma list of base URLs.
func (a *Addresses) UnmarshalText(text []byte) error {
	var urls []*url.URL
	var errs []error
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		u, err := url.Parse(part)
		switch {
		case err != nil: // told without its text, which may hold a password
			errs = append(errs, fmt.Errorf("address %d: is no URL", len(urls)+len(errs)+1))
		case u.Scheme != "http" && u.Scheme != "https", u.Host == "", !dialable(u), u.User != nil, u.RawQuery != "", u.Fragment != "":
			errs = append(errs, fmt.Errorf("address %q: must be http://host:port or https://host:port", u.Redacted()))
		default:
			urls = append(urls, u)
		}
	}
	a.urls, a.turn, a.replicas = urls, new(atomic.Uint32), newReplicas(urls)
	return errors.Join(errs...)
}

// dialable tells whether u names a host, and a port that there can be.
func dialable(u *url.URL) bool {
	n, err := strconv.Atoi(u.Port())
	return u.Hostname() != "" && (u.Port() == "" && !strings.HasSuffix(u.Host, ":") || err == nil && 1 <= n && n <= 65535)
}

// String is the comma list that was parsed.
func (a Addresses) String() string {
	parts := make([]string, len(a.urls))
	for i, u := range a.urls {
		parts[i] = u.String()
	}
	return strings.Join(parts, ",")
}

// MarshalText is String.
func (a Addresses) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Len is the number of addresses; 0 for the zero value.
func (a Addresses) Len() int { return len(a.urls) }

// Next returns the next base URL, round robin. The caller must not change it. It panics on the zero value.
func (a *Addresses) Next() *url.URL {
	return a.urls[int(a.turn.Add(1)-1)%len(a.urls)]
}

// URL joins the next base URL with a path, which may have a query: URL("/books?page=2").
func (a *Addresses) URL(pathAndQuery string) string { return join(a.Next(), pathAndQuery) }

func join(base *url.URL, pathAndQuery string) string {
	return base.Scheme + "://" + base.Host + strings.TrimSuffix(base.EscapedPath(), "/") + pathAndQuery
}
