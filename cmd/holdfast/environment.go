package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/holdfast/loadtest"
)

// parseEnvironment reads SERVICE:VAR=VALUE, once for each.
func parseEnvironment(set []string) (loadtest.Environment, error) {
	env := loadtest.Environment{}
	for _, s := range set {
		service, rest, ok := strings.Cut(s, ":")
		name, value, ok2 := strings.Cut(rest, "=")
		switch {
		case !ok || !ok2 || name == "":
			return nil, fmt.Errorf("--set %s: write SERVICE:VAR=VALUE, as catalogue:WORKERS=50", s)
		case service != "all" && !isService(service):
			return nil, fmt.Errorf("--set %s: no service is called %q: all, %s", s, service, serviceNames())
		}
		if env[service] == nil {
			env[service] = map[string]string{}
		}
		env[service][name] = value
	}
	return env, nil
}

// plainEnviron is what a shop under test inherits: what Go programs need, and nothing that would size or switch
// a service, since the scenario alone says that.
func plainEnviron() []string {
	var kept []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
			"GOMAXPROCS", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR":
			kept = append(kept, v)
		}
	}
	return kept
}
