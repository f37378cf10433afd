package resilience_test

import (
	"context"
	"fmt"
	"go/format"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/holdfast/pkg/resilience"
)

// copied says that TestCopiesOut has run in this process.
var copied atomic.Bool

// TestCopiesOut proves that the folder is all that it takes: its files build and pass vet in a module that has never
// heard of this one, and so does the program of docs/resilience.md beside them. Nothing is downloaded.
func TestCopiesOut(t *testing.T) {
	if !copied.CompareAndSwap(false, true) {
		t.Skip("done already: there is no chance in a build, and -count changes nothing")
	}
	if testing.Short() {
		t.Skip("builds a module of its own: not with -short")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here to build with")
	}
	root := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	// The versions are those of the module that the package is in, so that the module cache has them.
	mod := strings.TrimSpace(run(t, ".", "env", "GOMOD"))
	sum, err := os.ReadFile(filepath.Join(filepath.Dir(mod), "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", sum)
	version := strings.TrimSpace(run(t, ".", "list", "-m", "-f", "{{.GoVersion}}"))
	modules := run(t, ".", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}\t{{.Path}} {{.Version}}{{end}}{{end}}",
		".", "github.com/prometheus/client_golang/prometheus/promhttp") // with which the program shows its metrics
	write("go.mod", fmt.Appendf(nil, "module example.org/shop\n\ngo %s\n\nrequire (\n%s)\n", version, modules))

	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join("internal", "resilience", name), text)
	}
	if guide, ok := readGuide(); ok {
		program := wholeFiles(guide)
		if len(program) != 1 {
			t.Fatalf("docs/resilience.md has %d whole files, want one", len(program))
		}
		if tidy, err := format.Source([]byte(program[0])); err != nil || string(tidy) != program[0] {
			t.Errorf("the program of docs/resilience.md is not as gofmt would have it: %v", err)
		}
		write("main.go", []byte(program[0]))
	}

	run(t, root, "build", "./...")
	run(t, root, "vet", "./...")
}

// run returns what a go command prints on its standard output; it downloads nothing.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// readGuide returns docs/resilience.md, where the package still lives beside it.
func readGuide() (text string, ok bool) {
	guide, err := os.ReadFile("../../docs/resilience.md")
	return string(guide), err == nil
}

// wholeFiles returns the Go blocks that are files and not sketches: those that name their package.
func wholeFiles(guide string) (files []string) {
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(guide, -1) {
		if regexp.MustCompile(`(?m)^package `).MatchString(block[1]) {
			files = append(files, block[1])
		}
	}
	return files
}

// TestGuideNamesWhatThereIs holds docs/resilience.md to the code: every field, outcome and metric is in it, and it
// names no metric that is none.
func TestGuideNamesWhatThereIs(t *testing.T) {
	guide, ok := readGuide()
	if !ok {
		t.Skip("copied out: there is no guide to compare with")
	}
	var want []string
	for prefix, of := range map[string]any{
		"":                 resilience.Policy{},
		"Retry.":           resilience.Retry{},
		"Breaker.":         resilience.Breaker{},
		"AdmissionPolicy.": resilience.AdmissionPolicy{},
	} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if field.Type.Kind() != reflect.Struct { // whose own fields are told
				want = append(want, prefix+field.Name)
			}
		}
	}
	for _, o := range resilience.Outcomes {
		want = append(want, o.String())
	}
	for _, name := range want {
		if !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("docs/resilience.md does not name `%s`", name)
		}
	}

	exist := metricNames(t)
	for name := range exist {
		if !strings.Contains(guide, name) {
			t.Errorf("docs/resilience.md does not name the metric %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`\bresilience_\w+`).FindAllString(guide, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		if !exist[name] {
			t.Errorf("docs/resilience.md names the metric %s, which is none", name)
		}
	}
}

// metricNames returns the names of all metrics that the package has.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	dep := open(resilience.Policy{Timeout: resilience.Unbounded, Slots: 1})
	dep.Endpoint("related")
	admission, err := resilience.NewAdmission(resilience.AdmissionPolicy{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	refused := httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)
	admission.Middleware(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), refused)

	registry := prometheus.NewRegistry()
	registry.MustRegister(dep, admission, &resilience.Deadline{})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	return names
}
