package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// twoPasses: 3 MiB of weights, an input, and per pass an activation; the first pass also takes a
// workspace that stays.
const twoPasses = `origin exec
passes first steady
a = alloc 2MiB parameter conv.weight conv
b = alloc 1MiB buffer bn.running_mean bn
c = alloc 1MiB input "input x"
pass 1 forward
d = alloc 4MiB activation aten::conv2d conv m.py:7
e = alloc 8MiB workspace aten::linear fc m.py:8
free d
pass 2 forward
f = alloc 4MiB activation aten::conv2d conv m.py:7
free f
`

func build(t *testing.T, text string, limit units.Bytes, context units.Bytes) *report.Report {
	t.Helper()
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{Limit: limit})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	p := platform.Platform{Device: device.Device{Name: "x", Context: context, ContextKnown: context > 0}}
	return report.Build(report.Source{Platform: &p, Timeline: tl})
}

func TestBuild(t *testing.T) {
	r := build(t, twoPasses, 0, 100*units.MiB)
	const mib = units.MiB
	assert.Equal(t, 3*mib, r.Weights, "inputs are no weights")
	assert.Equal(t, report.Sizes{Requested: 4 * mib, Allocated: 4 * mib, Reserved: 22 * mib}, r.Baseline,
		"a segment of 2 MiB and one of 20 MiB")
	require.Len(t, r.Passes, 2)
	assert.Equal(t, report.Pass{Name: "first", Peak: report.Sizes{Requested: 16 * mib, Allocated: 16 * mib,
		Reserved: 22 * mib}}, r.Passes[0])
	assert.Equal(t, report.Pass{Name: "steady", Peak: report.Sizes{Requested: 16 * mib, Allocated: 16 * mib,
		Reserved: 22 * mib}}, r.Passes[1])
	assert.Equal(t, 12*mib, r.Delta)
	assert.Equal(t, 122*mib, *r.Peak.Total)
	assert.Equal(t, &report.Moment{Site: report.Site{Op: "aten::linear", Module: "fc", File: "m.py", Line: 8},
		Phase: "forward", Pass: "first", Event: 4}, r.PeakAt)
	assert.Equal(t, 6*mib, r.Cached)
	assert.Equal(t, report.Exact, r.Quality)
	assert.Nil(t, r.Upper)
	require.Len(t, r.Holders, 5)
	assert.Equal(t, report.Holder{Site: report.Site{Op: "aten::linear", Module: "fc", File: "m.py", Line: 8},
		Category: "workspace", Flat: 8 * mib, Cum: 8 * mib, Count: 1}, r.Holders[0])
	var held units.Bytes
	for _, h := range r.Holders {
		held += h.Flat
	}
	assert.Equal(t, r.Peak.Allocated, held, "the holders are all of the peak")

	for m, want := range map[report.Metric]units.Bytes{report.Weights: 3 * mib, report.Delta: 12 * mib,
		report.Allocated: 16 * mib, report.Reserved: 22 * mib, report.Total: 122 * mib} {
		got, ok := r.Value(m)
		assert.True(t, ok)
		assert.Equal(t, want, got, m)
	}
}

// Who holds what where a run does not fit is of that moment, which may come after the allocated
// peak: so do an optimizer's states.
func TestBuildOfWhatDoesNotFitAfterItsPeak(t *testing.T) {
	const mib = units.MiB
	r := build(t, `origin exec
passes first steady
a = alloc 2MiB parameter w m
pass 1 forward
b = alloc 32MiB activation aten::mm m m.py:7
free b
c = alloc 4MiB optimizer_state aten::zeros_like "" adam.py:9
pass 2 forward
d = alloc 64MiB activation aten::mm m m.py:8
`, 64*mib, 100*mib)
	require.NotNil(t, r.OOM)
	assert.Equal(t, "m.py:8", r.OOM.Source())
	assert.Equal(t, "m.py:7", r.PeakAt.Source())
	assert.Equal(t, []units.Bytes{34 * mib, 6 * mib}, []units.Bytes{r.Peak.Allocated, r.OOM.Allocated})
	when, held := r.Decisive()
	assert.Equal(t, "when it did not fit, 6.0 MiB", when)
	require.Len(t, held, 2)
	assert.Equal(t, []string{"optimizer_state", "parameter"}, []string{held[0].Category, held[1].Category})
	assert.Equal(t, r.OOM.Allocated, held[0].Flat+held[1].Flat, "they are all of it")
	var text strings.Builder
	require.NoError(t, report.WriteAccount(&text, r, 0))
	assert.Contains(t, text.String(), "held when it did not fit, 6.0 MiB:")
	r.OOM.Holders = nil // as a report of before has it
	when, held = r.Decisive()
	assert.Equal(t, "at the peak", when)
	assert.Equal(t, r.Holders, held)
}

