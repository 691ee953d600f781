package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// onDevice runs one operator with a torch release and gives its births and deaths: "+512 -0" by order of birth, "…" where it kept what it took.
func onDevice(t *testing.T, name, torch, op string, args []any, kw ops.Kw) string {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	v, err := platform.ParseVersion(torch)
	require.NoError(t, err)
	p, err := platform.New(d, v)
	require.NoError(t, err)
	b := exec.NewBench(ops.Builtin(), &p)
	for i, a := range args {
		if m, ok := a.(tensor.Meta); ok {
			args[i] = b.Tensor(m, nil)
		}
	}
	for k, a := range kw {
		if m, ok := a.(tensor.Meta); ok {
			kw[k] = b.Tensor(m, nil)
		}
	}
	_, events, err := b.Run(op, args, kw)
	require.NoError(t, err)
	require.Empty(t, b.Missing())
	births := map[tensor.StorageID]int{}
	var out []string
	for _, e := range events {
		if e.Action == trace.Alloc {
			births[e.Storage] = len(births)
			out = append(out, "+"+intText(int64(e.Bytes)))
		} else {
			out = append(out, "-"+intText(int64(births[e.Storage])))
		}
	}
	return strings.Join(out, " ")
}

func intText(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return intText(n/10) + string(rune('0'+n%10))
}

func meta(d tensor.DType, sizes ...int64) tensor.Meta {
	return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cuda"}
}

// Which backend runs is told apart by what it allocates: flash and cuDNN an output and one float a row, efficient an output alone, math the
// scores and much more.
func TestAttentionBackend(t *testing.T) {
	h, bf, f := tensor.Float16, tensor.BFloat16, tensor.Float32
	const (
		flash     = "+2048 +64 +16 +8 -1 -2 -3"
		efficient = "+2048"
	)
	tests := []struct {
		name, device, torch string
		d                   tensor.DType
		dim                 int64
		mask, gqa           bool
		want                string
		why                 string
	}{
		{"half on Ampere", "a10g", "2.15", h, 64, false, false, flash, "flash comes first"},
		{"half on Ampere, 2.6", "a10g", "2.6", h, 64, false, false, "+2048 +64 -1", "the random state lay on the host through 2.6"},
		{"half on Turing", "t4", "2.15", h, 64, false, false, efficient, "flash wants compute capability 8.0"},
		{"bfloat16 on Turing", "t4", "2.15", bf, 64, false, false, "math", "neither takes bfloat16 below 8.0"},
		{"half with a mask", "a10g", "2.15", h, 64, true, false, efficient, "flash takes no mask"},
		{"half, odd heads' size with a mask", "a10g", "2.15", h, 60, true, false, "math", "efficient wants multiples of 8 in half"},
		{"float", "a10g", "2.15", f, 32, false, false, efficient, "flash has no float"},
		{"float, odd", "a10g", "2.15", f, 30, false, false, "math", "efficient wants multiples of 4 in float from 8.0 on"},
		{"float, odd, on Turing", "t4", "2.15", f, 32, false, false, efficient, ""},
		{"double", "a10g", "2.15", tensor.Float64, 32, false, false, "math", "only math has double"},
		{"grouped queries in half", "a10g", "2.15", h, 64, false, true, flash, ""},
		{"grouped queries in float", "a10g", "2.15", f, 32, false, true, "math", "efficient wants as many heads of each"},
		{"half on Hopper", "h100-sxm-80gb", "2.15", h, 64, false, false, "+2048 +8 +8 +256 -3 -1 -2", "cuDNN is preferred from 2.10 on where it is newer than 9.15"},
		{"half on Hopper, 2.10", "h100-sxm-80gb", "2.10", h, 64, false, false, flash, "2.10 comes with cuDNN 9.10"},
		{"none", "none", "2.15", h, 64, false, false, "math", "fake tensors take the math path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// 2048 bytes of output: 4 heads of 4 rows of 64 in half
			kv := int64(4)
			if tt.gqa {
				kv = 2
			}
			q, k, v := meta(tt.d, 1, 4, 4, tt.dim), meta(tt.d, 1, kv, 4, tt.dim), meta(tt.d, 1, kv, 4, tt.dim)
			args := []any{q, k, v}
			if tt.mask {
				m := meta(tt.d, 1, 1, 8, 8)
				m.Sizes = []int64{1, 1, 4, 4} // rows at multiples of 8 elements: no copy
				args = append(args, m)
			}
			got := onDevice(t, tt.device, tt.torch, "aten::scaled_dot_product_attention", args, ops.Kw{"enable_gqa": tt.gqa})
			if tt.want == "math" {
				assert.Greater(t, strings.Count(got, "+"), 5, "%s: %s", tt.why, got)
				return
			}
			assert.Equal(t, tt.want, got, tt.why)
		})
	}
}

// What matrix products take beside their result, by device and release.
func TestCublas(t *testing.T) {
	f := tensor.Float32
	x, w, b := meta(f, 64, 32), meta(f, 32, 16), meta(f, 16)
	turned := meta(f, 64, 64) // every second row and column: no leading dimension fits
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
		{"bias in the epilogue", "a10g", "2.15", "aten::addmm", []any{b, x, w}, "+4096 +1048576 -1", "cublasLt, 1 MiB a call and no cuBLAS block"},
		{"bias in the epilogue, 2.10", "a10g", "2.10", "aten::addmm", []any{b, x, w}, "+4096 +8519680 +1048576", "both blocks are kept"},
		{"a bias of the result's shape", "a10g", "2.15", "aten::addmm", []any{meta(f, 64, 16), x, w}, "+4096 +8519680 -1", "the epilogue wants one dimension"},
		{"one output feature", "a10g", "2.15", "aten::addmm", []any{meta(f, 1), x, meta(f, 32, 1)}, "+256 +8519680 -1", "cublasLt wants more than one column"},
		{"no leading dimension", "a10g", "2.15", "aten::mm", []any{turned, w}, "+4096 +8192 +8519680 -2 -1", "the operand is copied"},
		{"none", "none", "2.15", "aten::mm", []any{x, w}, "+4096", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, onDevice(t, tt.device, tt.torch, tt.op, tt.args, nil), tt.why)
		})
	}
}

// On a device recurrent layers are one call of cuDNN; on fake tensors, as on the host, they go step by step.
func TestRecurrentLayers(t *testing.T) {
	f := tensor.Float32
	tensors := func(ms ...any) *ops.List { return &ops.List{Items: ms} }
	run := func(name string) string {
		d, err := device.Lookup(name)
		require.NoError(t, err)
		v, err := platform.ParseVersion("2.15")
		require.NoError(t, err)
		p, err := platform.New(d, v)
		require.NoError(t, err)
		b := exec.NewBench(ops.Builtin(), &p)
		on := func(sizes ...int64) any { return b.Tensor(meta(f, sizes...), nil) }
		args := []any{on(5, 2, 4), tensors(on(1, 2, 6), on(1, 2, 6)), tensors(on(24, 4), on(24, 6), on(24), on(24)), true, int64(1), 0.0, false, false, false}
		_, events, err := b.Run("aten::lstm", args, nil)
		require.NoError(t, err)
		var births []string
		for _, e := range events {
			if e.Action == trace.Alloc {
				births = append(births, intText(int64(e.Bytes)))
			}
		}
		return strings.Join(births, " ")
	}
	assert.Equal(t, "240 48 48 1152", run("a10g"), "output, last states, and the weights in one buffer: they do not lie in one storage")
	assert.Equal(t, 28, len(strings.Fields(run("none"))), "five steps of two products and three results, and three stacked results")
}
