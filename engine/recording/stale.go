package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/regular"
)

// Place is where a file that says what it was made from lies, and what that is compared with.
type Place struct {
	Folder  string   // of the file
	Roots   []string // absolute folders: what lies below none of them is not looked at
	Dir     string   // of the memspec.yaml, which patterns start from
	Depends Depends
	Environ []string // NAME=VALUE; nil where it is not known, and variables are not compared
}

// Changes are the files, listings and variables that are not as they were, in words: "config.json
// has changed".
func (m *Made) Changes(p Place) ([]string, error) {
	c := &comparison{Place: p, left: maxHashed, steps: maxMatching}
	for _, root := range p.Roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			c.real = append(c.real, real)
		}
	}
	for _, f := range m.Data() {
		if err := c.file(f); err != nil {
			return nil, err
		}
	}
	for _, f := range m.Folders {
		if err := c.listing(f); err != nil {
			return nil, err
		}
	}
	if len(p.Depends.Also) > 0 {
		if err := c.added(m); err != nil {
			return nil, err
		}
	}
	if p.Environ != nil {
		c.variables(m.Variables)
	}
	return c.changes, nil
}

// Data are the files of the project that the run read, Python files first.
func (m *Made) Data() []Data {
	out := make([]Data, 0, len(m.Files)+len(m.Read))
	for _, f := range m.Files {
		out = append(out, Data{Path: f.Path, SHA256: f.SHA256})
	}
	return append(out, m.Read...)
}

// Holds says whether a file's content is as it was.
func (d *Data) Holds(content []byte) bool {
	if d.Size != nil {
		return int64(len(content)) == *d.Size
	}
	w := &unixLines{to: sha256.New()}
	_, _ = w.Write(content) // a hash does not fail
	return w.sum() == d.SHA256
}

// comparison is of what was with what is.
type comparison struct {
	Place
	real    []string // Roots without links
	left    int64    // bytes that may still be hashed
	steps   int      // that patterns may still take
	changes []string
}

// maxMatching is how many steps the patterns of depends: may take for all files: some seconds'.
const maxMatching = 1 << 28

var errMatching = errors.New("got too many files for the patterns of depends, want fewer patterns, or shorter ones")

// ignores says whether a file or folder does not count.
func (c *comparison) ignores(path string) (bool, error) {
	if c.steps -= c.Depends.steps(path); c.steps < 0 {
		return false, errMatching
	}
	return c.Depends.IgnoresFile(path), nil
}

func (c *comparison) changed(what, how string) { c.changes = append(c.changes, what+" "+how) }

// find is a path as it can be opened; false where it does not count, or must not be looked at.
func (c *comparison) find(relative string) (name string, ok bool, err error) {
	name = filepath.Join(c.Folder, filepath.FromSlash(relative))
	if from, err := filepath.Rel(c.Dir, name); err == nil {
		if ignored, err := c.ignores(filepath.ToSlash(from)); ignored || err != nil {
			return name, false, err
		}
	}
	full, err := filepath.Abs(name)
	in := func(roots []string, path string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return below(root, path) })
	}
	if err != nil || !in(c.Roots, full) || !in(c.real, withoutLinks(full)) {
		c.changed(relative, "lies outside of the repository, and may have changed")
		return name, false, nil
	}
	return name, true, nil
}

// withoutLinks is where a path leads, whether or not anything is there; "" for a link to nothing.
func withoutLinks(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, path[len(at):])
		}
		if _, err := os.Lstat(at); err == nil || at == filepath.Dir(at) {
			return ""
		}
	}
}

// below says whether a path is a folder or lies in it.
func below(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+
		string(filepath.Separator))
}

func (c *comparison) file(f Data) error {
	name, ok, err := c.find(f.Path)
	if !ok {
		return err
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !f.Ignored {
			c.changed(name, "is gone")
		}
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		c.changed(name, "has changed")
		return nil
	case f.Size != nil:
		if info.Size() != *f.Size {
			c.changed(name, "has changed")
		}
		return nil
	case info.Size() > c.left:
		c.changed(name, fmt.Sprintf("may have changed: more than %d MiB are not compared", maxHashed>>20))
		return nil
	}
	c.left -= info.Size()
	sum, err := hashOf(name, info.Size())
	if err != nil {
		return err
	}
	if sum != f.SHA256 {
		c.changed(name, "has changed")
	}
	return nil
}

