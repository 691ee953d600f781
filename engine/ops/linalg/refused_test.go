package linalg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSystemsThatDoNotFit: products and systems of sizes that do not go together are refused with
// both, in their order; those that do have a result.
func TestSystemsThatDoNotFit(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	of := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	const product = ", want [n, m] and [m, p]"
	for _, tt := range []struct {
		why, op   string
		args      []any
		kw        ops.Kw
		want, err string
	}{
		{"a product", "aten::_scaled_mm", []any{of(2, 3), of(3, 5), of(), of()}, nil, "float32[2, 5] [5, 1]", ""},
		{"another dtype", "aten::_scaled_mm", []any{of(2, 3), of(3, 5), of(), of()},
			ops.Kw{"out_dtype": int64(tensor.Float16)}, "float16[2, 5] [5, 1]", ""},
		{"other columns than rows", "aten::_scaled_mm", []any{of(2, 3), of(2, 5), of(), of()}, nil, "",
			"got [2 3] and [2 5]" + product},
		{"a vector first", "aten::_scaled_mm", []any{of(3), of(3, 5), of(), of()}, nil, "", "got [3] and [3 5]" + product},
		{"a vector second", "aten::_scaled_mm", []any{of(2, 3), of(3), of(), of()}, nil, "", "got [2 3] and [3]" + product},
		{"a batch", "aten::_scaled_mm", []any{of(2, 3), of(3, 5, 1), of(), of()}, nil, "", "got [2 3] and [3 5 1]" + product},
		{"a system", "aten::linalg_tensorsolve", []any{of(6, 2, 3), of(6)}, nil, "float32[2, 3] [3, 1]", ""},
		{"dims that go last", "aten::linalg_tensorsolve", []any{of(2, 6, 3), of(6), ops.IntList(0, 2)}, nil,
			"float32[2, 3] [3, 1]", ""},
		{"dims that there are none of", "aten::linalg_tensorsolve", []any{of(2, 6, 3), of(6), ops.IntList(3)}, nil, "",
			"got dim 3, want one in [-3, 2]"},
		{"an inverse", "aten::linalg_tensorinv", []any{of(6, 2, 3), int64(1)}, nil, "float32[2, 3, 6] [3, 1, 6]", ""},
		{"an inverse of a number", "aten::linalg_tensorinv", []any{of(1, 1), int64(2)}, nil, "float32[1, 1] [1, 1]", ""},
		{"no dims first", "aten::linalg_tensorinv", []any{of(1, 1), int64(0)}, nil, "",
			"got ind 0 for [1 1], want one inside"},
		{"more first than there are", "aten::linalg_tensorinv", []any{of(1, 1), int64(3)}, nil, "",
			"got ind 3 for [1 1], want one inside"},
		{"a matrix and a vector", "aten::addmv", []any{of(2), of(2, 3), of(3)}, nil, "float32[2] [1]", ""},
		{"an addend of another size", "aten::addmv", []any{of(5), of(2, 3), of(3)}, nil, "",
			"got sizes [2] and [5], want them to broadcast"},
		{"a vector of another dtype", "aten::addmv", []any{of(2), of(2, 3), h.Of(tensor.Int64, 3)}, nil, "",
			"got float32 and int64, want one dtype"},
		{"an addend of a product of vectors", "aten::addr", []any{of(5, 3), of(2), of(3)}, nil, "",
			"got sizes [2 3] and [5 3], want them to broadcast"},
		{"an addend of products of matrices", "aten::baddbmm", []any{of(5, 2, 5), of(4, 2, 3), of(4, 3, 5)}, nil, "",
			"got sizes [4 2 5] and [5 2 5], want them to broadcast"},
		{"an addend of a product", "aten::addmm", []any{of(5, 5), of(2, 3), of(3, 5)}, nil, "",
			"got sizes [2 5] and [5 5], want them to broadcast"},
		{"a vector on the right", "aten::cholesky_solve", []any{of(3), of(3, 3)}, nil, "",
			"got [3], want at least 2 dimensions"},
		{"another number of rows on the right", "aten::cholesky_solve", []any{of(2, 3), of(3, 3)}, nil, "",
			"got [3 3] and [2 3], want a system whose two sides fit"},
		{"a vector that solves a system", "aten::_linalg_solve_ex", []any{of(3, 3), of(3)}, nil,
			"(float32[3] [1], float32[3, 3] [1, 3], int32[3] [1], int32[] [])", ""},
		{"a vector a matrix", "aten::_linalg_solve_ex", []any{of(2, 3, 3), of(2, 3)}, nil,
			"(float32[2, 3] [1, 2], float32[2, 3, 3] [9, 1, 3], int32[2, 3] [3, 1], int32[2] [1])", ""},
		{"a vector of another size", "aten::_linalg_solve_ex", []any{of(3, 3), of(2)}, nil, "",
			"got [3 3] and [2], want a system whose two sides fit"},
		{"a vector on the left", "aten::_linalg_solve_ex", []any{of(3, 3), of(3)}, ops.Kw{"left": false}, "",
			"got [3 3] and [3], want a system whose two sides fit"},
		{"a vector of one on the left", "aten::_linalg_solve_ex", []any{of(1, 1), of(1)}, ops.Kw{"left": false}, "",
			"got the vector [1] with left=False, want a matrix"},
		{"a number on the right", "aten::_linalg_solve_ex", []any{of(3, 3), of()}, nil, "",
			"got B [], want at least 1 dimension"},
		{"columns on the left", "aten::_linalg_solve_ex", []any{of(3, 3), of(2, 3)}, ops.Kw{"left": false},
			"(float32[2, 3] [3, 1], float32[3, 3] [1, 3], int32[3] [1], int32[] [])", ""},
		{"rows on the left", "aten::_linalg_solve_ex", []any{of(3, 3), of(3, 2)}, ops.Kw{"left": false}, "",
			"got [3 3] and [3 2], want a system whose two sides fit"},
		{"a vector's reflectors", "aten::linalg_householder_product", []any{of(3), of(3)}, nil, "",
			"got [3], want at least 2 dimensions"},
		{"factors of other batches", "aten::linalg_householder_product", []any{of(2, 4, 3), of(5, 3)}, nil, "",
			"got [2 4 3] and factors [5 3], want no more than one a column"},
		{"a vector's rotation", "aten::ormqr", []any{of(3), of(3), of(3, 3)}, nil, "", "got [3], want at least 2 dimensions"},
		{"a rotation from the left", "aten::ormqr", []any{of(4, 3), of(3), of(4, 5)}, nil, "float32[4, 5] [1, 4]", ""},
		{"a rotation from the right", "aten::ormqr", []any{of(4, 3), of(3), of(5, 4)}, ops.Kw{"left": false},
			"float32[5, 4] [1, 5]", ""},
		{"a rotation from the right of other columns", "aten::ormqr", []any{of(4, 3), of(3), of(4, 5)},
			ops.Kw{"left": false}, "", "got [4 3] and [4 5], want reflectors of the size of what they turn"},
		{"a rotation of other batches", "aten::ormqr", []any{of(2, 4, 3), of(2, 3), of(5, 4, 5)}, nil, "",
			"got [2 4 3] and [5 4 5], want as many dimensions and matrices"},
		{"a vector's factors", "aten::lu_unpack", []any{of(3), of(3)}, nil, "", "got [3], want at least 2 dimensions"},
		{"pivots of other sizes", "aten::lu_unpack", []any{of(3, 3), h.Of(tensor.Int32, 2)}, nil, "", "got [2], want [3]"},
		{"pivots of other sizes, not unpacked", "aten::lu_unpack", []any{of(3, 3), h.Of(tensor.Int32, 2)},
			ops.Kw{"unpack_pivots": false}, "(float32[0] [1], float32[3, 3] [3, 1], float32[3, 3] [3, 1])", ""},
		{"powers of a number", "aten::linalg_vander", []any{of()}, nil, "", "got N 0, want more than 1"},
		{"more dims on the right", "aten::linalg_tensorsolve", []any{of(6), of(2, 3)}, nil, "",
			"got [6] and [2 3], want a system that fits"},
	} {
		got, _, err := h.Bench.Run(tt.op, tt.args, tt.kw)
		if tt.err != "" {
			assert.EqualError(t, err, tt.op+": "+tt.err, tt.why)
			continue
		}
		assert.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
}
