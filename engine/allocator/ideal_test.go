package allocator

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Ideal is the baseline: no rounding, no cache, no fragmentation. What is reserved is what was
// asked for, so no real peak is lower. Every request has a separate segment at an address never
// used before.
type Ideal struct {
	limit  units.Bytes
	next   uint64
	blocks map[Addr]idealBlock
	stats  Stats
}

type idealBlock struct {
	size   units.Bytes
	stream int
	state  trace.BlockState
}

// NewIdeal returns an ideal allocator; a limit of 0 is none.
func NewIdeal(limit units.Bytes) *Ideal {
	return &Ideal{limit: limit, next: firstAddr, blocks: map[Addr]idealBlock{}}
}

// Malloc hands out exactly what was asked for.
func (a *Ideal) Malloc(size units.Bytes, stream int) (Addr, error) {
	if size <= 0 {
		return 0, nil
	}
	if a.limit > 0 && size > a.limit-a.stats.Reserved {
		a.stats.OOMs++
		return 0, &OOMError{Requested: size, Segment: size, Limit: a.limit, Stats: a.stats}
	}
	addr := Addr(a.next)
	a.next += uint64(size.RoundUp(minBlockSize))
	a.blocks[addr] = idealBlock{size, stream, trace.ActiveAllocated}
	for _, sum := range []*units.Bytes{&a.stats.Requested, &a.stats.Allocated, &a.stats.Active, &a.stats.Reserved} {
		*sum += size
	}
	a.stats.Blocks++
	a.stats.ActiveBlocks++
	a.stats.Segments++
	a.stats.DeviceAllocs++
	return addr, nil
}

// Free returns the memory.
func (a *Ideal) Free(addr Addr) {
	a.FreeRequested(addr)
	a.FreeCompleted(addr)
}

// FreeRequested makes a block active but not allocated.
func (a *Ideal) FreeRequested(addr Addr) {
	b, ok := a.blocks[addr]
	if !ok || b.state != trace.ActiveAllocated {
		return
	}
	b.state = trace.ActiveAwaitingFree
	a.blocks[addr] = b
	a.stats.Allocated -= b.size
	a.stats.Blocks--
}

// FreeCompleted returns the memory of a block whose free was requested.
func (a *Ideal) FreeCompleted(addr Addr) {
	b, ok := a.blocks[addr]
	if !ok || b.state != trace.ActiveAwaitingFree {
		return
	}
	delete(a.blocks, addr)
	for _, sum := range []*units.Bytes{&a.stats.Requested, &a.stats.Active, &a.stats.Reserved} {
		*sum -= b.size
	}
	a.stats.ActiveBlocks--
	a.stats.Segments--
	a.stats.DeviceFrees++
}

// EmptyCache has nothing to give back.
func (a *Ideal) EmptyCache() {}

// Stats returns the current figures.
func (a *Ideal) Stats() Stats { return a.stats }

// Snapshot returns a segment a block.
func (a *Ideal) Snapshot() Snapshot {
	var s Snapshot
	for addr, b := range a.blocks {
		s.Segments = append(s.Segments, trace.Segment{Addr: uint64(addr), Size: b.size, Stream: b.stream,
			Blocks: []trace.Block{{Addr: uint64(addr), Size: b.size, Requested: b.size, State: b.state,
				Storage: trace.NoStorage}}})
	}
	slices.SortFunc(s.Segments, func(x, y trace.Segment) int { return cmp.Compare(x.Addr, y.Addr) })
	return s
}

// Fresh returns another ideal allocator of the same limit.
func (a *Ideal) Fresh() Allocator { return NewIdeal(a.limit) }
