package origin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/origin"
)

func TestSidecarInputs(t *testing.T) {
	dir := t.TempDir()
	artifact := filepath.Join(dir, "m.pt")
	ins, err := origin.Inputs(artifact)
	require.NoError(t, err)
	assert.Empty(t, ins, "there is none")
	write := func(text string) {
		require.NoError(t, os.WriteFile(artifact+".inputs.json", []byte(text), 0o644))
	}
	write(`{"inputs": ["x=float32[B,3]", "7"]}`)
	ins, err = origin.Inputs(artifact)
	require.NoError(t, err)
	require.Len(t, ins, 2)
	assert.Equal(t, "x=float32[B,3]", ins[0].String())
	for text, want := range map[string]string{`{"inputs": ["x=float32["]}`: "inputs[0] x=float32[: ",
		`[`: "unexpected end of JSON"} {
		write(text)
		_, err = origin.Inputs(artifact)
		assert.ErrorContains(t, err, want)
	}
}
