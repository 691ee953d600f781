package linalg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// What matrix products take beside their result, by device and release.
func TestCublas(t *testing.T) {
	f := tensor.Float32
	x, w, b := aten.Dense(f, 64, 32), aten.Dense(f, 32, 16), aten.Dense(f, 16)
	turned := aten.Dense(f, 64, 64) // every second row and column: no leading dimension fits
	turned.Sizes, turned.Strides = []int64{64, 32}, []int64{64, 2}
	tests := []struct {
		name, device, torch, op string
		args                    []any
		want                    string
		why                     string
	}{
		{"gemm", "a10g", "2.15", "aten::mm", []any{x, w}, "+4096 +8519680 -1", "2.15 takes the workspace in each call"},
		{"gemm, kept", "a10g", "2.10", "aten::mm", []any{x, w}, "+4096 +8519680", "a handle keeps it before"},
		{"gemm on Hopper", "h100-sxm-80gb", "2.15", "aten::mm", []any{x, w}, "+4096 +33554432 -1", "32 MiB there"},
		{"bias in the epilogue", "a10g", "2.15", "aten::addmm", []any{b, x, w}, "+4096 +1048576 -1",
			"cublasLt, 1 MiB a call and no cuBLAS block"},
		{"bias in the epilogue, 2.10", "a10g", "2.10", "aten::addmm", []any{b, x, w}, "+4096 +8519680 +1048576",
			"both blocks are kept"},
		{"a bias of the result's shape", "a10g", "2.15", "aten::addmm", []any{aten.Dense(f, 64, 16), x, w},
			"+4096 +8519680 -1", "the epilogue wants one dimension"},
		{"one output feature", "a10g", "2.15", "aten::addmm", []any{aten.Dense(f, 1), x, aten.Dense(f, 32, 1)},
			"+256 +8519680 -1", "cublasLt wants more than one column"},
		{"no leading dimension", "a10g", "2.15", "aten::mm", []any{turned, w}, "+4096 +8192 +8519680 -2 -1",
			"the operand is copied"},
		{"none", "none", "2.15", "aten::mm", []any{x, w}, "+4096", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := aten.Call{Op: tt.op, Args: tt.args}.Run(t, builtin.Table(), aten.On(t, tt.device, tt.torch))
			assert.Equal(t, tt.want, got, tt.why)
		})
	}
}

// TestProductsInto: what products take that are given their result's tensor, as torch.baddbmm(…,
// out=…) did on memshim's pretend GPUs: the workspace alone. The result is the tensor, of whatever
// layout; one that is empty is resized.
func TestProductsInto(t *testing.T) {
	for _, device := range []string{"t4", "h100-sxm-80gb"} {
		workspace := map[string]string{"t4": "8519680", "h100-sxm-80gb": "33554432"}[device]
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16} {
			self, a, b, bias := aten.Dense(d, 4, 32, 48), aten.Dense(d, 4, 32, 64), aten.Dense(d, 4, 64, 48), aten.Dense(d, 48)
			turned := aten.Dense(d, 4, 32, 48)
			turned.Strides = []int64{1536, 1, 32}
			for _, tt := range []struct {
				why       string
				self, out tensor.Meta
				want      string
			}{
				{"into another", self, aten.Dense(d, 4, 32, 48), "+" + workspace + " -0"},
				{"a bias that is broadcast", bias, aten.Dense(d, 4, 32, 48), "+" + workspace + " -0"},
				{"into another layout", self, turned, "+" + workspace + " -0"},
			} {
				got, _ := aten.Call{Op: "aten::baddbmm", Args: []any{tt.self, a, b}, Kw: ops.Kw{"out": tt.out}}.Run(t,
					builtin.Table(), aten.On(t, device, "2.15"))
				assert.Equal(t, tt.want, got, "%s, %s on %s", tt.why, d, device)
			}
		}
	}
}

// TestResultsGiven: a tensor that a product is written into keeps its dtype where the result casts
// to it, takes the result's sizes, and is refused where the product is or where no cast leads to
// it.
func TestResultsGiven(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	a, b := h.Of(tensor.Float32, 2, 3), h.Of(tensor.Float32, 3, 5)
	onDevice := h.Bench.Tensor(ops.NewMeta(tensor.Float32, "cuda", []int64{2, 5}), nil)
	for _, tt := range []struct {
		why       string
		b, out    *tensor.Tensor
		want, err string
	}{
		{"as it is", b, h.Of(tensor.Float32, 2, 5), "float32[2, 5] [5, 1]", ""},
		{"a wider dtype", b, h.Of(tensor.Float64, 2, 5), "float64[2, 5] [5, 1]", ""},
		{"of other sizes", b, h.Of(tensor.Float32, 4), "float32[2, 5] [5, 1]", ""},
		{"no product", a, h.Of(tensor.Float32, 2, 5), "", "aten::mm: got [2 3] and [2 3], want [n, m] and [m, p]"},
		{"no cast", b, h.Of(tensor.Int64, 2, 5), "", "aten::mm: got a result of float32 and a tensor of int64 for it"},
		{"elsewhere", b, onDevice, "", "aten::mm: got a result on cpu and a tensor on cuda for it"},
	} {
		got, _, err := h.Bench.Run("aten::mm", []any{a, tt.b}, ops.Kw{"out": tt.out})
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.why)
			continue
		}
		assert.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
		assert.Same(t, tt.out, got, "%s: the tensor given is the result", tt.why)
	}
}

// What the factorisations of one matrix take beside their results: the calls of
// testdata/measured/h100-solver.csv, of which 512 by 512 are here.
func TestFactorizations(t *testing.T) {
	x := aten.Dense(tensor.Float32, 512, 512)
	for op, want := range map[string]string{
		"aten::linalg_cholesky":   "+1048576 +4 +1152 -2 +1 +1 -4 -3 -1",
		"aten::linalg_lu_factor":  "+1048576 +2048 +4 +8448 -3 +1 +1 -5 -4 -2",
		"aten::linalg_ldl_factor": "+1048576 +2048 +4 +131328 -3 +1 +1 -5 -4 -2",
	} {
		got, _ := aten.Call{Op: op, Args: []any{x}}.Run(t, builtin.Table(), aten.On(t, "h100-sxm-80gb", "2.11"))
		assert.Equal(t, want, got, op)
	}
}
