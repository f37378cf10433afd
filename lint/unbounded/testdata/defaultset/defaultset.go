// Package defaultset gives the default client a timeout: here, it has one.
package defaultset

import (
	"net/http"
	"time"
)

func init() { http.DefaultClient.Timeout = 5 * time.Second }

func get(u string) (*http.Response, error) { return http.Get(u) }