// hashOf is a file's SHA-256 with every \r\n as \n; "" where it has grown beyond a size.
func hashOf(name string, size int64) (string, error) {
	f, _, err := regular.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := &unixLines{to: sha256.New()}
	n, err := io.Copy(w, io.LimitReader(f, size+1))
	if err != nil || n > size {
		return "", err
	}
	return w.sum(), nil
}

// unixLines hashes what is written with every \r\n as \n.
type unixLines struct {
	to      hash.Hash
	pending bool // a \r came last, and waits for what follows
}

func (w *unixLines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if w.pending && rest[0] != '\n' {
			w.to.Write([]byte{'\r'})
		}
		w.pending = false
		at := slices.Index(rest, '\r')
		if at < 0 {
			w.to.Write(rest)
			break
		}
		w.to.Write(rest[:at])
		w.pending, rest = true, rest[at+1:]
	}
	return len(p), nil
}

func (w *unixLines) sum() string {
	if w.pending {
		w.to.Write([]byte{'\r'})
	}
	return hex.EncodeToString(w.to.Sum(nil))
}

func (c *comparison) listing(l Listing) error {
	name, ok, err := c.find(l.Path)
	if !ok {
		return err
	}
	entries, err := os.ReadDir(name) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		c.changed(name, "is gone")
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if !strings.HasPrefix(n, ".") && n != "__pycache__" &&
			(len(l.Suffixes) == 0 || slices.Contains(l.Suffixes, suffix(n))) {
			names = append(names, n)
		}
	}
	if sum := sha256.Sum256([]byte(strings.Join(names, "\n"))); hex.EncodeToString(sum[:]) != l.SHA256 {
		c.changed(name, "has other files")
	}
	return nil
}

// suffix is as Python's os.path.splitext has it: leading dots begin no suffix.
func suffix(name string) string {
	return path.Ext(strings.TrimLeft(name, "."))
}

// added finds files that the case depends on and the run did not know.
func (c *comparison) added(m *Made) error {
	known := map[string]bool{}
	for _, f := range m.Data() {
		known[filepath.Join(c.Folder, filepath.FromSlash(f.Path))] = true
	}
	met := 0
	for _, pattern := range c.Depends.Also {
		from := filepath.Join(c.Dir, filepath.FromSlash(literal(pattern)))
		_, ok, err := c.find(relativeTo(c.Folder, from))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if met++; met > 10*maxFiles {
				return fmt.Errorf("%s: got more than %d files, want a narrower pattern under also of depends", from, 10*maxFiles)
			}
			switch {
			case d.IsDir() && slices.Contains(skippedFolders, d.Name()):
				return filepath.SkipDir
			case strings.HasPrefix(d.Name(), "memspec.") || strings.HasSuffix(d.Name(), ".pyc"): // they are judged by themselves
			case d.Type().IsRegular() && !known[name]:
				path := relativeTo(c.Dir, name)
				if c.steps -= steps(pattern, path); c.steps < 0 {
					return errMatching
				}
				if !Matches(pattern, path) {
					return nil
				}
				ignored, err := c.ignores(path)
				if err != nil || ignored {
					return err
				}
				known[name] = true
				c.changed(name, "is new")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// skippedFolders hold nothing that a program reads.
var skippedFolders = []string{".git", ".hg", ".svn", ".memspec", "__pycache__", "site-packages", "dist-packages",
	"node_modules"}

// literal is the folder that a pattern's files lie in, or the file: all before its first wildcard.
func literal(pattern string) string {
	at := strings.IndexAny(pattern, "*?")
	if at < 0 {
		return pattern
	}
	return pattern[:strings.LastIndexByte(pattern[:at], '/')+1]
}

func relativeTo(folder, name string) string {
	r, err := filepath.Rel(folder, name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(r)
}

func (c *comparison) variables(were map[string]string) {
	now := map[string]string{}
	for _, e := range c.Environ {
		name, value, _ := strings.Cut(e, "=")
		now[name] = HashVariable(name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(were)) {
		if !c.Depends.IgnoresVariable(name) && now[name] != were[name] {
			c.changed("variable "+name, "has changed")
		}
	}
}
