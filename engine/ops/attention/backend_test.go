package attention_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// Which backend runs is distinguished by what it allocates: flash and cuDNN an output and one float
// a row, efficient an output and a random state, math the scores and much more.
func TestAttentionBackend(t *testing.T) {
	h, bf, f := tensor.Float16, tensor.BFloat16, tensor.Float32
	const (
		flash     = "+2048 +64 +16 +8 -1 -2 -3"
		efficient = "+8 +8 +2048 -0 -1"
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
		{"half on Ampere, 2.6", "a10g", "2.6", h, 64, false, false, "+2048 +64 -1", "the random state lay on the host " +
			"through 2.6"},
		{"half on Turing", "t4", "2.15", h, 64, false, false, efficient, "flash wants compute capability 8.0"},
		{"half on Turing, 2.10", "t4", "2.10", h, 64, false, false, "+2048", "efficient attention's random state lay on " +
			"the host in 2.10"},
		{"bfloat16 on Turing", "t4", "2.15", bf, 64, false, false, "math", "neither takes bfloat16 below 8.0"},
		{"half with a mask", "a10g", "2.15", h, 64, true, false, efficient, "flash takes no mask"},
		{"half, odd heads' size with a mask", "a10g", "2.15", h, 60, true, false, "math",
			"efficient wants multiples of 8 in half"},
		{"float", "a10g", "2.15", f, 32, false, false, efficient, "flash has no float"},
		{"float, odd", "a10g", "2.15", f, 30, false, false, "math", "efficient wants multiples of 4 in float from 8.0 on"},
		{"float, odd, on Turing", "t4", "2.15", f, 32, false, false, efficient, ""},
		{"double", "a10g", "2.15", tensor.Float64, 32, false, false, "math", "only math has double"},
		{"grouped queries in half", "a10g", "2.15", h, 64, false, true, flash, ""},
		{"grouped queries in float", "a10g", "2.15", f, 32, false, true, efficient, "efficient attention takes fewer heads " +
			"of keys and values"},
		{"grouped queries in float, 2.10", "a10g", "2.10", f, 32, false, true, "math", "efficient wanted as many heads of " +
			"each in 2.10"},
		{"half on Hopper", "h100-sxm-80gb", "2.15", h, 64, false, false, "+8 +8 +2048 +256 -3 -0 -1",
			"cuDNN is preferred from 2.10 on where it is newer than 9.15"},
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
			q, k, v := aten.Dense(tt.d, 1, 4, 4, tt.dim), aten.Dense(tt.d, 1, kv, 4, tt.dim), aten.Dense(tt.d, 1, kv, 4, tt.dim)
			args := []any{q, k, v}
			if tt.mask {
				m := aten.Dense(tt.d, 1, 1, 8, 8)
				m.Sizes = []int64{1, 1, 4, 4} // rows at multiples of 8 elements: no copy
				args = append(args, m)
			}
			call := aten.Call{Op: "aten::scaled_dot_product_attention", Args: args, Kw: ops.Kw{"enable_gqa": tt.gqa}}
			got, _ := call.Run(t, builtin.Table(), aten.On(t, tt.device, tt.torch))
			if tt.want == "math" {
				assert.Greater(t, strings.Count(got, "+"), 5, "%s: %s", tt.why, got)
				return
			}
			assert.Equal(t, tt.want, got, tt.why)
		})
	}
}
