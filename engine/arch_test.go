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

// mayImport is the one direction of the architecture: what each package imports of memspec, tests
// apart. A package that is missing here fails, and an import that no file has any more.
var mayImport = map[string][]string{
	"engine/internal/python":            {},
	"engine/internal/once":              {},
	"engine/units":                      {},
	"engine/schema":                     {},
	"engine/layout":                     {},
	"engine/note":                       {},
	"engine/internal/ptzip":             {},
	"engine/internal/pickle":            {},
	"engine/internal/testing/golden":    {},
	"engine/internal/testing/tracetext": {"engine/note", "engine/tensor", "engine/trace", "engine/units"},
	"engine/regular":                    {},
	"engine/internal/nearest":           {},
	"engine/internal/jsonscan":          {},
	"engine/internal/pysource":          {"engine/internal/python"},
	"engine/internal/expr":              {"engine/internal/nearest", "engine/units"},
	"engine/internal/zeroed":            {},
	"engine/internal/lockfile":          {},
	"engine/tensor":                     {"engine/units"},
	"engine/device":                     {"engine/internal/nearest", "engine/units"},
	"engine/platform":                   {"engine/device", "engine/units", "engine/workspace/profile"},
	"engine/program":                    {"engine/internal/expr", "engine/tensor"},
	"engine/trace":                      {"engine/internal/pickle", "engine/note", "engine/tensor", "engine/units"},
	"engine/recording": {
		"engine/internal/jsonscan", "engine/regular", "engine/tensor", "engine/trace", "engine/units",
	},
	"engine/workspace/profile": {"engine/internal/jsonscan", "engine/regular", "engine/units"},
	"engine/workspace": {
		"engine/device", "engine/note", "engine/platform", "engine/tensor", "engine/units",
		"engine/workspace/profile",
	},
	"engine/internal/testing/faults": {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/internal/testing/aten": {
		"engine/device", "engine/exec", "engine/internal/testing/faults", "engine/internal/testing/golden",
		"engine/note", "engine/ops", "engine/platform", "engine/schema", "engine/tensor", "engine/trace",
	},
	"engine/ops":           {"engine/note", "engine/platform", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/pointwise": {"engine/ops", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/create":    {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/view":      {"engine/note", "engine/ops", "engine/schema", "engine/tensor", "engine/workspace"},
	"engine/ops/index":     {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/reduce":    {"engine/ops", "engine/tensor", "engine/units", "engine/workspace"},
	"engine/ops/linalg":    {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/ops/fft":       {"engine/ops", "engine/tensor", "engine/workspace"},
	"engine/ops/nn": {
		"engine/ops", "engine/platform", "engine/schema", "engine/tensor", "engine/units", "engine/workspace",
	},
	"engine/ops/attention": {"engine/ops", "engine/platform", "engine/tensor", "engine/workspace"},
	"engine/ops/quant":     {"engine/ops", "engine/ops/nn", "engine/tensor", "engine/workspace"},
	"engine/ops/prim":      {"engine/ops", "engine/schema", "engine/tensor"},
	"engine/ops/custom": {
		"engine/internal/expr", "engine/ops", "engine/schema", "engine/tensor", "engine/units",
		"engine/workspace",
	},
	"engine/ops/builtin": {
		"engine/ops", "engine/ops/attention", "engine/ops/create", "engine/ops/fft", "engine/ops/index",
		"engine/ops/linalg", "engine/ops/nn", "engine/ops/pointwise", "engine/ops/prim", "engine/ops/quant",
		"engine/ops/reduce", "engine/ops/view",
	},
	"engine/artifact/torchscript": {
		"engine/internal/pickle", "engine/internal/ptzip", "engine/internal/python", "engine/program",
		"engine/tensor",
	},
	"engine/artifact/torchexport": {
		"engine/internal/expr", "engine/internal/jsonscan", "engine/internal/pickle", "engine/internal/ptzip",
		"engine/program", "engine/tensor",
	},
	"engine/artifact/aotinductor": {"engine/internal/expr", "engine/program", "engine/tensor"},
	"engine/artifact/modelfolder": {
		"engine/internal/jsonscan", "engine/internal/nearest", "engine/internal/python", "engine/regular",
		"engine/units",
	},
	"engine/serving": {"engine/allocator", "engine/artifact/modelfolder", "engine/device", "engine/layout",
		"engine/units"},
	"engine/artifact": {
		"engine/artifact/aotinductor", "engine/artifact/torchexport", "engine/artifact/torchscript",
		"engine/internal/ptzip", "engine/program", "engine/recording", "engine/regular", "engine/trace",
	},
	"engine/exec/lifetime":        {"engine/program"},
	"engine/exec/lifetime/stacks": {"engine/exec/lifetime", "engine/program"},
	"engine/exec": {
		"engine/note", "engine/ops", "engine/platform", "engine/program",
		"engine/schema", "engine/tensor", "engine/trace", "engine/units", "engine/workspace",
	},
	"engine/exec/torchscript/passes": {
		"engine/exec", "engine/internal/zeroed", "engine/ops", "engine/program", "engine/tensor",
	},
	"engine/exec/torchscript/locals": {
		"engine/internal/pysource", "engine/internal/python", "engine/internal/zeroed", "engine/ops",
		"engine/program",
	},
	"engine/internal/testing/conformance": {
		"engine/artifact", "engine/device", "engine/exec", "engine/internal/ptzip",
		"engine/internal/testing/faults", "engine/internal/testing/golden", "engine/ops", "engine/ops/builtin",
		"engine/platform", "engine/program", "engine/spec", "engine/tensor", "engine/trace",
	},
	"engine/exec/torchscript": {
		"engine/exec", "engine/exec/lifetime", "engine/exec/lifetime/stacks", "engine/exec/torchscript/locals",
		"engine/exec/torchscript/passes", "engine/internal/zeroed", "engine/note", "engine/ops", "engine/program",
		"engine/schema", "engine/tensor", "engine/trace",
	},
	"engine/exec/aotinductor": {
		"engine/exec", "engine/ops", "engine/program", "engine/schema", "engine/tensor", "engine/trace",
		"engine/units",
	},
	"engine/exec/fx": {
		"engine/exec", "engine/exec/lifetime", "engine/note", "engine/ops", "engine/program", "engine/schema",
		"engine/tensor", "engine/trace",
	},
	"engine/allocator": {"engine/platform", "engine/tensor", "engine/trace", "engine/units"},
	"engine/report": {
		"engine/allocator", "engine/device", "engine/layout", "engine/note", "engine/platform",
		"engine/regular", "engine/tensor", "engine/trace", "engine/units",
	},
	"engine/coverage": {
		"engine/exec/aotinductor", "engine/exec/fx", "engine/ops", "engine/ops/builtin", "engine/program",
		"engine/report",
	},
	"engine/verdict": {"engine/note", "engine/report", "engine/units"},
	"engine/format": {
		"engine/allocator", "engine/internal/pickle", "engine/layout", "engine/report", "engine/tensor",
		"engine/trace", "engine/units", "engine/verdict",
	},
	"engine/spec": {
		"engine/device", "engine/internal/expr", "engine/internal/nearest", "engine/note", "engine/ops/custom",
		"engine/platform", "engine/recording", "engine/regular", "engine/report", "engine/tensor",
		"engine/units", "engine/verdict", "engine/workspace/profile",
	},
	"engine/origin": {
		"engine/artifact", "engine/exec/fx", "engine/exec/lifetime", "engine/internal/lockfile",
		"engine/layout", "engine/note", "engine/program", "engine/recording", "engine/regular", "engine/report",
		"engine/spec", "engine/trace",
	},
	"engine/internal/testing/testcase": {
		"engine/device", "engine/note", "engine/platform", "engine/recording", "engine/report", "engine/spec",
		"engine/tensor", "engine/trace", "engine/units", "engine/verdict",
	},
	"engine/exec/recorded": {
		"engine/artifact", "engine/device", "engine/note", "engine/origin", "engine/platform",
		"engine/recording", "engine/report", "engine/spec", "engine/tensor", "engine/trace", "engine/units",
	},
	"engine": {
		"engine/allocator", "engine/artifact", "engine/device", "engine/exec", "engine/exec/aotinductor",
		"engine/exec/fx", "engine/exec/lifetime", "engine/exec/recorded", "engine/exec/torchscript",
		"engine/internal/once", "engine/layout", "engine/note", "engine/ops", "engine/ops/builtin",
		"engine/origin", "engine/program", "engine/recording", "engine/regular", "engine/report", "engine/spec",
		"engine/tensor", "engine/trace", "engine/units", "engine/verdict", "engine/workspace", "engine/workspace/profile",
	},
	"engine/suite": {
		"engine", "engine/allocator", "engine/device", "engine/exec", "engine/internal/once", "engine/layout", "engine/note",
		"engine/origin", "engine/recording", "engine/regular", "engine/report", "engine/spec", "engine/trace",
		"engine/units", "engine/verdict",
	},
	"internal/cli": {
		"engine", "engine/allocator", "engine/artifact", "engine/device", "engine/exec", "engine/exec/recorded",
		"engine/format", "engine/layout", "engine/origin", "engine/platform", "engine/recording",
		"engine/regular", "engine/report", "engine/spec", "engine/suite", "engine/verdict",
		"engine/workspace/profile",
	},
	"engine/guess": {
		"engine", "engine/device", "engine/origin", "engine/platform", "engine/program", "engine/spec",
	},
	"assert": {
		"cudameasure/verify", "engine/device", "engine/layout", "engine/origin", "engine/platform",
		"engine/regular", "engine/report", "engine/spec", "engine/suite", "engine/units", "engine/verdict",
	},
	"assert/require": {"assert", "engine/report", "engine/spec", "engine/units", "engine/verdict"},
	"cudameasure": {
		"engine/layout", "engine/recording", "engine/report", "engine/spec", "engine/units", "engine/verdict",
	},
	"cudameasure/cudaprobe": {},
	"cudameasure/verify": {
		"cudameasure", "engine/layout", "engine/origin", "engine/recording", "engine/spec", "engine/suite",
		"engine/trace", "engine/units", "engine/verdict",
	},
	"cmd/memspec": {
		"cudameasure", "cudameasure/verify", "engine", "engine/allocator", "engine/artifact",
		"engine/artifact/modelfolder", "engine/coverage",
		"engine/device", "engine/exec/lifetime", "engine/format", "engine/guess", "engine/layout",
		"engine/note", "engine/ops/builtin", "engine/origin", "engine/platform", "engine/program",
		"engine/recording", "engine/regular", "engine/report", "engine/serving", "engine/spec", "engine/suite",
		"engine/tensor", "engine/trace", "engine/units", "engine/verdict", "engine/workspace", "engine/workspace/profile",
		"internal/cli",
	},
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

// Nothing but the doors and tests may look at the environment: a prediction is a function of its
// case.
func TestOnlyEntryPointsReadTheEnvironment(t *testing.T) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if dir := filepath.ToSlash(filepath.Dir(path)); slices.Contains([]string{"internal/testing/golden",
			"internal/testing/aten", "internal/testing/faults"}, dir) {
			// run in tests only, or by a developer
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

// envCalls names the functions of packages os and syscall that file uses to look at the
// environment.
func envCalls(file *ast.File) []string {
	reads := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Getwd", "UserHomeDir", "UserCacheDir",
		"UserConfigDir", "Hostname"}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "os" || pkg.Name == "syscall") &&
				slices.Contains(reads, sel.Sel.Name) {
				found = append(found, sel.Sel.Name)
			}
		}
		return true
	})
	return found
}
