package report

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// replayed is a trace's text, replayed on a device of that memory; 0 is without a limit.
func replayed(t *testing.T, text string, limit units.Bytes) *allocator.Timeline {
	t.Helper()
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{Limit: limit})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	return tl
}

// TestServingFigures: each metric of an engine, as far as it is known, and its least.
func TestServingFigures(t *testing.T) {
	loaded, activation, tokens, whole := units.Bytes(1), units.Bytes(2), int64(5), int64(6)
	type figures map[Metric]units.Bytes
	known := func(of func(Metric) (units.Bytes, bool)) figures {
		out := figures{}
		for _, m := range AllMetrics() {
			if v, ok := of(m); ok {
				out[m] = v
			} else {
				assert.Zero(t, v, m)
			}
		}
		return out
	}
	for _, tt := range []struct {
		why           string
		s             Serving
		values, worst figures
	}{
		{"nothing", Serving{}, figures{}, figures{}},
		{"weights", Serving{Loaded: &loaded}, figures{Loaded: 1}, figures{}},
		{"activations", Serving{Activation: &activation}, figures{Activation: 2}, figures{}},
		{"a cache", Serving{KV: &KVCache{Tokens: 3, Requests: 4}}, figures{KVTokens: 3, Concurrency: 4}, figures{}},
		{"the least of tokens", Serving{LeastTokens: &tokens}, figures{}, figures{KVTokens: 5}},
		{"the least of requests", Serving{LeastWhole: &whole}, figures{}, figures{Concurrency: 6}},
	} {
		assert.Equal(t, tt.values, known(tt.s.value), tt.why)
		assert.Equal(t, tt.worst, known(tt.s.worst), tt.why)
	}
	assert.Equal(t, []Metric{"weights", "delta", "allocated", "first_call", "reserved", "total", "host_pinned", "loaded",
		"activation", "kv_tokens", "concurrency"}, AllMetrics())
}

// TestMetricTexts: a value of each kind of metric in full, and a difference.
func TestMetricTexts(t *testing.T) {
	for _, tt := range []struct {
		m                  Metric
		exact, more, fewer string
	}{
		{KVTokens, "2,048 tokens", "+2,048", "-2,048"}, {Concurrency, "2,048 requests", "+2,048", "-2,048"},
		{Reserved, "2048 B", "+2.0 KiB", "-2.0 KiB"},
	} {
		assert.Equal(t, []string{tt.exact, tt.more, tt.fewer},
			[]string{tt.m.Exact(2048), tt.m.Signed(2048), tt.m.Signed(-2048)})
	}
	assert.Equal(t, []string{"", "+50.0%", "-50.0%", "0.0%"},
		[]string{signedPercent(1, 0), signedPercent(1, 2), signedPercent(-1, 2), signedPercent(0, 2)})
	assert.Equal(t, []string{"", "", "2 × "}, []string{gpus(0), gpus(1), gpus(2)})
	assert.Equal(t, []string{"parameters", "optimizer state", "unattributed", "other"}, []string{
		CategoryText("parameter"), CategoryText("optimizer_state"), CategoryText(Untraced), CategoryText("other")})
}

// TestNCCLInWords: what communicators take, where it is stated and where it is by formula.
func TestNCCLInWords(t *testing.T) {
	for want, n := range map[string]NCCL{
		"1 B, stated":                                                   {Low: 1, High: 1},
		"1 B, stated for 1 communicator":                                {Low: 1, High: 1, Communicators: 1},
		"1 B to 2 B, by formula; `nccl:` states it":                     {Low: 1, High: 2},
		"1 B to 2 B, by formula for 3 communicators; `nccl:` states it": {Low: 1, High: 2, Communicators: 3},
	} {
		assert.Equal(t, want, n.text())
	}
	low, high := (&Report{Context: &Context{Low: 10, High: 20}, NCCL: &NCCL{Low: 1, High: 2}}).ofDriver()
	assert.Equal(t, []units.Bytes{11, 22}, []units.Bytes{low, high})
}

