package view

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// Views of fake tensors, compared with what PyTorch gives: python -m truth views writes the cases.
func TestFakeViewStrides(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/aten/2.15/fake_views.txt")
	require.NoError(t, err)
	list := func(s string) (out []int64) {
		require.NoError(t, json.Unmarshal([]byte(s), &out))
		return out
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		require.Len(t, f, 4, line)
		m := tensor.Meta{DType: tensor.Float32, Sizes: list(f[0]), Strides: list(f[1])}
		got, ok := fakeViewStrides(&m, list(f[2]))
		if f[3] == "refused" {
			require.False(t, ok, "%s: got %v", line, got)
			continue
		}
		require.True(t, ok, line)
		require.Equal(t, list(f[3]), got, line)
	}
}
