package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
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

// replicasVariable says of how many processes a service is made. The launcher reads it; a service does not see it.
const replicasVariable = "REPLICAS"

// maxReplicas is the most processes that a service may have: all share one machine.
const maxReplicas = 5

// readReplicas returns the number of processes of every service. environ is what all of them inherit.
func readReplicas(env loadtest.Environment, environ []string) (map[string]int, error) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name != "all" && !isService(name) {
			return nil, fmt.Errorf("no service is called %q: all, %s", name, serviceNames())
		}
	}
	replicas := map[string]int{}
	for _, s := range services {
		value := cmp.Or(env[s.name][replicasVariable], env["all"][replicasVariable], "1")
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxReplicas {
			return nil, fmt.Errorf("%s:%s=%s: must be 1 to %d", s.name, replicasVariable, value, maxReplicas)
		}
		if n > 1 && s.name == "checkout" && !hasDatabase(env, environ, s.name) {
			return nil, fmt.Errorf("checkout:%s=%s: must be 1, since it keeps its orders in its memory; "+
				"give it a DATABASE_URL to share", replicasVariable, value)
		}
		replicas[s.name] = n
	}
	return replicas, nil
}

// databaseVariable says where a service keeps its data, if not in its memory.
const databaseVariable = "DATABASE_URL"

// hasDatabase tells whether a service is given one.
func hasDatabase(env loadtest.Environment, environ []string, service string) bool {
	for _, values := range []map[string]string{env[service], env["all"]} {
		if url, given := values[databaseVariable]; given {
			return url != ""
		}
	}
	return slices.ContainsFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, databaseVariable+"=") && v != databaseVariable+"="
	})
}

// plainEnviron is what a shop under test inherits: what Go programs need, and nothing that would size or switch
// a service, since the scenario alone says that.
func plainEnviron() []string {
	var kept []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
			"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR":
			kept = append(kept, v)
		}
	}
	return kept
}