// Of a compiled model the first call is a separate figure; what the cache keeps of it is not taken
// off.
func TestBuildOfACompiledModel(t *testing.T) {
	const mib = units.MiB
	tr, err := tracetext.Parse(strings.NewReader(`origin exec
passes first steady steady
a = alloc 2MiB parameter w m
pass 1 forward
b = alloc 64MiB workspace tuner m
free b
c = alloc 4MiB activation aten::mm m m.py:7
free c
pass 2 forward
d = alloc 4MiB activation aten::mm m m.py:7
free d
pass 3 forward
e = alloc 8MiB activation aten::mm m m.py:8
free e
`))
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	p := platform.Platform{Device: device.Device{Name: "x", Context: 100 * mib, ContextKnown: true}}
	r := report.Build(report.Source{Platform: &p, Timeline: tl, Compiled: true})
	require.NotNil(t, r.FirstCall)
	assert.Equal(t, report.Sizes{Requested: 66 * mib, Allocated: 66 * mib, Reserved: 84 * mib}, *r.FirstCall)
	assert.Equal(t, []units.Bytes{10 * mib, 10 * mib, 10 * mib, 84 * mib, 8 * mib},
		[]units.Bytes{r.Peak.Requested, r.Peak.Allocated, r.Peak.Active, r.Peak.Reserved, r.Delta})
	assert.Equal(t, 184*mib, *r.Peak.Total, "with what the first call made the allocator reserve")
	assert.Equal(t, "m.py:8", r.PeakAt.Source())
	assert.Equal(t, "aten::mm", r.Holders[0].Op)
	for m, want := range map[report.Metric]units.Bytes{report.Allocated: 10 * mib, report.FirstCall: 66 * mib,
		report.Reserved: 84 * mib} {
		got, ok := r.Value(m)
		assert.True(t, ok)
		assert.Equal(t, want, got, m)
	}
	assert.Contains(t, report.Headline(r), "peak 10.0 MiB allocated, 84.0 MiB reserved, 66.0 MiB in the first call")

	same := report.Build(report.Source{Platform: &p, Timeline: tl})
	assert.Nil(t, same.FirstCall)
	assert.Equal(t, 66*mib, same.Peak.Allocated, "of any other model the peak is that of the whole run")
	got, ok := same.Value(report.FirstCall)
	assert.True(t, ok)
	assert.Equal(t, 66*mib, got)
}

// The second call of a compiled model counts as each later one does.
func TestTheSecondCallOfACompiledModelCounts(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(`origin exec
passes first steady steady
pass 1 forward
a = alloc 2MiB activation aten::mm m m.py:7
free a
pass 2 forward
b = alloc 8MiB activation aten::mm m m.py:8
free b
pass 3 forward
c = alloc 4MiB activation aten::mm m m.py:9
free c
`))
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	r := report.Build(report.Source{Platform: &platform.Platform{}, Timeline: tl, Compiled: true})
	assert.Equal(t, 8*units.MiB, r.Peak.Allocated)
	assert.Equal(t, "m.py:8", r.PeakAt.Source())
}

