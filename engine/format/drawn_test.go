package format

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestDrawn: what a page draws of a run, what a terminal does and what a snapshot has, each number:
// testdata/drawn.
func TestDrawn(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "drawn", "*.txtar"), func(a *golden.Archive) {
		t := a.T()
		tr, err := tracetext.Parse(bytes.NewReader(a.Input("trace")))
		require.NoError(t, err)
		require.NoError(t, tr.Validate())
		for _, limit := range []units.Bytes{0, 26 << 20} {
			caching, err := allocator.New(allocator.Config{Limit: limit, Heap: tr.Heap})
			require.NoError(t, err)
			tl, err := allocator.Replay(tr, caching)
			require.NoError(t, err)
			c := &Case{Name: "drawn", Timeline: tl, Report: &report.Report{}, Judged: true, Outcome: verdict.Pass,
				Figures: []Figure{
					{Metric: report.Reserved, Limit: limitOf(30 << 20)}, {Metric: report.Allocated, Limit: limitOf(24 << 20)},
					{Metric: report.Allocated, Limit: limitOf(1 << 40)}}}
			name := "without a limit"
			if limit > 0 {
				name = "with one"
			}
			all := newShared()
			p := pictureOf(c, Paths{}, all)
			text, err := json.MarshalIndent([]any{p, all}, "", "")
			require.NoError(t, err)
			a.Want(name+"/picture", append(bytes.ReplaceAll(text, []byte(",\n"), []byte(", ")), '\n'))
			var plot strings.Builder
			require.NoError(t, Plot(&plot, c))
			a.Want(name+"/plot", []byte(plot.String()))
			var snapshot bytes.Buffer
			require.NoError(t, newSnapshot(&snapshot, Options{}).Case(c))
			a.Want(name+"/snapshot", ReadablePickle(t, snapshot.Bytes()))
		}
	})
}

func limitOf(n units.Bytes) *units.Bytes { return &n }