// TestServedInWords: each line of an engine's memory is written where there is something to say.
func TestServedInWords(t *testing.T) {
	one, two, outside, activation := int64(1), int64(2), units.Bytes(7), units.Bytes(9)
	written := func(s *Serving) string {
		var text strings.Builder
		WriteServed(layout.To(&text), s)
		return text.String()
	}
	s := &Serving{KV: &KVCache{Tokens: 2, Utilization: 0.925, Budget: 1, Total: 2, Memory: 3, Blocks: 1000, BlockSize: 16,
		DType: "d"}}
	const plain = "  may use    1 B: 0.925 of 2 B\n  KV cache   3 B: 1,000 blocks of 16 tokens, d\n"
	assert.Equal(t, plain, written(s))
	s.LeastTokens, s.LeastWhole = &two, &one
	assert.Equal(t, plain, written(s), "the least is what there is")
	s.KV.Replicas = 1
	assert.Equal(t, plain, written(s), "one replica")
	s.LeastTokens, s.KV.Graphs, s.KV.GraphsOfDriver, s.MadeUp = &one, 1, 1, []string{"weights"}
	s.KV.Outside, s.Activation, s.Defaults, s.Driver.Source = &outside, &activation, []string{"a", "b"}, "logs"
	assert.Equal(t, `  profile    9 B of activations, the peak of a run of 0 tokens and 0 requests
             (the engine's default: a, b)
  outside    7 B, an estimate: the driver, by logs
`+plain+`  graphs     1 B of CUDA graphs beside the budget, 1 B of it the driver's, an
             estimate
  at least   1 tokens, 1 requests: where the driver takes as much as in any log
  made up    weights
`, written(s))
	s.KV.GraphsInBudget = 1
	assert.Contains(t, written(s), "  graphs     1 B of CUDA graphs taken off the KV cache,")
	assert.Equal(t, "does not fit: no room", (&Serving{Unfit: "no room"}).headline())
}

// TestNotesAreSettled: a note names the command that settles it, by its ID.
func TestNotesAreSettled(t *testing.T) {
	s := &Source{Ask: "ask", Remake: "remake", CheckValues: "check", Record: "record"}
	for id, want := range map[note.ID]string{
		note.LocalsUnknown: "remake", note.OperatorsDiffer: "remake", note.ValueRead: "check", note.OpAssumed: "record",
		note.OutsideUnknown: "record", note.WorkspaceUnknown: "record", note.BranchBoth: "", note.ValueStated: "",
	} {
		tr := &trace.Trace{Notes: []trace.Note{{Note: note.Note{ID: id, Subject: "x"}, Site: trace.NoSite}}}
		assert.Equal(t, want, notes(tr, s)[0].Settle, id)
		assert.Empty(t, notes(tr, &Source{})[0].Settle, id)
		tr.Notes[0].Askable = true
		asked := notes(tr, s)[0]
		assert.Equal(t, "ask", asked.Settle, id)
		assert.True(t, strings.HasSuffix(asked.Text, "; to settle it: ask"), asked.Text)
	}
	tr := &trace.Trace{Coverage: trace.Coverage{Unsupported: []trace.Unsupported{
		{Op: "b", Reason: trace.NoRule, Count: 2}, {Op: "a", Reason: trace.NoRule, Count: 1}}}}
	missing := notes(tr, s)
	require.Len(t, missing, 2)
	assert.Contains(t, missing[0].Text, "b, met 2 times")
	of := coverage(&tr.Coverage).Unsupported
	assert.Equal(t, []string{"b", "a"}, []string{of[0].Op, of[1].Op})
}

// TestBuildWithAContext: what the context takes is that of the device, in full or as a range.
// Device none has none.
func TestBuildWithAContext(t *testing.T) {
	tl := replayed(t, "origin exec\na = alloc 2MiB parameter w m\n", 0)
	for _, tt := range []struct {
		why    string
		device device.Device
		want   *Context
		total  bool
	}{
		{"known", device.Device{ContextKnown: true, Context: 3, Source: "s"}, &Context{3, 3, "s"}, true},
		{"a range", device.Device{ContextRange: &device.ContextRange{Low: 1, High: 2, Source: "r"}}, &Context{1, 2, "r"},
			false},
		{"none", device.Device{Kind: device.None, ContextKnown: true}, nil, true},
	} {
		r := Build(Source{Platform: &platform.Platform{Device: tt.device}, Timeline: tl})
		assert.Equal(t, tt.want, r.Context, tt.why)
		assert.Equal(t, tt.total, r.Peak.Total != nil, tt.why)
	}
}

// TestBuildOfAProgram: a program's weights are those that it holds at the peak.
func TestBuildOfAProgram(t *testing.T) {
	tl := replayed(t, `origin exec
a = alloc 1MiB parameter w m
free a
b = alloc 2MiB parameter w m
c = alloc 4MiB buffer w m
d = alloc 8MiB constant w m
e = alloc 16MiB activation w m
f = alloc 32MiB untraced w m
`, 0)
	others := []OtherValues{{Values: "most"}}
	r := Build(Source{Platform: &platform.Platform{}, Timeline: tl, Run: Run{Program: true}, OtherValues: others})
	assert.Equal(t, 14*units.MiB, r.Weights)
	assert.Equal(t, others, r.OtherValues)
	r = Build(Source{Platform: &platform.Platform{}, Timeline: tl})
	assert.Equal(t, 15*units.MiB, r.Weights)
}

