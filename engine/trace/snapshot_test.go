package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/memspec/memspec/engine/trace"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/units"
)

// dict makes a dict of alternating keys and values.
func dict(kv ...any) *pickle.Dict {
	d := &pickle.Dict{}
	for i := 0; i < len(kv); i += 2 {
		d.Keys, d.Values = append(d.Keys, kv[i]), append(d.Values, kv[i+1])
	}
	return d
}

func list(items ...any) *pickle.List { return &pickle.List{Items: items} }

func frame(file string, line int, name string) any {
	return dict("filename", file, "line", line, "name", name)
}

func segmentDict(kv ...any) *pickle.Dict {
	return dict(append([]any{"device", 0, "address", 4096, "total_size", 1024, "stream", 0, "segment_type", "small",
		"blocks", list(dict("size", 512, "state", "active_allocated", "requested_size", 400),
			dict("size", 512, "state", "inactive", "requested_size", 0))}, kv...)...)
}

func event(action string, addr any, size int, kv ...any) any {
	return dict(append([]any{"action", action, "addr", addr, "size", size, "stream", 0}, kv...)...)
}

func read(t *testing.T, v any) ([]*Recording, error) {
	data, err := pickle.Encode(v)
	require.NoError(t, err)
	return ReadSnapshot(data)
}

func TestReadSnapshot(t *testing.T) {
	user, inner := frame("/home/me/train.py", 12, "step"), frame("/lib/torch/nn/linear.py", 3, "forward")
	recs, err := read(t, dict(
		"segments", list(
			segmentDict("segment_pool_id", pickle.Tuple{0, 7}),
			segmentDict("device", 2, "address", uint64(1<<63), "is_expandable", true, "segment_type", "large", "stream",
				94000000000000, "segment_pool_id", pickle.Tuple{0, 0},
				"blocks", list(dict("address", uint64(1<<63), "size", 1024, "state", "active_pending_free", "requested_size",
					1000))),
			segmentDict("address", 1<<20, "segment_pool_id", pickle.Tuple{7}, "blocks", list(
				dict("size", 1024, "state", "inactive", "requested_size", 5)))),
		"device_traces", list(
			list(
				event("free_requested", 4096, 400),
				event("free_completed", 4096, 400),
				event("alloc", 4096, 300, "frames", list(frame("??", 0, "malloc"), inner, user)),
				event("annotate", 4096, 300),
				event("alloc", 8192, 5, "frames", list(inner)),
				dict("action", "oom", "device_free", 5, "size", 1<<30, "stream", 0),
				event("free_requested", 4096, 300, "frames", list(inner, user)),
				event("snapshot", 0, 0),
				event("mark", 0, 0), event("empty_cache", 0, 0),
				event("segment_alloc", 8192, 2097152),
				event("free_requested", 12288, 10),
			),
			list(), list()),
		"allocator_settings", dict("PYTORCH_CUDA_ALLOC_CONF", "x:1", "max_split_size", 99, "expandable_segments", true,
			"roundup_power2_divisions", dict("1", 0, "2", 4)),
		"something_new", 5))
	require.NoError(t, err)
	require.Len(t, recs, 2)
	r := recs[0]
	assert.Equal(t, []int{6, 0}, []int{r.Moves(), recs[1].Moves()}, "allocations, and frees asked for and done")
	assert.Equal(t, 3, r.Skipped, "annotate is no event, nor is what PyTorch never writes")
	assert.Equal(t, Conf{Text: "x:1", MaxSplitSize: 99, Expandable: true, Roundup: []int64{0, 4}}, r.Settings)
	assert.Equal(t, "0.7", r.Final[0].Private)
	assert.Empty(t, r.Final[1].Private, "a pool's id is two numbers")
	assert.Zero(t, r.Final[1].Blocks[0].Requested, "a free block is asked for by nobody")
	assert.Equal(t, uint64(4096+512), r.Final[0].Blocks[1].Addr, "old dumps have no block address")
	assert.Equal(t, `origin "snapshot, device 0"
passes recorded
pass 1 load
free a bytes=400 addr=0x1000
free_completed a bytes=400 addr=0x1000
pass 1 forward
b = alloc 300 activation forward - /home/me/train.py:12 addr=0x1000
c = alloc 5 activation forward - /lib/torch/nn/linear.py:3 addr=0x2000
oom bytes=1GiB
free b
snapshot
segment_alloc bytes=2MiB addr=0x2000
free d bytes=10 addr=0x3000
`, r.Trace.String())
	far := recs[1]
	assert.Equal(t, 2, far.Device)
	assert.Equal(t, Segment{Addr: 1 << 63, Size: 1024, Stream: 94000000000000, Expandable: true,
		Blocks: []Block{{Addr: 1 << 63, Size: 1024, Requested: 1000, State: ActiveAwaitingFree, Storage: NoStorage}}},
		far.Final[0])
}

