package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/holdfast/internal/service"
)

// address is where one service answers: base URLs, without a slash at the end.
type address struct {
	Public string `json:"public"`
	Admin  string `json:"admin"`

	others []address // of the other replicas, where there are several and nobody answers for all of them
}

// admins are the admin addresses of all replicas.
func (a address) admins() []string {
	all := []string{a.Admin}
	for _, other := range a.others {
		all = append(all, other.Admin)
	}
	return all
}

// addresses is a shop that stands somewhere, by service. It is what `holdfast up --addresses` writes and
// --target reads, and a loadtest.Shop that somebody else started and will stop.
type addresses map[string]address

func (a addresses) Public(service string) string { return a[service].Public }
func (a addresses) Admin(service string) string  { return a[service].Admin }
func (a addresses) Close(context.Context) error  { return nil }

// Restart refuses: who started these services, and how, is not known here.
func (a addresses) Restart(_ context.Context, service string) error {
	return fmt.Errorf("cannot restart %s: this command did not start it", service)
}

// rows is the table of the addresses, what people need first on top.
func (a addresses) rows() [][]string {
	rows := [][]string{{"service", "public", "admin"}}
	for _, s := range slices.Backward(services) {
		rows = append(rows, []string{s.name, a[s.name].Public, a[s.name].Admin})
	}
	return rows
}

// targetFlag says which shop a command is for.
type targetFlag struct {
	Target string `default:"local" placeholder:"local|compose|FILE" help:"The shop to talk to: on the ports of 'holdfast up' (local), in containers (compose), or at the addresses in a file that 'holdfast up --addresses' wrote. Default: local."`
}

func (t targetFlag) addresses(ctx context.Context) (addresses, error) {
	switch t.Target {
	case "local":
		return local(), nil
	case "compose":
		return compose(ctx)
	default:
		return readAddresses(t.Target)
	}
}

func local() addresses {
	a := addresses{}
	for _, s := range services {
		a[s.name] = address{Public: "http://" + s.public, Admin: "http://" + s.admin}
	}
	return a
}

func readAddresses(file string) (addresses, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: --target is local, compose, or a file that "+
			"'holdfast up --addresses FILE' wrote", file)
	}
	if err != nil {
		return nil, err
	}
	a := addresses{}
	if json.Unmarshal(text, &a) != nil {
		return nil, fmt.Errorf("%s is not a file that 'holdfast up --addresses FILE' wrote: it must be one JSON object, "+
			`such as {"gateway": {"public": "http://…", "admin": "http://…"}, …}`, file)
	}
	for _, s := range services {
		at := a[s.name]
		for _, base := range []*string{&at.Public, &at.Admin} {
			if _, err := service.ParseAddresses(*base); err != nil || strings.Contains(*base, ",") {
				return nil, fmt.Errorf("%s: %s needs a public and an admin URL, http://host:port, found %q", file, s.name, *base)
			}
			*base = strings.TrimRight(*base, "/") // paths are put behind it
		}
		a[s.name] = at
	}
	return a, nil
}

func (a addresses) write(file string) error {
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
