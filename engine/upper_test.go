package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// lacksOperators are the traced archives that hold less than their model runs eagerly: tracing
// drops operators whose results do not reach the output, and what these allocate is in no account
// of the archive.
var lacksOperators = map[string]string{
	"list_comprehension": "of four products and four concatenations two and one are used",
	"list_methods":       "members that are taken out of a list",
	"tuples":             "a pair of which one half is used",
	"view_keeps_base":    "a product that is thrown away",
}

// bounded is a traced archive's eager run: the prediction, what PyTorch took, and the upper end.
type bounded struct {
	model                string
	point, truth, upper  units.Bytes // allocated
	reserved, mostly     units.Bytes // truth and upper end
	births, recordedMore int
}

// TestUpperHolds: no recorded eager run of a traced archive takes more than the report's upper end,
// allocated or reserved. -v prints the table; MEMSPEC_CONFORMANCE names another folder of
// recordings.
func TestUpperHolds(t *testing.T) {
	var jobs []func() bounded
	for _, r := range recordings(t) {
		live, archive := r.Stream("live.eager"), r.Stream("trace.torchscript")
		if live != nil && live.Failed == "" && archive != nil && archive.Artifact != "" {
			jobs = append(jobs, func() bounded { return boundsOf(t, r, live, archive.Artifact) })
		}
	}
	known := map[string]bool{}
	var table strings.Builder
	for _, b := range inParallel(jobs) {
		if b.model == "" {
			continue
		}
		fmt.Fprintf(&table, "%-34s %12d %12d %12d  %+6.1f %% %5.2f\n", b.model, b.point, b.truth, b.upper,
			100*float64(b.point-b.truth)/float64(b.truth), float64(b.upper)/float64(b.truth))
		why, listed := lacksOperators[b.model]
		known[b.model] = true
		switch under := b.upper < b.truth || b.mostly < b.reserved; {
		case under && !listed:
			t.Errorf("%s: got at most %d B allocated and %d B reserved, PyTorch took %d B and %d B\nreproduce: go test "+
				"./engine -run %s -v", b.model, b.upper, b.mostly,
				b.truth, b.reserved, t.Name())
		case listed && b.recordedMore == 0:
			t.Errorf("%s: is listed as lacking operators (%s), but has as many births as were recorded", b.model, why)
		}
		require.GreaterOrEqual(t, b.upper, b.point, "%s: the upper end is below the prediction", b.model)
	}
	t.Logf(
		"model, then allocated in bytes: predicted, recorded, at most; error of the prediction, at most by recorded\n%s",
		table.String())
}

// boundsOf runs one archive; a zero result is one that has no account.
func boundsOf(t *testing.T, r *recording, live *stream, artifact string) bounded {
	m, c, err := caseNone(r, opener(artifact), "eager")
	require.NoError(t, err)
	run, err := m.Run(context.Background(), c)
	require.NoError(t, err)
	rep, tr := run.Report, run.Trace
	if len(rep.Coverage.Unsupported) > 0 {
		return bounded{}
	}
	require.True(t, rep.HasNote(note.LocalsUnknown), r.Model)
	require.NotNil(t, rep.Upper, r.Model)
	b := bounded{model: r.Model, point: rep.Peak.Allocated, upper: rep.Upper.Allocated, mostly: rep.Upper.Reserved}
	b.truth, b.reserved = recordedPeaks(t, c, tr, live)
	for _, e := range tr.Events {
		if e.Pass == 1 && e.Action == trace.Alloc {
			b.births++
		}
	}
	b.recordedMore = max(0, live.Births-b.births)
	return b
}

// recordedPeaks is what a recorded pass takes on top of a trace's baseline.
func recordedPeaks(t *testing.T, c spec.Case, tr *trace.Trace, s *stream) (allocated, reserved units.Bytes) {
	out := &trace.Trace{Origin: "recording", Sites: tr.Sites}
	var first tensor.StorageID
	for _, e := range tr.Events {
		if e.Pass == 0 {
			out.Events = append(out.Events, e)
			first = max(first, e.Storage+1)
		}
	}
	births, bytes := tensor.StorageID(0), map[tensor.StorageID]units.Bytes{}
	for _, e := range s.Events {
		if e.Bytes > 0 {
			bytes[births] = units.Bytes(e.Bytes)
			out.Events = append(out.Events, trace.Event{Action: trace.Alloc, Storage: first + births,
				Bytes: units.Bytes(e.Bytes), Pass: 1, Site: trace.NoSite})
			births++
		} else {
			id := tensor.StorageID(e.Birth)
			out.Events = append(out.Events, trace.Event{Action: trace.FreeRequested, Storage: first + id, Bytes: bytes[id],
				Pass: 1, Site: trace.NoSite})
		}
	}
	a, err := allocator.On(&c.Platform, nil)
	require.NoError(t, err)
	tl, err := allocator.Replay(out, a)
	require.NoError(t, err)
	return tl.Peaks.Allocated.Bytes, tl.Peaks.Reserved.Bytes
}

// shareOfCases: of the cases with answers a plain go test takes one of so many.
const shareOfCases = 3

// TestUpperHoldsWithTheLibrarysAnswers: with cuDNN's own answers no case reserves or holds more
// than its upper figure by formula. -v prints the table.
func TestUpperHoldsWithTheLibrarysAnswers(t *testing.T) {
	compared := 0
	for _, f := range []struct{ file, answers string }{
		{"../memspec.yaml", "../memspec.workspace.json"},
		{"../testdata/workspace/peaks.yaml", "../testdata/workspace/peaks.workspace.json"},
	} {
		cases, err := spec.Load(f.file)
		require.NoError(t, err)
		for _, c := range golden.Share(cases, shareOfCases) {
			c.Workspace = ""
			formula, err := engine.Estimate(context.Background(), c)
			require.NoError(t, err)
			if formula.Upper == nil {
				continue
			}
			c.Workspace = f.answers
			answered, err := engine.Estimate(context.Background(), c)
			require.NoError(t, err)
			compared++
			t.Logf("%-30s by answers %11d %11d, upper by formula %11d %11d", c.Name, answered.Peak.Allocated,
				answered.Peak.Reserved,
				formula.Upper.Allocated, formula.Upper.Reserved)
			if answered.Peak.Allocated > formula.Upper.Allocated || answered.Peak.Reserved > formula.Upper.Reserved {
				t.Errorf("%s: got at most %d B allocated and %d B reserved, by cuDNN's answers %d B and %d B\nreproduce: go test "+
					"./engine -run %s -v", c.Name,
					formula.Upper.Allocated, formula.Upper.Reserved, answered.Peak.Allocated, answered.Peak.Reserved, t.Name())
			}
		}
	}
	least := 60
	if !golden.Whole() {
		least /= shareOfCases
	}
	require.GreaterOrEqual(t, compared, least)
}