// TestBuildWhereMemoryEnds: what is held then is what was held before the allocation that did not
// fit. The upper run has no such end beside the run's own.
func TestBuildWhereMemoryEnds(t *testing.T) {
	tl := replayed(t, `origin exec
passes first steady
pass 1 forward
a = alloc 2MiB parameter w m
b = alloc 24MiB activation aten::mm m
free b
c = alloc 64MiB activation aten::relu m
d = alloc 2MiB activation aten::late m
`, 64*units.MiB)
	upper := &allocator.Upper{OOM: &allocator.OOMError{Requested: 5, Limit: 6}}
	r := Build(Source{Platform: &platform.Platform{}, Timeline: tl, Upper: upper})
	require.NotNil(t, r.OOM)
	require.Len(t, r.OOM.Holders, 1)
	assert.Equal(t, "w", r.OOM.Holders[0].Op)
	assert.Nil(t, r.Upper.OOM)
	require.NotNil(t, r.ReservedAt)
	assert.Equal(t, "aten::mm", r.ReservedAt.Op)
	for text, want := range map[string]units.Bytes{"": 0, "a = alloc 2MiB parameter w m\n": 18 * units.MiB} {
		r = Build(Source{Platform: &platform.Platform{}, Timeline: replayed(t, "origin exec\n"+text, 0)})
		assert.Equal(t, want, r.Cached, "of a segment of 20 MiB")
	}
}

// TestHoldersSource: a row has the source of the first of its storages that has one.
func TestHoldersSource(t *testing.T) {
	tl := replayed(t, `origin exec
a = alloc 2MiB parameter w m
b = alloc 2MiB parameter w m
c = alloc 2MiB parameter w m
`, 0)
	for i, text := range []string{"", "first", "second"} {
		if text != "" {
			tl.Trace.Sources = append(tl.Trace.Sources, trace.Source{Storage: tl.Trace.Events[i].Storage, Text: text})
		}
	}
	hs := holders(tl, 2)
	require.Len(t, hs, 1)
	assert.Equal(t, "first", hs[0].Source)
	tl.Trace.Sites[0].Saver = trace.Saver{Op: "o", Module: "m", File: "f", Line: 3}
	assert.Equal(t, &Site{Op: "o", Module: "m", File: "f", Line: 3}, holders(tl, 2)[0].SavedBy)
	assert.Nil(t, hs[0].SavedBy)
}

// TestHoldersOfBefore: what was handed out before the trace and is freed in it has no place.
func TestHoldersOfBefore(t *testing.T) {
	tl := replayed(t, `origin exec
passes first
heap 0x2000000 20MiB
block 4MiB active_allocated a requested=4MiB
block 16MiB inactive
pass 1 forward
b = alloc 2MiB activation aten::relu
pass 1 backward
c = alloc 1MiB gradient aten::mul
free a
`, 0)
	hs := holders(tl, 1)
	require.Len(t, hs, 3)
	assert.Equal(t, Holder{Category: Untraced, Flat: 4 * units.MiB, Cum: hs[0].Cum, Count: 1}, hs[0])
	assert.Len(t, holders(tl, 2), 2)
	assert.Equal(t, []Share{{"activation", 2 * units.MiB}, {Untraced, 4 * units.MiB}}, phases(tl, 1)[0].Held)
}

// TestHeldByPhase: what storages of each category take while a phase's peak lasts, those without a
// place and those from before the trace among them.
func TestHeldByPhase(t *testing.T) {
	tl := replayed(t, `origin exec
passes first
heap 0x2000000 20MiB
block 4MiB active_allocated requested=4MiB
block 2MiB active_allocated requested=2MiB
block 14MiB inactive
a = alloc 2MiB parameter w
pass 1 forward
b = alloc 4MiB activation aten::relu
c = alloc 1MiB
pass 1 backward
free b
d = alloc 2MiB gradient aten::mul
`, 0)
	of := phases(tl, 1)
	require.Len(t, of, 2)
	assert.Equal(t, []Share{{"parameter", 2 * units.MiB}, {"activation", 4 * units.MiB}, {Untraced, 7 * units.MiB}},
		of[0].Held)
	assert.Equal(t, []Share{{"parameter", 2 * units.MiB}, {"gradient", 2 * units.MiB}, {Untraced, 7 * units.MiB}},
		of[1].Held)
	assert.Equal(t, "forward", of[0].Name)
	assert.Empty(t, phases(tl, 2))
}

