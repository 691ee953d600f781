package report_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/report"
)

// Text, JSON, every way to gather, and the difference where there is a second report.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(a *golden.Archive) {
		t := a.T()
		r, err := report.ReadJSON(bytes.NewReader(a.Input("report.json")))
		require.NoError(t, err)
		var text, js bytes.Buffer
		require.NoError(t, report.WriteText(&text, r))
		a.Want("report.text", text.Bytes())
		require.NoError(t, report.WriteJSON(&js, r))
		a.Want("report.json", js.Bytes())
		again, err := report.ReadJSON(&js)
		require.NoError(t, err)
		assert.Equal(t, r, again, "what is written reads back")
		for _, by := range report.Bys() {
			var b bytes.Buffer
			require.NoError(t, report.WriteRows(&b, by, report.Gather(r.Holders, by), report.ShortRows))
			a.Want("by-"+string(by), b.Bytes())
		}
		if !a.Has("new.json") {
			return
		}
		after, err := report.ReadJSON(bytes.NewReader(a.Input("new.json")))
		require.NoError(t, err)
		var b bytes.Buffer
		d := report.Diff(r, after)
		require.NoError(t, d.WriteText(&b, report.ShortRows))
		a.Want("diff", b.Bytes())
		assert.False(t, d.Same())
		assert.True(t, report.Diff(r, r).Same())
	})
}
