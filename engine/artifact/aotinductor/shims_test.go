package aotinductor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestShims: functions are named by their operators and overloads, and C counts what the schema
// does not.
func TestShims(t *testing.T) {
	for _, tt := range []struct {
		function, key, first, results string
		count                         int
	}{
		{"randint_low_out", "aten::randint.low_out", "out", "", 5},
		{"sort_stable", "aten::sort.stable", "self", "TT", 6},
		{"sort", "aten::sort", "self", "TT", 5},
		{"scatter_src_out", "aten::scatter.src_out", "out", "", 5},
		{"scatter_out", "aten::scatter.src_out", "out", "", 5},
		{"view_dtype", "aten::view.dtype", "self", "T", 3},
		{"bernoulli__float", "aten::bernoulli_.float", "self", "", 3},
		{"_scaled_mm_out", "aten::_scaled_mm.out", "out", "", 9},
		{"convolution", "aten::convolution", "input", "T", 14},
		{"randperm", "aten::randperm", "n", "T", 7},
		{"_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention", "query", "TTTTnnTTT", 16},
		{"_flash_attention_forward", "aten::_flash_attention_forward", "query", "TTTTT", 20},
		{"_flash_attention_forward_v2", "aten::_flash_attention_forward", "query", "TTTTT", 22},
	} {
		s := shims()[tt.function]
		require.NotNil(t, s, tt.function)
		assert.Equal(t, tt.key, s.key, tt.function)
		assert.Equal(t, tt.first, s.args[0].name, tt.function)
		assert.Equal(t, tt.results, s.results, tt.function)
		assert.Equal(t, tt.count, s.count(), tt.function)
	}
}

// TestShimTable: each line has a function, an overload, arguments and results.
func TestShimTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(shimTable), "\n")
	assert.Len(t, shims(), len(lines)-1, "a function each, after the comment")
	for name, s := range shims() {
		assert.Regexp(t, `^aten::\w+(\.\w+)?$`, s.key, name)
		assert.Regexp(t, `^[Tn]*$`, s.results, name)
		assert.NotEmpty(t, s.args, name)
	}
}
