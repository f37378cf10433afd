package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"example.com/holdfast/internal/defence"
)

const module = "example.com/holdfast/"

// allowed says for a package of this module, by the first part of its path that is found here, what else of the
// module it may import. .golangci.yml says the same to the linter; this needs nothing but Go.
var allowed = []struct {
	from string
	to   []string
}{
	{"cmd/unbounded", []string{"lint"}}, // built into other modules: it brings nothing of the shop
	{"cmd/", []string{"services/", "loadtest", "internal/", "pkg/"}},
	{"services/gateway", []string{"loadtest/predict", "internal/", "pkg/"}},
	{"services/", []string{"internal/", "pkg/"}},
	{"loadtest", []string{"loadtest", "internal/", "pkg/"}},
	{"internal/", []string{"internal/", "pkg/"}},
	{"lint", []string{"lint"}},
	{"pkg/", nil},
}

// TestArrows proves that imports run one way: cmd → services → internal → pkg/resilience; that no service imports
// another; and that the library imports nothing else of this module, so that it can be copied out.
func TestArrows(t *testing.T) {
	for _, p := range listPackages(t) {
		t.Run(p.ImportPath, func(t *testing.T) {
			for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
				to, ours := strings.CutPrefix(imported, module)
				if ours && !mayImport(strings.TrimPrefix(p.ImportPath, module), to) {
					t.Errorf("imports %s", imported)
				}
			}
		})
	}
}

// TestArrowsAreHeld proves that the rule can be broken.
func TestArrowsAreHeld(t *testing.T) {
	for from, tos := range map[string][]string{
		"pkg/resilience":     {"internal/problem", "services/gateway", "loadtest"},
		"services/catalogue": {"services/currency", "loadtest/predict", "cmd/holdfast"},
		"services/gateway":   {"loadtest", "services/catalogue"},
		"loadtest":           {"services/gateway", "cmd/holdfast"},
		"internal/service":   {"services/gateway", "loadtest"},
		"lint/unbounded":     {"pkg/resilience", "internal/problem"},
		"cmd/unbounded":      {"internal/problem", "services/gateway"},
		"somewhere/new":      {"pkg/resilience"},
	} {
		for _, to := range tos {
			if mayImport(from, to) {
				t.Errorf("%s may import %s", from, to)
			}
		}
	}
}

func mayImport(from, to string) bool {
	if from == to { // an external test of the package itself
		return true
	}
	for _, rule := range allowed {
		if strings.HasPrefix(from+"/", strings.TrimSuffix(rule.from, "/")+"/") {
			return slices.ContainsFunc(rule.to, func(prefix string) bool {
				return strings.HasPrefix(to+"/", strings.TrimSuffix(prefix, "/")+"/")
			})
		}
	}
	return false
}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	fields := "-json=ImportPath,Imports,TestImports,XTestImports"
	cmd := exec.CommandContext(t.Context(), "go", "list", fields, module+"...")
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %s", cmd, e.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

// A leaf is who calls nobody while somebody waits. An edge says so itself, for the package that reads it knows no
// services; the naive client repeats itself only there, so a leaf that is not called one would look too well.
func TestLeavesAreCalledLeaves(t *testing.T) {
	waits := func(service string) bool {
		i := slices.IndexFunc(declarations, func(d declaration) bool { return d.service == service })
		return i >= 0 && slices.ContainsFunc(declarations[i].edges, func(e defence.Edge) bool { return !e.Background })
	}
	for _, d := range declarations {
		for _, e := range d.edges {
			if leaf := isService(e.To) && !waits(e.To); e.Leaf != leaf {
				t.Errorf("%s calls %s: Leaf is %v", d.service, e.Dependency, e.Leaf)
			}
		}
	}
}
