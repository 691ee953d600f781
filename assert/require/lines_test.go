package require_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/assert/require"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// lines names the line of what is reported as testing.T does: the innermost function that has not
// called Helper.
type lines struct {
	helpers map[string]bool
	named   []string // functions
}

// function is that of a caller, without the parameters of a generic one.
func function(f runtime.Frame) string { return strings.TrimSuffix(f.Function, "[...]") }

func (l *lines) Helper() {
	var pc [1]uintptr
	runtime.Callers(2, pc[:])
	f, _ := runtime.CallersFrames(pc[:]).Next()
	l.helpers[function(f)] = true
}

func (l *lines) report() {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if name := function(f); !more || !l.helpers[name] {
			l.named = append(l.named, name)
			return
		}
	}
}

func (l *lines) Errorf(string, ...any) { l.report() }
func (l *lines) Logf(string, ...any)   { l.report() }
func (l *lines) FailNow()              { l.report() }

func (l *lines) Run(_ string, f func(*lines)) bool {
	f(l)
	return true
}

// A failure names the line of the test, not one of these packages.
func TestFailuresNameTheTestsLine(t *testing.T) {
	limits := map[report.Metric]units.Bytes{report.Allocated: units.KiB}
	whole, err := filepath.Abs(model)
	assert.NoError(t, err)
	text := "version: 1\ndefaults: {device: none}\nmodels:\n  m:\n    artifact: " + whole + `
    inputs: ["float32[2,32]"]
    cases:
      - {name: small, budget: {allocated: 1KiB}}
      - {name: warned, level: warn, budget: {allocated: 1KiB}}
`
	path := filepath.Join(t.TempDir(), "memspec.yaml")
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for name, test := range map[string]struct {
		reports int // the error, what is logged and the end of the test
		run     func(l *lines)
	}{
		"case":          {1, func(l *lines) { memory.Case(l, memory.CaseOf(l, path, "small")) }},
		"case, warned":  {1, func(l *lines) { memory.Case(l, memory.CaseOf(l, path, "warned")) }},
		"case, ended":   {2, func(l *lines) { require.Case(l, memory.CaseOf(l, path, "small")) }},
		"no case":       {2, func(l *lines) { memory.CaseOf(l, path, "large") }},
		"peak":          {1, func(l *lines) { memory.PeakAtMost(l, model, units.KiB, "float32[2,32]") }},
		"peak, ended":   {2, func(l *lines) { require.PeakAtMost(l, model, units.KiB, "float32[2,32]") }},
		"limits":        {1, func(l *lines) { memory.AtMost(l, "t4", model, limits, "float32[2,32]") }},
		"limits, ended": {2, func(l *lines) { require.AtMost(l, "t4", model, limits, "float32[2,32]") }},
		"baseline":      {1, func(l *lines) { memory.NoRegression(l, memory.CaseOf(l, path, "small"), "none.json", 0) }},
		"baseline, ended": {2, func(l *lines) {
			require.NoRegression(l, memory.CaseOf(l, path, "small"), "none.json", 0)
		}},
		"no file": {1, func(l *lines) { memory.File(l, "none.yaml") }},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lines{helpers: map[string]bool{}}
			test.run(l)
			assert.Len(t, l.named, test.reports)
			for _, at := range l.named {
				assert.Contains(t, at, "require_test.TestFailuresNameTheTestsLine.")
			}
		})
	}
}

// A case of a file is a subtest, whose line is that of File, in the test.
func TestCasesOfAFileNameItsLine(t *testing.T) {
	whole, err := filepath.Abs(model)
	assert.NoError(t, err)
	path := filepath.Join(t.TempDir(), "memspec.yaml")
	assert.NoError(t, os.WriteFile(path, []byte("version: 1\ndefaults: {device: none}\nmodels:\n  m: {artifact: "+whole+
		", inputs: [\"float32[2,32]\"], budget: {allocated: 1KiB}}\n"), 0o600))
	l := &lines{helpers: map[string]bool{}}
	memory.File(l, path)
	assert.Len(t, l.named, 1)
	assert.NotContains(t, l.named[0], "memspec/assert.")
}
