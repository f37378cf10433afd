// Package readall: answers that may be as long as whoever sends them likes.
package readall

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"strings"

	"example.com/other"
)

func whole(resp *http.Response) {
	io.ReadAll(resp.Body) // want `io.ReadAll reads resp.Body without a limit: whoever answers decides how much memory that takes; read through io.LimitReader\(resp.Body, max\)`
	var buf bytes.Buffer
	buf.ReadFrom(resp.Body)  // want `\(\*bytes.Buffer\).ReadFrom reads resp.Body without a limit`
	io.Copy(&buf, resp.Body) // want `io.Copy reads resp.Body without a limit`
	var text strings.Builder
	io.Copy(&text, resp.Body) // want `io.Copy reads resp.Body`
}

func decoded(resp *http.Response, v any) {
	json.NewDecoder(resp.Body).Decode(v) // want `json.NewDecoder reads resp.Body without a limit`
	dec := xml.NewDecoder(resp.Body)     // want `xml.NewDecoder reads resp.Body`
	dec.Decode(v)
}

func wrapped(resp *http.Response, v any) {
	io.ReadAll(bufio.NewReader(resp.Body)) // want `io.ReadAll reads resp.Body`
	unzipped, _ := gzip.NewReader(resp.Body)
	json.NewDecoder(unzipped).Decode(v)            // want `json.NewDecoder reads resp.Body`
	io.ReadAll(io.TeeReader(resp.Body, os.Stderr)) // want `io.ReadAll reads resp.Body`
}

func aVariable(resp *http.Response) {
	body := resp.Body
	defer body.Close()
	io.ReadAll(body) // want `io.ReadAll reads resp.Body`
}

// A function that reads all it is given.

func decode(r io.Reader, v any) error { return json.NewDecoder(r).Decode(v) }

func decodeBuffered(r io.Reader, v any) error { return decode(bufio.NewReader(r), v) }

func throughFunctions(resp *http.Response, v any) {
	decode(resp.Body, v)         // want `readall.decode reads resp.Body without a limit`
	decodeBuffered(resp.Body, v) // want `readall.decodeBuffered reads resp.Body`
	other.Slurp(resp.Body)       // want `other.Slurp reads resp.Body`
}

// Limited.

const most = 1 << 20

func limited(w http.ResponseWriter, resp *http.Response, v any) {
	io.ReadAll(io.LimitReader(resp.Body, most))
	io.ReadAll(&io.LimitedReader{R: resp.Body, N: most})
	io.ReadAll(http.MaxBytesReader(w, resp.Body, most))
	json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(v)
	decode(io.LimitReader(resp.Body, most), v)
	io.ReadAll(bufio.NewReader(io.LimitReader(resp.Body, most)))
}

func inItsPlace(resp *http.Response) {
	resp.Body = http.MaxBytesReader(nil, resp.Body, most)
	io.ReadAll(resp.Body)
}

func aLimitedVariable(resp *http.Response) {
	body := io.LimitReader(resp.Body, most)
	io.ReadAll(body)
}

func decodeLimited(r io.Reader, v any) error {
	return json.NewDecoder(io.LimitReader(r, most)).Decode(v)
}

func throughALimit(resp *http.Response, v any) { decodeLimited(resp.Body, v) }

// Not into memory, or not a response.

func toAFile(f *os.File, resp *http.Response) { io.Copy(f, resp.Body) }

func drained(resp *http.Response) { io.Copy(io.Discard, resp.Body) }

func lines(resp *http.Response) *bufio.Scanner { return bufio.NewScanner(resp.Body) }

func request(r *http.Request) { io.ReadAll(r.Body) } // for http.MaxBytesReader and the server's own rules

func file(f *os.File) { io.ReadAll(f) }
