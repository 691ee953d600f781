package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/memspec/memspec/"

// mayImport is the one direction of the house: what each package imports of memspec, tests apart. A package that is missing here fails, and an
// import that no file has any more.
var mayImport = map[string][]string{
	"engine/units":                   {},
	"engine/schema":                  {},
	"engine/layout":                  {},
	"engine/note":                    {},
	"engine/internal/ptzip":          {},
	"engine/internal/pickle":         {},
	"engine/internal/testing/golden": {},
	"engine/regular":                 {},
	"engine/internal/nearest":        {},
	"engine/internal/jsonscan":       {},
	"engine/internal/pysource":       {},
	"engine/internal/expr":           {"engine/internal/nearest", "engine/units"},
	"engine/internal/slab":           {},
	"engine/internal/lockfile":       {},
	"engine/tensor":                  {"engine/units"},
	"engine/device":                  {"engine/internal/nearest", "engine/units"},
	"engine/platform":                {"engine/device", "engine/workspace/profile", "engine/units"},
	"engine/program":                 {"engine/internal/expr", "engine/tensor"},
	"engine/trace":                   {"engine/note", "engine/tensor", "engine/units", "engine/internal/pickle"},
	"engine/recording":               {"engine/regular", "engine/internal/jsonscan", "engine/trace", "engine/tensor", "engine/units"},

	"engine/workspace/profile":       {"engine/regular", "engine/internal/jsonscan", "engine/units"},
	"engine/workspace":               {"engine/device", "engine/note", "engine/platform", "engine/tensor", "engine/units", "engine/workspace/profile"},
	"engine/internal/testing/faults": {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/internal/testing/aten":   {"engine/note", "engine/device", "engine/exec", "engine/internal/testing/faults", "engine/internal/testing/golden", "engine/ops", "engine/platform", "engine/schema", "engine/tensor", "engine/trace"},
	"engine/ops":                     {"engine/note", "engine/platform", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/pointwise":           {"engine/ops", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/create":              {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/view":                {"engine/note", "engine/ops", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/index":               {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/reduce":              {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/linalg":              {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/ops/fft":                 {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/ops/nn":                  {"engine/ops", "engine/platform", "engine/schema", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/attention":           {"engine/ops", "engine/platform", "engine/tensor", "engine/workspace"},
	"engine/ops/quant":               {"engine/ops", "engine/ops/nn", "engine/tensor", "engine/workspace"},
	"engine/ops/prim":                {"engine/ops", "engine/schema", "engine/tensor"},
	"engine/ops/custom":              {"engine/ops", "engine/internal/expr", "engine/schema", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/builtin": {"engine/ops", "engine/ops/pointwise", "engine/ops/create", "engine/ops/view", "engine/ops/index", "engine/ops/reduce", "engine/ops/linalg", "engine/ops/fft",
		"engine/ops/nn", "engine/ops/attention", "engine/ops/quant", "engine/ops/prim"},

	"engine/artifact/torchscript/syntax":  {"engine/internal/pysource"},
	"engine/artifact/torchscript":         {"engine/program", "engine/tensor", "engine/internal/pickle", "engine/internal/ptzip", "engine/internal/slab", "engine/artifact/torchscript/syntax"},
	"engine/artifact/torchexport":         {"engine/program", "engine/tensor", "engine/internal/expr", "engine/internal/jsonscan", "engine/internal/pickle", "engine/internal/ptzip"},
	"engine/artifact/aotinductor":         {"engine/program", "engine/tensor", "engine/internal/expr"},
	"engine/artifact":                     {"engine/regular", "engine/program", "engine/artifact/aotinductor", "engine/artifact/torchexport", "engine/artifact/torchscript", "engine/internal/ptzip", "engine/recording", "engine/trace"},
	"engine/exec/lifetime":                {"engine/program"},
	"engine/exec/lifetime/stacks":         {"engine/exec/lifetime", "engine/internal/slab", "engine/program"},
	"engine/exec":                         {"engine/workspace", "engine/internal/slab", "engine/note", "engine/program", "engine/ops", "engine/schema", "engine/tensor", "engine/trace", "engine/platform", "engine/units"},
	"engine/exec/torchscript/passes":      {"engine/exec", "engine/internal/slab", "engine/program", "engine/ops", "engine/tensor"},
	"engine/exec/torchscript/locals":      {"engine/internal/pysource", "engine/internal/slab", "engine/program", "engine/ops"},
	"engine/internal/testing/conformance": {"engine/artifact", "engine/device", "engine/exec", "engine/internal/testing/faults", "engine/internal/testing/golden", "engine/internal/ptzip", "engine/ops", "engine/ops/builtin", "engine/platform", "engine/program", "engine/spec", "engine/tensor", "engine/trace"},
	"engine/exec/torchscript":             {"engine/exec", "engine/exec/torchscript/locals", "engine/exec/torchscript/passes", "engine/exec/lifetime", "engine/exec/lifetime/stacks", "engine/internal/slab", "engine/note", "engine/program", "engine/ops", "engine/schema", "engine/tensor", "engine/trace"},
	"engine/exec/aotinductor":             {"engine/exec", "engine/program", "engine/ops", "engine/schema", "engine/tensor", "engine/trace", "engine/units"},
	"engine/exec/fx":                      {"engine/exec", "engine/exec/lifetime", "engine/note", "engine/program", "engine/ops", "engine/schema", "engine/tensor", "engine/trace"},
	"engine/allocator":                    {"engine/trace", "engine/tensor", "engine/platform", "engine/units"},
	"engine/report":                       {"engine/regular", "engine/layout", "engine/note", "engine/device", "engine/allocator", "engine/trace", "engine/tensor", "engine/platform", "engine/units"},
	"engine/verdict":                      {"engine/note", "engine/report", "engine/units"},
	"engine/format":                       {"engine/verdict", "engine/report", "engine/allocator", "engine/trace", "engine/tensor", "engine/layout", "engine/units", "engine/internal/pickle"},
	"engine/spec":                         {"engine/regular", "engine/workspace/profile", "engine/ops/custom", "engine/recording", "engine/internal/nearest", "engine/internal/expr", "engine/note", "engine/verdict", "engine/report", "engine/platform", "engine/device", "engine/tensor", "engine/units"},
	"engine": {"engine/internal/lockfile", "engine/regular", "engine/workspace", "engine/note", "engine/units", "engine/tensor", "engine/device", "engine/workspace/profile", "engine/platform", "engine/program", "engine/trace", "engine/ops", "engine/ops/builtin",
		"engine/artifact", "engine/recording", "engine/exec", "engine/exec/lifetime", "engine/exec/fx", "engine/exec/aotinductor", "engine/exec/torchscript", "engine/allocator", "engine/report", "engine/verdict", "engine/spec", "engine/layout"},
	"assert":                {"engine/regular", "cudameasure/verify", "engine", "engine/device", "engine/platform", "engine/spec", "engine/verdict", "engine/report", "engine/units"},
	"assert/require":        {"assert", "engine/spec", "engine/verdict", "engine/report", "engine/units"},
	"cudameasure":           {"engine/recording", "engine/spec", "engine/verdict", "engine/report", "engine/units", "engine/layout"},
	"cudameasure/cudaprobe": {},
	"cudameasure/verify":    {"cudameasure", "engine", "engine/recording", "engine/spec", "engine/trace", "engine/units", "engine/verdict", "engine/layout"},
	"cmd/memspec": {"engine/regular", "cudameasure", "cudameasure/verify", "engine", "engine/note", "engine/units", "engine/tensor", "engine/device", "engine/workspace/profile", "engine/platform", "engine/program", "engine/trace",
		"engine/ops/builtin", "engine/artifact", "engine/exec", "engine/exec/lifetime", "engine/allocator", "engine/recording", "engine/report", "engine/verdict", "engine/spec", "engine/layout", "engine/format"},
}

// isModule reports whether a folder is a Go module apart from this one.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func TestImportsGoOneWay(t *testing.T) {
	root := ".."
	seen := map[string]bool{}
	used := map[string]map[string]bool{} // imports of each package
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || strings.HasPrefix(name, ".") || isModule(path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		allowed, known := mayImport[pkg]
		if !known {
			if !seen[pkg] {
				t.Errorf("%s: not in the table of imports; add it with what it may import", pkg)
			}
			seen[pkg] = true
			return nil
		}
		seen[pkg] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			full, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			inside, ok := strings.CutPrefix(full, modulePath)
			if ok && !slices.Contains(allowed, inside) {
				t.Errorf("%s/%s: got import of %s, want one of %v", pkg, name, inside, allowed)
			}
			if used[pkg] == nil {
				used[pkg] = map[string]bool{}
			}
			used[pkg][inside] = true
		}
		return nil
	}))
	for pkg, allowed := range mayImport {
		assert.True(t, seen[pkg], "%s: in the table of imports, but there is no such package", pkg)
		for _, inside := range allowed {
			assert.True(t, used[pkg][inside], "%s: may import %s by the table of imports, and no file does", pkg, inside)
		}
	}
}

// Nothing but the doors and tests may look at the environment: a prediction is a function of its case.
func TestOnlyDoorsReadTheEnvironment(t *testing.T) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if dir := filepath.ToSlash(filepath.Dir(path)); slices.Contains([]string{"internal/testing/golden", "internal/testing/aten", "internal/testing/faults"}, dir) { // run in tests only, or by a developer
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, call := range envCalls(file) {
			t.Errorf("engine/%s: got %s, want the environment read in cmd/memspec only", filepath.ToSlash(path), call)
		}
		return nil
	}))
}

// envCalls names the functions of packages os and syscall that file uses to look at the environment.
func envCalls(file *ast.File) []string {
	reads := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Getwd", "UserHomeDir", "UserCacheDir", "UserConfigDir", "Hostname"}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "os" || pkg.Name == "syscall") && slices.Contains(reads, sel.Sel.Name) {
				found = append(found, sel.Sel.Name)
			}
		}
		return true
	})
	return found
}
