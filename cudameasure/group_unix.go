//go:build unix

package cudameasure

import (
	"os/exec"
	"syscall"
)

// endGroup ends a child that is out of time with all that it started.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