// TestAPhaseThatComesAgain: it counts once, with what is held at the larger of its peaks, the first
// of two alike.
func TestAPhaseThatComesAgain(t *testing.T) {
	of := func(allocated units.Bytes, category string) PhasePeak {
		return PhasePeak{Name: "forward", Peak: Sizes{Allocated: allocated}, Held: []Share{{category, allocated}}}
	}
	all := addPhase(nil, of(4, "a"))
	for _, again := range []PhasePeak{of(4, "b"), of(3, "c")} {
		all = addPhase(all, again)
		assert.Equal(t, []PhasePeak{of(4, "a")}, all)
	}
	assert.Equal(t, []PhasePeak{of(5, "d")}, addPhase(all, of(5, "d")))

	passes := []Pass{{Name: "steady"}}
	passes = addPass(passes, Pass{Name: "steady", Phases: []PhasePeak{{Name: "b"}, {Name: "a"}}})
	assert.Equal(t, []PhasePeak{{Name: "b"}, {Name: "a"}}, passes[0].Phases)
}

// TestSharesInWords: as many columns as a pass has phases.
func TestSharesInWords(t *testing.T) {
	pass := &Pass{Name: "first"}
	for _, name := range []string{"forward", "backward", "step", "other", "more"} {
		pass.Phases = append(pass.Phases, PhasePeak{Name: name, Held: []Share{{"parameter", 1}, {"input", 2}}})
	}
	for n, want := range map[int]string{
		2: "                forward  backward\n    parameters      1 B       1 B\n    inputs          2 B       2 B\n",
		4: "                forward  backward  step  other\n    parameters      1 B       1 B   1 B    1 B\n" +
			"    inputs          2 B       2 B   2 B    2 B\n",
	} {
		var text strings.Builder
		of := &Pass{Name: "first", Phases: pass.Phases[:n]}
		shares(layout.To(&text), &Report{}, of)
		assert.Equal(t, "\n  held at the peak of each phase, first pass:\n"+want, text.String())
	}
}

// TestCompilingByKind: weights outside the allocator count on both sides, categories without a word
// for people by name, and of two operators that hold as much the first by name is named.
func TestCompilingByKind(t *testing.T) {
	held := func(category, op string, bytes units.Bytes) Holder {
		return Holder{Site: Site{Op: op}, Category: category, Flat: bytes}
	}
	kinds := func(before, after Report) []KindChange {
		before.Run.Runtime, after.Run.Runtime = "eager", "compiled"
		return compiling(&before, &after)
	}
	for _, tt := range []struct {
		why           string
		before, after Report
		want          []KindChange
	}{
		{"nothing outside", Report{}, Report{}, nil},
		{"a byte outside, before", Report{Outside: 1}, Report{}, []KindChange{{Kind: "weights", Old: 1}}},
		{"a byte outside, after", Report{}, Report{Outside: 1}, []KindChange{{Kind: "weights", New: 1}}},
		{"as much of both", Report{Outside: 5}, Report{Holders: []Holder{held("constant", "c", 5)}}, []KindChange{}},
		{"a category without a word", Report{}, Report{Holders: []Holder{held("odd", "o", 1)}},
			[]KindChange{{Kind: "odd", New: 1, Most: "o"}}},
		{"two rows of one operator", Report{}, Report{Holders: []Holder{held("input", "a", 2), held("input", "b", 3),
			held("input", "a", 2)}}, []KindChange{{Kind: "inputs", New: 7, Most: "a"}}},
		{"the most of it", Report{}, Report{Holders: []Holder{held("input", "a", 2), held("input", "b", 3)}},
			[]KindChange{{Kind: "inputs", New: 5, Most: "b"}}},
		{"the first of two", Report{}, Report{Holders: []Holder{held("input", "b", 3), held("input", "a", 3)}},
			[]KindChange{{Kind: "inputs", New: 6, Most: "a"}}},
		{"the first of many", Report{}, Report{Holders: []Holder{held("input", "h", 1), held("input", "c", 1),
			held("input", "b", 1), held("input", "g", 1), held("input", "e", 1), held("input", "d", 1), held("input", "f", 1)}},
			[]KindChange{{Kind: "inputs", New: 7, Most: "b"}}},
	} {
		for range 20 { // operators are gone through in any order
			assert.Equal(t, tt.want, kinds(tt.before, tt.after), tt.why)
		}
	}
	d := &Difference{Kinds: []KindChange{{Kind: "inputs", Old: 1, New: 1}}}
	assert.Equal(t, "compiling takes no more of anything at the peak", d.compilingSentence())
}

