//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is whom a server runs as. The zero value is who runs the tests.
type account struct{ credential *syscall.Credential }

// unprivileged is the account of a server that refuses to run as root, which PostgreSQL's does: postgres if there is
// one, else nobody; and who runs the tests, if that is not root.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err, err2); err != nil {
			return account{}, err
		}
		return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// give makes the account the owner of a folder.
func (a account) give(folder string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(folder, int(a.credential.Uid), int(a.credential.Gid))
}

// become makes cmd run as the account, in a process group of its own: Ctrl-C ends the tests, and with them the server.
func (a account) become(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: a.credential}
}
