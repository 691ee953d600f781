package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// Made is what a file was made from.
type Made struct {
	Files      []File            `json:"files"`                // the project's own, sorted by path
	Parameters []any             `json:"parameters,omitempty"` // for memshim export --check
	Versions   map[string]string `json:"versions,omitempty"`
	Command    []string          `json:"command,omitempty"` // that makes it again: shown, never run
}

// File is a source file as it was.
type File struct {
	Path   string `json:"path"`   // relative to the folder of the file that says it, with slashes
	SHA256 string `json:"sha256"` // of its bytes with every \r\n as \n
}

const (
	maxFiles      = 10_000
	maxWords      = 1000
	maxSourceFile = 16 << 20 // bytes; a larger one is not the one that was read
)

// Check says what made may not say: the first of it.
func (m *Made) Check() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("got %d files, want at most %d", len(m.Files), maxFiles)
	}
	for i, f := range m.Files {
		if err := f.check(); err != nil {
			return fmt.Errorf("file %d: %w", i, err)
		}
		if i > 0 && m.Files[i-1].Path >= f.Path {
			return fmt.Errorf("file %d: got %q after %q, want them sorted, each once", i, f.Path, m.Files[i-1].Path)
		}
	}
	if len(m.Command) > maxWords {
		return fmt.Errorf("got a command of %d words, want at most %d", len(m.Command), maxWords)
	}
	for _, w := range m.Command {
		if strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return fmt.Errorf("got the word %q in a command, want it printable: people read it", w)
		}
	}
	return nil
}

func (f File) check() error {
	if f.Path == "" || path.IsAbs(f.Path) || filepath.IsAbs(filepath.FromSlash(f.Path)) || path.Clean(f.Path) != f.Path || strings.ContainsAny(f.Path, "\\\x00") {
		return fmt.Errorf("got path %q, want one relative to the folder, with slashes", f.Path)
	}
	if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size || strings.ToLower(f.SHA256) != f.SHA256 {
		return fmt.Errorf("%s: got sha256 %q, want 64 hexadecimal digits", f.Path, f.SHA256)
	}
	return nil
}

// Stale is the first of the files that is another now, and what became of it; "" where all are as they were. folder is that of the file that says them.
func (m *Made) Stale(folder string) (file, what string, err error) {
	for _, f := range m.Files {
		name := filepath.Join(folder, filepath.FromSlash(f.Path))
		sum, err := hashOf(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, "is gone", nil
		case err != nil:
			return "", "", err
		case sum != f.SHA256:
			return name, "has changed", nil
		}
	}
	return "", "", nil
}

// hashOf is a file's SHA-256 with every \r\n as \n. One that cannot be a source file, as it is too large or a folder, has none.
func hashOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSourceFile+1))
	if err != nil || len(data) > maxSourceFile {
		return "", err
	}
	sum := sha256.Sum256(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:]), nil
}
