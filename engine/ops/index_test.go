package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestScratch runs operators on a real device: what their kernels take beside results.
func TestScratch(t *testing.T) {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	v, err := platform.ParseVersion("2.15")
	require.NoError(t, err)
	plat, err := platform.New(d, v)
	require.NoError(t, err)
	f := tensor.Float32
	ints := func(ns ...int64) *ops.List {
		l := &ops.List{Elem: schema.Int}
		for _, n := range ns {
			l.Items = append(l.Items, n)
		}
		return l
	}
	for name, row := range map[string]struct {
		op   string
		args func(on func(tensor.DType, ...int64) *tensor.Tensor) []any
		want []string
		why  string
	}{
		"roll_one": {"aten::roll", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 4, 8), ints(1), ints(0)}
		}, []string{"alloc 128 b0"}, "one shift writes the result"},
		"roll_two": {"aten::roll", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 4, 8), ints(1, 2), ints(0, 1)}
		}, []string{"alloc 128 b0", "alloc 128 b1", "free b0"}, "the first shift's result lives until the second is written"},
		"where_cast": {"aten::where", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(tensor.Bool, 4), on(tensor.Float16, 4), on(f, 4)}
		}, []string{"alloc 16 b0", "alloc 16 b1", "free b0"}, "where casts the odd operand"},
		"where_same": {"aten::where", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(tensor.Bool, 4), on(f, 4), on(f, 4)}
		}, []string{"alloc 16 b0"}, ""},
		"add_cast": {"aten::add", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(tensor.Float16, 4), on(f, 4)}
		}, []string{"alloc 16 b0"}, "TensorIterator casts inside the kernel"},
		"index_mask": {"aten::index", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 64, 2), &ops.List{Items: []any{on(tensor.Bool, 64)}, Elem: schema.Optional}}
		}, []string{"alloc 4 b0", "alloc 1025 b1", "alloc 512 b2", "alloc 512 b3", "free b2", "free b1", "free b0"}, "a mask is nonzero first: count, cub's storage, 64 places"},
		"index_long": {"aten::index", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 64, 2), &ops.List{Items: []any{on(tensor.Int64, 8)}, Elem: schema.Optional}}
		}, []string{"alloc 64 b0"}, ""},
		"put_scalar_by_mask": {"aten::index_put_", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 64), &ops.List{Items: []any{on(tensor.Bool, 64)}, Elem: schema.Optional}, on(f)}
		}, []string{}, "one value at a mask is masked_fill"},
		"dropout_order": {"aten::dropout", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(f, 64), 0.5, true}
		}, []string{"alloc 64 b0", "alloc 256 b1", "free b0"}, "the kernel makes the mask first"},
		"one_hot": {"aten::one_hot", func(on func(tensor.DType, ...int64) *tensor.Tensor) []any {
			return []any{on(tensor.Int64, 4), int64(8)}
		}, []string{"alloc 256 b0"}, "on a device ones are scattered into zeros"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{bench: exec.NewBench(ops.Builtin(), &plat), given: map[int]*tensor.Storage{}}
			on := func(d tensor.DType, sizes ...int64) *tensor.Tensor {
				return r.bench.Tensor(tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cuda"}, nil)
			}
			_, events, err := r.bench.Run(row.op, row.args(on), nil)
			require.NoError(t, err)
			assert.Equal(t, row.want, gotEvents(events, r.gotNames(events)), row.why)
		})
	}
}