// TestDiffMetrics: an engine's figures where either run is one, the first call and pinned memory
// where either run has them.
func TestDiffMetrics(t *testing.T) {
	size, usual := units.Bytes(1), []Metric{Weights, Delta, Allocated, Reserved, Total}
	first := append([]Metric{Weights, Delta, Allocated, FirstCall}, Reserved, Total)
	for _, tt := range []struct {
		why  string
		with Report
		want []Metric
	}{
		{"neither", Report{}, usual}, {"an engine", Report{Serving: &Serving{}}, ServingMetrics()},
		{"a first call", Report{FirstCall: &Sizes{}}, first},
		{"pinned memory", Report{HostPinned: &size}, append(usual[:5:5], HostPinned)},
	} {
		for _, d := range []*Difference{Diff(&tt.with, &Report{}), Diff(&Report{}, &tt.with)} {
			var got []Metric
			for _, m := range d.Metrics {
				got = append(got, m.Metric)
			}
			assert.Equal(t, tt.want, got, tt.why)
		}
	}
	assert.Equal(t, []string{"GPUs 1, then 2"}, Unlike(&Run{}, &Run{GPUs: 2}))
}

// TestDiffInWords: how many rows are written, and what is said where there is none.
func TestDiffInWords(t *testing.T) {
	written := func(d *Difference, rows int) string {
		var text strings.Builder
		require.NoError(t, d.WriteText(&text, rows))
		return text.String()
	}
	none := &Difference{}
	assert.Contains(t, written(none, 0), "the same holders at the peak")
	assert.NotContains(t, written(none, 0), "compiling")
	none.Kinds = []KindChange{{Kind: "inputs", New: 1}}
	assert.Contains(t, written(none, 0), "compiling takes more at the peak: inputs (+1 B)")
	none.New.Mode = Serve
	assert.NotContains(t, written(none, 0), "holders")
	two := &Difference{Holders: []HolderChange{{Module: "a", New: 1}, {Module: "b", New: 1}}}
	two.New.Mode = Serve
	assert.Contains(t, written(two, 1), "… 1 more (-v)")
	assert.NotContains(t, written(two, 1), " b ")
	assert.NotContains(t, written(two, 2), "more (-v)")
	assert.NotContains(t, written(two, 0), "more (-v)")
}

// TestCausesInWords: the root module is no name, and one more is said as it is.
func TestCausesInWords(t *testing.T) {
	d := &Difference{Holders: []HolderChange{
		{Category: "activation", New: 9, NewCount: 1}, {Module: "a", Category: "activation", New: 8, NewCount: 2},
		{Module: "b.c", Category: "activation", New: 7},
	}}
	assert.Equal(t, []string{"activations +9 B, 1 more of them held", "a activations +8 B, 2 more of them held",
		"b.* activations +7 B"}, d.causes())
	d.Holders = []HolderChange{{Category: "activation", Old: 5, New: 5}, {Module: "a", Category: "activation", Old: 1}}
	assert.Equal(t, []string{"a activations -1 B", "activations 0 B"}, d.causes(), "the largest first")
}

// TestWritesThatFail: whatever is written for people returns the first error of a write.
func TestWritesThatFail(t *testing.T) {
	r := &Report{Workspace: []Workspace{{}}, Serving: &Serving{Fits: true, KV: &KVCache{}}}
	same, served := &Difference{}, &Difference{New: Run{Mode: Serve}}
	for what, write := range map[string]func(io.Writer) error{
		"assumed":          func(w io.Writer) error { return WriteAssumed(w, r) },
		"an engine":        func(w io.Writer) error { return writeServing(w, r) },
		"a difference":     func(w io.Writer) error { return same.WriteText(w, 0) },
		"one of an engine": func(w io.Writer) error { return served.WriteText(w, 0) },
		"one of holders":   func(w io.Writer) error { return (&Difference{Holders: []HolderChange{{}}}).WriteText(w, 0) },
	} {
		out := &full{}
		require.ErrorIs(t, write(out), assert.AnError, what)
		assert.Equal(t, 1, out.writes, what)
	}
}

// full is a writer that takes nothing.
type full struct{ writes int }

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, assert.AnError
}

// TestWeightsHeld: weights are parameters, buffers and constants.
func TestWeightsHeld(t *testing.T) {
	var hs []Holder
	for _, c := range []tensor.Category{tensor.Parameter, tensor.Activation, tensor.Buffer, tensor.Constant} {
		hs = append(hs, Holder{Category: c.String(), Flat: 2})
	}
	assert.Equal(t, units.Bytes(6), weightsHeld(append(hs, Holder{Category: "odd", Flat: 50})))
}
