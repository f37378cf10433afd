// Package exempt: tests and generated files are not judged, and nothing that a test sets counts as set.
package exempt

import "net/http"

var client = &http.Client{} // want `the http.Client in client has no Timeout`