// make1023 are the events of 1023 devices on which nothing happened.
func make1023() []any {
	out := make([]any, 1023)
	for i := range out {
		out[i] = list()
	}
	return out
}

// TestSnapshotSharesFrames: a pickle has a frame once that several stacks end in. Of a line that
// was met as the innermost and is met beneath PyTorch's, the operator is PyTorch's function.
func TestSnapshotSharesFrames(t *testing.T) {
	text := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
	frame := func(memo, file string, line byte, name string) string {
		return "}q" + memo + "(" + text("filename") + text(file) + text("line") + "K" + string(line) + text("name") +
			text(name) + "u"
	}
	alloc := func(frames string) string {
		return "}(" + text("action") + text("alloc") + text("addr") + "K\x05" + text("size") + "K\x07" + text("stream") +
			"K\x00" + text("frames") + "](" + frames + "eu"
	}
	recs, err := ReadSnapshot([]byte("\x80\x02}(" + text("segments") + "]" + text("device_traces") + "](](" +
		alloc(frame("\x01", "m.py", 3, "step")) +
		alloc(frame("\x02", "torch/nn/linear.py", 9, "forward")+"h\x01") +
		alloc("h\x01") + "eeu."))
	require.NoError(t, err)
	var got []Site
	for _, e := range recs[0].Trace.Events {
		got = append(got, recs[0].Trace.Site(e.Site))
	}
	step := Site{Op: "step", File: "m.py", Line: 3, Phase: Forward}
	assert.Equal(t, []Site{step, {Op: "forward", File: "m.py", Line: 3, Phase: Forward}, step}, got)
}

