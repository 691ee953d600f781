package nn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/aten"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// rules is the table of this family alone.
func rules(t *testing.T) *ops.Table {
	t.Helper()
	table, err := ops.NewTable(Rules...)
	require.NoError(t, err)
	return table
}

// Batch norm through cuDNN takes nothing beside its results, as recorded; where there is no recording the figure is an estimate and says so.
func TestBatchNormScratch(t *testing.T) {
	bound, ok := rules(t).Lookup("aten::cudnn_batch_norm")
	require.True(t, ok)
	for _, c := range []struct {
		why      string
		format   tensor.MemoryFormat
		training bool
		estimate bool
	}{
		{"inference", tensor.Contiguous, false, false},
		{"inference, channels last", tensor.ChannelsLast, false, false},
		{"training, as recorded", tensor.Contiguous, true, false},
		{"training, channels last: another kernel", tensor.ChannelsLast, true, true},
	} {
		x, w := aten.Tensor(tensor.Float32, c.format, 8, 16, 32, 32), aten.Tensor(tensor.Float32, tensor.Contiguous, 16)
		got := cudnnBatchNormScratch(&ops.Call{Bound: bound, Args: []any{x, w, w, w, w, c.training, 0.1, 1e-5}})
		if !c.estimate {
			assert.Empty(t, got, c.why)
			continue
		}
		require.Len(t, got, 1, c.why)
		assert.Equal(t, note.ScratchEstimate, got[0].Note)
		assert.Equal(t, x.NBytes(), got[0].Upper)
	}
}
