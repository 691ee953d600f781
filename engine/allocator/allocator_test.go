package allocator

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestAllocators is the suite every allocator must pass, whatever it simulates.
func TestAllocators(t *testing.T) {
	expandable := DefaultSettings()
	expandable.Expandable = true
	for name, fresh := range map[string]func(limit units.Bytes) Allocator{
		"caching":    func(limit units.Bytes) Allocator { return mustNew(t, Config{Limit: limit}) },
		"expandable": func(limit units.Bytes) Allocator { return mustNew(t, Config{Limit: limit, Settings: expandable}) },
		"ideal":      func(limit units.Bytes) Allocator { return NewIdeal(limit) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("empty", func(t *testing.T) {
				a := fresh(0)
				assert.Equal(t, Stats{}, a.Stats())
				assert.Empty(t, a.Snapshot().Segments)
				a.EmptyCache()
				a.Free(12345)
				a.FreeCompleted(12345)
				assert.Equal(t, Stats{}, a.Stats(), "what was never allocated is not freed")
			})
			t.Run("nothing", func(t *testing.T) {
				a := fresh(0)
				addr, err := a.Malloc(0, 0)
				require.NoError(t, err)
				assert.Equal(t, Addr(0), addr)
				a.Free(addr)
				assert.Equal(t, Stats{}, a.Stats())
			})
			t.Run("blocks do not overlap", func(t *testing.T) { distinct(t, fresh(0)) })
			t.Run("freeing", func(t *testing.T) { freeing(t, fresh(0)) })
			t.Run("out of memory", func(t *testing.T) { outOfMemory(t, fresh(100<<20)) })
			t.Run("fresh", func(t *testing.T) {
				a := fresh(100 << 20)
				first, err := a.Malloc(5000, 0)
				require.NoError(t, err)
				b := a.Fresh()
				assert.Equal(t, Stats{}, b.Stats())
				again, err := b.Malloc(5000, 0)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				_, err = b.Malloc(200<<20, 0)
				require.Error(t, err, "with the same limit")
			})
		})
	}
}

// rising puts segments side by side, each above the one before.
func rising() func(units.Bytes) Addr {
	next := Addr(firstAddr)
	return func(size units.Bytes) Addr {
		at := next
		next += Addr(size.RoundUp(roundLarge))
		return at
	}
}

func mustNew(t testing.TB, c Config) Allocator {
	a, err := New(c)
	require.NoError(t, err)
	return a
}

// distinct allocates and frees at random and checks the invariants at every step.
func distinct(t *testing.T, a Allocator) {
	r := rand.New(rand.NewPCG(1, 2))
	type held struct {
		addr Addr
		size units.Bytes
	}
	var live []held
	var requested units.Bytes
	for range 300 {
		if r.IntN(5) < 3 {
			size := sizeOf(uint16(r.Uint32()))
			addr, err := a.Malloc(size, r.IntN(2))
			require.NoError(t, err)
			if size <= 0 {
				continue
			}
			for _, h := range live {
				require.False(t, addr < h.addr+Addr(h.size) && h.addr < addr+Addr(size), "%d bytes at %#x and %d at %#x", size,
					addr, h.size, h.addr)
			}
			live = append(live, held{addr, size})
			requested += size
		} else if len(live) > 0 {
			i := r.IntN(len(live))
			a.Free(live[i].addr)
			requested -= live[i].size
			live = append(live[:i], live[i+1:]...)
		}
		st := a.Stats()
		require.NoError(t, Verify(a.Snapshot(), st))
		require.Equal(t, requested, st.Requested)
		require.Equal(t, len(live), st.Blocks)
		require.Equal(t, st.Allocated, st.Active)
		require.GreaterOrEqual(t, st.Inactive(), units.Bytes(0))
		require.GreaterOrEqual(t, st.Rounding(), units.Bytes(0))
	}
}

