package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
)

// Batch norm through cuDNN takes nothing beside its results, as recorded; where there is no
// recording the figure is an estimate and says so.
func TestCuDNNBatchNorm(t *testing.T) {
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
		x := dense(tensor.Float32, c.format, 8, 16, 32, 32)
		got := CuDNNBatchNorm(x, c.training)
		if !c.estimate {
			assert.Empty(t, got, c.why)
			continue
		}
		require.Len(t, got, 1, c.why)
		assert.Equal(t, note.WorkspaceEstimate, got[0].Note)
		assert.Equal(t, x.NBytes(), got[0].Upper)
	}
}
