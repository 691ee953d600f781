package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecorder: the command of memshim that records what is missing has the words of memspec's,
// each flag that was given once, so that a shell reads them as they were.
func TestRecorder(t *testing.T) {
	for _, tt := range []struct {
		why   string
		given []string
		want  string
	}{
		{"no flag", nil, "'a case' m.yaml"},
		{"a flag", []string{"--vary", "B=1..8"}, "'a case' m.yaml --vary 'B=1..8'"},
		{"one that may stand alone", []string{"--world-size=1..64"}, "'a case' m.yaml --world-size=1..64"},
		{"and does", []string{"--world-size"}, "'a case' m.yaml --world-size=1..1024"},
		{"one given twice", []string{"--dim", "B=1", "--dim", "T=2"}, "'a case' m.yaml --dim 'B=1' --dim 'T=2'"},
		{"one of pflag's own", []string{"--name", "a,b", "--name", "c"}, "'a case' m.yaml --name a,b --name c"},
		{"one that is hidden", []string{"--plain"}, "'a case' m.yaml"},
	} {
		cmd := &cobra.Command{Use: "fit"}
		cmd.Flags().String("vary", "", "")
		cmd.Flags().String("world-size", "", "")
		cmd.Flags().Lookup("world-size").NoOptDefVal = "1..1024"
		RepeatedFlag(cmd.Flags(), new([]string), "dim", "", "")
		cmd.Flags().StringArray("name", nil, "")
		cmd.Flags().Bool("plain", false, "")
		require.NoError(t, cmd.Flags().MarkHidden("plain"))
		require.NoError(t, cmd.ParseFlags(tt.given))
		assert.Equal(t, "python -m memshim fit "+tt.want, Recorder(cmd, []string{"a case", "m.yaml"}), tt.why)
	}
}

// TestProgressIsClearedOnce: a line that is gone is not cleared again, which would take what was
// printed in its place.
func TestProgressIsClearedOnce(t *testing.T) {
	var b bytes.Buffer
	p := &Progress{w: &b, total: 3, start: time.Now().Add(-time.Minute)}
	p.Clear()
	assert.Empty(t, b.String(), "nothing was shown")
	p.Step()
	p.Clear()
	p.Clear()
	assert.Equal(t, "\r1 of 3\r\033[K", b.String())
}
