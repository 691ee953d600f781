package fx_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// exported are the archives of the repository: the small ones, and the models.
func exported(t testing.TB) []string {
	var paths []string
	for _, pattern := range []string{"*.pt2", filepath.Join("models", "*.pt2")} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		paths = append(paths, found...)
	}
	return paths
}

func open(t testing.TB, path string) *program.Program {
	a, err := artifact.Open(path)
	require.NoError(t, err)
	return a.Program
}

func on(t testing.TB, name string) *platform.Platform {
	d, err := device.Lookup(name)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	return &p
}

// example are the inputs that a program was exported with, on the accelerator.
func example(t testing.TB, p *program.Program) []exec.Input { return larger(t, p, 0) }

// larger is example with open sizes that are so much more.
func larger(t testing.TB, p *program.Program, more int64) []exec.Input {
	values := map[string]int64{}
	for _, s := range p.Symbols {
		values[s.Name] = s.Example + more
	}
	f := p.Entry
	leaves := make([]any, len(f.Params))
	for i := range f.Params {
		switch q := &f.Params[i]; {
		case q.Meta != nil:
			m, err := q.Meta.Bind(values)
			require.NoError(t, err)
			m.Device = exec.Accelerator
			leaves[i] = m
		case q.Size != nil:
			n, err := q.Size.Eval(values)
			require.NoError(t, err)
			leaves[i] = n
		default:
			leaves[i] = q.Default
		}
	}
	var out []exec.Input
	for _, in := range f.Inputs {
		var v any
		v, leaves = structured(in.Tree, leaves)
		out = append(out, exec.Input{Name: in.Name, Value: v})
	}
	return out
}

func structured(t *program.Tree, leaves []any) (any, []any) {
	if t.Kind == program.LeafTree {
		return leaves[0], leaves[1:]
	}
	var items []exec.Input
	for i, item := range t.Items {
		var v any
		v, leaves = structured(item, leaves)
		in := exec.Input{Value: v}
		if t.Kind == program.DictTree {
			in.Name = t.Names[i]
		}
		items = append(items, in)
	}
	if t.Kind == program.DictTree {
		return exec.Dict(items), leaves
	}
	return items, leaves
}

func run(t testing.TB, start exec.Start, p *program.Program, inputs []exec.Input) *trace.Trace {
	r, err := exec.Run(context.Background(), start, builtin.Table(),
		exec.Options{Inputs: inputs, Platform: on(t, "a100-sxm-80gb"), DType: tensor.Undefined})
	require.NoError(t, err)
	return r.Trace
}

// Where CUDA's results differ from those that were recorded on CPU tensors.
var otherOnCUDA = map[string]string{
	"aten::_native_batch_norm_legit_no_training": "the CPU gives no saved mean and deviation " +
		"(ATen/native/Normalization.cpp), cuDNN and the CUDA kernel do",
}

// sameStrides compares the strides of dimensions of more than one element: of others they say
// nothing.
func sameStrides(m *fx.Mismatch) bool {
	for i, n := range m.Got.Sizes {
		if n > 1 && m.Got.Strides[i] != m.Recorded.Strides[i] {
			return false
		}
	}
	return true
}

// TestRecordedResults compares what the rules give with every result that was recorded at export:
// at the example sizes all dtypes and sizes agree. Strides follow the device's kernels where one
// that lays out its result by itself is on the way: attention's (which on a CPU is another), an
// associative scan's, and an expanded buffer, which moving lays out anew.
func TestRecordedResults(t *testing.T) {
	compared := 0
	for _, path := range exported(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".pt2"), func(t *testing.T) {
			p := open(t, path)
			bad := map[string]int{}
			otherwise := false
			// result of a node that was reported first, and the first of them
			first, least := map[*program.Node]int{}, map[*program.Node]int{}
			tr := run(t, fx.Compare(p, func(m fx.Mismatch) {
				compared++
				if _, met := first[m.Node]; !met {
					first[m.Node], least[m.Node] = m.Result, m.Result
				}
				least[m.Node] = min(least[m.Node], m.Result)
				switch key := m.Node.Key(); {
				case otherOnCUDA[key] != "" && m.Result > 0:
				case m.Recorded.DType == tensor.BFloat16 && m.Got.DType == tensor.Float32:
					// in a region of autocast for the host, which does nothing to the accelerator
				case m.Got.DType != m.Recorded.DType || !slices.Equal(m.Got.Sizes, m.Recorded.Sizes):
					bad[fmt.Sprintf("%s, result %d: got %s%v, recorded %s%v", key, m.Result, m.Got.DType, m.Got.Sizes,
						m.Recorded.DType, m.Recorded.Sizes)]++
				case key == "aten::scaled_dot_product_attention", m.Node.Op == "higher_order::associative_scan":
					// recorded as laid out like its input, which it is not
					otherwise = true
				case !otherwise && !sameStrides(&m) && m.Got.Numel() > 0 && !slices.Contains(m.Recorded.Strides, 0):
					bad[fmt.Sprintf("%s, result %d, %v: got strides %v, recorded %v", key, m.Result, m.Got.Sizes, m.Got.Strides,
						m.Recorded.Strides)]++
				}
			}), p, example(t, p))
			assert.Empty(t, slices.Sorted(maps.Keys(bad)))
			assert.Equal(t, least, first, "results are reported in their order")
			assert.Empty(t, tr.Coverage.Unsupported)
		})
	}
	assert.Greater(t, compared, 7000, "results that were compared")
}
