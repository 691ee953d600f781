package require_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/assert/require"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const model = "../../testdata/artifacts/small/module_list.script.pt"

// fake is a t that counts, and goes on.
type fake struct {
	errors []string
	ended  int
}

func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fake) FailNow() { f.ended++ }

// What fails ends the test, once; what passes does not.
func TestRequire(t *testing.T) {
	limit := func(n units.Bytes) map[report.Metric]units.Bytes {
		return map[report.Metric]units.Bytes{report.Allocated: n}
	}
	dir := t.TempDir()
	spec := filepath.Join(dir, "memspec.yaml")
	whole, err := filepath.Abs(model)
	assert.NoError(t, err)
	assert.NoError(t, os.WriteFile(spec, fmt.Appendf(nil, `version: 1
defaults: {device: none}
models:
  good: {artifact: %q, inputs: ["float32[2,32]"], budget: {allocated: 1GiB}}
  small: {artifact: %q, inputs: ["float32[2,32]"], budget: {allocated: 1KiB}}
  unsure: {artifact: %q, inputs: ["float32[2,32]"], budget: {}}
`, whole, whole, whole), 0o666))
	for _, tt := range []struct {
		name string
		run  func(require.TB) verdict.Verdict
		want verdict.Outcome
	}{
		{"case", func(t require.TB) verdict.Verdict { return require.Case(t, memory.CaseOf(t, spec, "good")) }, verdict.Pass},
		{"case broken", func(t require.TB) verdict.Verdict { return require.Case(t, memory.CaseOf(t, spec, "small")) },
			verdict.Fail},
		{"case that cannot be said", func(t require.TB) verdict.Verdict {
			return require.Case(t, memory.CaseOf(t, spec, "unsure"))
		}, verdict.Inconclusive},
		{"peak", func(t require.TB) verdict.Verdict { return require.PeakAtMost(t, model, units.GiB, "float32[2,32]") },
			verdict.Pass},
		{"peak broken", func(t require.TB) verdict.Verdict {
			return require.PeakAtMost(t, model, units.KiB, "float32[2,32]")
		}, verdict.Fail},
		{"at most", func(t require.TB) verdict.Verdict {
			return require.AtMost(t, "t4", model, limit(units.GiB), "float32[2,32]")
		}, verdict.Pass},
		{"at most broken", func(t require.TB) verdict.Verdict {
			return require.AtMost(t, "t4", model, limit(units.KiB), "float32[2,32]")
		}, verdict.Fail},
		{"no baseline", func(t require.TB) verdict.Verdict {
			return require.NoRegression(t, memory.CaseOf(t, spec, "good"), filepath.Join(dir, "none.json"), 0.01)
		}, verdict.Error},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f fake
			v := tt.run(&f)
			assert.Equal(t, tt.want, v.Outcome)
			bad := 1
			if v.OK() {
				bad = 0
			}
			assert.Equal(t, bad, f.ended, "ended")
			assert.Len(t, f.errors, bad)
		})
	}
}