func TestReadSnapshotErrors(t *testing.T) {
	good := list()
	for _, tt := range []struct {
		v    any
		want string
	}{
		{list(), "memory snapshot: got no dict, want segments and device_traces"},
		{dict("device_traces", good), "memory snapshot: got no segments"},
		{dict("segments", list(5)), "memory snapshot: segment 0: got no dict"},
		{dict("segments", list(dict())), "memory snapshot: segment 0: got no integer device"},
		{dict("segments", list(dict("address", uint64(1<<64-1)))), "segment 0: got no integer device"},
		{dict("segments", list(dict("device", 5000, "total_size", 5))), "segment 0: got no integer address"},
		{dict("segments", list(segmentDict("device", 1024))), "segment 0: got device 1024, want 0 to 1023"},
		{dict("segments", list(segmentDict("total_size", 1<<60+1))), "segment 0: total_size: got 1152921504606846977 bytes"},
		{dict("segments", good, "device_traces", list(append(make1023(), list(), list(event("alloc", 5, 5)))...)),
			"memory snapshot: got device 1024, want at most 1023"},
		{dict("segments", list(segmentDict("device", 5000))), "segment 0: got device 5000, want 0 to 1023"},
		{dict("segments", list(segmentDict("total_size", -5))), "segment 0: total_size: got -5 bytes"},
		{dict("segments", list(segmentDict("address", uint64(1<<64-1)))), "segment 0: address: got 0xffffffffffffffff, " +
			"want an address"},
		{dict("segments", list(segmentDict("total_size", 2048))), "segment 0: got blocks of 1024 bytes, want 2048"},
		{dict("segments", list(segmentDict("blocks", nil))), "segment 0: got no blocks"},
		{dict("segments", list(segmentDict("blocks", list(1)))), "segment 0: block 0: got no dict"},
		{dict("segments", list(segmentDict("blocks", list(dict("size", 1024, "state", "lost"))))),
			`segment 0: block 0: got state "lost"`},
		{dict("segments", list(segmentDict("blocks", list(dict("state", "inactive"))))),
			"segment 0: block 0: got no integer size"},
		{dict("segments", good, "device_traces", list(5)), "device 0: got no list of events"},
		{dict("segments", good, "device_traces", list(list(), list("x"))), "device 1: event 0: got no dict"},
		{dict("segments", good, "device_traces", list(list(event("alloc", "x", 5)))), "device 0: event 0: alloc: got no " +
			"integer addr"},
		{dict("segments", good, "device_traces", list(list(event("alloc", 5, -5)))), "device 0: event 0: alloc: size: got " +
			"-5 bytes"},
	} {
		_, err := read(t, tt.v)
		require.ErrorContains(t, err, tt.want)
	}
	recs, err := read(t, dict("segments", list(segmentDict("device", 1023))))
	require.NoError(t, err)
	assert.Equal(t, 1023, recs[0].Device)
	for n, want := range map[int]units.Bytes{-1: 0, 0: 0, 1: 1} {
		recs, err = read(t, dict("segments", list(segmentDict()), "allocator_settings", dict("max_split_size", n)))
		require.NoError(t, err)
		assert.Equal(t, want, recs[0].Settings.MaxSplitSize)
	}
	recs, err = read(t, dict("segments", good, "device_traces", list(append(make1023(), list(event("alloc", 5, 5)))...)))
	require.NoError(t, err)
	assert.Equal(t, 1023, recs[0].Device)
	_, err = ReadSnapshot([]byte("cos\nsystem\n(S'ls'\ntR."))
	require.ErrorContains(t, err, `memory snapshot: offset 0: opcode GLOBAL: got the global "os system"`)

	data, err := pickle.Encode(dict("segments", list(segmentDict()), "device_traces", list()))
	require.NoError(t, err)
	tr, err := FromSnapshot(bytes.NewReader(data), 0)
	require.NoError(t, err)
	assert.Len(t, tr.Heap, 1)
	_, err = FromSnapshot(bytes.NewReader(data), 1)
	require.EqualError(t, err, "got no segments or events of device 1")
}

