package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops/custom"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
)

// controlled are the samples whose code does more than run straight on: what is assumed of each as
// it stands, and its account's quality. A pretend GPU reads nought wherever a value decides.
var controlled = map[string]struct {
	notes   []note.ID
	quality report.Quality
}{
	"branch":       {[]note.ID{note.BranchBoth}, report.Bound},
	"loop":         {[]note.ID{note.BranchBoth, note.LoopBound}, report.Bound},
	"read":         {nil, report.Exact},
	"rows":         {[]note.ID{note.ShapeBound}, report.Bound},
	"counted":      {[]note.ID{note.ShapeBound}, report.Bound},
	"own_operator": {[]note.ID{note.OpMissing}, report.Incomplete},
}

// own are the rules that a user states of own_operator's operators.
var own = []custom.Operator{
	{Schema: "memspec_sample::scale(Tensor x, float by) -> Tensor", Results: []string{"x"}},
	{Schema: "memspec_sample::pair(Tensor x, int times) -> (Tensor, Tensor)", Results: []string{"x", "float32[128]"}},
}

// ranOf is what a case comes to, and that each size and each loop that depends on data is nought.
func ranOf(t *testing.T, c spec.Case) (*engine.Run, []spec.Assumption) {
	r, err := new(suite.Models).Run(context.Background(), c)
	require.NoError(t, err)
	var nought []spec.Assumption
	for _, n := range r.Report.Notes {
		if n.ID == note.ShapeBound || n.ID == note.LoopBound {
			nought = append(nought, spec.Assumption{Line: fmt.Sprintf("%s:%d", n.First.File, n.First.Line)})
		}
	}
	return r, nought
}

// TestControlledPackages holds packages that choose, loop, read values and call their own operators
// against the same packages run by PyTorch on a pretend GPU. As they stand nothing is under what it
// took; with the values stated that it read, every event is its.
func TestControlledPackages(t *testing.T) {
	dir := filepath.Join("..", "testdata", "compiled", "control")
	for name, want := range controlled {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".t4")
			call := readCalls(t, path+".txt")[0]
			c := testcase.On(t, "t4", path+".pt2", call.input)
			r, nought := ranOf(t, c)
			assert.Equal(t, want.notes, noted(r.Report), "%v", r.Report.Notes)
			assert.Equal(t, want.quality, r.Report.Quality)
			assert.GreaterOrEqual(t, int64(r.Report.Peak.Allocated), call.passes[0][1], "never under")
			c.Assume = nought
			if name == "own_operator" {
				c.Operators = own
			}
			r, _ = ranOf(t, c)
			assert.Equal(t, call.events, streamOf(r.Trace))
			p := r.Report.Peak
			assert.Equal(t, call.passes[0], [3]int64{int64(p.Requested), int64(p.Allocated), int64(p.Reserved)}, "peak")
		})
	}
}

// noted are a report's notes, each once.
func noted(r *report.Report) []note.ID {
	var out []note.ID
	for _, n := range r.Notes {
		if len(out) == 0 || out[len(out)-1] != n.ID {
			out = append(out, n.ID)
		}
	}
	return out
}

// TestKernelsAreNamedByLines: a package that inductor recorded source lines in
// (trace.provenance_tracking_level) names a kernel by the lines of the user's code that it was made
// of.
func TestKernelsAreNamedByLines(t *testing.T) {
	r, _ := ranOf(t, testcase.On(t, "t4", filepath.Join("..", "testdata", "compiled", "lines", "net.t4.pt2"),
		"float32[8,64]"))
	var got []string
	for _, e := range r.Trace.Events {
		if e.Pass == 1 && e.Action == trace.Alloc && e.Site >= 0 {
			at := r.Trace.Sites[e.Site]
			got = append(got, fmt.Sprintf("%s %s:%d", at.Op, at.File, at.Line))
		}
	}
	assert.Equal(t, []string{
		"aten::t, aten::addmm /models/net.py:7",
		"aten::mm /models/net.py:7", // its workspace
		"aten::sum /models/net.py:9",
		"aten::addmm, aten::sin, aten::add, aten::gelu, aten::t /models/net.py:11",
		"aten::addmm /models/net.py:11",
	}, got)
}
