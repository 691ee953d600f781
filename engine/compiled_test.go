package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/guess"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
)

// recordedCall is what PyTorch did with a package on a pretend GPU (python -m truth compiled).
type recordedCall struct {
	input    string
	baseline [3]int64 // requested, allocated, reserved
	passes   [][3]int64
	events   []string
}

func readCalls(t testing.TB, path string) []*recordedCall {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out []*recordedCall
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, rest, _ := strings.Cut(lines.Text(), " ")
		if key == "input" {
			out = append(out, &recordedCall{input: rest})
		}
		if len(out) == 0 {
			continue
		}
		c := out[len(out)-1]
		var n [3]int64
		if key == "baseline" || key == "pass" {
			_, err := fmt.Sscan(rest, &n[0], &n[1], &n[2])
			require.NoError(t, err, path)
		}
		switch key {
		case "baseline":
			c.baseline = n
		case "pass":
			c.passes = append(c.passes, n)
		case "events":
			c.events = strings.Fields(rest)
		}
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, out, path)
	return out
}

// TestPackagesAgainstPretended holds AOTInductor's packages, read as text, against the same
// packages loaded and run by PyTorch on a pretend GPU: at each recorded shape every event of the
// first call, and the peaks of both.
func TestPackagesAgainstPretended(t *testing.T) {
	dir := filepath.Join("..", "testdata", "compiled")
	paths, err := filepath.Glob(filepath.Join(dir, "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".pt2") + ".txt"
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		device := name[strings.LastIndexByte(name, '.')+1:]
		for _, want := range readCalls(t, path) {
			t.Run(name+"/"+want.input, func(t *testing.T) {
				c := testcase.On(t, device, filepath.Join(dir, name+".pt2"), want.input)
				c.Workspace = filepath.Join(dir, "memspec.workspace.json")
				r, err := new(suite.Models).Run(context.Background(), c)
				require.NoError(t, err)
				assert.Equal(t, spec.Runtime(r.Report.Runtime), spec.Compiled)
				assert.Equal(t, report.Exact, r.Report.Quality, "%v", r.Report.Notes)
				assert.Equal(t, want.events, streamOf(r.Trace))
				p, b := r.Report.Peak, r.Report.Baseline
				assert.Equal(t, want.baseline, [3]int64{int64(b.Requested), int64(b.Allocated), int64(b.Reserved)}, "baseline")
				assert.Equal(t, want.passes[0], [3]int64{int64(p.Requested), int64(p.Allocated), int64(p.Reserved)}, "peak")
			})
		}
	}
}

// TestPackageWeights: a package's weights are one block outside of PyTorch's allocator, each at a
// multiple of 64 bytes; they are weights, and part of total.
func TestPackageWeights(t *testing.T) {
	c := testcase.On(t, "t4", filepath.Join("..", "testdata", "compiled", "mlp.t4.pt2"), "float32[8,64]")
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	const block = 128*64*4 + 128*4 + 10*128*4 + 64 // the last bias has 40 bytes
	assert.EqualValues(t, block, r.Outside)
	assert.EqualValues(t, block, r.Weights)
	require.NotNil(t, r.Peak.Total)
	assert.Equal(t, r.Peak.Reserved+r.Context.Low+block, *r.Peak.Total)
	assert.EqualValues(t, 2048, r.Baseline.Allocated, "the input alone")
}

// TestCompiledInputs: what code was compiled for is reported by itself; its first open size is the
// batch.
func TestCompiledInputs(t *testing.T) {
	for name, want := range map[string][]string{
		"resnet50.t4.pt2":      {"arg320_1=float32[1,3,224,224]"},
		"resnet18_open.t4.pt2": {"arg122_1=float32[B,3,64,64]"},
	} {
		m, err := engine.Open(filepath.Join("..", "testdata", "compiled", name))
		require.NoError(t, err)
		g, err := guess.Inputs(context.Background(), m)
		require.NoError(t, err)
		var got []string
		for _, in := range g.Inputs {
			got = append(got, in.String())
		}
		assert.Equal(t, want, got, name)
	}
}

// TestPackageRefusals: another dtype, a size that the code was not compiled for, another runtime.
func TestPackageRefusals(t *testing.T) {
	file := filepath.Join("..", "testdata", "compiled", "resnet18_open.t4.pt2")
	for _, tt := range []struct {
		input   string
		runtime spec.Runtime
		want    string
	}{
		{"float16[4,3,64,64]", "", "got float16, want float32: compiled code takes one dtype"},
		{"float32[65,3,64,64]", "", "got 65, want 0 to 64: the range of s77"},
		{"float32[4,3,65,64]", "", "dimension 2: got 65, want 64"},
		{"3", "", "got int, want Tensor"},
		{"float32[4,3,64,64]", spec.Eager, "got runtime eager, want compiled: that is what can be predicted of an " +
			"AOTInductor package"},
	} {
		c := testcase.On(t, "t4", file, tt.input)
		c.Runtime = tt.runtime
		_, err := engine.Estimate(context.Background(), c)
		assert.ErrorContains(t, err, tt.want, tt.input)
	}
	for device, want := range map[string]string{
		"t4": "", "none": "", "rtx-4090": "got code that was compiled for compute capability 7.5, want code for rtx-4090, " +
			"which has 8.9",
		"v100-16gb": "want code for v100-16gb, which has 7.0",
	} {
		_, err := engine.Estimate(context.Background(), testcase.On(t, device, file, "float32[4,3,64,64]"))
		if want == "" {
			assert.NoError(t, err, device)
		} else {
			assert.ErrorContains(t, err, want, device)
		}
	}
}

// TestFusedKernelsAreNamed: a buffer is reported by the operators that its kernel was made of, a
// copy that compiling adds as such: resnet50's convolutions are run channels last, so its image and
// its weights are copied in every call.
func TestFusedKernelsAreNamed(t *testing.T) {
	r, err := new(suite.Models).Run(context.Background(),
		testcase.On(t, "t4", filepath.Join("..", "testdata", "compiled", "resnet50.t4.pt2"), "float32[1,3,224,224]"))
	require.NoError(t, err)
	var copies, fused []int64
	for i := range r.Trace.Events {
		e := &r.Trace.Events[i]
		if e.Pass != 1 || e.Action != trace.Alloc || e.Site < 0 {
			continue
		}
		switch r.Trace.Sites[e.Site].Op {
		case "layout copy for aten::convolution":
			copies = append(copies, int64(e.Bytes))
		case "aten::_native_batch_norm_legit_no_training, aten::relu, aten::max_pool2d_with_indices":
			fused = append(fused, int64(e.Bytes))
		}
	}
	image, first := int64(3*224*224*4), int64(64*3*7*7*4)
	weight := func(channels int64) int64 { return channels * channels * 3 * 3 * 4 }
	assert.Equal(t, []int64{image, first, weight(64), weight(64), weight(128), weight(256), weight(512)}, copies,
		"the others go into buffers that are used again")
	assert.Equal(t, []int64{64 * 56 * 56 * 4}, fused)
}
