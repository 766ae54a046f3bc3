//go:build !unix

package ddp

import (
	"os"
	"os/exec"
)

// apart does nothing where there are no process groups.
func apart(*exec.Cmd) {}

// killAll ends the process alone; the job starts no others.
func killAll(p *os.Process) error { return p.Kill() }
