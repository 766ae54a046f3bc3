//go:build !unix

package ddp

import (
	"os"
	"os/exec"
)

// setProcessGroup does nothing: this system has no process groups.
func setProcessGroup(*exec.Cmd) {}

// killAll ends the process alone; the job starts no others.
func killAll(p *os.Process) error { return p.Kill() }
