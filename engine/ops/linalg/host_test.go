package linalg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestEquations: what torch.einsum of torch 2.15 gives on the host, as views where it multiplies
// nothing, and what is said of equations that it refuses.
func TestEquations(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	for _, tt := range []struct {
		why, equation string
		tensors       []any
		want, err     string
	}{
		{"a product", "ij,jk", []any{f(2, 3), f(3, 4)}, "float32[2, 4] [4, 1]", ""},
		{"a dot product", "i,i->", []any{f(3), f(3)}, "float32[] []", ""},
		{"a transpose by the alphabet", "ba", []any{f(4, 3)}, "float32[3, 4] [1, 3]", ""},
		{"capitals before small letters", "bA", []any{f(4, 3)}, "float32[3, 4] [1, 3]", ""},
		{"spaces", "i j -> j i", []any{f(4, 3)}, "float32[3, 4] [1, 3]", ""},
		{"a diagonal of the first dimensions", "iij->ij", []any{f(4, 4, 5)}, "float32[4, 5] [25, 1]", ""},
		{"a diagonal around a dimension", "iji->ij", []any{f(4, 5, 4)}, "float32[4, 5] [21, 4]", ""},
		{"two diagonals", "ijji->ij", []any{f(4, 5, 5, 4)}, "float32[4, 5] [101, 24]", ""},
		{"a diagonal that is multiplied", "iji,jk->ik", []any{f(4, 5, 4), f(5, 6)}, "float32[4, 6] [6, 1]", ""},
		{"a diagonal of a batch", "i...i->...", []any{f(4, 5, 4)}, "float32[5] [1]", ""},
		{"a size of one that spreads", "ij,i->j", []any{f(3, 2), f(1)}, "float32[2] [1]", ""},
		{"other dimensions that broadcast", "...ij,...j->...i", []any{f(4, 1, 3, 2), f(5, 2)},
			"float32[4, 5, 3] [15, 1, 5]", ""},
		{"other dimensions stay", "...ij->...ji", []any{f(4, 3, 2)}, "float32[4, 2, 3] [6, 1, 2]", ""},
		{"other dimensions alone", "...", []any{f(4, 3, 2)}, "float32[4, 3, 2] [6, 2, 1]", ""},
		{"other dimensions of the result alone", "ij->...ij", []any{f(4, 5)}, "float32[4, 5] [5, 1]", ""},
		{"other dimensions that are summed", "...i->i", []any{f(4, 5)}, "float32[5] [1]", ""},
		{"a label twice in the result", "i->ii", []any{f(3)}, "",
			`got output labels of "i->ii", want each once and in an operand`},
		{"a label of the result alone", "ij->k", []any{f(3, 2)}, "",
			`got output labels of "ij->k", want each once and in an operand`},
		{"too few labels", "ij", []any{f(4, 3, 2)}, "", "got 2 labels for 3 dimensions, want as many"},
		{"too many labels", "ijkl", []any{f(4, 3, 2)}, "", "got 4 labels for 3 dimensions, want as many"},
		{"too many labels beside an ellipsis", "ij...kl", []any{f(4, 3, 2)}, "",
			"got 4 labels for 3 dimensions, want as many"},
		{"an operand less", "i,j", []any{f(4)}, "", `got 1 operands for "i,j", want one a term`},
		{"a dot alone", "i.j", []any{f(4, 3)}, "", "got '.' in an equation, want letters and one ..."},
		{"two ellipses", "i...i...->i", []any{f(4, 5)}, "", "got '.' in an equation, want letters and one ..."},
		{"a digit", "i1", []any{f(4, 3)}, "", "got '1' in an equation, want letters and one ..."},
		{"two arrows", "i->->i", []any{f(4)}, "", "got '-' in an equation, want letters and one ..."},
		{"a diagonal of a rectangle", "ii->", []any{f(4, 3)}, "", "got sizes 4 and 3 of one label, want equal ones"},
	} {
		got, err := h.Try("aten::einsum", []any{tt.equation, ops.TensorList(tensors(tt.tensors)...)}, nil)
		if tt.err != "" {
			assert.EqualError(t, err, "aten::einsum: "+tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_equations.txt")
}

func tensors(items []any) (out []*tensor.Tensor) {
	for _, t := range items {
		out = append(out, t.(*tensor.Tensor))
	}
	return out
}

// TestFactorsOnTheHost: what decompositions of torch 2.15 give on the host, where LAPACK has
// matrices by columns; half of a norm's names and all of a rank's tolerances.
func TestFactorsOnTheHost(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	long := func(sizes ...int64) any { return h.Of(tensor.Int64, sizes...) }
	for _, tt := range []struct {
		why, op   string
		args      []any
		kw        ops.Kw
		want, err string
	}{
		{"a tall matrix's vectors", "aten::linalg_svd", []any{f(5, 3), false}, nil,
			"(float32[5, 3] [1, 5], float32[3] [1], float32[3, 3] [1, 3])", ""},
		{"all of a tall matrix's vectors", "aten::linalg_svd", []any{f(5, 3), true}, nil,
			"(float32[5, 5] [1, 5], float32[3] [1], float32[3, 3] [1, 3])", ""},
		{"wide matrices' vectors", "aten::linalg_svd", []any{f(2, 3, 5), false}, nil,
			"(float32[2, 3, 3] [9, 1, 3], float32[2, 3] [3, 1], float32[2, 3, 5] [15, 1, 3])", ""},
		{"all of wide matrices' vectors", "aten::linalg_svd", []any{f(2, 3, 5), true}, nil,
			"(float32[2, 3, 3] [9, 1, 3], float32[2, 3] [3, 1], float32[2, 5, 5] [25, 1, 5])", ""},
		{"values alone", "aten::linalg_svdvals", []any{f(2, 5, 3)}, nil, "float32[2, 3] [3, 1]", ""},
		{"a determinant's logarithm", "aten::logdet", []any{f(3, 3)}, nil, "float32[] []", ""},
		{"of each matrix", "aten::logdet", []any{f(2, 3, 3)}, nil, "float32[2] [1]", ""},
		{"a rank a matrix", "aten::linalg_matrix_rank", []any{f(2, 5, 3)}, nil, "int64[2] [1]", ""},
		{"of matrices without rows", "aten::linalg_matrix_rank", []any{f(2, 0, 3)}, nil, "int64[2] [1]", ""},
		{"of a symmetric one", "aten::linalg_matrix_rank", []any{f(3, 3)}, ops.Kw{"hermitian": true}, "int64[] []", ""},
		{"a condition", "aten::linalg_cond", []any{f(2, 3, 3)}, nil, "float32[2] [1]", ""},
		{"by values, of any shape", "aten::linalg_cond", []any{f(2, 5, 3)}, nil, "float32[2] [1]", ""},
		{"by values, smallest first", "aten::linalg_cond", []any{f(2, 5, 3), int64(-2)}, nil, "float32[2] [1]", ""},
		{"by its inverse", "aten::linalg_cond", []any{f(2, 3, 3), int64(1)}, nil, "float32[2] [1]", ""},
		{"by a norm's name", "aten::linalg_cond", []any{f(2, 3, 3), "fro"}, nil, "float32[2] [1]", ""},
		{"by the sum of values", "aten::linalg_cond", []any{f(2, 3, 3), "nuc"}, nil, "float32[2] [1]", ""},
		{"an orthogonal basis", "aten::linalg_qr", []any{f(2, 5, 3)}, nil,
			"(float32[2, 5, 3] [15, 1, 5], float32[2, 3, 3] [9, 1, 3])", ""},
		{"a symmetric matrix's vectors", "aten::linalg_eigh", []any{f(2, 3, 3)}, nil,
			"(float32[2, 3] [3, 1], float32[2, 3, 3] [9, 1, 3])", ""},
		{"an inverse of any shape", "aten::linalg_pinv", []any{f(2, 5, 3)}, nil, "float32[2, 3, 5] [15, 5, 1]", ""},
		{"a symmetric factor", "aten::linalg_ldl_factor", []any{f(2, 3, 3)}, nil,
			"(float32[2, 3, 3] [9, 1, 3], int32[2, 3] [3, 1])", ""},
		{"a polar factor", "aten::linalg_polar", []any{f(5, 3)}, nil,
			"(float32[5, 3] [3, 1], float32[3, 3] [3, 1])", ""},
		{"a wide matrix in two triangles", "aten::linalg_lu", []any{f(3, 5)}, nil,
			"(float32[3, 3] [3, 1], float32[3, 3] [3, 1], float32[3, 5] [5, 1])", ""},
		{"a tall matrix in two triangles", "aten::linalg_lu", []any{f(5, 3)}, nil,
			"(float32[5, 5] [5, 1], float32[5, 3] [3, 1], float32[3, 3] [3, 1])", ""},
		{"tall matrices in two triangles", "aten::linalg_lu", []any{f(2, 5, 3)}, nil,
			"(float32[2, 5, 5] [25, 5, 1], float32[2, 5, 3] [15, 3, 1], float32[2, 3, 3] [9, 3, 1])", ""},
		{"a tall matrix without pivots", "aten::linalg_lu", []any{f(5, 3)}, ops.Kw{"pivot": false},
			"(float32[0] [1], float32[5, 3] [3, 1], float32[3, 3] [3, 1])", ""},
		{"a tall system's solution", "aten::linalg_lstsq", []any{f(5, 3), f(5, 2)}, nil,
			"(float32[3, 2] [1, 5], float32[0] [1], int64[] [], float32[0] [1])", ""},
		{"a wide system's", "aten::linalg_lstsq", []any{f(3, 5), f(3, 2)}, nil,
			"(float32[5, 2] [1, 5], float32[0] [1], int64[] [], float32[0] [1])", ""},
		{"of a vector", "aten::linalg_lstsq", []any{f(5, 3), f(5)}, nil,
			"(float32[3] [1], float32[0] [1], int64[] [], float32[0] [1])", ""},
		{"of a vector a matrix", "aten::linalg_lstsq", []any{f(2, 5, 3), f(2, 5)}, nil,
			"(float32[2, 3] [5, 1], float32[0] [1], int64[2] [1], float32[0] [1])", ""},
		{"of full rank by gels", "aten::linalg_lstsq", []any{f(5, 3), f(5, 2)}, ops.Kw{"driver": "gels"},
			"(float32[3, 2] [1, 5], float32[2] [1], int64[0] [1], float32[0] [1])", ""},
		{"and of vectors", "aten::linalg_lstsq", []any{f(2, 5, 3), f(2, 5)}, ops.Kw{"driver": "gels"},
			"(float32[2, 3] [5, 1], float32[2, 1] [1, 1], int64[0] [1], float32[0] [1])", ""},
		{"by singular values", "aten::linalg_lstsq", []any{f(2, 5, 3), f(2, 5, 2)}, ops.Kw{"driver": "gelsd"},
			"(float32[2, 3, 2] [10, 1, 5], float32[2, 2] [2, 1], int64[2] [1], float32[2, 3] [3, 1])", ""},
		{"of wide systems by them", "aten::linalg_lstsq", []any{f(2, 3, 5), f(2, 3, 2)}, ops.Kw{"driver": "gelss"},
			"(float32[2, 5, 2] [10, 1, 5], float32[0] [1], int64[2] [1], float32[2, 3] [3, 1])", ""},
		{"vectors of other systems", "aten::linalg_lstsq", []any{f(2, 5, 3), f(5, 2)}, nil, "",
			"aten::linalg_lstsq: got b [5 2], want 5 rows, as self [2 5 3] has"},
		{"more right sides than systems", "aten::linalg_lstsq", []any{f(5, 3), f(4, 5, 2)}, nil, "",
			"aten::linalg_lstsq: got b [4 5 2], want as many dimensions as self [5 3] or one fewer"},
		{"powers of integers", "aten::linalg_vander", []any{long(2)}, ops.Kw{"N": int64(3)}, "int64[2, 3] [3, 1]", ""},
		{"one power", "aten::linalg_vander", []any{f(2)}, ops.Kw{"N": int64(1)}, "",
			"aten::linalg_vander: got N 1, want more than 1"},
		{"vectors of other dtypes", "aten::dot", []any{f(3), h.Of(tensor.Float64, 3)}, nil, "",
			"aten::dot: got float32 and float64, want one dtype"},
		{"a matrix and a vector of other dtypes", "aten::mv", []any{f(2, 3), h.Of(tensor.Float64, 3)}, nil, "",
			"aten::mv: got float32 and float64, want one dtype"},
		{"a vector's factors", "aten::lu_unpack", []any{f(3), h.Of(tensor.Int32, 3)}, nil, "", "dimensions"},
	} {
		got, err := h.Try(tt.op, tt.args, tt.kw)
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_host.txt")
}
