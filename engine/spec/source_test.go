package spec_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// A source is a file, or a module that Python imports: its file is found where memspec.yaml's
// folder holds it.
func TestSourceFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pkg/__init__.py", "pkg/net.py", "pkg/both.py", "pkg/both/__init__.py",
		"pkg/folder.py/x"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	for _, tt := range []struct{ source, name string }{
		{"models/zoo.py:Net.make", "models/zoo.py"}, // there or not: it is named
		{"pkg.net:build", "pkg/net.py"},
		{"pkg:build", "pkg/__init__.py"},
		{"pkg.both:build", "pkg/both/__init__.py"},
		{"pkg.folder:build", ""},
		{"elsewhere.net:build", ""},
		{"", ""},
	} {
		file, name := (&spec.Case{Dir: dir, Source: tt.source}).SourceFile()
		want := ""
		if tt.name != "" {
			want = filepath.Join(dir, filepath.FromSlash(tt.name))
		}
		assert.Equal(t, []string{want, tt.name}, []string{file, name}, tt.source)
	}
	whole := filepath.Join(dir, "pkg", "net.py")
	file, _ := (&spec.Case{Dir: "other", Source: whole + ":build"}).SourceFile()
	assert.Equal(t, whole, file)
}
