package fft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestAnUnknownWorkAreaIsNoted: also where the rule of an H100 says that there is none.
func TestAnUnknownWorkAreaIsNoted(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
	_, _, err := b.Run("aten::fft_fft", []any{b.Tensor(aten.Dense(tensor.Complex64, 8, 16), nil)}, nil)
	require.NoError(t, err)
	require.Len(t, b.Notes(), 1)
	assert.Equal(t, note.WorkspaceUnknown, b.Notes()[0].ID)
}
