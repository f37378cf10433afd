package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// composeWait is how long the engine may take to say where the containers listen, or to start one again.
const composeWait = time.Minute

// container is what `docker compose ps` tells of one container.
type container struct {
	Name, Service string
	Publishers    []struct {
		URL                       string
		TargetPort, PublishedPort int
	}
}

// published is the base URL at which a port of the container is reached from here.
func (c container) published(port string) (string, error) {
	for _, p := range c.Publishers {
		if fmt.Sprint(p.TargetPort) == port && p.PublishedPort != 0 {
			return "http://" + net.JoinHostPort(p.URL, fmt.Sprint(p.PublishedPort)), nil
		}
	}
	return "", fmt.Errorf("port %s of %s is not published: does it run?", port, c.Name)
}

// compose asks the engine where it published the services' ports.
func compose(ctx context.Context) (addresses, error) {
	said, err := dockerCompose(ctx, "ps", "--format", "json")
	if err != nil {
		return nil, fmt.Errorf("%w\nIs the shop up? docker compose up --build --wait", err)
	}
	found, err := readContainers(said)
	if err != nil {
		return nil, fmt.Errorf("read what docker compose ps says: %w", err)
	}
	return addressesOf(found)
}

// dockerCompose runs docker compose on the project in the working directory and returns what it prints.
func dockerCompose(ctx context.Context, args ...string) ([]byte, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, errors.New("docker is not on the PATH, and --target compose asks it for the ports: " +
			"install Docker, or open the shop with 'holdfast up'")
	}
	ctx, cancel := context.WithTimeout(ctx, composeWait)
	defer cancel()
	var said, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, docker, append([]string{"compose"}, args...)...)
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("docker compose %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return said.Bytes(), nil
}

// readContainers reads one JSON object a line, or one array of them as Compose printed before 2.21.
func readContainers(text []byte) (all []container, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = json.Unmarshal(text, &all)
		return all, err
	}
	for lines := json.NewDecoder(bytes.NewReader(text)); ; {
		var c container
		if err := lines.Decode(&c); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
}

// addressesOf returns where the services are that the containers run; each must have one at least.
func addressesOf(found []container) (addresses, error) {
	slices.SortFunc(found, func(a, b container) int { return strings.Compare(a.Name, b.Name) })
	at := addresses{}
	for _, s := range services {
		_, publicPort, _ := net.SplitHostPort(s.public) // a constant of ours
		_, adminPort, _ := net.SplitHostPort(s.admin)
		var replicas []address
		for _, c := range found {
			if c.Service != s.name {
				continue
			}
			public, err := c.published(publicPort)
			if err != nil {
				return nil, err
			}
			admin, err := c.published(adminPort)
			if err != nil {
				return nil, err
			}
			replicas = append(replicas, address{Public: public, Admin: admin})
		}
		if len(replicas) == 0 {
			return nil, fmt.Errorf("no container of %s runs\nIs the shop up? docker compose up --build --wait", s.name)
		}
		replicas[0].others = replicas[1:]
		at[s.name] = replicas[0]
	}
	return at, nil
}