// TestRewind: from the heap at the end and the events to the heap at the start.
func TestRewind(t *testing.T) {
	for _, tt := range []struct {
		name, end, events, start string
		conflicts                int
		geometry                 func(*Geometry)
	}{
		{name: "nothing happened", end: "heap 0x200 1KiB small\nblock 512 active_allocated requested=5\nblock 512 inactive\n",
			start: "heap 0x200 1KiB small\nblock 512 active_allocated requested=5\nblock 512 inactive\n"},
		{name: "freed in the trace", end: "heap 0x200 2KiB small\nblock 2KiB inactive\n",
			events: "free a bytes=700 addr=0x400\nfree_completed a bytes=700 addr=0x400",
			start: "heap 0x200 2KiB small\nblock 512 inactive\nblock 1KiB active_allocated a requested=700\nblock 512 " +
				"inactive\n"},
		{name: "awaiting another stream at the start", end: "heap 0x200 512 small\nblock 512 inactive\n",
			events: "free_completed a bytes=5 addr=0x200",
			start:  "heap 0x200 512 small\nblock 512 active_awaiting_free a requested=5\n"},
		{name: "awaiting at the end", end: "heap 0x200 512 small\nblock 512 active_awaiting_free requested=5\n",
			events: "free a bytes=5 addr=0x200",
			start:  "heap 0x200 512 small\nblock 512 active_allocated a requested=5\n"},
		{name: "allocated in the trace", end: "heap 0x200 2KiB small\nblock 512 active_allocated requested=5\nblock 512 " +
			"active_allocated requested=6\nblock 1KiB inactive\n",
			events: "a = alloc 5 addr=0x200\nb = alloc 6 addr=0x400",
			start:  "heap 0x200 2KiB small\nblock 2KiB inactive\n"},
		{name: "segment made in the trace", end: "heap 0x200000 2MiB small\nblock 512 active_allocated requested=5\nblock " +
			"2096640 inactive\n",
			events: "segment_alloc bytes=2MiB addr=0x200000\na = alloc 5 addr=0x200000", start: ""},
		{name: "segment given back in the trace", end: "",
			events: "free a bytes=20MiB addr=0x200000\nfree_completed a bytes=20MiB addr=0x200000\nsegment_free bytes=20MiB " +
				"addr=0x200000 stream=4",
			start: "heap 0x200000 20MiB stream=4\nblock 20MiB active_allocated a requested=20MiB\n"},
		{name: "a small gap is the block's own", end: "heap 0x1000000 12MiB\nblock 12MiB inactive\n",
			events: "free a bytes=11MiB addr=0x1000000\nfree_completed a bytes=11MiB addr=0x1000000",
			start:  "heap 0x1000000 12MiB\nblock 12MiB active_allocated a requested=11MiB\n"},
		{name: "a large gap is free", end: "heap 0x1000000 14MiB\nblock 14MiB inactive\n",
			events: "free a bytes=11MiB addr=0x1000000\nfree_completed a bytes=11MiB addr=0x1000000",
			start:  "heap 0x1000000 14MiB\nblock 11MiB active_allocated a requested=11MiB\nblock 3MiB inactive\n"},
		{name: "a gap that another allocation begins behind is the block's own", end: "heap 0x1000000 20MiB\nblock 20MiB " +
			"inactive\n",
			events: "b = alloc 2MiB addr=0x1580000\nfree b\nfree_completed b\nfree a bytes=5MiB addr=0x1000000\n" +
				"free_completed a bytes=5MiB addr=0x1000000",
			start: "heap 0x1000000 20MiB\nblock 5632KiB active_allocated a requested=5MiB\nblock 14848KiB inactive\n"},
		{name: "a block that is not split has it all", end: "heap 0x1000000 40MiB\nblock 40MiB inactive\n",
			geometry: func(g *Geometry) { g.MaxSplit = 20 << 20 },
			events:   "free a bytes=24MiB addr=0x1000000\nfree_completed a bytes=24MiB addr=0x1000000",
			start:    "heap 0x1000000 40MiB\nblock 40MiB active_allocated a requested=24MiB\n"},
		{name: "a smaller block is split", end: "heap 0x1000000 40MiB\nblock 40MiB inactive\n",
			geometry: func(g *Geometry) { g.MaxSplit = 20 << 20 },
			events:   "free a bytes=18MiB addr=0x1000000\nfree_completed a bytes=18MiB addr=0x1000000",
			start: "heap 0x1000000 40MiB\nblock 18MiB active_allocated a requested=18MiB\nblock 22MiB " +
				"inactive\n"},
		{name: "one of just that size is not", end: "heap 0x1000000 40MiB\nblock 40MiB inactive\n",
			geometry: func(g *Geometry) { g.MaxSplit = 20 << 20 },
			events:   "free a bytes=20MiB addr=0x1000000\nfree_completed a bytes=20MiB addr=0x1000000",
			start:    "heap 0x1000000 40MiB\nblock 40MiB active_allocated a requested=20MiB\n"},
		{name: "a block whose size is known has no part in the gap behind it", end: "heap 0x1000000 20MiB\n" +
			"block 19MiB active_allocated requested=19MiB\nblock 1MiB inactive\n",
			start: "heap 0x1000000 20MiB\nblock 19MiB active_allocated requested=19MiB\nblock 1MiB inactive\n"},
		{name: "a byte behind the begin", end: "heap 0x200 2KiB small\nblock 2KiB inactive\n",
			events: "free_completed a bytes=700 addr=0x201",
			start: "heap 0x200 2KiB small\nblock 1 inactive\nblock 1KiB active_awaiting_free a requested=700\n" +
				"block 1023 inactive\n"},
		{name: "freed on pages that were unmapped one by one", end: "heap 0x1000000 20MiB expandable\nblock 20MiB " +
			"inactive\n",
			events: "free_completed a bytes=50MiB addr=0x1000000\nsegment_unmap bytes=20MiB addr=0x3800000\n" +
				"segment_unmap bytes=20MiB addr=0x2400000",
			start: "heap 0x1000000 60MiB expandable\nblock 50MiB active_awaiting_free a requested=50MiB\nblock 10MiB " +
				"inactive\n"},
		{name: "freed on more pages than were unmapped", end: "heap 0x1000000 20MiB expandable\nblock 20MiB inactive\n",
			conflicts: 1,
			events:    "free_completed a bytes=41MiB addr=0x1000000\nsegment_unmap bytes=20MiB addr=0x2400000",
			start:     "heap 0x1000000 40MiB expandable\nblock 40MiB inactive\n"},
		{name: "pages mapped within what is free", end: "heap 0x1000000 60MiB expandable\nblock 60MiB inactive\n",
			events: "segment_map bytes=20MiB addr=0x2400000",
			start: "heap 0x1000000 20MiB expandable\nblock 20MiB inactive\nheap 0x3800000 20MiB expandable\n" +
				"block 20MiB inactive\n"},
		{name: "a segment that is free, of another size or place", end: "heap 0x1000000 20MiB\nblock 20MiB inactive\n",
			conflicts: 3,
			events: "segment_alloc bytes=10MiB addr=0x1000000\nsegment_alloc bytes=10MiB addr=0x1a00000\n" +
				"segment_alloc bytes=22MiB addr=0x1000000",
			start: "heap 0x1000000 20MiB\nblock 20MiB inactive\n"},
		{name: "pages mapped", end: "heap 0x1000000 60MiB expandable\nblock 60MiB active_allocated requested=60MiB\n",
			events: "segment_map bytes=40MiB addr=0x2400000\na = alloc 60MiB addr=0x1000000",
			start:  "heap 0x1000000 20MiB expandable\nblock 20MiB inactive\n"},
		{name: "pages unmapped from the middle", end: "heap 0x1000000 20MiB expandable\nblock 20MiB active_allocated " +
			"requested=20MiB\nheap 0x3800000 20MiB expandable\nblock 20MiB active_allocated requested=20MiB\n",
			events: "segment_unmap bytes=20MiB addr=0x2400000",
			start: "heap 0x1000000 60MiB expandable\nblock 20MiB active_allocated requested=20MiB\nblock 20MiB inactive\n" +
				"block 20MiB active_allocated requested=20MiB\n"},
		{name: "pages mapped in the middle", end: "heap 0x1000000 60MiB expandable\nblock 20MiB active_allocated " +
			"requested=20MiB\nblock 20MiB inactive\nblock 20MiB active_allocated requested=20MiB\n",
			events: "segment_map bytes=20MiB addr=0x2400000",
			start: "heap 0x1000000 20MiB expandable\nblock 20MiB active_allocated requested=20MiB\nheap 0x3800000 20MiB " +
				"expandable\nblock 20MiB active_allocated requested=20MiB\n"},
		{name: "pages unmapped apart from the next ones", end: "heap 0x3800000 20MiB expandable\nblock 20MiB inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x1000000",
			start: "heap 0x1000000 20MiB expandable\nblock 20MiB inactive\nheap 0x3800000 20MiB expandable\nblock 20MiB " +
				"inactive\n"},
		{name: "pages unmapped before another stream's", end: "heap 0x2400000 20MiB expandable\nblock 20MiB inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x1000000 stream=1",
			start: "heap 0x1000000 20MiB expandable stream=1\nblock 20MiB inactive\nheap 0x2400000 20MiB expandable\n" +
				"block 20MiB inactive\n"},
		{name: "pages unmapped before a segment that does not grow", end: "heap 0x2400000 20MiB\nblock 20MiB inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x1000000",
			start: "heap 0x1000000 20MiB expandable\nblock 20MiB inactive\nheap 0x2400000 20MiB\nblock 20MiB " +
				"inactive\n"},
		{name: "pages unmapped behind a segment that does not grow", end: "heap 0x1000000 20MiB\nblock 20MiB inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x2400000",
			start: "heap 0x1000000 20MiB\nblock 20MiB inactive\nheap 0x2400000 20MiB expandable\nblock 20MiB " +
				"inactive\n"},
		{name: "ten small pages behind a small one are small", end: "heap 0x1000000 2MiB small expandable\nblock 2MiB " +
			"inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x1200000",
			start:  "heap 0x1000000 22MiB small expandable\nblock 22MiB inactive\n"},
		{name: "ten small pages before a small one are small", end: "heap 0x2400000 2MiB small expandable\nblock 2MiB " +
			"inactive\n",
			events: "segment_unmap bytes=20MiB addr=0x1000000",
			start:  "heap 0x1000000 22MiB small expandable\nblock 22MiB inactive\n"},
		{name: "events the segments contradict", end: "heap 0x200 512 small\nblock 512 active_allocated requested=5\n",
			conflicts: 6,
			events: "a = alloc 5 addr=0x9000\nfree b bytes=5 addr=0x9000\nfree_completed c bytes=5 addr=0x200\nsegment_alloc " +
				"bytes=2MiB addr=0x9000\nsegment_free bytes=2MiB addr=0x200\nfree d bytes=5 addr=0x200",
			start: "heap 0x200 512 small\nblock 512 active_allocated requested=5\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			end, err := tracetext.Parse(strings.NewReader(tt.end))
			require.NoError(t, err)
			events, err := tracetext.Parse(strings.NewReader(tt.events))
			require.NoError(t, err)
			g := DefaultGeometry()
			if tt.geometry != nil {
				tt.geometry(&g)
			}
			r := Recording{Trace: events, Final: end.Heap}
			before := end.String()
			assert.Equal(t, tt.conflicts, r.Rewind(g))
			assert.Equal(t, tt.start, (&Trace{Heap: events.Heap}).String())
			assert.Equal(t, before, end.String(), "the end is left as it was")
		})
	}
}

