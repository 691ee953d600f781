// Package golden runs txtar archives as tests: input sections go in, what the code says is compared
// with the sections under want/.
//
// MEMSPEC_UPDATE=1 rewrites want/. A section that nothing reads, a want/ section that nothing
// writes, one that is written but not there, a duplicate, and an archive without a `# reason:` line
// all fail, so a golden file cannot lie idle.
package golden

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Updating says whether golden files are to be rewritten.
func Updating() bool { return os.Getenv("MEMSPEC_UPDATE") == "1" }

// Whole says whether tests take the whole of what they have: where MEMSPEC_WHOLE is set, as make
// unit and the mutants do, and where golden files are rewritten. A plain go test takes a share of
// the longest lists, the same each time.
func Whole() bool { return os.Getenv("MEMSPEC_WHOLE") != "" || Updating() }

// NeedsWhole skips a test that only the whole can decide.
func NeedsWhole(t testing.TB, why string) {
	t.Helper()
	if !Whole() {
		t.Skipf("%s: MEMSPEC_WHOLE=1 runs it", why)
	}
}

// Share is every nth element of a list from the first, or the whole of it.
func Share[T any](list []T, n int) []T {
	if Whole() {
		return list
	}
	var out []T
	for i := 0; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}

// Archive is one golden file under test.
type Archive struct {
	t       *testing.T
	path    string
	archive *txtar.Archive
	used    map[string]bool
	wrote   []txtar.File // want/ sections as written, in order; for updating
}

// Run runs fn on every archive that pattern matches, each as a subtest named after its file.
func Run(t *testing.T, pattern string, fn func(a *Archive)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("%s: got no archive, want at least one", pattern)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(t *testing.T) {
			a, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			a.t = t
			fn(a)
			if err := a.finish(); err != nil {
				t.Error(err)
			}
		})
	}
}

func open(path string) (*Archive, error) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(ar.Comment, []byte("# reason: ")) {
		return nil, fmt.Errorf("%s: got no line `# reason: …`, want one that says why the archive exists", path)
	}
	seen := map[string]bool{}
	for _, f := range ar.Files {
		if seen[f.Name] {
			return nil, fmt.Errorf("%s: got section %s twice", path, f.Name)
		}
		seen[f.Name] = true
	}
	return &Archive{path: path, archive: ar, used: map[string]bool{}}, nil
}

// T is the subtest.
func (a *Archive) T() *testing.T { return a.t }

// Input is an input section; the test fails at once where it is missing.
func (a *Archive) Input(name string) []byte {
	a.t.Helper()
	data, ok := a.section(name)
	if !ok {
		a.t.Fatalf("%s: got no section %s, want one", a.path, name)
	}
	a.used[name] = true
	return data
}

// Has says whether there is a section of that name.
func (a *Archive) Has(name string) bool {
	_, ok := a.section(name)
	return ok
}

func (a *Archive) section(name string) ([]byte, bool) {
	for _, f := range a.archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Want compares got with section want/name, or keeps it for updating.
func (a *Archive) Want(name string, got []byte) {
	a.t.Helper()
	name = "want/" + name
	if len(got) > 0 && got[len(got)-1] != '\n' {
		got = append(slices.Clip(got), '\n')
	}
	if a.used[name] {
		a.t.Fatalf("%s: section %s is written twice", a.path, name)
	}
	a.used[name] = true
	a.wrote = append(a.wrote, txtar.File{Name: name, Data: slices.Clone(got)})
	if Updating() {
		return
	}
	want, ok := a.section(name)
	if !ok {
		a.t.Errorf("%s: got no section %s, want one (MEMSPEC_UPDATE=1 writes it)", a.path, name)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		a.t.Errorf("%s: section %s (-want +got):\n%s", a.path, name, diff)
	}
}

// finish checks that every section was used, or rewrites the archive.
func (a *Archive) finish() error {
	if Updating() {
		return a.update()
	}
	var orphans []string
	for _, f := range a.archive.Files {
		if !a.used[f.Name] {
			orphans = append(orphans, f.Name)
		}
	}
	if len(orphans) > 0 {
		return fmt.Errorf("%s: got sections that nothing uses: %s", a.path, strings.Join(orphans, ", "))
	}
	return nil
}

// update writes the archive with new want/ sections, in the order they were written, behind the
// inputs.
func (a *Archive) update() error {
	var files []txtar.File
	for _, f := range a.archive.Files {
		if strings.HasPrefix(f.Name, "want/") {
			continue
		}
		if !a.used[f.Name] {
			return fmt.Errorf("%s: got a section that nothing uses: %s", a.path, f.Name)
		}
		files = append(files, f)
	}
	out := txtar.Format(&txtar.Archive{Comment: a.archive.Comment, Files: append(files, a.wrote...)})
	Write(a.t, a.path, out)
	return nil
}
