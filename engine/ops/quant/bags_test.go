package quant_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/quant"
	"github.com/memspec/memspec/engine/tensor"
)

// TestBags compares what the packed forms give with PyTorch 2.15: sizes by its runs on the host,
// what is allocated by one on a pretend A100 (bags of bytes and of half bytes run on a GPU; the
// rest on the host alone). Packing and unpacking ten rows of 16 gives the widths below.
func TestBags(t *testing.T) {
	vector, offsets, matrix := aten.Dense(tensor.Int64, 6), aten.Dense(tensor.Int64, 3), aten.Dense(tensor.Int64, 2, 3)
	object := func(d tensor.DType) any { return quant.PackedRows(d, 10, 16) }
	for _, c := range []struct {
		call aten.Call
		want string
	}{
		{aten.Call{Op: "quantized::embedding_bag_byte_rowwise_offsets", Args: []any{aten.Dense(tensor.Uint8, 10, 24), vector,
			offsets}}, "+192"},
		{aten.Call{Op: "quantized::embedding_bag_4bit_rowwise_offsets", Args: []any{aten.Dense(tensor.Uint8, 10, 12), vector,
			offsets}}, "+192"},
		{aten.Call{Op: "quantized::embedding_bag_4bit_rowwise_offsets", Args: []any{aten.Dense(tensor.Uint8, 10, 12), vector,
			offsets}, Kw: ops.Kw{"include_last_offset": true}}, "+128"},
		{aten.Call{Op: "quantized::embedding_bag_4bit_rowwise_offsets", Args: []any{aten.Dense(tensor.Uint8, 10, 12),
			matrix}}, "+128"},
		{aten.Call{Op: "quantized::embedding_bag_2bit_rowwise_offsets", Args: []any{aten.Dense(tensor.Uint8, 10, 8), vector,
			offsets}}, "+192"},
		{aten.Call{Op: "quantized::embedding_bag_byte_unpack", Args: []any{aten.Dense(tensor.Uint8, 10, 24)}}, "+640"},
		{aten.Call{Op: "quantized::embedding_bag_4bit_unpack", Args: []any{aten.Dense(tensor.Uint8, 10, 12)}}, "+640"},
		{aten.Call{Op: "quantized::embedding_bag_2bit_unpack", Args: []any{aten.Dense(tensor.Uint8, 10, 8)}}, "+640"},
		{aten.Call{Op: "quantized::embedding_bag_byte_prepack", Args: []any{aten.Dense(tensor.Float32, 10, 16)}}, "+240"},
		{aten.Call{Op: "quantized::embedding_bag_4bit_prepack", Args: []any{aten.Dense(tensor.Float32, 10, 16)}}, "+120"},
		{aten.Call{Op: "quantized::embedding_bag_2bit_prepack", Args: []any{aten.Dense(tensor.Float32, 10, 16)}}, "+80"},
		{aten.Call{Op: "quantized::embedding_bag_byte", Args: []any{object(tensor.QUint8), vector, offsets}}, "+192"},
		{aten.Call{Op: "quantized::embedding_bag_byte", Args: []any{object(tensor.QUint8), matrix}}, "+128"},
		{aten.Call{Op: "quantized::embedding_bag_4bit", Args: []any{object(tensor.QUint4x2), vector,
			aten.Dense(tensor.Int64, 4)}, Kw: ops.Kw{"include_last_offset": true}}, "+192"},
	} {
		got, _ := c.call.Run(t, builtin.Table(), aten.On(t, "a100-sxm-80gb", "2.15"))
		assert.Equal(t, c.want, got, "%s %v", c.call.Op, c.call.Kw)
	}
}

// TestBagsRefused: indices are a matrix, a bag a row, or a vector with where each bag begins.
func TestBagsRefused(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	const want = ", want a matrix, or a vector with a vector of offsets"
	of := func(sizes ...int64) any { return h.Of(tensor.Int64, sizes...) }
	for _, tt := range []struct {
		why       string
		args      []any
		last      bool
		want, err string
	}{
		{"a matrix", []any{of(6, 2)}, false, "float32[6, 8] [8, 1]", ""},
		{"a vector", []any{of(6), of(2)}, false, "float32[2, 8] [8, 1]", ""},
		{"the end of the last bag stated", []any{of(6), of(3)}, true, "float32[2, 8] [8, 1]", ""},
		{"that alone", []any{of(6), of(1)}, true, "float32[0, 8] [8, 1]", ""},
		{"nothing stated", []any{of(6), of(0)}, true, "", "got no offsets, want the last at least"},
		{"a vector alone", []any{of(6)}, false, "", "got indices [6]" + want},
		{"a number", []any{of(), of(2)}, false, "", "got indices []" + want},
		{"a number alone", []any{of()}, false, "", "got indices []" + want},
		{"three dimensions", []any{of(2, 2, 2), of(2)}, false, "", "got indices [2 2 2]" + want},
		{"offsets in a matrix", []any{of(6), of(2, 2)}, false, "", "got indices [6]" + want},
	} {
		const op = "quantized::embedding_bag_byte_rowwise_offsets"
		got, _, err := h.Bench.Run(op, append([]any{h.Of(tensor.Uint8, 7, 16)}, tt.args...),
			ops.Kw{"include_last_offset": tt.last})
		if tt.err != "" {
			assert.EqualError(t, err, op+": "+tt.err, tt.why)
			continue
		}
		assert.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
}