// TestRewindContradictions: an event that the end's segments do not allow is counted and leaves
// them as they were.
func TestRewindContradictions(t *testing.T) {
	const heap = "heap 0x200000 2MiB small\nblock 512 active_allocated requested=5\nblock 1KiB active_awaiting_free " +
		"requested=1000\nblock 2095616 inactive\n" +
		"heap 0x1000000 40MiB expandable\nblock 20MiB active_allocated requested=20MiB\nblock 20MiB inactive\n"
	for _, tt := range []struct{ why, event string }{
		{"below every segment", "a = alloc 5 addr=0x200"},
		{"between two", "a = alloc 5 addr=0x400000"},
		{"behind every segment", "a = alloc 5 addr=0x3800000"},
		{"within a block", "a = alloc 5 addr=0x200001"},
		{"a block that is free", "a = alloc 5 addr=0x200600"},
		{"a block that is asked back already", "a = alloc 5 addr=0x200200"},
		{"asked back, and still allocated", "free a bytes=5 addr=0x200000"},
		{"asked back, and free", "free a bytes=5 addr=0x200600"},
		{"asked back within a block", "free a bytes=5 addr=0x200201"},
		{"asked back outside", "free a bytes=5 addr=0x400000"},
		{"freed, and still allocated", "free_completed a bytes=5 addr=0x200000"},
		{"freed, and still awaited", "free_completed a bytes=5 addr=0x200200"},
		{"freed, larger than what is free there", "free_completed a bytes=2095617 addr=0x200600"},
		{"freed outside", "free_completed a bytes=5 addr=0x400000"},
		{"a segment at no segment", "segment_alloc bytes=2MiB addr=0x400000"},
		{"a segment within one", "segment_alloc bytes=2MiB addr=0x200200"},
		{"a smaller segment", "segment_alloc bytes=1MiB addr=0x200000"},
		{"a larger segment", "segment_alloc bytes=4MiB addr=0x200000"},
		{"a segment in use", "segment_alloc bytes=2MiB addr=0x200000"},
		{"pages in use", "segment_map bytes=20MiB addr=0x1000000"},
		{"pages partly in use", "segment_map bytes=30MiB addr=0x1a00000"},
		{"pages past the end", "segment_map bytes=22MiB addr=0x2400000"},
		{"pages before the beginning", "segment_map bytes=20MiB addr=0xe00000"},
		{"given back, and still there", "segment_free bytes=2MiB addr=0x200000"},
		{"given back where the next one begins", "segment_free bytes=4MiB addr=0xe00000"},
		{"a segment of nothing given back", "segment_free bytes=0 addr=0x3800000"},
		{"part of a segment given back, and still there", "segment_free bytes=1MiB addr=0x200000"},
		{"pages given back, and still there", "segment_unmap bytes=20MiB addr=0x2400000"},
	} {
		end, err := tracetext.Parse(strings.NewReader(heap))
		require.NoError(t, err)
		events, err := tracetext.Parse(strings.NewReader(tt.event))
		require.NoError(t, err, tt.why)
		r := Recording{Trace: events, Final: end.Heap}
		assert.Equal(t, 1, r.Rewind(DefaultGeometry()), tt.why)
		assert.Equal(t, heap, (&Trace{Heap: events.Heap}).String(), tt.why)
	}
	for event, start := range map[string]string{ // and what just fits is taken back
		"segment_unmap bytes=2MiB addr=0x3800000 stream=1": heap + "heap 0x3800000 2MiB small expandable stream=1\nblock " +
			"2MiB inactive\n",
		"segment_unmap bytes=4MiB addr=0x3800000 stream=1": heap + "heap 0x3800000 4MiB small expandable stream=1\n" +
			"block 4MiB inactive\n",
		"segment_free bytes=1 addr=0x3800000": heap + "heap 0x3800000 1\nblock 1 inactive\n",
		"segment_free bytes=2MiB addr=0xe00000": strings.Replace(heap, "heap 0x1000000",
			"heap 0xe00000 2MiB small\nblock 2MiB inactive\nheap 0x1000000", 1),
		"segment_free bytes=4MiB addr=0x3800000": heap + "heap 0x3800000 4MiB\nblock 4MiB inactive\n",
		"free_completed a bytes=2095616 addr=0x200600": strings.Replace(heap, "2095616 inactive",
			"2095616 active_awaiting_free a requested=2095616", 1),
		"segment_map bytes=20MiB addr=0x2400000": strings.Replace(strings.Replace(heap, "block 20MiB inactive\n",
			"", 1), "40MiB", "20MiB", 1),
		"segment_unmap bytes=20MiB addr=0x3800000": strings.Replace(strings.Replace(heap, "block 20MiB inactive",
			"block 40MiB inactive", 1), "40MiB expandable", "60MiB expandable", 1),
	} {
		end, err := tracetext.Parse(strings.NewReader(heap))
		require.NoError(t, err)
		events, err := tracetext.Parse(strings.NewReader(event))
		require.NoError(t, err)
		r := Recording{Trace: events, Final: end.Heap}
		assert.Zero(t, r.Rewind(DefaultGeometry()), event)
		assert.Equal(t, start, (&Trace{Heap: events.Heap}).String(), event)
	}
}

