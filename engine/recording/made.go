package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// Made is what a file was made from.
type Made struct {
	Files []File `json:"files"` // Python files of the project, sorted by path
	// other files of the project that the run read, sorted by path
	Read []Data `json:"read,omitempty"`
	// folders of the project that the run listed, sorted by path
	Folders   []Listing   `json:"folders,omitempty"`
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"` // for memshim check
	// of the environment, by name: HashVariable of the value, "" where it was not set
	Variables  map[string]string `json:"variables,omitempty"`
	Packages   map[string]string `json:"packages,omitempty"`   // releases of the distributions that were imported, by name
	Parameters []any             `json:"parameters,omitempty"` // for memshim export --check
	Versions   map[string]string `json:"versions,omitempty"`
	Command    []string          `json:"command,omitempty"` // that makes it again: shown, never run
}

// File is a source file as it was.
type File struct {
	Path   string `json:"path"`   // relative to the folder of the file that says it, with slashes
	SHA256 string `json:"sha256"` // of its bytes with every \r\n as \n
}

// Data is a file that is no source file as it was. Of a large one the size is compared.
type Data struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`
	Size    *int64 `json:"size,omitempty"`    // where SHA256 is empty
	Ignored bool   `json:"ignored,omitempty"` // by git: another clone may be without it
}

// Listing is a folder as it was: a hash of its names.
type Listing struct {
	Path     string   `json:"path"`
	Suffixes []string `json:"suffixes,omitempty"` // of the names that count; none for all but hidden ones
	SHA256   string   `json:"sha256"`             // of the names, sorted, with \n between them
}

// Elsewhere is a file outside of the project. Go does not compare it.
type Elsewhere struct {
	Path   string `json:"path"` // absolute; ~ is the user's folder
	Size   int64  `json:"size"`
	MTime  int64  `json:"mtime"`
	SHA256 string `json:"sha256,omitempty"`
}

// MaxSourceFile is the most bytes of a source file that is read whole.
const MaxSourceFile = 16 << 20

const (
	maxFiles    = 10_000
	maxEntries  = 1000 // listings, files elsewhere, variables
	maxPackages = 10_000
	maxWords    = 1000
	maxHashed   = 256 << 20 // bytes of all files together
)

// HashVariable is what is kept of a variable's value: it cannot be read back from that.
func HashVariable(name, value string) string {
	sum := sha256.Sum256([]byte(name + "=" + value))
	return hex.EncodeToString(sum[:])[:16]
}

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
	if err := m.checkRead(); err != nil {
		return err
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

func (f File) check() error { return checkEntry(f.Path, f.SHA256) }

func checkEntry(path, sha string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return checkHash(path, sha)
}

// checkRead checks what the run read besides Python files.
func (m *Made) checkRead() error {
	for _, l := range []struct {
		what  string
		n, at int
	}{{"files that were read", len(m.Read), maxFiles}, {"folders", len(m.Folders), maxEntries},
		{"files elsewhere", len(m.Elsewhere), maxEntries},
		{"variables", len(m.Variables), maxEntries}, {"packages", len(m.Packages), maxPackages}} {
		if l.n > l.at {
			return fmt.Errorf("got %d %s, want at most %d", l.n, l.what, l.at)
		}
	}
	for i, f := range m.Read {
		err := checkPath(f.Path)
		switch {
		case err == nil && f.SHA256 != "" && f.Size == nil:
			err = checkHash(f.Path, f.SHA256)
		case err == nil && (f.SHA256 != "" || f.Size == nil || *f.Size < 0):
			err = fmt.Errorf("%s: want either sha256 or size", f.Path)
		}
		if err != nil {
			return fmt.Errorf("read %d: %w", i, err)
		}
	}
	for i, f := range m.Folders {
		if err := checkEntry(f.Path, f.SHA256); err != nil {
			return fmt.Errorf("folder %d: %w", i, err)
		}
	}
	for name, hash := range m.Variables {
		if _, err := hex.DecodeString(hash); err != nil || hash != "" && len(hash) != 16 || !isPrintable(name) {
			return fmt.Errorf("variable %q: got %q, want 16 hexadecimal digits", name, hash)
		}
	}
	for name, release := range m.Packages {
		if !isPrintable(name) || !isPrintable(release) {
			return fmt.Errorf("package %q: got release %q, want both printable", name, release)
		}
	}
	return nil
}

func checkPath(p string) error {
	if p == "" || path.IsAbs(p) || filepath.IsAbs(filepath.FromSlash(p)) || path.Clean(p) != p ||
		strings.ContainsAny(p, "\\\x00") {
		return fmt.Errorf("got path %q, want one relative to the folder, with slashes", p)
	}
	return nil
}

func checkHash(path, sha string) error {
	if sum, err := hex.DecodeString(sha); err != nil || len(sum) != sha256.Size || strings.ToLower(sha) != sha {
		return fmt.Errorf("%s: got sha256 %q, want 64 hexadecimal digits", path, sha)
	}
	return nil
}

func isPrintable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}
