//go:build linux || darwin

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalColumns is how wide a terminal is, 0 where it does not know; false where f is none.
func terminalColumns(f *os.File) (int, bool) {
	var size struct{ rows, columns, x, y uint16 } // struct winsize
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
