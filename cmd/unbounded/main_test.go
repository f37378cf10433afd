package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command line as a person at a terminal does, each in a module of its own. The program is built
// as it is shipped: as the test's own binary, with the race detector, it would look at the standard library for
// minutes.
func TestScripts(t *testing.T) {
	unbounded := filepath.Join(t.TempDir(), "unbounded")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", unbounded, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOTOOLCHAIN", "local")
			env.Setenv("CGO_ENABLED", "0")
			env.Setenv("UNBOUNDED", unbounded)
			env.Setenv("PATH", filepath.Dir(unbounded)+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
	})
}