func TestGeometry(t *testing.T) {
	g := DefaultGeometry()
	for n, want := range map[units.Bytes]units.Bytes{0: 512, 1: 512, 512: 512, 513: 1024} {
		assert.Equal(t, want, g.Round(n))
	}
}

// TestCorpusRewinds: what was recorded on real GPUs agrees with itself.
func TestCorpusRewinds(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/corpus/snapshots/*.p*kl*")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the corpus is not here")
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		recs, err := ReadSnapshot(data)
		require.NoError(t, err, p)
		for _, r := range recs {
			assert.Zero(t, r.Rewind(DefaultGeometry()), "%s, device %d", p, r.Device)
			assert.NoError(t, r.Trace.Validate(), "%s, device %d", p, r.Device)
		}
	}
}

func FuzzReadSnapshot(f *testing.F) {
	for _, v := range []any{
		dict("segments", list(segmentDict()), "device_traces",
			list(list(event("free_requested", 4096, 400), event("free_completed", 4096, 400)))),
		dict("segments", list(), "device_traces",
			list(list(event("alloc", 4096, 300), event("segment_unmap", 4096, 2097152), event("segment_map", 1<<40, 2097152)))),
	} {
		data, err := pickle.Encode(v)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		recs, err := ReadSnapshot(data)
		if err != nil {
			return
		}
		for _, r := range recs {
			conflicts := r.Rewind(DefaultGeometry())
			if err := r.Trace.Validate(); err != nil && conflicts == 0 && !strings.Contains(err.Error(), "got storage") {
				t.Fatal(err)
			}
		}
	})
}

// TestSnapshotOfTuples: a snapshot that was written with tuples in the place of lists is one.
func TestSnapshotOfTuples(t *testing.T) {
	for _, text := range []string{"\x80\x02}(\x8c\x08segments)\x8c\x0ddevice_traces)u.",
		"\x80\x02}(\x8c\x08segments]\x8c\x0ddevice_traces]u."} {
		recs, err := ReadSnapshot([]byte(text))
		require.NoError(t, err)
		assert.Empty(t, recs)
	}
}