func freeing(t *testing.T, a Allocator) {
	x, err := a.Malloc(1000, 0)
	require.NoError(t, err)
	held := a.Stats()
	a.FreeRequested(x)
	a.FreeRequested(x)
	st := a.Stats()
	assert.Equal(t, units.Bytes(0), st.Allocated)
	assert.Equal(t, held.Active, st.Active, "another stream may still use it")
	assert.Equal(t, 0, st.Blocks)
	assert.Equal(t, 1, st.ActiveBlocks)
	require.NoError(t, Verify(a.Snapshot(), st))
	a.FreeCompleted(x)
	a.FreeCompleted(x)
	a.Free(x)
	st = a.Stats()
	assert.Equal(t, Stats{Reserved: st.Reserved, Segments: st.Segments, DeviceAllocs: st.DeviceAllocs,
		DeviceFrees: st.DeviceFrees}, st)
	a.EmptyCache()
	assert.Equal(t, units.Bytes(0), a.Stats().Reserved)
	assert.Empty(t, a.Snapshot().Segments)
}

func outOfMemory(t *testing.T, a Allocator) {
	x, err := a.Malloc(60<<20, 0)
	require.NoError(t, err)
	_, err = a.Malloc(60<<20, 0)
	var oom *OOMError
	require.True(t, errors.As(err, &oom))
	assert.Equal(t, units.Bytes(60<<20), oom.Requested)
	assert.Equal(t, units.Bytes(60<<20), oom.Stats.Allocated)
	assert.Contains(t, err.Error(), "out of memory: tried to allocate 60.0 MiB, got 60.0 MiB reserved (60.0 MiB "+
		"allocated), want at most 100.0 MiB")
	assert.Equal(t, 1, a.Stats().OOMs)
	a.Free(x)
	_, err = a.Malloc(90<<20, 0)
	require.NoError(t, err, "what is cached makes room")
	assert.LessOrEqual(t, a.Stats().Reserved, units.Bytes(100<<20))
}

func TestHugeRequest(t *testing.T) {
	a := mustNew(t, Config{})
	_, err := a.Malloc(1<<60, 0)
	require.ErrorContains(t, err, "out of memory", "even without a limit")
}

// TestHeap: an allocator that begins in the middle goes on as the one that got there.
func TestHeap(t *testing.T) {
	for which, c := range configs() {
		r := rand.New(rand.NewPCG(uint64(which), 9))
		if c.Settings.Expandable {
			// out of memory, pages at the beginning are unmapped, and a heap does not say where the range
			// began
			c.Limit, c.Settings.MemoryFraction = 0, 1
		}
		a, err := newCaching(c)
		require.NoError(t, err)
		var live []Addr
		for range 200 {
			if addr, err := a.Malloc(sizeOf(uint16(r.Uint32())), r.IntN(2)); err == nil && addr != 0 {
				live = append(live, addr)
			}
			if len(live) > 30 {
				i := r.IntN(len(live))
				a.Free(live[i])
				live = append(live[:i], live[i+1:]...)
			}
		}
		c.Heap = a.Snapshot().Segments
		b, err := newCaching(c)
		require.NoError(t, err)
		require.Equal(t, a.Snapshot(), b.Snapshot())
		require.NoError(t, Verify(b.Snapshot(), b.Stats()))
		b.ranges = a.ranges // the other one's segments may lie anywhere
		b.device = driverAddresses{slices.Clone(a.device.chunks), slices.Clone(a.device.free)}
		for range 100 {
			size, stream := sizeOf(uint16(r.Uint32())), r.IntN(2)
			if c.Settings.GCThreshold > 0 {
				break // a heap does not record the age of its blocks
			}
			x, errX := a.Malloc(size, stream)
			y, errY := b.Malloc(size, stream)
			require.Equal(t, errX == nil, errY == nil, "settings %d", which)
			require.Equal(t, x, y, "settings %d", which)
			if x != 0 && r.IntN(3) > 0 {
				a.Free(x)
				b.Free(y)
			}
		}
	}
	for _, tt := range []struct{ heap, want string }{
		{"heap 0x200 1KiB\nblock 512 inactive", "heap: segment 0x200: got blocks up to 0x400, want 0x600"},
		{"heap 0x200 512\nblock 0 inactive", "heap: segment 0x200: block at 0x200: got 0 bytes"},
	} {
		tr, err := tracetext.Parse(strings.NewReader(tt.heap))
		require.NoError(t, err)
		_, err = New(Config{Heap: tr.Heap})
		require.ErrorContains(t, err, tt.want)
	}
}

