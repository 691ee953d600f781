package reduce_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestOnTheHost: what torch 2.15 gives for the same calls on the host, of operators that the
// recorded calls lack, or some of their ways.
func TestOnTheHost(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	of := h.Of
	ints := func(n ...int64) any { return ops.IntList(n...) }
	one, zero := int64(1), int64(0)
	type call struct {
		want string
		op   string
		args []any
	}
	calls := []call{
		{"uint8[2] [1]", "aten::all", []any{of(tensor.Uint8, 2, 3), one}},
		{"uint8[2] [1]", "aten::any", []any{of(tensor.Uint8, 2, 3), one}},
		{"bool[] []", "aten::all", []any{f(2)}},
		{"float32[] []", "aten::cov", []any{f(5)}},
		{"float32[3, 3] [3, 1]", "aten::cov", []any{f(3, 5)}},
		{"float32[3, 3] [3, 1]", "aten::cov", []any{f(3, 5), ops.Kw{"correction": zero, "fweights": of(tensor.Int64, 5)}}},
		{"float32[3, 3] [3, 1]", "aten::cov", []any{f(3, 5), ops.Kw{"aweights": f(5)}}},
		{"float32[3, 3] [3, 1]", "aten::cov", []any{f(3, 5), ops.Kw{"fweights": of(tensor.Int64, 5), "aweights": f(5)}}},
		{"float32[3, 3] [3, 1]", "aten::cov", []any{f(3, 0)}},
		{"float32[3, 3] [3, 1]", "aten::corrcoef", []any{f(3, 5)}},
		{"float32[] []", "aten::corrcoef", []any{f(5)}},
		{"float32[7] [1]", "aten::histc", []any{f(4), int64(7)}},
		{"int64[6] [1]", "aten::bincount", []any{of(tensor.Int64, 4), nil, int64(6)}},
		{"float32[6] [1]", "aten::bincount", []any{of(tensor.Int64, 4), f(4), int64(6)}},
		{"float64[6] [1]", "aten::bincount", []any{of(tensor.Int64, 4), of(tensor.Float64, 4), int64(6)}},
		{"float64[6] [1]", "aten::bincount", []any{of(tensor.Int64, 4), of(tensor.Int32, 4), int64(6)}},
		{"(float32[6] [1], float32[7] [1])", "aten::histogram", []any{f(4), int64(6)}},
		{"(float32[4] [1], float32[5] [1])", "aten::histogram", []any{f(4), f(5)}},
		{"float32[2] [1]", "aten::trapezoid", []any{f(2, 5)}},
		{"float32[2] [1]", "aten::trapezoid", []any{f(2, 5), f(5)}},
		{"float32[2] [1]", "aten::trapezoid", []any{f(2, 0)}},
		{"float32[2, 4] [4, 1]", "aten::cumulative_trapezoid", []any{f(2, 5)}},
		{"float32[1, 5] [5, 1]", "aten::cumulative_trapezoid", []any{f(2, 5), f(2, 5), ops.Kw{"dim": zero}}},
		{"(float32[3, 1] [1, 1], float32[3, 1] [1, 1])", "aten::var_mean",
			[]any{f(3, 4), ints(1), ops.Kw{"keepdim": true, "correction": one}}},
		{"int32[2, 3] [3, 1]", "aten::searchsorted", []any{f(5), f(2, 3), ops.Kw{"out_int32": true}}},
		{"int64[] []", "aten::searchsorted", []any{f(5), 1.0}},
		{"int64[2, 3] [3, 1]", "aten::bucketize", []any{f(2, 3), f(5)}},
		{"(float32[3, 1] [1, 1], int64[3, 1] [1, 1])", "aten::kthvalue", []any{f(3, 4), int64(2), one, true}},
		{"(float32[4] [1], int64[4] [1])", "aten::mode", []any{f(3, 4), zero}},
		{"(float32[3] [1], int64[3] [1])", "aten::median", []any{f(3, 4), one}},
		{"(float32[2, 4] [4, 1], int64[2, 4] [4, 1])", "aten::topk", []any{f(3, 4), int64(2), zero}},
		{"(float32[3] [1], float32[3] [1])", "aten::aminmax", []any{f(3, 4), ops.Kw{"dim": one}}},
		{"(float32[3, 4] [4, 1], int64[3, 4] [4, 1])", "aten::cummax", []any{f(3, 4), one}},
		{"(float32[] [], int64[] [])", "aten::topk", []any{f(), zero}},
		{"(float32[] [], int64[] [])", "aten::topk", []any{f(), one}},
		{"(float32[3, 4] [4, 1], (float32[4] [1], float32[5] [1]))", "aten::histogramdd", []any{f(5, 2), ints(3, 4)}},
		{"float32[3] [1]", "aten::logsumexp", []any{of(tensor.Int64, 3, 4), ints(1)}},
		{"int64[3] [1]", "aten::prod", []any{of(tensor.Int32, 3, 4), one}},
		{"int64[4] [1]", "aten::count_nonzero", []any{f(3, 4), ints(0)}},
	}
	for _, how := range []string{"linear", "lower", "higher", "nearest", "midpoint"} {
		kw := ops.Kw{"interpolation": how}
		calls = append(calls, call{"float32[2, 3, 5] [1, 10, 2]", "aten::quantile", []any{f(3, 4, 5), f(2), one, false, kw}},
			call{"float32[3, 4, 1] [4, 1, 1]", "aten::quantile", []any{f(3, 4, 5), 0.5, int64(2), true, kw}},
			call{"float32[] []", "aten::nanquantile", []any{f(3, 4), 0.5, nil, false, kw}})
	}
	for _, c := range calls {
		assert.Equal(t, c.want, aten.Describe(h.Run(c.op, c.args...)), c.op)
	}
	h.Changed("testdata/changed_host.txt")
	for _, c := range []call{ // which PyTorch refuses too
		{"want at most 2 dimensions", "aten::cov", []any{f(2, 2, 2)}},
		{"want at most 2 dimensions", "aten::corrcoef", []any{f(2, 2, 2)}},
		{"got 0 bins, want at least 1", "aten::histogram", []any{f(4), zero}},
		{"got no dimensions, want at least 1", "aten::trapezoid", []any{f()}},
		{"", "aten::histogramdd", []any{f(5, 3), ints(3, 4)}},
		{"", "aten::_histogramdd_from_bin_cts", []any{f(5, 3), ints(3, 4)}},
		{"got 0 bins, want at least 1", "aten::histogramdd", []any{f(5, 2), ints(3, 0)}},
		{"", "aten::topk", []any{f(), int64(2)}},
		{"", "aten::topk", []any{f(), int64(-1)}},
		{"", "aten::topk", []any{f(3), int64(4)}},
	} {
		_, _, err := h.Bench.Run(c.op, c.args, nil)
		assert.ErrorContains(t, err, c.want, c.op)
	}
	// The least and greatest of known values, which sizes are computed from.
	known := h.Ints(3, -7, 5)
	for op, want := range map[string]int64{"aten::max": 5, "aten::min": -7} {
		got := h.Run(op, known).(*tensor.Tensor)
		if assert.NotNil(t, got.Data, op) {
			assert.Equal(t, []int64{want}, got.Data.Ints, op)
		}
	}
	real := f(2)
	real.Data = &tensor.Data{Floats: []float64{1.5, 2.5}}
	for op, want := range map[string]float64{"aten::max": 2.5, "aten::min": 1.5} {
		got := h.Run(op, real).(*tensor.Tensor)
		if assert.NotNil(t, got.Data, op) {
			assert.Equal(t, []float64{want}, got.Data.Floats, op)
		}
	}
}