// A call that allocates nothing (a replayed CUDA graph) holds what was held, and a run that ends in
// its first call has no later ones.
func TestACompiledModelsLaterCallsMayBeNone(t *testing.T) {
	const text = `origin exec
passes first steady
a = alloc 2MiB parameter w m
pass 1 forward
b = alloc 64MiB workspace tuner m
free b
c = alloc 4MiB activation aten::mm m m.py:7
`
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	for limit, want := range map[units.Bytes]units.Bytes{0: 6 * units.MiB, 40 * units.MiB: 2 * units.MiB} {
		a, err := allocator.New(allocator.Config{Limit: limit})
		require.NoError(t, err)
		tl, err := allocator.Replay(tr, a)
		require.NoError(t, err)
		r := report.Build(report.Source{Platform: &platform.Platform{}, Timeline: tl, Compiled: true})
		assert.Equal(t, limit > 0, r.OOM != nil)
		assert.Equal(t, want, r.Peak.Allocated, "limit %s", limit)
	}
}

// What counts as weights, by category: what model.to("cuda") allocates.
func TestWeights(t *testing.T) {
	r := build(t, `origin exec
a = alloc 512 parameter w m
b = alloc 1KiB buffer b m
c = alloc 2KiB constant c m
d = alloc 4KiB input x
e = alloc 8KiB activation aten::cat m
f = alloc 0 parameter empty m
pass 1 forward
g = alloc 16KiB constant aten::zeros m
`, 0, 0)
	assert.Equal(t, units.Bytes(512+1024+2048), r.Weights, "what a pass makes is no weight, whatever it is called")
}

// The most is never below the prediction, though more workspace may end in less memory: it fits
// other blocks.
func TestUpper(t *testing.T) {
	upper := func(allocated, reserved units.Bytes, oom *allocator.OOMError) *allocator.Upper {
		return &allocator.Upper{OOM: oom, Peaks: allocator.Peaks{
			Allocated: allocator.Peak{Bytes: allocated * units.MiB}, Reserved: allocator.Peak{Bytes: reserved * units.MiB}}}
	}
	for _, tt := range []struct {
		upper *allocator.Upper
		want  *report.Upper
	}{
		{nil, nil},
		{upper(17, 23, nil), &report.Upper{Allocated: 17 * units.MiB, Reserved: 23 * units.MiB}},
		{upper(15, 21, nil), &report.Upper{Allocated: 16 * units.MiB, Reserved: 22 * units.MiB}},
		{upper(19, 22, nil), &report.Upper{Allocated: 19 * units.MiB, Reserved: 25 * units.MiB}},
		{upper(17, 23, &allocator.OOMError{Requested: 5, Limit: 24}), &report.Upper{Allocated: 17 * units.MiB,
			Reserved: 23 * units.MiB,
			OOM:      &report.NoRoom{Requested: 5, Limit: 24}}},
	} {
		tr, err := tracetext.Parse(strings.NewReader(twoPasses))
		require.NoError(t, err)
		a, err := allocator.New(allocator.Config{})
		require.NoError(t, err)
		tl, err := allocator.Replay(tr, a)
		require.NoError(t, err)
		r := report.Build(report.Source{Platform: &platform.Platform{}, Timeline: tl, Upper: tt.upper})
		assert.Equal(t, tt.want, r.Upper)
		want := report.Exact
		if tt.want != nil {
			want = report.Estimated
		}
		assert.Equal(t, want, r.Quality)
	}
}

func TestBuildWithoutContextHasNoTotal(t *testing.T) {
	r := build(t, twoPasses, 0, 0)
	assert.Nil(t, r.Peak.Total)
	_, ok := r.Value(report.Total)
	assert.False(t, ok)
}

