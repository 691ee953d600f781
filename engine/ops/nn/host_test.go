package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestOnTheHost: what torch 2.15 gives for the same calls on the host, of operators that the
// recorded calls lack, or some of their ways.
func TestOnTheHost(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	longs := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Int64, sizes...) }
	ints := func(n ...int64) any { return ops.IntList(n...) }
	list := func(ts ...any) any { return ops.NewList(schema.Tensor, ts...) }
	type call struct {
		want string
		op   string
		args []any
	}
	calls := []call{
		{"(float32[10, 4] [4, 1], int64[5] [1])", "aten::_pack_padded_sequence", []any{f(5, 3, 4), h.Ints(5, 3, 2), false}},
		{"(float32[10, 4] [4, 1], int64[5] [1])", "aten::_pack_padded_sequence", []any{f(3, 5, 4), h.Ints(5, 3, 2), true}},
		{"(float32[9] [1], int64[4] [1])", "aten::_pack_padded_sequence", []any{f(5, 3), h.Ints(4, 3, 2), false}},
		{"(float32[5, 3, 4] [12, 4, 1], int64[3] [1])", "aten::_pad_packed_sequence",
			[]any{f(10, 4), h.Ints(3, 3, 2, 1, 1), false, 0.0, int64(-1)}},
		{"(float32[3, 7, 4] [4, 12, 1], int64[3] [1])", "aten::_pad_packed_sequence",
			[]any{f(10, 4), h.Ints(3, 3, 2, 1, 1), true, 0.0, int64(7)}},
		{"(float32[5, 3, 4] [12, 4, 1], int64[3] [1])", "aten::_pad_packed_sequence",
			[]any{f(10, 4), h.Ints(3, 3, 2, 1, 1), false, 0.0, int64(5)}},
		{"(float32[5, 2, 4] [8, 4, 1], int64[2] [1])", "aten::_pad_packed_sequence",
			[]any{f(10, 4), h.Ints(2, 2, 2, 2, 2), false, 0.0, int64(-1)}},
		{"float32[2, 3] [3, 1]", "aten::_masked_softmax", []any{f(2, 3), h.Of(tensor.Bool, 2, 3), int64(1)}},
		{"float32[] []", "aten::norm_except_dim", []any{f(2, 3, 4), int64(2), int64(-1)}},
		{"float32[2, 1, 1] [1, 1, 1]", "aten::norm_except_dim", []any{f(2, 3, 4), int64(2), int64(0)}},
		{"float32[1, 3, 1] [1, 1, 1]", "aten::norm_except_dim", []any{f(2, 3, 4), int64(2), int64(1)}},
		{"float32[1, 1, 4] [4, 4, 1]", "aten::norm_except_dim", []any{f(2, 3, 4), int64(2), int64(2)}},
		{"float32[2, 3, 4] [12, 4, 1]", "aten::_weight_norm", []any{f(2, 3, 4), f(2, 1, 1), int64(0)}},
		{"float32[2, 3, 4] [12, 4, 1]", "aten::_weight_norm", []any{f(2, 3, 4), f(1, 3, 1), int64(1)}},
		{"float32[2, 3, 4] [12, 4, 1]", "aten::_weight_norm", []any{f(2, 3, 4), f(1, 1, 4), int64(2)}},
		{"float32[] []", "aten::cross_entropy_loss", []any{f(5), f(5)}},
		{"float32[2, 3, 5] [15, 5, 1]", "aten::cdist", []any{f(2, 3, 4), f(2, 5, 4), 2.0}},
		{"float32[7, 2, 3, 5] [30, 15, 5, 1]", "aten::cdist", []any{f(7, 1, 3, 4), f(2, 5, 4), 1.0, nil}},
		{"float32[10] [1]", "aten::pdist", []any{f(5, 3), 2.0}},
		{"float32[3, 5] [5, 1]", "aten::_euclidean_dist", []any{f(3, 4), f(5, 4)}},
		{"float32[2] [1]", "aten::cosine_similarity", []any{f(2, 3), f(3), int64(1), 1e-8}},
		{"float32[2, 1] [1, 1]", "aten::pairwise_distance", []any{f(2, 3), f(3), 2.0, 1e-6, true}},
		{"float32[2, 3, 7] [21, 7, 1]", "aten::_pad_circular", []any{f(2, 3, 4), ints(1, 2)}},
		{"float32[2, 3, 7] [21, 7, 1]", "aten::pad", []any{f(2, 3, 4), ints(1, 2), "reflect"}},
		{"float32[2, 3, 5, 8] [120, 40, 8, 1]", "aten::pad", []any{f(2, 3, 4, 5), ints(1, 2, 0, 1), "replicate"}},
		{"float32[2, 4, 3] [12, 3, 1]", "aten::pad", []any{f(2, 3, 4), ints(1, -2, 0, 1), "constant", 1.5}},
		{"float32[2, 4, 5, 2] [40, 10, 2, 1]", "aten::affine_grid_generator", []any{f(2, 2, 3), ints(2, 3, 4, 5), true}},
		{"float32[2, 4, 5, 6, 3] [360, 90, 18, 3, 1]", "aten::affine_grid_generator",
			[]any{f(2, 3, 4), ints(2, 3, 4, 5, 6), false}},
		{"(float32[3, 6] [6, 1], float32[3, 6] [6, 1])", "aten::lstm_cell", []any{f(3, 4), list(f(3, 6), f(3, 6)), f(24, 4),
			f(24, 6), f(24), f(24)}},
		{"float32[3, 6] [6, 1]", "aten::gru_cell", []any{f(3, 4), f(3, 6), f(18, 4), f(18, 6), f(18), f(18)}},
		{"float32[3, 6] [6, 1]", "aten::rnn_tanh_cell", []any{f(3, 4), f(3, 6), f(6, 4), f(6, 6)}},
		{"(float32[2, 6, 5] [30, 5, 1], float32[2, 3] [3, 1], float32[2, 3] [3, 1])", "aten::native_group_norm",
			[]any{f(2, 6, 5), nil, nil, int64(2), int64(6), int64(5), int64(3), 1e-5}},
		{"float32[2, 4, 3] [12, 3, 1]", "aten::embedding", []any{f(5, 3), longs(2, 4)}},
		{"int64[2, 4, 7] [28, 7, 1]", "aten::one_hot", []any{longs(2, 4), int64(7)}},
		{"float32[2, 4, 8, 8] [256, 64, 8, 1]", "aten::conv2d", []any{f(2, 3, 8, 8), f(4, 3, 2, 4), nil, ints(1, 1), "same"}},
		{"float32[2, 4, 4, 2] [32, 8, 2, 1]", "aten::conv2d", []any{f(2, 3, 8, 8), f(4, 3, 2, 4), nil, ints(2, 1), "valid",
			ints(1, 2)}},
	}
	for reduction, sizes := range []func(plain string) string{func(plain string) string {
		return plain
	}, func(string) string { return "float32[] []" }, func(string) string { return "float32[] []" }} {
		red := int64(reduction)
		calls = append(calls,
			call{sizes("float32[2, 3] [3, 1]"), "aten::cross_entropy_loss", []any{f(2, 5, 3), f(2, 5, 3), f(5), red, int64(-100),
				0.1}},
			call{sizes("float32[2, 3] [3, 1]"), "aten::cross_entropy_loss", []any{f(2, 5, 3), longs(2, 3), f(5), red,
				int64(-100), 0.1}},
			call{sizes("float32[2] [1]"), "aten::ctc_loss", []any{f(6, 2, 5), longs(2, 3), h.Ints(6, 5), h.Ints(3, 2), int64(0),
				red, true}},
			call{sizes("float32[2] [1]"), "aten::ctc_loss", []any{f(6, 2, 5), longs(2, 3), ints(6, 5), ints(3, 2), int64(0), red,
				true}},
			call{sizes("float32[3] [1]"), "aten::triplet_margin_loss", []any{f(3, 4), f(3, 4), f(3, 4), 1.0, 2.0, 1e-6, true,
				red}},
			call{sizes("float32[3] [1]"), "aten::cosine_embedding_loss", []any{f(3, 4), f(3, 4), f(3), 0.0, red}},
			call{sizes("float32[3] [1]"), "aten::multi_margin_loss", []any{f(3, 4), longs(3), int64(1), 1.0, nil, red}},
		)
	}
	lstm := func(layers int64, bidirectional, first bool, proj int64) call {
		const steps, batch, in, hidden = 5, 3, 4, 6
		dirs, out := int64(1), int64(hidden)
		if bidirectional {
			dirs = 2
		}
		if proj > 0 {
			out = proj
		}
		x := f(steps, batch, in)
		if first {
			x = f(batch, steps, in)
		}
		var weights []any
		for layer := range layers {
			for range dirs {
				width := int64(in)
				if layer > 0 {
					width = out * dirs
				}
				weights = append(weights, f(4*hidden, width), f(4*hidden, out), f(4*hidden), f(4*hidden))
				if proj > 0 {
					weights = append(weights, f(proj, hidden))
				}
			}
		}
		return call{"", "aten::lstm", []any{x, list(f(layers*dirs, batch, out), f(layers*dirs, batch, hidden)),
			list(weights...), true, layers, 0.0, false, bidirectional, first}}
	}
	for _, c := range []struct {
		want string
		call call
	}{
		{"(float32[5, 3, 6] [18, 6, 1], float32[1, 3, 6] [18, 6, 1], float32[1, 3, 6] [18, 6, 1])", lstm(1, false, false, 0)},
		{"(float32[5, 3, 12] [36, 12, 1], float32[4, 3, 6] [18, 6, 1], float32[4, 3, 6] [18, 6, 1])",
			lstm(2, true, false, 0)},
		{"(float32[3, 5, 6] [6, 18, 1], float32[1, 3, 6] [18, 6, 1], float32[1, 3, 6] [18, 6, 1])", lstm(1, false, true, 0)},
		{"(float32[5, 3, 2] [6, 2, 1], float32[1, 3, 2] [6, 2, 1], float32[1, 3, 6] [18, 6, 1])", lstm(1, false, false, 2)},
		{"(float32[3, 5, 4] [4, 12, 1], float32[4, 3, 2] [6, 2, 1], float32[4, 3, 6] [18, 6, 1])", lstm(2, true, true, 2)},
	} {
		calls = append(calls, call{c.want, c.call.op, c.call.args})
	}
	for _, c := range calls {
		assert.Equal(t, c.want, aten.Describe(h.Run(c.op, c.args...)), c.op)
	}

	double := h.Of(tensor.Float64, 4, 3, 3, 3)
	for _, c := range []call{ // which PyTorch refuses too
		{`got a value for mode reflect, want none`, "aten::pad", []any{f(2, 3, 4), ints(1, 2), "reflect", 1.0}},
		{`got mode "x", want constant, reflect, replicate or circular`, "aten::pad", []any{f(2, 3, 4), ints(1, 2), "x"}},
		{"want no more than the sizes", "aten::_pad_circular", []any{f(2, 3, 4), ints(5, 0)}},
		{"want 4 or 5", "aten::affine_grid_generator", []any{f(2, 3, 4), ints(2, 3, 4), false}},
		{"got 1 hidden states, want 2", "aten::lstm_cell", []any{f(3, 4), list(f(3, 6)), f(24, 4), f(24, 6)}},
		{"got float32, want int64", "aten::one_hot", []any{f(2), int64(7)}},
		{"got input of float32 and weight of float64, want one dtype", "aten::conv2d", []any{f(2, 3, 8, 8), double}},
		{`got padding "x", want valid or same`, "aten::conv2d", []any{f(2, 3, 8, 8), f(4, 3, 3, 3), nil, ints(1, 1), "x"}},
		{"got no stride, want 1 or 2 members", "aten::conv2d", []any{f(2, 3, 8, 8), f(4, 3, 3, 3), nil, ints(), "same"}},
		{"want at least 2 dimensions", "aten::_native_batch_norm_legit", []any{f(3), nil, nil, true, 0.1, 1e-5}},
	} {
		_, _, err := h.Bench.Run(c.op, c.args, nil)
		assert.ErrorContains(t, err, c.want, c.op)
	}
	h.Changed("testdata/changed_host.txt")
}
