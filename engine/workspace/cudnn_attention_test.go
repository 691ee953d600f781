package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// attentionAnswer is what cuDNN reported about one attention (python -m truth attention).
type attentionAnswer struct {
	Version, Class        string
	B, H, HK, Q, K, D, DV int64
	SMs                   int // 0: any
	Bytes                 units.Bytes
}

// TestAttentionWorkspaces compares the rule with every answer: to the byte, except single queries
// on 10.0, which stay below the upper figure.
func TestAttentionWorkspaces(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "workspace", "attention.json"))
	require.NoError(t, err)
	var answers []attentionAnswer
	require.NoError(t, json.Unmarshal(data, &answers))
	require.GreaterOrEqual(t, len(answers), 546)
	releases := map[string]string{"9.19.0": "2.11", "9.20.0": "2.12", "9.24.0": "2.14", "9.26.0": "2.15"}
	devices := map[string]string{"sm90": "h100-sxm-80gb", "sm100": "b200"}
	seen := map[string]bool{}
	for _, a := range answers {
		seen[a.Version+" "+a.Class] = true
		p := on(t, devices[a.Class], releases[a.Version])
		if a.SMs > 0 {
			p.Device.SMs = a.SMs
		}
		require.True(t, strings.HasPrefix(p.CuDNN.String(), a.Version), "%s is not torch %s's", a.Version,
			releases[a.Version])
		heads := func(h, n, d int64) *tensor.Meta {
			return dense(tensor.BFloat16, tensor.Contiguous, a.B, h, n, d)
		}
		got := (&Attention{Query: heads(a.H, a.Q, a.D), Key: heads(a.HK, a.K, a.D), Value: heads(a.HK, a.K, a.DV)}).CuDNN(p)
		if a.Class == "sm100" && a.Q == 1 {
			assert.Equal(t, note.WorkspaceEstimate, got.Note)
			assert.LessOrEqual(t, a.Bytes, got.Upper, "%+v", a)
			continue
		}
		assert.Equal(t, a.Bytes, got.Bytes, "%+v", a)
		assert.Empty(t, got.Note)
	}
	assert.Len(t, seen, 8, "four releases for two classes")
}

// What nobody asked about is an estimate and says so.
func TestAttentionNotAsked(t *testing.T) {
	d, err := device.Lookup("h100-sxm-80gb")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	assert.True(t, attentionAsked(&p))
	p.CuDNN = platform.Version{Major: 9, Minor: 30}
	assert.False(t, attentionAsked(&p), "a newer cuDNN")
	p.CuDNN = platform.Version{Major: 9, Minor: 10, Patch: 2}
	assert.False(t, attentionAsked(&p), "an older one, with attention chosen by hand")
	q := dense(tensor.Float16, tensor.Contiguous, 1, 8, 16, 64)
	assert.Equal(t, note.WorkspaceEstimate, (&Attention{Query: q, Key: q, Value: q}).CuDNN(&p).Note)
	p.CuDNN = platform.Version{Major: 9, Minor: 26}
	assert.Empty(t, (&Attention{Query: q, Key: q, Value: q}).CuDNN(&p).Note)
	assert.Equal(t, note.WorkspaceEstimate, (&Attention{Query: q, Key: q, Value: q, Dropout: 0.1}).CuDNN(&p).Note,
		"dropout")
	p.CuDNN, p.Device.ComputeCapability = platform.Version{Major: 9, Minor: 26}, device.Capability{Major: 8, Minor: 0}
	assert.False(t, attentionAsked(&p), "another class")
}
