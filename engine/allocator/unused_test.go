package allocator

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// An allocation asks the device for memory exactly where no free block is usable: under every
// configuration, over random runs.
func TestUnusedAgreesWithMalloc(t *testing.T) {
	asked, seen := 0, map[Unusable]int{}
	for which, c := range configs() {
		rnd := rand.New(rand.NewPCG(uint64(which), 7))
		a, err := newCaching(c)
		require.NoError(t, err)
		var live []Addr
		for step := range 1500 {
			if len(live) > 0 && rnd.IntN(100) < 45 {
				i := rnd.IntN(len(live))
				a.Free(live[i])
				live = append(live[:i], live[i+1:]...)
				continue
			}
			size, stream := sizeOf(uint16(rnd.Uint32())), rnd.IntN(5)/4
			if size <= 0 {
				continue
			}
			usable := false
			for _, f := range a.unused(size, stream) {
				seen[f.Reason]++
				usable = usable || f.Reason == Usable
			}
			before := a.Stats()
			addr, err := a.Malloc(size, stream)
			after := a.Stats()
			if err == nil {
				live = append(live, addr)
			}
			grew := err != nil || after.DeviceAllocs > before.DeviceAllocs
			if grew {
				asked++
			}
			if c.Settings.Expandable && c.Settings.MaxSplitSize > 0 {
				// there the search goes on to larger blocks and may end at one that is not split; growing a
				// segment then finds the first
				continue
			}
			require.Equal(t, usable, !grew, "configuration %d, step %d: %s", which, step, size)
		}
	}
	assert.Greater(t, asked, 500)
	for _, r := range []Unusable{Usable, ForSmall, ForLarge, ForOtherStream, TooSmall, TooLargeToSplit} {
		assert.Positive(t, seen[r], "%q", r)
	}
}

func TestUnused(t *testing.T) {
	tr := &trace.Trace{Sites: []trace.Site{{Op: "aten::relu"}}}
	add := func(a trace.Action, storage int, bytes units.Bytes) {
		tr.Events = append(tr.Events, trace.Event{Action: a, Storage: tensor.StorageID(storage), Bytes: bytes, Pass: 1})
	}
	add(trace.Alloc, 0, 6*units.MiB)  // of a segment of 20 MiB
	add(trace.Alloc, 1, 100)          // of one of 2 MiB
	add(trace.Alloc, 2, 12*units.MiB) // takes what is left of the first segment
	add(trace.FreeRequested, 0, 6*units.MiB)
	add(trace.Alloc, 3, 7*units.MiB) // the 6 MiB are too small, the 14 MiB of the small pool's neighbour are not there
	c := Config{Settings: DefaultSettings(), SegmentAddr: rising()}
	c.Heap = []trace.Segment{
		{Addr: 1 << 30, Size: 20 * units.MiB, Private: "1.0",
			Blocks: []trace.Block{{Addr: 1 << 30, Size: 20 * units.MiB, Storage: trace.NoStorage}}},
		{Addr: 2 << 30, Size: 20 * units.MiB, Expandable: true,
			Blocks: []trace.Block{{Addr: 2 << 30, Size: 20 * units.MiB, Storage: trace.NoStorage}}},
	}
	a, err := New(c)
	require.NoError(t, err)
	tl, err := Replay(tr, a)
	require.NoError(t, err)
	got := tl.Unused(4)
	type row struct {
		Size   units.Bytes
		Reason Unusable
	}
	var rows []row
	for _, f := range got {
		rows = append(rows, row{f.Size, f.Reason})
	}
	assert.Equal(t, []row{
		{20 * units.MiB, ForPrivatePool},
		{20 * units.MiB, NotExpandable},
		{6 * units.MiB, TooSmall},
		{2 * units.MiB, TooSmall}, // 20 - 6 - 12 of the first segment
		{2*units.MiB - 512, ForSmall},
		{13 * units.MiB, Usable}, // what is left of the segment that this allocation was given
	}, rows)

	assert.Empty(t, tl.Unused(3), "a free asks for nothing")
	assert.Empty(t, tl.Unused(Before))
	assert.Empty(t, Usable.String())
	assert.Equal(t, "kept for allocations of at most 1 MiB", ForSmall.String())
}

// Mapped runs that are recorded apart are one segment where their stream and pool are one.
func TestMappedRunsOfOneSegment(t *testing.T) {
	run := func(addr uint64, change func(*trace.Segment)) trace.Segment {
		s := trace.Segment{Addr: addr, Size: 20 * units.MiB, Expandable: true,
			Blocks: []trace.Block{{Addr: addr, Size: 20 * units.MiB, State: trace.ActiveAllocated, Requested: 1,
				Storage: trace.NoStorage}}}
		change(&s)
		return s
	}
	same := func(*trace.Segment) {}
	for _, tt := range []struct {
		why    string
		addr   uint64
		change func(*trace.Segment)
		want   int
	}{
		{"one pool", 2 << 30, same, 1},
		{"the small pool", 2 << 30, func(s *trace.Segment) { s.Small = true }, 2},
		{"a private pool", 2 << 30, func(s *trace.Segment) { s.Private = "1.0" }, 2},
		{"another stream", 2 << 30, func(s *trace.Segment) { s.Stream = 7 }, 2},
		{"not expandable", 2 << 30, func(s *trace.Segment) { s.Expandable = false }, 2},
		{"at the end of the range, which is 18 GiB in pages of 20 MiB", 1<<30 + (18440-20)<<20, same, 1},
		{"behind the range", 1<<30 + (18440-19)<<20, same, 2},
	} {
		c := Config{Settings: DefaultSettings(), Limit: 16 * units.GiB}
		c.Heap = []trace.Segment{run(1<<30, same), run(tt.addr, tt.change)}
		a, err := newCaching(c)
		if assert.NoError(t, err, tt.why) {
			assert.Len(t, a.segments, tt.want, tt.why)
		}
	}
}
