package assert_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A stub for a machine with a T4: its nvidia-smi and its Python are scripts of the shell, and what
// a run is said to have taken is what is predicted, changed by the test. Nobody measured it.

// withGPU gives the test such a machine.
func withGPU(t *testing.T, c spec.Case, change func(*cudameasure.Measurement)) {
	t.Helper()
	dir := t.TempDir()
	m := asPredicted(t, c)
	if change != nil {
		change(m)
	}
	record, err := json.Marshal(m)
	require.NoError(t, err)
	write(t, filepath.Join(dir, "record.json"), string(record), 0o644)
	pythonSays(t, fmt.Sprintf(`out=; prev=; for a in "$@"; do [ "$prev" != --output ] || out=$a; prev=$a; done
cat >/dev/null; cp '%s/record.json' "$out"`, dir))
	gpuIs(t, "0, Tesla T4, GPU-stand-in, 7.5, 15360, 442")
}

// gpuIs puts a nvidia-smi on PATH.
func gpuIs(t *testing.T, row string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nvidia-smi"), "#!/bin/sh\ncase $1 in *memory.used*) echo GPU-stand-in, 100;; *) echo '"+
		row+"';; esac\n", 0o755)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("MEMSPEC_CUDAPROBE", "")
}

func pythonSays(t *testing.T, body string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	write(t, path, "#!/bin/sh\n"+body+"\n", 0o755)
	t.Setenv("MEMSPEC_PYTHON", path)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
}

func asPredicted(t *testing.T, c spec.Case) *cudameasure.Measurement {
	t.Helper()
	r := suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	p := c.Platform
	m := &cudameasure.Measurement{Recording: recording.Recording{Header: recording.Header{Case: c.Name,
		Runtime: string(c.Runtime), Where: recording.OnCUDA,
		Built: "by hand for a test, not measured", Torch: "2.15.0", Mode: string(c.Mode), Grad: string(c.Grad),
		Device: recording.Device{Name: "Tesla T4 (stand-in)", Total: &p.Device.Memory, ComputeCapability: "7.5"},
		Flags:  recording.Flags{TF32CuDNN: p.TF32CuDNN}, Inputs: []string{c.Inputs[0].String()}, Weights: r.Report.Weights}}}
	phase := func(name string, s report.Sizes) {
		none := units.Bytes(0)
		m.Passes = append(m.Passes, recording.Pass{Name: name, Requested: s.Requested, Allocated: &s.Allocated,
			Reserved: &s.Reserved,
			Active:   &s.Allocated, InactiveSplit: &none})
	}
	phase("baseline", r.Report.Baseline)
	for _, pass := range r.Report.Passes {
		phase(pass.Name, pass.Peak)
	}
	context := 100 * units.MiB
	m.Context = &context
	return m
}

func measuredMessages() []messageCase {
	grow := func(by units.Bytes) func(*cudameasure.Measurement) {
		return func(m *cudameasure.Measurement) { *m.Passes[1].Allocated += by }
	}
	return []messageCase{
		{"measured-under-estimated", "the two disagree, and the prediction was the lower: the worse kind",
			func(t *testing.T, n *named) verdict.Verdict {
				c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}")
				withGPU(t, c, grow(units.MiB))
				return memory.Case(n, c, memory.WherePossible)
			}, verdict.Fail},
		{"measured-breaks-the-budget", "within the tolerance, but over the limit",
			func(t *testing.T, n *named) verdict.Verdict {
				c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 9000000}")
				c.Budgets[0].Limit = *asPredicted(t, c).Passes[1].Allocated
				withGPU(t, c, grow(1))
				return memory.Case(n, c, memory.Required)
			}, verdict.Fail},
		{"measured-both-break", "both accounts, one after the other", func(t *testing.T, n *named) verdict.Verdict {
			c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64KiB}")
			withGPU(t, c, nil)
			return memory.Case(n, c, memory.WherePossible)
		}, verdict.Fail},
		{"measured-warn", "level warn is reported and does not fail", func(t *testing.T, n *named) verdict.Verdict {
			c := oneCase(t, "../"+small, smallInput, "budget: {reserved: 1MiB}\nlevel: warn")
			withGPU(t, c, nil)
			return memory.Case(n, c, memory.Required)
		}, verdict.Warn},
		{"measured-model-fails", "the model's own error when it was run", func(t *testing.T, n *named) verdict.Verdict {
			gpuIs(t, "0, Tesla T4, GPU-stand-in, 7.5, 15360, 442")
			pythonSays(t, `cat >/dev/null; echo "memshim: ValueError: no" >&2; exit 1`)
			return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}"), memory.WherePossible)
		}, verdict.Error},
		{"required-without-a-gpu", "a GPU that is required and absent is no pass",
			func(t *testing.T, n *named) verdict.Verdict {
				gpuIs(t, "No devices were found")
				return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}"), memory.Required)
			}, verdict.Inconclusive},
		{"required-on-another-gpu", "nor is another GPU", func(t *testing.T, n *named) verdict.Verdict {
			gpuIs(t, "0, NVIDIA L4, GPU-stand-in, 8.9, 23034, 556")
			return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}"), memory.Required)
		}, verdict.Inconclusive},
		{"pretend-under-estimated", "PyTorch's allocator says more on a pretend GPU: reported, and not called measured",
			func(t *testing.T, n *named) verdict.Verdict {
				c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}")
				withGPU(t, c, func(m *cudameasure.Measurement) {
					m.Where = recording.OnPretend
					grow(units.MiB)(m)
				})
				gpuIs(t, "No devices were found")
				return memory.Case(n, c, memory.OnPretend)
			}, verdict.Fail},
		{"pretend-without-memshim", "a run that is asked for and cannot be made is no pass",
			func(t *testing.T, n *named) verdict.Verdict {
				pythonSays(t, `cat >/dev/null; echo "memshim: got torch 2.4, want 2.6 to 2.15" >&2; exit 3`)
				return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}"), memory.OnPretend)
			}, verdict.Inconclusive},
		{"required-without-memshim", "nor is a Python without memshim", func(t *testing.T, n *named) verdict.Verdict {
			gpuIs(t, "0, Tesla T4, GPU-stand-in, 7.5, 15360, 442")
			pythonSays(t, `cat >/dev/null; echo "python: No module named memshim" >&2; exit 1`)
			return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}"), memory.Required)
		}, verdict.Inconclusive},
	}
}

