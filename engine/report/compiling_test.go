package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// TestCompilingTakes: of an eager run and the compiled model's, whichever is the old one, a
// difference reports by kind what compiling adds, and the rest.
func TestCompilingTakes(t *testing.T) {
	held := func(category, op string, bytes units.Bytes) report.Holder {
		return report.Holder{Site: report.Site{Op: op}, Category: category, Flat: bytes, Count: 1}
	}
	eager := &report.Report{Run: report.Run{Runtime: "eager"}, Holders: []report.Holder{
		held("parameter", "fc.weight", 300), held("buffer", "bn.mean", 50), held("activation", "aten::relu", 400),
		held("workspace", "aten::conv2d", 70)}}
	compiled := &report.Report{Run: report.Run{Runtime: "compiled"}, Outside: 384, Holders: []report.Holder{
		held("activation", "aten::relu, aten::mul", 150), held("activation", "layout copy for aten::convolution", 80),
		held("activation", "layout copy for aten::mm", 20),
		held("temporary", "aten::gelu", 60), held("workspace", "aten::convolution", 70)}}
	want := []report.KindChange{
		{Kind: "layout copies", New: 100, Most: "layout copy for aten::convolution"},
		{Kind: "temporaries", New: 60, Most: "aten::gelu"},
		{Kind: "weights", Old: 350, New: 384},
		{Kind: "activations", Old: 400, New: 150},
	}
	assert.Equal(t, want, report.Diff(eager, compiled).Kinds)
	assert.Equal(t, want, report.Diff(compiled, eager).Kinds)
	assert.Nil(t, report.Diff(eager, eager).Kinds)
	assert.Nil(t, report.Diff(compiled, compiled).Kinds)

	var text strings.Builder
	require.NoError(t, report.Diff(eager, compiled).WriteText(&text, 1))
	assert.Contains(t, text.String(), `  compiling takes more at the peak: layout copies (+100 B), temporaries (+60 B),
    weights (+34 B)
    compiled  eager  change  what           most of it
       100 B    0 B  +100 B  layout copies  layout copy for aten::convolution
        60 B    0 B   +60 B  temporaries    aten::gelu
       384 B  350 B   +34 B  weights
       150 B  400 B  -250 B  activations
`)
	same := &report.Report{Run: report.Run{Runtime: "compiled"}, Holders: []report.Holder{
		held("temporary", "b", 30), held("temporary", "a", 30), held("temporary", "c", 10),
		held("activation", "aten::relu", 470), held("layout copy", "layout copy for b", 70)}}
	assert.Equal(t, []report.KindChange{
		{Kind: "activations", Old: 400, New: 470, Most: "aten::relu"},
		{Kind: "layout copies", New: 70, Most: "layout copy for b"}, {Kind: "temporaries", New: 70, Most: "a"},
		{Kind: "workspaces", Old: 70}, {Kind: "weights", Old: 350},
	}, report.Diff(eager, same).Kinds, "of changes alike the first by name, and so of what has most of one")
	compiled.Holders, compiled.Outside = nil, 0
	text.Reset()
	require.NoError(t, report.Diff(eager, compiled).WriteText(&text, 1))
	assert.Contains(t, text.String(), "compiling takes no more of anything at the peak")
}
