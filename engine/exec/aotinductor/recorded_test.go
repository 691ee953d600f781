package aotinductor_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	artifact "github.com/memspec/memspec/engine/artifact/aotinductor"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// mostFaults is how many calls of rules, and how many steps, of a package are tried.
const mostFaults = 40

// TestRecordedPackages compares the committed packages with the recorded events of their first call
// on each recorded input, except those with convolutions, whose workspace cuDNN answers. With one
// call of a rule failing, with one that has no rule, and with too few steps, the run reports that.
func TestRecordedPackages(t *testing.T) {
	compared := 0
	for _, path := range recordings(t, "*.t4.txt") {
		recorded, err := os.ReadFile(path)
		require.NoError(t, err)
		data, err := os.ReadFile(strings.TrimSuffix(path, ".txt") + ".pt2")
		require.NoError(t, err)
		z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		if callsConvolution(t, z) {
			continue
		}
		p, err := artifact.Decode(z, "")
		require.NoError(t, err, path)
		for i, call := range strings.Split(string(recorded), "\ninput ")[1:] {
			text, _, _ := strings.Cut(call, "\n")
			var inputs []exec.Input
			for _, one := range strings.Fields(text) {
				dtype, sizes, ok := strings.Cut(strings.TrimSuffix(one, "]"), "[")
				require.True(t, ok, text)
				d, err := tensor.ParseDType(dtype)
				require.NoError(t, err)
				m := tensor.Meta{DType: d, Device: exec.Accelerator}
				for _, n := range strings.FieldsFunc(sizes, func(r rune) bool { return r == ',' }) {
					size, err := strconv.ParseInt(n, 10, 64)
					require.NoError(t, err)
					m.Sizes = append(m.Sizes, size)
				}
				m.Strides = tensor.ContiguousStrides(m.Sizes)
				inputs = append(inputs, exec.Input{Value: m})
			}
			r := tried(t, path, p, inputs)
			if filepath.Base(filepath.Dir(path)) != "control" {
				compared++
				assert.Equal(t, eventsOf(call), firstPass(r.Trace), "%s, call %d", path, i)
			}
		}
	}
	assert.Greater(t, compared, 3)
}

// callsConvolution reports whether a package's wrapper calls a convolution of cuDNN.
// TestPackagesAgainstPretended compares these, with cuDNN's answers.
func callsConvolution(t *testing.T, z *ptzip.Reader) bool {
	called := false
	require.NoError(t, fs.WalkDir(z, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".wrapper.cpp") {
			return err
		}
		text, err := fs.ReadFile(z, name)
		called = called || bytes.Contains(text, []byte("aoti_torch_cuda_convolution("))
		return err
	}))
	return called
}

func recordings(t *testing.T, name string) []string {
	var out []string
	for _, dir := range []string{".", "control"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "compiled", dir, name))
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		out = append(out, paths...)
	}
	return out
}

func eventsOf(recorded string) string {
	_, events, _ := strings.Cut(recorded, "\nevents ")
	events, _, _ = strings.Cut(events, "\n")
	return events
}

// tried runs a program, and then with all that may fail.
func tried(t *testing.T, path string, p *program.Program, inputs []exec.Input) *exec.Result {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	o := exec.Options{Inputs: inputs, Platform: &on, DType: tensor.Undefined}
	run := func(n int, err error) (*exec.Result, error) {
		table.Fail(n, err)
		return exec.Run(context.Background(), aotinductor.New(p), table.Table, o)
	}
	r, err := run(0, nil)
	require.NoError(t, err, path)
	for n := min(table.Calls(), mostFaults); n > 0; n-- {
		got, err := run(n, faults.Err)
		assert.True(t, err != nil && strings.Contains(err.Error(), faults.Err.Error()) || err == nil &&
			len(got.Trace.Coverage.Unsupported) > 0, "%s: call %d fails, got %v", path, n, err)
		got, err = run(n, &ops.MissingError{Op: "test::none"})
		assert.True(t, err != nil || len(got.Trace.Coverage.Unsupported) > 0, "%s: call %d has no rule", path, n)
	}
	for o.MaxSteps = 1; o.MaxSteps < mostFaults; o.MaxSteps++ {
		got, err := run(0, nil)
		if err == nil {
			assert.Equal(t, r.Trace.String(), got.Trace.String(), path)
			break
		}
		var limit *exec.LimitError
		assert.ErrorAs(t, err, &limit, "%s: %d steps", path, o.MaxSteps)
	}
	return r
}

// firstPass writes the events of the first pass: births in bytes, and deaths by number.
func firstPass(tr *trace.Trace) string {
	number := map[tensor.StorageID]int{}
	var out []string
	for _, e := range tr.Events {
		switch n, known := number[e.Storage]; {
		case e.Pass != 1 || e.Bytes == 0:
		case e.Action == trace.Alloc:
			number[e.Storage] = len(number)
			out = append(out, fmt.Sprintf("+%d", e.Bytes))
		case known:
			out = append(out, fmt.Sprintf("-%d", n))
		}
	}
	return strings.Join(out, " ")
}
