//go:build !unix

package pgtest

import "os/exec"

// account is whom a server runs as: who runs the tests.
type account struct{}

func unprivileged() (account, error) { return account{}, nil }

func (account) give(string) error { return nil }

func (account) become(*exec.Cmd) {}