// A run that does not fit ends where memory ended; what follows is not in the account.
// What NCCL takes is part of the total where it is known; a range leaves the total open.
func TestBuildWithNCCL(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(twoPasses))
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	const mib = units.MiB
	stated := 3 * mib
	for _, tt := range []struct {
		why    string
		stated *units.Bytes
		nccl   *report.NCCL
		want   *report.NCCL
		total  units.Bytes // 0 where it is open
	}{
		{"none", nil, nil, nil, 122 * mib},
		{"known", nil, &report.NCCL{Low: 5 * mib, High: 5 * mib}, &report.NCCL{Low: 5 * mib, High: 5 * mib}, 127 * mib},
		{"a range", nil, &report.NCCL{Low: 5 * mib, High: 6 * mib}, &report.NCCL{Low: 5 * mib, High: 6 * mib}, 0},
		{"what the case states stands for a range", &stated, &report.NCCL{Low: 5 * mib, High: 6 * mib, Communicators: 2},
			&report.NCCL{Low: 3 * mib, High: 3 * mib, Communicators: 2}, 125 * mib},
		{"what the case states alone", &stated, nil, &report.NCCL{Low: 3 * mib, High: 3 * mib}, 125 * mib},
	} {
		p := platform.Platform{Device: device.Device{Name: "x", Context: 100 * mib, ContextKnown: true}, NCCL: tt.stated}
		r := report.Build(report.Source{Platform: &p, Timeline: tl, NCCL: tt.nccl})
		assert.Equal(t, tt.want, r.NCCL, tt.why)
		if tt.total == 0 {
			assert.Nil(t, r.Peak.Total, tt.why)
		} else if assert.NotNil(t, r.Peak.Total, tt.why) {
			assert.Equal(t, tt.total, *r.Peak.Total, tt.why)
		}
	}
}

// The account of an engine's start is its figures.
func TestAccountOfAStart(t *testing.T) {
	loaded := 3 * units.MiB
	var text strings.Builder
	require.NoError(t, report.WriteAccount(&text, &report.Report{Serving: &report.Serving{Loaded: &loaded}}, 0))
	assert.Contains(t, text.String(), "3.0 MiB: weights, and what loading leaves")
}

func TestBuildOutOfMemory(t *testing.T) {
	r := build(t, strings.Replace(twoPasses, "alloc 8MiB", "alloc 16MiB", 1), 22*units.MiB, 0)
	require.NotNil(t, r.OOM)
	assert.Equal(t, 16*units.MiB, r.OOM.Requested)
	assert.Equal(t, 22*units.MiB, r.OOM.Limit)
	assert.Equal(t, "aten::linear  fc  m.py:8 (forward, first pass)", r.OOM.Moment.String())
	assert.Len(t, r.Passes, 1)
	assert.Equal(t, 8*units.MiB, r.Peak.Allocated)
}

// A pass without an event holds what was held before it; a trace without any still has its passes.
func TestBuildPassesWithoutEvents(t *testing.T) {
	r := build(t, "origin exec\npasses first steady\na = alloc 1MiB parameter w m\npass 1 forward\nb = alloc 512 "+
		"activation aten::relu\n", 0, 0)
	require.Len(t, r.Passes, 2)
	assert.Equal(t, units.MiB+512, r.Passes[1].Peak.Allocated)
	r = build(t, "origin exec\npasses first steady\n", 0, 0)
	require.Len(t, r.Passes, 2)
	assert.Zero(t, r.Peak.Allocated)
	assert.Nil(t, r.PeakAt)
	assert.Empty(t, r.Holders)
}

func TestQuality(t *testing.T) {
	for _, tt := range []struct {
		rest string
		want report.Quality
	}{
		{"", report.Exact},
		{"note device-remapped \"x\"\n", report.Exact},
		{"note workspace-estimate \"x\"\n", report.Estimated},
		{"note locals-unknown \"x\"\n", report.Estimated},
		{"note workspace-estimate \"x\"\nnote shape-bound \"x\"\n", report.Bound},
		{"note branch-both \"x\"\n", report.Bound},
		{"note branch-both \"x\"\ncoverage 3 2 1 1\nunsupported no-rule aten::foo 2 activation aten::foo\n",
			report.Incomplete},
	} {
		r := build(t, twoPasses+tt.rest, 0, 0)
		assert.Equal(t, tt.want, r.Quality, "%q", tt.rest)
		if tt.want == report.Incomplete {
			assert.True(t, r.HasNote("op-missing"))
			assert.Equal(t, "aten::foo", r.Coverage.Unsupported[0].Op)
		}
	}
}

