package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/index"
	"github.com/memspec/memspec/engine/tensor"
)

// TestMaskedScatterDTypes: a mask is bool, and a source has the dtype of what it goes into.
func TestMaskedScatterDTypes(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		self, mask, source tensor.DType
		want               string
	}{
		{tensor.Float32, tensor.Bool, tensor.Float32, ""},
		{tensor.Float32, tensor.Uint8, tensor.Float32, "got a mask of uint8 and a source of float32, want bool and float32"},
		{tensor.Float32, tensor.Bool, tensor.Int64, "got a mask of bool and a source of int64, want bool and float32"},
		{tensor.Int64, tensor.Int64, tensor.Float32, "got a mask of int64 and a source of float32, want bool and int64"},
	} {
		got, _, err := h.Bench.Run("aten::masked_scatter", []any{h.Of(tt.self, 2, 3), h.Of(tt.mask, 3), h.Of(tt.source, 6)},
			nil)
		if tt.want != "" {
			assert.EqualError(t, err, "aten::masked_scatter: "+tt.want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "float32[2, 3] [3, 1]", aten.Describe(got))
	}
}

// TestWrittenIntoAView: what is written into a part of a tensor has that part's sizes, which the
// operator that gives the part reports; without its rule the call is one without a rule.
func TestWrittenIntoAView(t *testing.T) {
	alone, err := ops.NewTable(index.Rules...)
	require.NoError(t, err)
	for _, tt := range []struct {
		op, view string
		args     []any
		sizes    []int64 // of what is written
	}{
		{"aten::select_scatter", "aten::select.int", []any{int64(0), int64(1)}, []int64{6}},
		{"aten::slice_scatter", "aten::slice.Tensor", []any{int64(1), int64(1), int64(4), int64(1)}, []int64{6, 3}},
		{"aten::diagonal_scatter", "aten::diagonal", []any{int64(0), int64(0), int64(1)}, []int64{6}},
	} {
		for _, missing := range []bool{false, true} {
			table := builtin.Table()
			if missing {
				table = alone
			}
			h := aten.NewHost(t, table)
			run := func(sizes []int64) error {
				_, _, err := h.Bench.Run(tt.op, append([]any{h.Of(tensor.Float32, 6, 6), h.Of(tensor.Float32, sizes...)},
					tt.args...), nil)
				return err
			}
			if missing {
				var none *ops.MissingError
				require.ErrorAs(t, run(tt.sizes), &none, tt.op)
				assert.Equal(t, tt.view, none.Op)
				continue
			}
			require.NoError(t, run(tt.sizes), tt.op)
			assert.ErrorContains(t, run([]int64{7}), "got a source of sizes [7], want ", tt.op)
		}
	}
}
