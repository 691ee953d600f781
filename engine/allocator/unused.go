package allocator

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// What is cached but free, and why an allocation could not have it. It is what get_free_block goes
// by, asked of one block at a time.

// A FreeBlock is a free block with what keeps an allocation from using it.
type FreeBlock struct {
	Addr   Addr
	Size   units.Bytes
	Reason Unusable
}

// Unusable says why a free block does not serve an allocation.
type Unusable uint8

// The reasons, in the order they are looked for.
const (
	Usable         Unusable = iota // nothing stands against it
	ForPrivatePool                 // it belongs to a captured graph or to a MemPool
	ForSmall                       // its segment serves allocations of at most 1 MiB (kSmallSize)
	ForLarge                       // its segment serves allocations above 1 MiB
	ForOtherStream                 // it belongs to another stream
	NotExpandable                  // its segment is expandable, and the settings say that segments no longer are
	TooSmall                       // it is smaller than the allocation
	// max_split_size_mb: it is not split for a small request, and would waste too much on a large
	// one
	TooLargeToSplit
)

var unusableNames = [...]string{"", "of a private pool", "kept for allocations of at most 1 MiB",
	"kept for allocations above 1 MiB",
	"of another stream", "of an expandable segment, which the settings no longer use", "too small",
	"too large to be split (max_split_size_mb)"}

// String says it in words; it is empty for a block that would have served.
func (u Unusable) String() string {
	return unusableNames[u]
}

// unusable says why a free block does not serve an allocation of size, which is rounded already.
func (a *caching) unusable(id blockID, size units.Bytes, stream int) Unusable {
	b := &a.blocks[id]
	s := &a.segments[b.segment]
	switch {
	case s.private != "":
		return ForPrivatePool
	case s.small && size > smallSize:
		return ForSmall
	case !s.small && size <= smallSize:
		return ForLarge
	case a.streams[b.stream] != stream:
		return ForOtherStream
	case s.expandable && !a.set.Expandable:
		return NotExpandable
	case b.size < size:
		return TooSmall
	case size < a.maxSplit && b.size >= a.maxSplit, size >= a.maxSplit && b.size >= size+a.maxRounding:
		return TooLargeToSplit
	}
	return Usable
}

// unused lists the free blocks by address.
func (a *caching) unused(requested units.Bytes, stream int) []FreeBlock {
	size := a.set.round(requested)
	var out []FreeBlock
	for i := range a.segments {
		if a.segments[i].gone {
			continue
		}
		for id := a.segments[i].head; id != none; id = a.blocks[id].next {
			if b := &a.blocks[id]; b.state == trace.Inactive && !b.unmapped {
				out = append(out, FreeBlock{Addr(b.addr), b.size, a.unusable(id, size, stream)})
			}
		}
	}
	slices.SortFunc(out, func(x, y FreeBlock) int { return cmp.Compare(x.Addr, y.Addr) })
	return out
}

// Unused lists the blocks that are free right after an allocation, by address, each with why that
// allocation did not use it. Where the allocation made the allocator ask the device for memory, a
// Usable one is what was left over of that memory (except expandable segments together with
// max_split_size_mb, where PyTorch's search may pass a block over). There are none for an event
// that allocates nothing.
func (tl *Timeline) Unused(event int) []FreeBlock {
	if event < 0 || event >= len(tl.Trace.Events) || tl.Trace.Events[event].Action != trace.Alloc {
		return nil
	}
	var out []FreeBlock
	tl.Walk(func(i int, a Allocator) bool {
		if i < event {
			return true
		}
		if c, ok := a.(*caching); ok {
			e := &tl.Trace.Events[event]
			out = c.unused(e.Bytes, e.Stream)
		}
		return false
	})
	return out
}
