package spec

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// sourceWant is what source: in memspec.yaml takes.
const sourceWant = "FILE.py:NAME or package.module:NAME"

func (r *reader) source(e entry) *string {
	s := r.words(e, sourceWant)
	if s == nil {
		return nil
	}
	where, name, ok := cutSource(*s)
	if !ok || !isPath(name) || !strings.HasSuffix(where, ".py") && !isPath(where) {
		r.errorf(e.val, "got %q, want %s", shorten(*s), sourceWant)
		return nil
	}
	return s
}

// cutSource cuts a source into the file or module and the name in it.
func cutSource(s string) (where, name string, ok bool) {
	if file, name, ok := strings.Cut(s, ".py:"); ok {
		return file + ".py", name, file != ""
	}
	return strings.Cut(s, ":")
}

// SourceFile is the file that holds the case's source, and its name as a path with slashes below
// one of Python's roots. Both are "" for a case without a source, and for a module that the folder
// of memspec.yaml does not hold: Python finds it elsewhere (PYTHONPATH, an installed package).
func (c *Case) SourceFile() (file, name string) {
	where, _, ok := cutSource(c.Source)
	if !ok {
		return "", ""
	}
	if strings.HasSuffix(where, ".py") {
		return c.inDir(where), where
	}
	below := strings.ReplaceAll(where, ".", "/")
	for _, name := range []string{path.Join(below, "__init__.py"), below + ".py"} { // in Python's order
		file := c.inDir(name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, name
		}
	}
	return "", ""
}

// inDir is a path as memspec.yaml names it.
func (c *Case) inDir(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Dir, name)
}
