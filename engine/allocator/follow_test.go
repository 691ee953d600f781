package allocator

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestAtRecordedPlaces: a recorded event is followed where there is a free block at its very place,
// as large as is asked for; a segment is given back whole.
func TestAtRecordedPlaces(t *testing.T) {
	a, err := newCaching(Config{SegmentAddr: rising()})
	require.NoError(t, err)
	first, err := a.Malloc(2<<20, 0)
	require.NoError(t, err)
	second, err := a.Malloc(1<<20, 0)
	require.NoError(t, err)
	a.Free(first)
	a.Free(second)
	size := a.Stats().Reserved
	at := func(addr Addr, n units.Bytes) *trace.Event { return &trace.Event{Addr: uint64(addr), Bytes: n} }
	for _, e := range []*trace.Event{at(1, 512), at(first+512, 512), at(first+Addr(size), 512), at(first, size+512)} {
		assert.False(t, a.handAt(e), "%#x, %d bytes", e.Addr, e.Bytes)
		assert.False(t, a.releaseAt(e), "%#x, %d bytes", e.Addr, e.Bytes)
	}
	assert.False(t, a.releaseAt(at(first, size-512)), "less than the segment")
	assert.False(t, a.releaseAt(at(first+512, size)), "the segment's size within it")
	require.True(t, a.handAt(at(first, 4096)))
	assert.False(t, a.releaseAt(at(first, size)), "a part of it is in use")
	assert.False(t, a.releaseAt(at(first+4096, size-4096)), "the rest of it is no segment")
	a.Free(first)
	assert.True(t, a.releaseAt(at(first, size)))
	assert.Zero(t, a.Stats().Reserved)
}

// TestPagesAtRecordedPlaces: pages are mapped and unmapped where the recording says; what is mapped
// side by side is one block.
func TestPagesAtRecordedPlaces(t *testing.T) {
	const base, page = 1 << 40, 20 * units.MiB
	const none = -1
	for _, tt := range []struct {
		why   string
		steps []int // pages mapped, by their place; from 10 on they are unmapped
		ok    bool  // of the last step
		first int   // the place at which the largest block that can then be handed out begins
		pages int
	}{
		{"one", []int{0}, true, 0, 1},
		{"in order", []int{0, 1, 2}, true, 0, 3},
		{"the first, then the last, then what is between", []int{0, 2, 1}, true, 0, 3},
		{"a gap stays one", []int{0, 2}, true, 0, 1},
		{"and so behind it", []int{0, 2}, true, 2, 1},
		{"two behind a gap", []int{0, 3, 2}, true, 2, 2},
		{"the last one goes", []int{0, 1, 12}, false, 0, 2},
		{"unmapped at the end", []int{0, 1, 11}, true, 0, 1},
		{"unmapped at the beginning", []int{0, 1, 10}, true, 1, 1},
		{"unmapped in the middle", []int{0, 1, 2, 11}, true, 2, 1},
		{"and mapped again", []int{0, 1, 2, 11, 1}, true, 0, 3},
		{"all gone", []int{0, 10}, true, none, 0},
		{"and there again", []int{0, 10, 0}, true, 0, 1},
		{"below a range is another", []int{1, 0}, true, 0, 1},
		{"the second page of a range that had lost its first", []int{2, 0, 3, 13, 10, 1}, true, 1, 1},
	} {
		settings := DefaultSettings()
		settings.Expandable = true
		a, err := newCaching(Config{Settings: settings})
		require.NoError(t, err)
		var ok bool
		mapped := units.Bytes(0)
		for _, s := range tt.steps {
			e := &trace.Event{Addr: uint64(base + units.Bytes(s%10)*page), Bytes: page}
			if s < 10 {
				ok = a.mapAt(e)
				mapped += page
			} else if ok = a.unmapAt(e); ok {
				mapped -= page
			}
			require.NoError(t, Verify(a.Snapshot(), a.Stats()), tt.why)
		}
		assert.Equal(t, tt.ok, ok, tt.why)
		assert.Equal(t, mapped, a.Stats().Reserved, tt.why)
		if tt.first == none {
			assert.Empty(t, a.Snapshot().Segments, tt.why)
			continue
		}
		at := uint64(base + units.Bytes(tt.first)*page)
		assert.False(t, a.handAt(&trace.Event{Addr: at, Bytes: units.Bytes(tt.pages)*page + 1}), tt.why)
		assert.True(t, a.handAt(&trace.Event{Addr: at, Bytes: units.Bytes(tt.pages) * page}), tt.why)
		assert.False(t, a.unmapAt(&trace.Event{Addr: at, Bytes: page}), "%s: pages in use", tt.why)
		assert.False(t, a.releaseAt(&trace.Event{Addr: at, Bytes: page}), "%s: it is no segment", tt.why)
	}
}

