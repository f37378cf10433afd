package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"

	"example.com/holdfast/internal/service"
)

// address is where one service answers: base URLs, without a slash at the end.
type address struct {
	Public string `json:"public"`
	Admin  string `json:"admin"`
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
		a[s.name] = address{"http://" + s.public, "http://" + s.admin}
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

// compose asks the engine where it published the services' ports.
func compose(ctx context.Context) (addresses, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, errors.New("docker is not on the PATH, and --target compose asks it for the ports: " +
			"install Docker, or open the shop with 'holdfast up'")
	}
	published := func(service, inside string) (string, error) {
		_, port, err := net.SplitHostPort(inside)
		if err != nil {
			return "", err
		}
		var complaint bytes.Buffer
		cmd := exec.CommandContext(ctx, docker, "compose", "port", service, port)
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("docker compose port %s %s: %w: %s\nIs the shop up? docker compose up --build --wait",
				service, port, err, strings.TrimSpace(complaint.String()))
		}
		return "http://" + strings.TrimSpace(string(out)), nil
	}
	a := addresses{}
	for _, s := range services {
		public, err := published(s.name, s.public)
		if err != nil {
			return nil, err
		}
		admin, err := published(s.name, s.admin)
		if err != nil {
			return nil, err
		}
		a[s.name] = address{public, admin}
	}
	return a, nil
}
