package allocator

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/units"
)

// configs are the settings that random runs are made under: every rule is met by one of them.
func configs() []Config {
	with := func(limit units.Bytes, set func(*Settings)) Config {
		s := DefaultSettings()
		set(&s)
		return Config{Limit: limit, Settings: s}
	}
	return []Config{
		with(0, func(s *Settings) {}),
		with(200<<20, func(s *Settings) {}),
		with(300<<20, func(s *Settings) { s.MaxSplitSize = 24 << 20 }),
		with(300<<20, func(s *Settings) { s.MaxSplitSize, s.MaxNonSplitRounding = 20<<20, 64<<20 }),
		with(400<<20, func(s *Settings) { s.MemoryFraction, s.GCThreshold = 0.75, 0.4 }),
		with(0, func(s *Settings) { s.Expandable = true }),
		with(250<<20, func(s *Settings) { s.Expandable = true }),
		with(250<<20, func(s *Settings) { s.LargeSegment = 32 << 20 }),
		with(250<<20, func(s *Settings) { s.Expandable, s.LargeSegment, s.MemoryFraction = true, 12<<20, 0.5 }),
		with(0, func(s *Settings) {
			for i := range s.RoundupDivisions {
				s.RoundupDivisions[i] = 1 << (i % 6)
			}
		}),
		with(300<<20, func(s *Settings) { s.Expandable, s.MaxSplitSize = true, 24<<20 }),
	}
}

// sizeOf spreads a number over the sizes where rules change.
func sizeOf(n uint16) units.Bytes {
	v := units.Bytes(n >> 3)
	switch n & 7 {
	case 0, 1:
		return v
	case 2, 3:
		return v * 137
	case 4:
		return v * 1031
	case 5:
		return 1<<20 + (v-4096)*512
	case 6:
		return 10<<20 + (v-4096)*512
	}
	return v * 8192
}

// compare runs operations, three bytes each, on the allocator and the slow one, and compares every
// address, all figures and, at the end and at intervals, every block.
func compare(t require.TestingT, which byte, ops []byte) {
	all := configs()
	c := all[int(which)%len(all)]
	c.Settings.Backend = "native"
	c.SegmentAddr = rising()
	a, err := newCaching(c)
	require.NoError(t, err)
	s := newSlow(c)
	var live, waiting []Addr
	for step := 0; len(ops) >= 3 && step < 2000; step++ {
		op, n := ops[0], uint16(ops[1])<<8|uint16(ops[2])
		ops = ops[3:]
		switch stream := int(op >> 6 & 1); {
		case op&31 < 16:
			got, err := a.Malloc(sizeOf(n), stream)
			want, ok := s.malloc(int64(sizeOf(n)), stream)
			require.Equal(t, ok, err == nil, "step %d: malloc %d: %v", step, sizeOf(n), err)
			require.Equal(t, Addr(want), got, "step %d: malloc %d", step, sizeOf(n))
			if got != 0 {
				live = append(live, got)
			}
		case op&31 < 29 && len(live) > 0:
			i := int(n) % len(live)
			addr := live[i]
			live = append(live[:i], live[i+1:]...)
			a.FreeRequested(addr)
			s.freeRequested(uint64(addr))
			if op&31 == 28 {
				waiting = append(waiting, addr)
				break
			}
			a.FreeCompleted(addr)
			s.freeCompleted(uint64(addr))
		case op&31 < 31 && len(waiting) > 0:
			addr := waiting[0]
			waiting = waiting[1:]
			a.FreeCompleted(addr)
			s.freeCompleted(uint64(addr))
		case op&31 == 31 && n&7 == 0:
			a.EmptyCache()
			s.emptyCache()
		}
		require.Equal(t, s.stats(), a.Stats(), "step %d", step)
		if step%16 == 0 || len(ops) < 3 {
			snapshot := a.Snapshot()
			require.NoError(t, Verify(snapshot, a.Stats()), "step %d", step)
			require.Empty(t, cmp.Diff(s.snapshot(), snapshot), "step %d", step)
		}
	}
}

// TestAgainstSlowModel is the fuzz target's gate: generated runs with a fixed seed.
func TestAgainstSlowModel(t *testing.T) {
	runs := 12
	if testing.Short() || !golden.Whole() {
		runs = 3
	}
	for which := range configs() {
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(which), uint64(run)))
			ops := make([]byte, 3*300)
			for i := range ops {
				ops[i] = byte(r.Uint32())
			}
			compare(t, byte(which), ops)
		}
	}
}

func FuzzAllocator(f *testing.F) {
	f.Add(byte(0), []byte("\x00\x10\x00\x00\x20\x07\x10\x00\x00\x00\x05\x05"))
	f.Add(byte(2), []byte("\x00\xff\x07\x00\xff\x07\x00\xff\x07\x10\x00\x00\x1c\x00\x00\x1f\x00\x00"))
	f.Add(byte(6), []byte("\x00\xff\x07\x00\xff\x07\x40\xff\x07\x10\x00\x00\x1f\x00\x00\x00\x80\x06"))
	f.Fuzz(func(t *testing.T, which byte, ops []byte) { compare(t, which, ops) })
}

// TestAddrTable: a table that grows and shrinks finds what a map finds.
func TestAddrTable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	table, want := newAddrTable(3), map[uint64]blockID{}
	for i := range 20_000 {
		addr := uint64(r.IntN(3000)+1) * 512
		if id, ok := want[addr]; ok && r.IntN(2) == 0 {
			require.Equal(t, id, table.get(addr))
			table.remove(addr)
			delete(want, addr)
		} else if !ok && len(want) < 2000 {
			table.put(addr, blockID(i))
			want[addr] = blockID(i)
		} else if !ok {
			require.Equal(t, none, table.get(addr))
			table.remove(addr)
		}
		require.Equal(t, len(want), table.used)
	}
	for addr, id := range want {
		require.Equal(t, id, table.get(addr))
	}
}
