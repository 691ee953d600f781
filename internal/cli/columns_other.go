//go:build !linux && !darwin

package cli

import "os"

// terminalColumns says whether f is a terminal (a character device); how wide it is, is not asked
// here: 0.
func terminalColumns(f *os.File) (int, bool) {
	info, err := f.Stat()
	return 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
