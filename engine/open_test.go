package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// A case without a mode runs as its artifact does first.
func TestMode(t *testing.T) {
	for _, tt := range []struct {
		artifact artifact.Artifact
		of, want spec.Mode
	}{
		{artifact.Artifact{Modes: []string{"inference", "training"}}, "", "inference"},
		{artifact.Artifact{Modes: []string{"inference", "training"}}, "training", "training"},
		{artifact.Artifact{}, "", report.Recorded},
		{artifact.Artifact{Recorded: &artifact.Recorded{}}, "training", report.Recorded},
		{artifact.Artifact{Recorded: &artifact.Recorded{Header: &recording.Header{Built: "a program"}}}, "", report.Program},
	} {
		assert.Equal(t, tt.want, (&Model{Artifact: &tt.artifact}).mode(&spec.Case{Mode: tt.of}))
	}
}

// A model's export compared it with the live model where its sidecar has what that released, or its
// operators.
func TestComparedWithTheLiveModel(t *testing.T) {
	from := filepath.Join("..", "testdata", "artifacts", "exported", "models", "llama.pt2")
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	text, err := os.ReadFile(from + ".inputs.json")
	require.NoError(t, err)
	for _, tt := range []struct {
		why     string
		without []string
		want    bool
	}{
		{"both", nil, true},
		{"operators alone", []string{"releases"}, true},
		{"releases alone", []string{"eager", "operators"}, true},
		{"neither", []string{"releases", "eager", "operators"}, false},
	} {
		sidecar := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &sidecar))
		for _, key := range tt.without {
			require.Contains(t, sidecar, key)
			delete(sidecar, key)
		}
		edited, err := json.Marshal(sidecar)
		require.NoError(t, err)
		to := filepath.Join(t.TempDir(), "llama.pt2")
		require.NoError(t, os.WriteFile(to, data, 0o644))
		require.NoError(t, os.WriteFile(to+".inputs.json", edited, 0o644))
		m, err := Open(to)
		require.NoError(t, err)
		assert.Equal(t, tt.want, m.Origin.Compared, tt.why)
	}
}
