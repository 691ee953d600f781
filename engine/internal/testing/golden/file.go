package golden

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tests hardly collect garbage, as the command does not: a fifth less processor time. Only tests
// import this package.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// File compares a whole file with what the code says, or rewrites it.
func File(t testing.TB, path, got string) {
	t.Helper()
	if Updating() {
		Write(t, path, []byte(got))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
		t.Errorf("%s (-want +got; MEMSPEC_UPDATE=1 go test -run '^%s' %s rewrites it):\n%s", path, t.Name(), folder(),
			diff)
	}
}

// Write writes a file that does not hold these bytes already. One that does keeps its time: what
// Go's cache holds of the tests that read it is still good.
func Write(t testing.TB, path string, data []byte) {
	t.Helper()
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// folder is the package under test, as go test takes it from the module's root.
func folder() string {
	here, err := os.Getwd()
	for root := here; err == nil && root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			path, _ := filepath.Rel(root, here)
			return "./" + filepath.ToSlash(path)
		}
	}
	return "."
}
