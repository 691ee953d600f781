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
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// recordedCall is what PyTorch did with a package on a pretend GPU (pyshim/tools/record_compiled.py).
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

// TestPackagesAgainstPretended holds AOTInductor's packages, read as text, against the same packages loaded and run by PyTorch on a pretend GPU: at each
// recorded shape every event of the first call, and the peaks of both.
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
				c := caseOn(t, device, filepath.Join(dir, name+".pt2"), want.input)
				c.Workspace = filepath.Join(dir, "memspec.workspace.json")
				r, err := new(engine.Models).Run(context.Background(), c)
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

// TestPackageWeights: a package's weights are one block outside of PyTorch's allocator, each at a multiple of 64 bytes; they are weights, and part of total.
func TestPackageWeights(t *testing.T) {
	c := caseOn(t, "t4", filepath.Join("..", "testdata", "compiled", "mlp.t4.pt2"), "float32[8,64]")
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	const block = 128*64*4 + 128*4 + 10*128*4 + 64 // the last bias has 40 bytes
	assert.EqualValues(t, block, r.Outside)
	assert.EqualValues(t, block, r.Weights)
	require.NotNil(t, r.Peak.Total)
	assert.Equal(t, r.Peak.Reserved+r.Context.Low+block, *r.Peak.Total)
	assert.EqualValues(t, 2048, r.Baseline.Allocated, "the input alone")
}

// TestWrappersAgainstPretended holds the wrappers that torch.compile writes against the calls of the compiled models on a pretend GPU: every event, and
// what a call adds at its peak.
func TestWrappersAgainstPretended(t *testing.T) {
	dir := filepath.Join("..", "testdata", "compiled")
	paths, err := filepath.Glob(filepath.Join(dir, "*.wrapper"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".wrapper")
		t.Run(name, func(t *testing.T) {
			recorded, err := os.ReadFile(path + ".txt")
			require.NoError(t, err)
			var events []string
			var requested, allocated int64
			for line := range strings.Lines(string(recorded)) {
				if rest, ok := strings.CutPrefix(line, "events "); ok {
					events = strings.Fields(rest)
				}
				if rest, ok := strings.CutPrefix(line, "call "); ok {
					_, err := fmt.Sscan(rest, &requested, &allocated)
					require.NoError(t, err)
				}
			}
			require.NotEmpty(t, events)
			c := caseOn(t, name[strings.LastIndexByte(name, '.')+1:], path)
			c.Workspace = filepath.Join(dir, "memspec.workspace.json")
			r, err := new(engine.Models).Run(context.Background(), c)
			require.NoError(t, err)
			assert.Equal(t, report.Exact, r.Report.Quality, "%v", r.Report.Notes)
			assert.Equal(t, events, streamOf(r.Trace))
			p, b := r.Report.Peak, r.Report.Baseline
			assert.Equal(t, requested, int64(p.Requested-b.Requested))
			assert.Equal(t, allocated, int64(r.Report.Delta))
			assert.Contains(t, r.Report.Unknown, report.Weights, "which arguments are weights is not told")
		})
	}
}
