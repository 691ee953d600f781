package allocator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

const timelineTrace = `p = alloc 3MiB parameter weight
q = alloc 600 buffer running
pass 1 forward
x = alloc 4MiB activation aten::relu
y = alloc 2MiB workspace aten::conv
free y
free x
pass 1 backward
z = alloc 1KiB gradient aten::mul
pass 2 forward
w = alloc 5MiB activation aten::relu
`

func timeline(t *testing.T, text string, c Config) *Timeline {
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	tl, err := Replay(tr, mustNew(t, c))
	require.NoError(t, err)
	return tl
}

func TestTimeline(t *testing.T) {
	tl := timeline(t, timelineTrace, Config{})
	const kib = units.KiB
	assert.Equal(t, Peaks{Requested: Peak{9<<20 + 600, 3}, Allocated: Peak{9<<20 + kib, 3}, Active: Peak{9<<20 + kib, 3},
		Reserved: Peak{22 << 20, 1}}, tl.Peaks)
	require.Len(t, tl.Passes, 3)
	require.Len(t, tl.Phases, 4)
	first, ok := tl.Pass(1)
	require.True(t, ok)
	assert.Equal(t, [2]int{2, 6}, [2]int{first.First, first.Last})
	assert.Equal(t, 3<<20+kib, first.Start.Allocated)
	assert.Equal(t, 3<<20+2*kib, first.End.Allocated)
	assert.Equal(t, Peak{9<<20 + kib, 3}, first.Peaks.Allocated)
	assert.Equal(t, Peak{22 << 20, 1}, first.Peaks.Reserved, "what was there at the start counts")
	second, _ := tl.Pass(2)
	assert.Equal(t, 8<<20+2*kib, second.Peaks.Allocated.Bytes)
	_, ok = tl.Pass(3)
	assert.False(t, ok)
	assert.Equal(t, trace.Backward, tl.Phases[2].Phase)
	assert.Equal(t, 3<<20+2*kib, tl.Phases[2].Peaks.Allocated.Bytes)
	assert.Equal(t, 3<<20+kib, tl.Baseline().Allocated)
	assert.Equal(t, 8<<20+2*kib, tl.End.Allocated)
	assert.Nil(t, tl.OOM)

	const p, q, w, x, y = 15, 16, 22, 23, 24
	assert.Equal(t, []tensor.StorageID{p, q, x, y}, tl.Held(tl.Peaks.Allocated.Event))
	assert.Equal(t, Storage{Alloc: 2, Free: 5, Addr: tl.Storages[x].Addr, Requested: 4 << 20, Size: 4 << 20},
		tl.Storages[x])
	assert.Equal(t, Storage{Alloc: 1, Free: Never, Addr: tl.Storages[q].Addr, Requested: 600, Size: 1024}, tl.Storages[q])
	assert.False(t, tl.Storages[0].Live(5), "a storage of another name was never there")

	s, st := tl.At(3)
	require.NoError(t, Verify(s, st))
	assert.Equal(t, tl.Peaks.Allocated.Bytes, st.Allocated)
	held := map[tensor.StorageID]units.Bytes{}
	for _, seg := range s.Segments {
		for _, b := range seg.Blocks {
			if b.Storage != trace.NoStorage {
				held[b.Storage] = b.Size
			}
		}
	}
	assert.Equal(t, map[tensor.StorageID]units.Bytes{p: 3 << 20, q: 1 << 10, x: 4 << 20, y: 2 << 20}, held)
	s, st = tl.At(Before)
	assert.Empty(t, s.Segments)
	assert.Equal(t, Stats{}, st)

	var allocated []units.Bytes
	tl.Each(func(event int, s Stats) bool {
		require.Equal(t, len(allocated), event)
		allocated = append(allocated, s.Allocated)
		return event < 3
	})
	assert.Equal(t, []units.Bytes{3 << 20, 3<<20 + kib, 7<<20 + kib, 9<<20 + kib}, allocated)
	_ = w
}

// A pass begins in the phase of its first allocation: what it frees before was made in another. One
// that only frees goes on in the phase of the pass before.
// TestTimelineOfOneSpan: the only pass and phase end with what the trace ends with.
func TestTimelineOfOneSpan(t *testing.T) {
	tl := timeline(t, "a = alloc 512\nb = alloc 600\nfree a\nfree_completed a", Config{})
	for _, spans := range [][]Span{tl.Passes, tl.Phases} {
		require.Len(t, spans, 1)
		assert.Equal(t, Stats{}, spans[0].Start)
		assert.Equal(t, tl.End, spans[0].End)
	}
	assert.Equal(t, units.Bytes(600), tl.End.Requested)
}

