package index_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestPlacesDType: places are of int32 or int64; where there are none their dtype is not looked at.
// So a pretend GPU answers.
func TestPlacesDType(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	two := ops.Kw{"reduce": "sum"}
	for _, d := range []tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32, tensor.Bool} {
		for _, rows := range []int64{2, 0} {
			at, src := h.Of(d, rows, 2), h.Of(tensor.Float32, rows, 2)
			for _, k := range []struct {
				op   string
				what any
				kw   ops.Kw
			}{
				{"aten::scatter_add", src, nil}, {"aten::scatter_add_", src, nil}, {"aten::scatter", src, nil},
				{"aten::scatter_", src, nil},
				{"aten::scatter", 1.0, nil}, {"aten::scatter_", 1.0, nil}, {"aten::scatter_reduce", src, two},
				{"aten::scatter_reduce_", src, two},
			} {
				got, _, err := h.Bench.Run(k.op, []any{h.Of(tensor.Float32, 3, 3), int64(0), at, k.what}, k.kw)
				if rows > 0 && !d.Integral(false) {
					assert.ErrorContains(t, err, "got places of "+d.String()+", want int32 or int64", k.op)
					continue
				}
				require.NoError(t, err, "%s at %s", k.op, d)
				assert.Equal(t, "float32[3, 3] [3, 1]", aten.Describe(got), k.op)
			}
		}
	}
}

// TestSourcesThatDoNotFit: a source has a slice for each place; of a number there is one place and
// one value.
func TestSourcesThatDoNotFit(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	of := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	at := func(sizes ...int64) any { return h.Of(tensor.Int64, sizes...) }
	const one = "got an index of %d places and a source of sizes %v for sizes %v, want one of each"
	for _, c := range []struct {
		self, at, src any
		err           string
	}{
		{of(3, 2), at(4), of(4, 2), ""},
		{of(3, 2), at(), of(1, 2), ""},
		{of(3, 2), at(4), of(3, 2), "got a source of sizes [3 2], want [4 2]"},
		{of(3, 2), at(2, 2), of(4, 2), "got an index of sizes [2 2], want a vector"},
		{of(), at(1), of(), ""},
		{of(), at(1), of(1), ""},
		{of(3), at(1), of(), ""},
		{of(), at(2), of(1), fmt.Sprintf(one, 2, []int64{1}, []int64{})},
		{of(), at(1), of(2), fmt.Sprintf(one, 1, []int64{2}, []int64{})},
		{of(3), at(2), of(), fmt.Sprintf(one, 2, []int64{}, []int64{3})},
	} {
		for _, op := range []string{"aten::index_add", "aten::index_copy"} {
			got, _, err := h.Bench.Run(op, []any{c.self, int64(0), c.at, c.src}, nil)
			if c.err != "" {
				assert.EqualError(t, err, op+": "+c.err)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, aten.Describe(c.self), aten.Describe(got))
		}
	}
}
