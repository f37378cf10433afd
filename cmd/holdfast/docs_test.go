package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestReadmeTellsTheBudgets holds the table of the README to what the services declare.
func TestReadmeTellsTheBudgets(t *testing.T) {
	var table strings.Builder
	if err := printMarkdown(&table, edgeRows()); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), table.String()) {
		t.Errorf("README.md does not hold the output of 'holdfast budgets --markdown':\n%s", table.String())
	}
}

// TestEveryDependencyIsDefended proves that docs/dependencies.md has a line for each module that our code imports,
// and for no other.
func TestEveryDependencyIsDefended(t *testing.T) {
	modules := requiredModules(t)
	var direct []string
	for _, p := range listPackages(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, m := range modules {
				if (path == m || strings.HasPrefix(path, m+"/")) && !slices.Contains(direct, m) {
					direct = append(direct, m)
				}
			}
		}
	}
	doc, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if has, want := strings.Contains(string(doc), "`"+m+"`"), slices.Contains(direct, m); has != want {
			t.Errorf("docs/dependencies.md has a line for %s: %t, our code imports it: %t", m, has, want)
		}
	}
}

func requiredModules(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range mod.Require {
		paths = append(paths, r.Path)
	}
	return paths
}
