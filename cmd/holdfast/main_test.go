package main

import (
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test's own binary be `holdfast`: for the scripts, and for the shops that tests open.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": main})
}

// TestScripts runs the command line as a person at a terminal does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			// For the script that empties the PATH.
			holdfast, err := exec.LookPath("holdfast")
			env.Setenv("HOLDFAST", holdfast)
			return err
		},
	})
}
