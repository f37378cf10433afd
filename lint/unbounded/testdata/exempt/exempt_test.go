package exempt

import (
	"net/http"
	"testing"
	"time"
)

func TestExempt(t *testing.T) {
	client.Timeout = time.Second
	http.Get("http://127.0.0.1")
}
