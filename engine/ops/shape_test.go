package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
)

// TestInferShape has what at::infer_size gives for the sizes of a view.
func TestInferShape(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		numel int64
		want  []int64
		err   string
	}{
		{shape: []int64{2, -1}, numel: 6, want: []int64{2, 3}},
		{shape: []int64{-1}, numel: 1, want: []int64{1}},
		{shape: []int64{-1}, numel: 0, want: []int64{0}},
		{shape: []int64{0, 5}, numel: 0, want: []int64{0, 5}},
		{shape: []int64{}, numel: 1, want: []int64{}},
		{shape: []int64{-1, -1}, numel: 6, err: "got shape [-1 -1], want at most one -1"},
		{shape: []int64{-2, 3}, numel: 6, err: "got shape [-2 3], want sizes of at least 0"},
		{shape: []int64{-1, 0}, numel: 0, err: "got shape [-1 0] for 0 elements, want one that fits"},
		{shape: []int64{4, -1}, numel: 6, err: "got shape [4 -1] for 6 elements, want one that fits"},
		{shape: []int64{4}, numel: 6, err: "got shape [4] for 6 elements, want one that fits"},
		{shape: []int64{1 << 40, 1 << 40}, numel: 6, err: "got shape [1099511627776 1099511627776]: "},
	} {
		got, err := ops.InferShape(c.shape, c.numel)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			continue
		}
		assert.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}