func TestAPassBeginsInThePhaseOfItsFirstAllocation(t *testing.T) {
	for events, want := range map[string][]trace.Phase{
		"free y\nz = alloc 1KiB activation aten::relu\n": {trace.Forward, trace.Backward, trace.Forward},
		"free x\n": {trace.Forward, trace.Backward, trace.Backward},
	} {
		tl := timeline(t, "pass 1 forward\nx = alloc 4MiB activation aten::relu\npass 1 backward\n"+
			"y = alloc 1KiB gradient aten::mul\npass 2 forward\n"+events, Config{})
		got := make([]trace.Phase, len(tl.Phases))
		for i := range tl.Phases {
			got[i] = tl.Phases[i].Phase
		}
		assert.Equal(t, want, got, events)
	}
}

// Idle is the least of what is cached while the reserved peak lasts, wherever in that time it is.
func TestTimelineIdle(t *testing.T) {
	for _, tt := range []struct {
		text string
		want units.Bytes
		why  string
	}{
		{"a = alloc 3MiB", 17 << 20, "the rest of a segment of 20 MiB"},
		{"a = alloc 3MiB\nb = alloc 4MiB\nfree b\nfree a", 13 << 20, "not the last, which is 20 MiB, nor the first"},
		{"a = alloc 20MiB\nfree a\nb = alloc 3MiB\nc = alloc 20MiB", 17 << 20, "what was idle before the peak does not " +
			"count: 0 when the first was full"},
		{"a = alloc 30MiB\nb = alloc 3MiB\nfree b\nfree a\nempty_cache\nc = alloc 20MiB", 17 << 20,
			"nor what is idle after it: 0 at the end"},
		{"", 0, "nothing is reserved"},
	} {
		assert.Equal(t, tt.want, timeline(t, tt.text, Config{}).Idle, "%q: %s", tt.text, tt.why)
	}
}

func TestTimelineOutOfMemory(t *testing.T) {
	tl := timeline(t, timelineTrace, Config{Limit: 10 << 20})
	require.NotNil(t, tl.OOM)
	assert.Equal(t, 0, tl.OOM.Event)
	assert.Equal(t, units.Bytes(20<<20), tl.OOM.Segment)
	tl = timeline(t, timelineTrace, Config{Limit: 21 << 20})
	require.NotNil(t, tl.OOM)
	assert.Equal(t, 1, tl.OOM.Event)
	assert.Equal(t, units.Bytes(3<<20), tl.Peaks.Allocated.Bytes)
	assert.Equal(t, tl.End, tl.Baseline(), "the first pass was never reached")
	_, st := tl.At(1)
	assert.Equal(t, units.Bytes(3<<20), st.Allocated)
}

// TestTimelineOfTwoStreams: in a trace that says when frees were completed, memory returns only
// then.
func TestTimelineOfTwoStreams(t *testing.T) {
	tl := timeline(t, "a = alloc 3MiB\nfree a\nb = alloc 3MiB\nfree_completed a\nc = alloc 3MiB\nempty_cache", Config{})
	assert.Equal(t, units.Bytes(6<<20), tl.Peaks.Active.Bytes)
	assert.Equal(t, Peak{6 << 20, 4}, tl.Peaks.Allocated)
	assert.Equal(t, tl.Storages[0].Addr, tl.Storages[2].Addr)
	tl = timeline(t, "a = alloc 3MiB\nfree a\nb = alloc 3MiB", Config{})
	assert.Equal(t, tl.Storages[0].Addr, tl.Storages[1].Addr, "with one stream at once")
}

// TestWhenTheFirstKernelHasRun: an operator allocates before it launches, so the first kernel has
// run when another operator allocates; memory of no operator, and the model's, says nothing.
func TestWhenTheFirstKernelHasRun(t *testing.T) {
	const load, first, second = 0, 1, 2
	tr := &trace.Trace{Sites: []trace.Site{{Phase: trace.Load}, {Phase: trace.Forward}, {Phase: trace.Forward}}}
	for _, tt := range []struct {
		why   string
		sites []trace.SiteID
		ran   bool
	}{
		{"one operator", []trace.SiteID{first}, false},
		{"one operator that allocates twice", []trace.SiteID{first, first}, false},
		{"two operators", []trace.SiteID{first, second}, true},
		{"a weight before an operator", []trace.SiteID{load, first}, false},
		{"what has no place", []trace.SiteID{first, trace.NoSite, 3}, false},
		{"and before it", []trace.SiteID{trace.NoSite, first}, false},
	} {
		a, err := newCaching(Config{Settings: DefaultSettings(), Local: 62 * units.MiB})
		require.NoError(t, err)
		r := newReplayer(tr, a)
		for _, site := range tt.sites {
			r.launch(&trace.Event{Site: site})
		}
		assert.Equal(t, tt.ran, a.local.size == 0, tt.why)
	}
}