// TestRangeSize: an expandable segment has room for 9/8 of the device, which is as large as is
// known.
func TestRangeSize(t *testing.T) {
	for _, tt := range []struct{ total, limit, page, want units.Bytes }{
		{80 * units.GiB, 0, 20 * units.MiB, 90 * units.GiB},
		{80 * units.GiB, 40 * units.GiB, 2 * units.MiB, 90 * units.GiB},
		{0, 40 * units.GiB, 2 * units.MiB, 45 * units.GiB},
		{0, 8*units.MiB + 8, 2 * units.MiB, 10 * units.MiB},
		{0, 0, 2 * units.MiB, 9 * units.TiB / 2},
	} {
		a := &caching{config: Config{Total: tt.total, Limit: tt.limit}}
		assert.Equal(t, tt.want.RoundUp(tt.page), a.rangeSize(tt.page))
	}
}

// TestPagesOfAPool: pages belong to the pool that their size says, and to another range where they
// reach beyond the one that they begin in.
func TestPagesOfAPool(t *testing.T) {
	settings := DefaultSettings()
	settings.Expandable = true
	a, err := newCaching(Config{Settings: settings, Total: 50 * units.MiB}) // ranges of 60 MiB
	require.NoError(t, err)
	const base = 1 << 40
	for _, e := range []trace.Event{{Addr: base, Bytes: 20 << 20}, {Addr: base + 40<<20, Bytes: 40 << 20},
		{Addr: 2 * base, Bytes: 2 << 20}} {
		require.True(t, a.mapAt(&e))
	}
	type run struct {
		addr  uint64
		size  units.Bytes
		small bool
	}
	var got []run
	for _, s := range a.Snapshot().Segments {
		got = append(got, run{s.Addr, s.Size, s.Small})
	}
	assert.Equal(t, []run{{base, 20 << 20, false}, {base + 40<<20, 40 << 20, false}, {2 * base, 2 << 20, true}}, got)
	assert.Equal(t, units.Bytes(62<<20), a.Stats().Reserved)
	assert.Len(t, a.segments, 3)
}

// TestUnmappedPartsAreListedOnce: what of a range has no pages stands once in its pool's list, by
// address.
func TestUnmappedPartsAreListedOnce(t *testing.T) {
	settings := DefaultSettings()
	settings.Expandable = true
	a, err := newCaching(Config{Settings: settings, Total: 80 * units.MiB}) // ranges of 100 MiB
	require.NoError(t, err)
	const base, page = 1 << 40, 20 * units.MiB
	parts := func() (out [][2]int) {
		for _, id := range a.pools[1].unmapped[0] {
			b := &a.blocks[id]
			out = append(out, [2]int{int((b.addr - base) / uint64(page)), int(b.size / page)})
		}
		return out
	}
	for _, tt := range []struct {
		page  int
		unmap bool
		want  [][2]int // the page that a part begins at, and how many it has
	}{
		{0, false, [][2]int{{1, 4}}},
		{2, false, [][2]int{{1, 1}, {3, 2}}},
		{4, false, [][2]int{{1, 1}, {3, 1}}},
		{1, false, [][2]int{{3, 1}}},
		{2, true, [][2]int{{2, 2}}},
		{0, true, [][2]int{{0, 1}, {2, 2}}},
		{1, true, [][2]int{{0, 4}}},
	} {
		e := &trace.Event{Addr: base + uint64(page)*uint64(tt.page), Bytes: page}
		if tt.unmap {
			require.True(t, a.unmapAt(e))
		} else {
			require.True(t, a.mapAt(e))
		}
		assert.Equal(t, tt.want, parts(), "page %d", tt.page)
	}
}
