package quant_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// transposed is a matrix of the host whose columns are its rows.
func transposed(h aten.Host, d tensor.DType, rows, columns int64) *tensor.Tensor {
	return h.Bench.Tensor(tensor.Meta{DType: d, Sizes: []int64{columns, rows}, Strides: []int64{1, columns},
		Device: "cpu"}, nil)
}

// TestOnTheHost: what torch 2.15 said of the same calls with its x86 engine (torch.ops.quantized,
// torch.ops.aten).
func TestOnTheHost(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	u8, i8, f32 := tensor.QUint8, tensor.QInt8, tensor.Float32
	last, last3 := tensor.ChannelsLast, tensor.ChannelsLast3d
	ints := func(n ...int64) any { return ops.IntList(n...) }
	list := func(ts ...any) any { return ops.NewList(schema.Tensor, ts...) }
	x2, x3, x4, x5 := h.Of(u8, 3, 4), h.Of(u8, 2, 4, 9), h.Of(u8, 2, 4, 8, 6), h.Of(u8, 2, 4, 5, 6, 7)
	x4last := h.In(u8, last, 2, 4, 8, 6)
	floats := func(n int64) *tensor.Tensor { return h.Of(f32, n) }
	two := int64(2)

	conv1 := h.Run("quantized::conv1d_prepack", h.Of(i8, 6, 2, 3), floats(6), ints(2), ints(1), ints(1), two)
	conv2 := h.Run("quantized::conv2d_prepack", h.Of(i8, 6, 2, 3, 3), floats(6), ints(2, 1), ints(1, 0), ints(1, 2), two)
	conv3 := h.Run("quantized::conv3d_prepack", h.Of(i8, 6, 2, 3, 3, 3), nil, ints(1, 2, 1), ints(1, 0, 1), ints(1, 1, 1),
		two)
	up1 := h.Run("quantized::conv_transpose1d_prepack", h.Of(i8, 4, 3, 3), floats(6), ints(2), ints(1), ints(1), ints(1),
		two)
	up2 := h.Run("quantized::conv_transpose2d_prepack", h.Of(i8, 4, 3, 3, 3), floats(6), ints(2, 1), ints(1, 0),
		ints(1, 0), ints(1, 1), two)
	up3 := h.Run("quantized::conv_transpose3d_prepack", h.Of(i8, 4, 3, 3, 3, 3), floats(6), ints(2, 1, 1), ints(1, 0, 0),
		ints(1, 0, 0), ints(1, 1, 1), two)
	linear := h.Run("quantized::linear_prepack", h.Of(i8, 5, 4), floats(5))
	half := h.Run("quantized::linear_prepack_fp16", h.Of(f32, 5, 4), nil)
	table := h.Run("quantized::embedding_bag_prepack", h.Of(u8, 10, 12))
	gate := func(rows, columns int64) any {
		return h.Run("quantized::linear_prepack", h.Of(i8, rows, columns), floats(rows))
	}
	lstm := h.Run("quantized::make_quantized_cell_params_dynamic", gate(24, 4), gate(24, 6), floats(24), floats(24), false)
	gru := h.Run("quantized::make_quantized_cell_params_dynamic", gate(18, 4), gate(18, 6), floats(18), floats(18), false)
	cells := func(cells ...any) any { return ops.NewList(schema.Any, cells...) }
	scale, zero := 0.5, int64(1)
	norm := []any{floats(4), floats(4), floats(4), floats(4), 1e-5, scale, zero}
	longs := func(n ...int64) *tensor.Tensor { return h.Of(tensor.Int64, n...) }
	perChannel := h.Run("aten::quantize_per_channel", h.Of(f32, 4, 3), floats(4), longs(4), int64(0), int64(i8))

	for _, c := range []struct {
		want string
		op   string
		args []any
	}{
		{"quint8[2, 6, 5] [30, 1, 6]", "quantized::conv1d", []any{x3, conv1, scale, zero}},
		{"quint8[2, 6, 4, 2] [48, 1, 12, 6]", "quantized::conv2d", []any{x4, conv2, scale, zero}},
		{"quint8[2, 6, 4, 2] [48, 1, 12, 6]", "quantized::conv2d_relu", []any{x4last, conv2, scale, zero}},
		{"quint8[2, 6, 5, 2, 7] [420, 1, 84, 42, 6]", "quantized::conv3d", []any{x5, conv3, scale, zero}},
		{"quint8[2, 6, 18] [108, 1, 6]", "quantized::conv_transpose1d", []any{x3, up1, scale, zero}},
		{"quint8[2, 6, 16, 8] [768, 1, 48, 6]", "quantized::conv_transpose2d", []any{x4, up2, scale, zero}},
		{"quint8[2, 6, 10, 8, 9] [4320, 1, 432, 54, 6]", "quantized::conv_transpose3d", []any{x5, up3, scale, zero}},
		{"float32[2, 6, 4, 2] [48, 1, 12, 6]", "quantized::conv2d_dynamic", []any{h.Of(f32, 2, 4, 8, 6), conv2, false}},
		{"float32[2, 6, 16, 8] [768, 1, 48, 6]", "quantized::conv_transpose2d_dynamic",
			[]any{h.Of(f32, 2, 4, 8, 6), up2, false}},
		{"(2, 1)", "quantized::conv2d_stride", []any{conv2}},
		{"(1, 0)", "quantized::conv2d_padding", []any{conv2}},
		{"(1, 2)", "quantized::conv2d_dilation", []any{conv2}},
		{"(1, 2, 1)", "quantized::conv3d_stride", []any{conv3}},
		{"(1, 0, 1)", "quantized::conv3d_padding", []any{conv3}},
		{"(1, 0)", "quantized::conv_transpose2d_output_padding", []any{up2}},
		{"2", "quantized::conv2d_groups", []any{conv2}},
		{"0", "quantized::conv2d_transpose", []any{conv2}},
		{"1", "quantized::conv_transpose2d_transpose", []any{up2}},
		{"(qint8[5, 4] [4, 1], float32[5] [1])", "quantized::linear_unpack", []any{linear}},
		{"(float32[5, 4] [4, 1], None)", "quantized::linear_unpack_fp16", []any{half}},
		{"quint8[10, 12] [12, 1]", "quantized::embedding_bag_unpack", []any{table}},
		{"quint8[2, 3, 5] [15, 5, 1]", "quantized::linear", []any{h.Of(u8, 2, 3, 4), linear, scale, zero}},
		{"quint8[3, 5] [5, 1]", "quantized::linear_relu", []any{transposed(h, u8, 4, 3), linear, scale, zero}},
		{"float32[2, 5] [5, 1]", "quantized::linear_dynamic", []any{h.Of(f32, 2, 4), linear, false}},
		{"float32[2, 5] [5, 1]", "quantized::linear_dynamic_fp16", []any{h.Of(f32, 2, 4), half}},
		{"quint8[2, 3, 5] [15, 5, 1]", "quantized::matmul", []any{h.Of(u8, 2, 3, 4), h.Of(u8, 2, 4, 5), scale, zero}},
		{"quint8[2, 4, 4, 4] [64, 16, 4, 1]", "quantized::max_pool2d", []any{x4, ints(3, 2), ints(2, 2), ints(1, 1),
			ints(1, 1), false}},
		{"quint8[2, 4, 5, 4] [80, 1, 16, 4]", "quantized::max_pool2d", []any{x4last, ints(3, 2), ints(2, 2), ints(1, 1),
			ints(1, 1), true}},
		{"quint8[2, 4, 5] [20, 5, 1]", "quantized::max_pool1d", []any{x3, ints(3), ints(2), ints(1), ints(1), true}},
		{"quint8[2, 4, 4] [16, 4, 1]", "quantized::max_pool1d", []any{x3, ints(2), ints(), ints(0), ints(2), false}},
		{"quint8[2, 7, 8, 6] [336, 48, 6, 1]", "quantized::cat_relu", []any{list(x4, h.Of(u8, 2, 3, 8, 6)), int64(-3), nil,
			nil}},
		{"quint8[2, 4, 16, 6] [384, 96, 6, 1]", "quantized::cat", []any{list(x4, x4last), two, scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 48, 6, 1]", "quantized::add_relu", []any{h.Of(u8, 4, 1, 6), x4, scale, zero}},
		{"quint8[4, 5] [5, 1]", "quantized::add", []any{h.Of(u8, 4, 1), h.Of(u8, 5), scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 1, 24, 4]", "quantized::add", []any{x4last, x4, scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 48, 6, 1]", "quantized::add", []any{x4, 2.0}},
		{"quint8[2, 4, 8, 6] [192, 1, 24, 4]", "quantized::batch_norm2d", append([]any{x4}, norm...)},
		{"quint8[2, 4, 5, 6, 7] [840, 1, 168, 28, 4]", "quantized::batch_norm3d", append([]any{x5}, norm...)},
		{"quint8[2, 4, 9] [36, 9, 1]", "quantized::batch_norm1d", append([]any{x3}, norm...)},
		{"quint8[2, 4, 8, 6] [192, 1, 24, 4]", "quantized::batch_norm_relu", append([]any{x4}, norm...)},
		{"quint8[2, 4, 9] [36, 9, 1]", "quantized::layer_norm", []any{x3, ints(9), floats(9), floats(9), 1e-5, scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 48, 6, 1]", "quantized::layer_norm", []any{x4last, ints(6), nil, nil, 1e-5, scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 1, 24, 4]", "quantized::group_norm", []any{x4last, two, floats(4), floats(4), 1e-5, scale,
			zero}},
		{"quint8[2, 4, 8, 6] [192, 48, 6, 1]", "quantized::softmax", []any{x4last, int64(1), scale, zero}},
		{"quint8[2, 4, 8, 6] [192, 1, 24, 4]", "quantized::relu6", []any{x4last, false}},
		{"float32[2, 3, 12] [36, 12, 1]", "quantized::embedding_byte", []any{table, longs(2, 3), false}},
		{"quint8[4, 3] [3, 1]", "quantized::threshold", []any{transposed(h, u8, 3, 4), 0.5, 1.0}},
		{"qint8[4, 3] [3, 1]", "aten::quantize_per_channel", []any{transposed(h, f32, 3, 4), floats(4), longs(4), int64(0),
			int64(i8)}},
		{"quint8[2, 4, 3, 5] [60, 1, 20, 4]", "aten::quantize_per_tensor", []any{h.In(f32, last, 2, 4, 3, 5), scale, zero,
			int64(u8)}},
		{"quint8[2, 4, 5, 6, 7] [840, 1, 168, 28, 4]", "aten::quantize_per_tensor",
			[]any{h.In(f32, last3, 2, 4, 5, 6, 7), scale, zero, int64(u8)}},
		{"(qint8[2] [1], qint8[3] [1])", "aten::quantize_per_tensor", []any{list(floats(2), floats(3)), floats(2), floats(2),
			int64(i8)}},
		{"float64[4] [1]", "aten::q_per_channel_scales", []any{perChannel}},
		{"int64[4] [1]", "aten::q_per_channel_zero_points", []any{perChannel}},
		{"(float32[2, 4, 8, 6] [192, 1, 24, 4], float32[4, 3] [3, 1])", "aten::dequantize", []any{list(x4last, perChannel)}},
		{"float32[2, 4, 8, 6] [192, 1, 24, 4]", "aten::dequantize", []any{x4last}},
		{"(float32[2, 4, 8, 6] [192, 1, 24, 4], float32[4, 3] [3, 1])", "aten::dequantize",
			[]any{&ops.Tuple{Items: []any{x4last, perChannel}}}},
		{"7", "aten::dequantize", []any{int64(7)}},
		{"uint8[2, 4, 8, 6] [192, 1, 24, 4]", "aten::int_repr", []any{x4last}},
		{"quint8[2, 3] [3, 1]", "aten::_make_per_tensor_quantized_tensor", []any{h.Of(tensor.Uint8, 2, 3), scale, zero}},
		{"qint8[2, 3] [3, 1]", "aten::_make_per_channel_quantized_tensor", []any{h.Of(tensor.Int8, 2, 3), floats(2), longs(2),
			int64(0)}},
		{"qint32[2, 3] [3, 1]", "aten::_make_per_tensor_quantized_tensor", []any{h.Of(tensor.Int32, 2, 3), scale, zero}},
		{"(float32[4, 3] [1, 4], bool[4, 3] [1, 4])", "aten::fake_quantize_per_channel_affine_cachemask",
			[]any{transposed(h, f32, 3, 4), floats(4), longs(4), int64(0), int64(0), int64(255)}},
		{"(float32[3, 6] [6, 1], float32[3, 6] [6, 1])", "quantized::quantized_lstm_cell_dynamic",
			[]any{h.Of(f32, 3, 4), list(h.Of(f32, 3, 6), h.Of(f32, 3, 6)), gate(24, 4), gate(24, 6), floats(24), floats(24)}},
		{"float32[3, 6] [6, 1]", "quantized::quantized_gru_cell_dynamic", []any{h.Of(f32, 3, 4), h.Of(f32, 3, 6), gate(18, 4),
			gate(18, 6), floats(18), floats(18)}},
		{"(float32[5, 3, 6] [18, 6, 1], float32[1, 3, 6] [18, 6, 1], float32[1, 3, 6] [18, 6, 1])", "aten::quantized_lstm",
			[]any{h.Of(f32, 5, 3, 4), list(h.Of(f32, 1, 3, 6), h.Of(f32, 1, 3, 6)), cells(lstm), true, int64(1), 0.0, false,
				false, false}},
		{"(float32[5, 3, 6] [6, 30, 1], float32[1, 5, 6] [30, 6, 1], float32[1, 5, 6] [30, 6, 1])", "aten::quantized_lstm",
			[]any{h.Of(f32, 5, 3, 4), list(h.Of(f32, 1, 5, 6), h.Of(f32, 1, 5, 6)), cells(lstm), true, int64(1), 0.0, false,
				false, true}},
		{"(float32[5, 3, 12] [36, 12, 1], float32[2, 3, 6] [18, 6, 1])", "aten::quantized_gru",
			[]any{h.Of(f32, 5, 3, 4), h.Of(f32, 2, 3, 6), cells(gru, gru), true, int64(1), 0.0, false, true, false}},
	} {
		assert.Equal(t, c.want, aten.Describe(h.Run(c.op, c.args...)), c.op)
	}

	empty, _, err := h.Bench.Run("aten::_empty_affine_quantized", []any{ints(2, 3)}, ops.Kw{"dtype": int64(i8)})
	require.NoError(t, err)
	assert.Equal(t, "qint8[2, 3] [3, 1]", aten.Describe(empty))
	other := &ops.Packed{Class: "Other", State: int64(1)}
	for _, op := range []string{"linear_unpack", "embedding_bag_unpack", "conv2d_stride", "conv2d_groups",
		"conv2d_transpose"} {
		_, _, err := h.Bench.Run("quantized::"+op, []any{other}, nil)
		assert.EqualError(t, err, "no rule for operator quantized::"+op+" with parameters packed as Other")
	}
	for _, op := range []string{"conv1d", "linear"} {
		_, _, err := h.Bench.Run("quantized::"+op, []any{x3, other, scale, zero}, nil)
		assert.ErrorContains(t, err, "with parameters packed as Other", op)
	}
	_, _, err = h.Bench.Run("quantized::embedding_byte", []any{other, longs(3), false}, nil)
	assert.ErrorContains(t, err, "with parameters packed as Other")

	// Which PyTorch refuses too, by one check or another.
	for _, c := range []struct {
		want string
		op   string
		args []any
	}{
		{"got input [4], want one that fits the weight", "quantized::linear_relu", []any{h.Of(u8, 4), linear, scale, zero}},
		{"got input [2 5], want one that fits the weight", "quantized::linear", []any{h.Of(u8, 2, 5), linear, scale, zero}},
		{"got input [3 4], want one that fits the weight", "quantized::conv2d", []any{x2, conv2, scale, zero}},
		{"got input [2 4 5 6 7], want one that fits the weight", "quantized::conv2d", []any{x5, conv2, scale, zero}},
		{"got [2 3 4] and [2 5 4], want [… n m] and [… m p]", "quantized::matmul", []any{h.Of(u8, 2, 3, 4), h.Of(u8, 2, 5, 4),
			scale, zero}},
		{"got no tensors, want at least 1", "quantized::cat", []any{list(), int64(0), nil, nil}},
		{"got [2 4 8 6] and [2 4 9], want as many dimensions", "quantized::cat", []any{list(x4, x3), int64(1), nil, nil}},
		{"got dim 4", "quantized::cat", []any{list(x4), int64(4), nil, nil}},
		{"got float32, want uint8, int8 or int32", "aten::_make_per_tensor_quantized_tensor",
			[]any{h.Of(f32, 2, 3), scale, zero}},
		{"got float32, want a quantized dtype", "aten::quantize_per_tensor", []any{h.Of(f32, 2, 3), scale, zero, int64(f32)}},
		{"got float32, want a quantized dtype", "aten::int_repr", []any{h.Of(f32, 2, 3)}},
		{"got Tensor, want packed parameters", "quantized::linear_unpack", []any{x2}},
		{"got input [9] and state [6], want at least 2 dimensions", "aten::quantized_gru",
			[]any{h.Of(f32, 9), h.Of(f32, 6), cells(gru), true, int64(1), 0.0, false, false, false}},
		{"got 1 hidden states, want 2", "aten::quantized_lstm", []any{h.Of(f32, 5, 3, 4), list(h.Of(f32, 1, 3, 6)),
			cells(lstm), true, int64(1), 0.0, false, false, false}},
		{"got no dimensions, want at least 1", "aten::q_per_channel_scales", []any{h.Of(i8)}},
		{"got sizes [2 4 8 6] and [5], want them to broadcast", "quantized::add", []any{x4, h.Of(u8, 5), scale, zero}},
		{"got no weight of 2 dimensions", "quantized::embedding_byte", []any{conv2, longs(3), false}},
		{"got no weight of 2 dimensions", "quantized::embedding_byte",
			[]any{h.Run("quantized::embedding_bag_prepack", h.Of(u8, 3)), longs(3), false}},
	} {
		_, _, err := h.Bench.Run(c.op, c.args, nil)
		assert.ErrorContains(t, err, c.want, c.op)
	}
	h.Changed("testdata/changed_host.txt")
}
