package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestRepeatInterleave: how many there are is known from the repeats, or is what the caller states.
func TestRepeatInterleave(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	x, one, two := h.Of(tensor.Float32, 3, 2), int64(1), int64(2)
	unknown := h.Of(tensor.Int64, 1)
	for _, tt := range []struct {
		why  string
		args []any
		want string
	}{
		{"each as often as is stated for it", []any{x, h.Ints(1, 2, 4), int64(0)}, "float32[7, 2] [2, 1]"},
		{"each as often", []any{x, h.Ints(4), one}, "float32[3, 8] [8, 1]"},
		{"of all elements", []any{x, h.Ints(4)}, "float32[24] [1]"},
		{"as many as is stated", []any{x, h.Ints(4), one, ops.Kw{"output_size": int64(8)}}, "float32[3, 8] [8, 1]"},
		{"as many as is stated, where the repeats are not known", []any{x, unknown, one, ops.Kw{"output_size": int64(6)}},
			"float32[3, 6] [6, 1]"},
		{"a number", []any{x, two, one}, "float32[3, 4] [4, 1]"},
		{"none", []any{x, int64(0), one}, "float32[3, 0] [1, 1]"},
	} {
		assert.Equal(t, tt.want, aten.Describe(h.Run("aten::repeat_interleave", tt.args...)), tt.why)
	}
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{x, int64(-1), one}, "aten::repeat_interleave: got -1 repeats, want at least 0"},
		{[]any{x, two, two}, "aten::repeat_interleave: got dim 2, want one in [-2, 1]"},
		{[]any{x, h.Ints(1, 2), two}, "aten::repeat_interleave: got dim 2, want one in [-2, 1]"},
		{[]any{x, h.Ints(1, 2), int64(0)}, "aten::repeat_interleave: got repeats of sizes [2] for size 3"},
	} {
		_, _, err := h.Bench.Run("aten::repeat_interleave", tt.args, nil)
		assert.EqualError(t, err, tt.want)
	}
}
