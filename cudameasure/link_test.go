package cudameasure

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gorgonia.org/cu ends the process where there is no device, so nothing but the probe may link it;
// and nothing else may need cgo.
func TestOnlyTheProbeLinksTheDriver(t *testing.T) {
	var importers, cgo []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name := strings.Trim(imp.Path.Value, `"`)
			switch {
			case name == "gorgonia.org/cu" || strings.HasPrefix(name, "gorgonia.org/cu/"):
				importers = append(importers, filepath.ToSlash(path))
			case name == "C":
				cgo = append(cgo, filepath.ToSlash(path))
			}
		}
		return nil
	}))
	assert.Equal(t, []string{"../cudameasure/cudaprobe/main.go"}, importers)
	assert.Empty(t, cgo)
}