// What agrees passes; so does what could not be measured and did not have to be, and it says why.
func TestMeasuredPasses(t *testing.T) {
	c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}")
	t.Run("agreement", func(t *testing.T) {
		withGPU(t, c, nil)
		n := &named{name: t.Name()}
		v := memory.Case(n, c, memory.Required)
		assert.Equal(t, verdict.Pass, v.Outcome)
		assert.Empty(t, n.errors)
		require.Len(t, n.logs, 1, "the table is logged")
		assert.Contains(t, n.logs[0], "first allocated")
		assert.Contains(t, n.logs[0], "  context    100.0 MiB (104857600 B) outside the allocator")
	})
	t.Run("no GPU", func(t *testing.T) {
		gpuIs(t, "No devices were found")
		n := &named{name: t.Name()}
		v := memory.Case(n, c, memory.WherePossible)
		assert.Equal(t, verdict.Pass, v.Outcome)
		assert.Empty(t, n.errors)
		assert.Equal(t, []string{"not measured: no CUDA device (nvidia-smi: No devices were found)"}, n.logs)
	})
	t.Run("nothing is run unless asked", func(t *testing.T) {
		withGPU(t, c, func(m *cudameasure.Measurement) { *m.Passes[1].Allocated *= 2 })
		assert.Equal(t, verdict.Pass, memory.Case(t, c).Outcome)
		assert.Equal(t, verdict.Pass, memory.Case(t, c, memory.Predict).Outcome)
	})
	t.Run("a file", func(t *testing.T) {
		gpuIs(t, "No devices were found")
		n := &named{name: "TestMemory"}
		memory.File(n, "testdata/good.yaml", memory.Required)
		require.Len(t, n.errors, 2, "each case says so")
		assert.Contains(t, n.errors[0], "INCONCLUSIVE m[B=2]\n")
		assert.Contains(t, n.errors[0], "memspec verify --case 'm[B=2]' testdata/good.yaml")
		memory.File(t, "testdata/good.yaml", memory.WherePossible)
	})
}

// canceled is a test that ended while its case ran.
type canceled struct {
	named
	ctx context.Context
}

func (c *canceled) Context() context.Context { return c.ctx }

// A run that ends with its test is no verdict of the case; what passes by the likely figure alone
// is logged beside what was measured.
func TestMeasuredToItsEnd(t *testing.T) {
	c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64MiB}")
	withGPU(t, c, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := &canceled{named: named{name: "TestMemory"}, ctx: ctx}
	assert.Equal(t, verdict.Error, memory.Case(ended, c, memory.Required).Outcome)
	assert.Equal(t, []string{"memspec: m: the run was ended: context canceled"}, ended.errors)

	c = oneCase(t, "../../testdata/artifacts/torchvision/resnet18.script.pt", "float32[1,3,224,224]",
		"budget: {reserved: 100MiB}\njudge: likely")
	withGPU(t, c, nil)
	n := &named{name: "TestMemory"}
	assert.Equal(t, verdict.Pass, memory.Case(n, c, memory.Required).Outcome, "%s", n.errors)
	require.Len(t, n.logs, 2)
	assert.Contains(t, n.logs[0], "caution: reserved: ")
	assert.Contains(t, n.logs[1], "first allocated")
}
