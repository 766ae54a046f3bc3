//go:build unix

package ddp

import (
	"os"
	"os/exec"
	"syscall"
)

// setProcessGroup gives the command a process group of its own, so that all that it
// starts can be ended with it.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll ends the process group of a process that apart was called for.
func killAll(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != syscall.ESRCH {
		return err
	}
	return os.ErrProcessDone
}