// TestPrivatePools: blocks of a captured graph's pool are kept and freed, and nothing else is put
// there.
func TestPrivatePools(t *testing.T) {
	tr,
		err := tracetext.Parse(strings.NewReader("heap 0x200000 2MiB small private=1.2\nblock 1MiB active_allocated " +
		"requested=1MiB\nblock 1MiB inactive\n" +
		"heap 0x800000 20MiB private=1.2\nblock 20MiB inactive\nheap 0xa00000000 2MiB small private=9.9\nblock 2MiB " +
		"inactive\n"))
	require.NoError(t, err)
	a := mustNew(t, Config{Heap: tr.Heap})
	x, err := a.Malloc(512, 0)
	require.NoError(t, err)
	assert.Equal(t, 4, a.Stats().Segments, "a segment of its own")
	assert.NotEqual(t, Addr(0x300000), x)
	a.Free(0x200000)
	require.NoError(t, Verify(a.Snapshot(), a.Stats()))
	assert.Equal(t, units.Bytes(512), a.Stats().Allocated)
	a.EmptyCache()
	assert.Equal(t, 4, a.Stats().Segments, "the graph may be replayed: its pool stays")
}

func TestVerify(t *testing.T) {
	parse := func(heap string) Snapshot {
		tr, err := tracetext.Parse(strings.NewReader(heap))
		require.NoError(t, err)
		return Snapshot{tr.Heap}
	}
	good := parse("heap 0x200000 2MiB small\nblock 512 active_allocated requested=5\nblock 512 active_awaiting_free " +
		"requested=6\nblock 2047KiB inactive\n")
	stats := Stats{Requested: 11, Allocated: 512, Active: 1024, Reserved: 2 << 20, InactiveSplit: 2047 << 10, Blocks: 1,
		ActiveBlocks: 2, Segments: 1}
	require.NoError(t, Verify(good, stats))
	wrong := stats
	wrong.Allocated, wrong.Segments = 1024, 2
	require.EqualError(t, Verify(good, wrong), "allocated: got 1024, want 512, the sum over the blocks\nsegments: got "+
		"2, want 1, the sum over the blocks")
	for _, tt := range []struct{ heap, want string }{
		{"heap 0x200000 2MiB\nblock 1MiB inactive\nblock 1MiB inactive\n", "block 0x300000: got two free neighbours, want " +
			"them merged"},
		{"heap 0x200000 2MiB\nblock 1MiB active_allocated\n", "segment 0x200000: got blocks up to 0x300000, want 0x400000"},
		{"heap 0x200000 2MiB\nblock 2MiB active_allocated requested=3MiB\n", "block 0x200000: got 3145728 bytes requested " +
			"of 2097152"},
		{"heap 0x200000 2MiB\nblock 2MiB inactive requested=3\n", "block 0x200000: got 3 bytes requested of a free one"},
		{"heap 0x200000 2MiB\nblock 2MiB inactive\nheap 0x300000 2MiB\nblock 2MiB inactive\n",
			"segment 0x300000: got one that ends at 0x400000 before it, want no overlap"},
		{"heap 0x0 2MiB\nblock 2MiB inactive\n", "segment 0x0: got 2097152 bytes at that place"},
	} {
		require.ErrorContains(t, Verify(parse(tt.heap), Stats{}), tt.want)
	}
	require.ErrorContains(t, Verify(Snapshot{}, Stats{Requested: 5, Active: 4}), "want requested and allocated within "+
		"active within reserved")
}