// A pass of several phases says what each of them peaks at; one that is all forward says nothing.
func TestBuildPhases(t *testing.T) {
	r := build(t, `origin "a training loop"
passes "iteration 1" "iteration 2"
a = alloc 2MiB parameter w
pass 1 forward
b = alloc 4MiB activation aten::relu
pass 1 backward
c = alloc 2MiB gradient aten::mul
free b
pass 1 step
d = alloc 1MiB optimizer_state exp_avg
pass 1 forward
e = alloc 8MiB activation aten::relu
free e
pass 2 forward
f = alloc 512 activation aten::relu
`, 0, 0)
	require.Len(t, r.Passes, 2)
	assert.Equal(t, "iteration 1", r.Passes[0].Name)
	var got []string
	for _, p := range r.Passes[0].Phases {
		got = append(got, p.Name+" "+p.Peak.Allocated.String())
	}
	assert.Equal(t, []string{"forward 13.0 MiB", "backward 8.0 MiB", "step 5.0 MiB"}, got,
		"in the order they began; a phase that comes again counts once, with its most")
	assert.Nil(t, r.Passes[1].Phases)
	assert.Equal(t, "aten::relu (forward, iteration 1 pass)", r.PeakAt.String())
}

// What nothing records of: a recording's storages without categories are untraced, and its weights
// are those that are reported beside it.
func TestBuildOfARecording(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(twoPasses))
	require.NoError(t, err)
	for i := range tr.Sites {
		tr.Sites[i].Category = tensor.Untraced
	}
	tr.Sources = append(tr.Sources, trace.Source{Storage: tr.Events[0].Storage, Text: "models/zoo.py"})
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	want := 7 * units.MiB
	r := report.Build(report.Source{Platform: &platform.Platform{Device: device.Device{Name: "x"}}, Timeline: tl,
		Weights: &want, Unknown: []report.Metric{report.Delta}})
	assert.Equal(t, want, r.Weights)
	assert.Equal(t, []report.Metric{report.Delta}, r.Unknown)
	for _, h := range r.Holders {
		assert.Equal(t, report.Untraced, h.Category)
	}
}

// What has no place is one row: blocks that were handed out before the trace and that nothing
// frees, and storages of events without a site.
func TestBuildWithoutPlaces(t *testing.T) {
	untraced := func(text string) report.Holder {
		r := build(t, "heap 0x2000000 20MiB\nblock 4MiB active_allocated requested=4MiB\n"+text, 0, 0)
		require.Len(t, r.Holders, 2)
		require.Equal(t, "aten::relu", r.Holders[1].Op)
		return r.Holders[0]
	}
	const placed = "a = alloc 2MiB activation aten::relu fc m.py:8\n"
	one := untraced("block 16MiB inactive\n" + placed)
	assert.Equal(t, report.Holder{Category: report.Untraced, Flat: 4 * units.MiB, Cum: one.Cum, Count: 1}, one)
	three := untraced("block 3MiB active_allocated requested=3MiB\nblock 13MiB inactive\nb = alloc 5MiB\n" + placed)
	assert.Equal(t, report.Holder{Category: report.Untraced, Flat: 12 * units.MiB, Cum: three.Cum, Count: 3}, three)
}

// Changes are reported by how much, the greatest first, whichever way; those of one size by module,
// category and operator.
func TestDiffOrder(t *testing.T) {
	with := func(sizes map[string]units.Bytes) *report.Report {
		r := &report.Report{}
		for _, name := range []string{"b", "a", "d", "c"} {
			for _, category := range []string{"buffer", "activation"} {
				for _, op := range []string{"aten::mul", "aten::add"} {
					r.Holders = append(r.Holders, report.Holder{Site: report.Site{Op: op, Module: name}, Category: category,
						Flat: sizes[name], Count: 1})
				}
			}
		}
		return r
	}
	d := report.Diff(with(map[string]units.Bytes{"a": 100, "b": 100, "c": 100, "d": 100}),
		with(map[string]units.Bytes{"a": 101, "b": 50, "c": 101, "d": 150}))
	var got []string
	for _, h := range d.Holders {
		got = append(got, h.Module+" "+h.Category+" "+h.Op)
	}
	want := func(module string) []string {
		return []string{module + " activation aten::add", module + " activation aten::mul", module + " buffer aten::add",
			module + " buffer aten::mul"}
	}
	assert.Equal(t, append(append(append(want("b"), want("d")...), want("a")...), want("c")...), got)
}
