package main

import (
	"slices"
	"strings"
)

// A standing is where a service listens when nobody says otherwise. The code of the service agrees (its ADDR).
type standing struct{ name, public, admin string }

// The services, each after everything that it calls: the order in which they start. What faces people comes last.
var services = []standing{
	{"currency", "127.0.0.1:8084", "127.0.0.1:9084"},
	{"recommendations", "127.0.0.1:8082", "127.0.0.1:9082"},
	{"catalogue", "127.0.0.1:8081", "127.0.0.1:9081"},
	{"checkout", "127.0.0.1:8083", "127.0.0.1:9083"},
	{"gateway", "127.0.0.1:8080", "127.0.0.1:9080"},
}

func isService(name string) bool {
	return slices.ContainsFunc(services, func(s standing) bool { return s.name == name })
}

// serviceNames is for messages: currency, recommendations, …
func serviceNames() string {
	names := make([]string, 0, len(services))
	for _, s := range services {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// find returns a service that isService knows.
func find(name string) standing {
	return services[slices.IndexFunc(services, func(s standing) bool { return s.name == name })]
}