// TestIdealIsTheFloor: no figure of the caching allocator is under the ideal one's, on the same
// events.
func TestIdealIsTheFloor(t *testing.T) {
	tr := randomTrace(500, 60)
	ideal, err := Replay(tr, NewIdeal(0))
	require.NoError(t, err)
	for which, c := range configs() {
		c.Limit, c.Settings.MemoryFraction, c.Settings.GCThreshold = 0, 1, 0
		tl, err := Replay(tr, mustNew(t, c))
		require.NoError(t, err)
		require.Equal(t, ideal.Peaks.Requested, tl.Peaks.Requested, "settings %d", which)
		for _, pair := range [][2]Peak{{ideal.Peaks.Allocated, tl.Peaks.Allocated}, {ideal.Peaks.Active, tl.Peaks.Active},
			{ideal.Peaks.Reserved, tl.Peaks.Reserved}} {
			require.LessOrEqual(t, pair[0].Bytes, pair[1].Bytes, "settings %d", which)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a = alloc 5\na = alloc 5", "event 1: storage 0: got it allocated twice"},
		{"free a", "event 0: storage 0: got a free, want it allocated"},
		{"a = alloc 5\nfree a\nfree a", "event 2: storage 0: got a free, want it allocated"},
	} {
		tr, err := tracetext.Parse(strings.NewReader(tt.text))
		require.NoError(t, err)
		_, err = Replay(tr, mustNew(t, Config{}))
		require.EqualError(t, err, tt.want)
	}
	for _, a := range []trace.Action{trace.Alloc, trace.FreeRequested, trace.FreeCompleted} {
		_, err := Replay(&trace.Trace{Events: []trace.Event{{Action: a, Storage: trace.NoStorage}}}, mustNew(t, Config{}))
		require.ErrorContains(t, err, "event 0: got storage -1, want one from 0 to -1")
	}
}

// TestReplayOfARequestThatFailed: where the program went on without it, the cache was emptied
// before it failed, and nothing else has changed. On a larger device it is had and given back.
func TestReplayOfARequestThatFailed(t *testing.T) {
	const mib = units.MiB
	tr := &trace.Trace{Events: []trace.Event{
		{Action: trace.Alloc, Storage: 0, Bytes: 30 * mib}, {Action: trace.Alloc, Storage: 1, Bytes: 20 * mib},
		{Action: trace.FreeRequested, Storage: 0, Bytes: 30 * mib},
		{Action: trace.OOM, Storage: trace.NoStorage, Bytes: 90 * mib},
		{Action: trace.Alloc, Storage: 2, Bytes: 80 * mib},
	}}
	for _, c := range []struct {
		limit, reserved units.Bytes
	}{{100 * mib, 100 * mib}, {200 * mib, 140 * mib}} {
		tl, err := Replay(tr, mustNew(t, Config{Settings: DefaultSettings(), Limit: c.limit}))
		require.NoError(t, err)
		assert.Nil(t, tl.OOM)
		assert.Equal(t, c.reserved, tl.Peaks.Reserved.Bytes, c.limit)
		assert.Equal(t, 100*mib, tl.Peaks.Allocated.Bytes)
	}
	tr.Events = tr.Events[:4]
	tl, err := Replay(tr, mustNew(t, Config{Settings: DefaultSettings(), Limit: 100 * mib}))
	require.NoError(t, err)
	assert.Nil(t, tl.OOM)
	assert.Equal(t, 20*mib, tl.End.Reserved)
}

// Allocations of estimated size are taken at the upper bound, all others as they are.
func TestReplayUpper(t *testing.T) {
	tr := &trace.Trace{
		Events: []trace.Event{
			{Action: trace.Alloc, Storage: 0, Bytes: 512}, {Action: trace.Alloc, Storage: 1, Bytes: 512},
			{Action: trace.FreeRequested, Storage: 1, Bytes: 512}, {Action: trace.Alloc, Storage: 2, Bytes: 1024},
			{Action: trace.Alloc, Storage: 3, Bytes: 0}, {Action: trace.FreeRequested, Storage: 3, Bytes: 0},
		},
	}
	for _, u := range []struct {
		upper []trace.Estimate
		want  Peaks
	}{
		{nil, Peaks{Peak{1536, 3}, Peak{1536, 3}, Peak{1536, 3}, Peak{2 << 20, 0}}},
		{[]trace.Estimate{{Storage: 1, Bytes: 3 << 20}}, Peaks{Peak{3<<20 + 512, 1}, Peak{3<<20 + 512, 1},
			Peak{3<<20 + 512, 1}, Peak{22 << 20, 1}}},
		// taken for nothing
		{[]trace.Estimate{{Storage: 3, Bytes: 30 << 20}}, Peaks{Peak{30<<20 + 1536, 4}, Peak{30<<20 + 1536, 4},
			Peak{30<<20 + 1536, 4}, Peak{32 << 20, 4}}},
	} {
		tr.Upper = u.upper
		a, err := New(Config{Settings: DefaultSettings()})
		require.NoError(t, err)
		p, err := ReplayUpper(tr, a)
		require.NoError(t, err)
		require.Equal(t, Upper{Peaks: u.want}, *p)
	}
	tr.Upper = []trace.Estimate{{Storage: 1, Bytes: 3 << 20}} // more than there is: the run ends there
	p, err := ReplayUpper(tr, mustNew(t, Config{Settings: DefaultSettings(), Limit: 3 << 20}))
	require.NoError(t, err)
	require.NotNil(t, p.OOM)
	require.Equal(t, units.Bytes(3<<20), p.OOM.Requested)
	require.Equal(t, Peak{512, 0}, p.Allocated)
	tr.Upper = []trace.Estimate{{Storage: 9, Bytes: 1 << 30}}
	_, err = ReplayUpper(tr, mustNew(t, Config{}))
	require.EqualError(t, err, "estimate of storage 9: got no such storage, want one from 0 to 3")
}

// TestWords: what is said of memory that ends, and of statistics that contradict themselves, each
// number at its place.
func TestWords(t *testing.T) {
	e := &OOMError{Segment: 1 << 20, Limit: 4 << 20, Stats: Stats{Reserved: 3 << 20, Allocated: 2 << 20}}
	assert.EqualError(t, e, "out of memory: tried to allocate 1.0 MiB, got 3.0 MiB reserved (2.0 MiB allocated), want "+
		"at most 4.0 MiB")
	for _, tt := range []struct {
		st   Stats
		want string
	}{
		{Stats{Requested: 4, Allocated: 1, Active: 3, Reserved: 5}, "got requested 4, allocated 1, active 3, reserved 5, " +
			"want requested and allocated within active within reserved"},
		{Stats{Requested: 1, Allocated: 4, Active: 3, Reserved: 5}, "got requested 1, allocated 4, active 3, reserved 5, " +
			"want"},
		{Stats{Requested: 1, Allocated: 2, Active: 6, Reserved: 5}, "got requested 1, allocated 2, active 6, reserved 5, " +
			"want"},
	} {
		assert.ErrorContains(t, Verify(Snapshot{}, tt.st), tt.want)
	}
	byte1 := Snapshot{Segments: []trace.Segment{{Addr: 1, Size: 1, Expandable: true,
		Blocks: []trace.Block{{Addr: 1, Size: 1, State: trace.ActiveAllocated, Requested: 1, Storage: trace.NoStorage}}}}}
	assert.NoError(t, Verify(byte1, Stats{Requested: 1, Allocated: 1, Active: 1, Reserved: 1, Blocks: 1, ActiveBlocks: 1}),
		"a block of a byte")
}

// TestFreedInTwoSteps: what was not released is not completed, in any allocator.
func TestFreedInTwoSteps(t *testing.T) {
	for name, a := range map[string]Allocator{"ideal": NewIdeal(0), "caching": mustNew(t, Config{})} {
		addr, err := a.Malloc(5000, 0)
		require.NoError(t, err)
		before := a.Stats()
		a.FreeCompleted(addr)
		assert.Equal(t, before, a.Stats(), "%s: it is in use", name)
		a.FreeRequested(addr)
		requested := a.Stats()
		assert.Zero(t, requested.Allocated, name)
		assert.NotZero(t, requested.Active, name)
		a.FreeRequested(addr)
		assert.Equal(t, requested, a.Stats(), "%s: twice is once", name)
		a.FreeCompleted(addr)
		assert.Zero(t, a.Stats().Active, name)
		after := a.Stats()
		a.FreeCompleted(addr)
		assert.Equal(t, after, a.Stats(), "%s: it is gone", name)
	}
}
