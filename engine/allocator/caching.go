package allocator

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// The sizes of CUDACachingAllocator.cpp (AllocatorConfig.h from 2.9 on), the same in every release
// from 2.0 to 2.15.
const (
	minBlockSize  units.Bytes = 512        // kMinBlockSize
	smallSize     units.Bytes = 1 << 20    // kSmallSize
	smallBuffer   units.Bytes = 2 << 20    // kSmallBuffer
	minLargeAlloc units.Bytes = 10 << 20   // kMinLargeAlloc
	largeBuffer   units.Bytes = 20 << 20   // kLargeBuffer, the default of large_segment_size_mb
	roundLarge    units.Bytes = 2 << 20    // kRoundLarge
	hugeRequest   units.Bytes = 1 << 60    // at once out of memory: one_exa_bytes
	firstAddr                 = 0x7f << 40 // where our device begins, away from 0
)

// caching is the simulated CUDACachingAllocator of one device.
type caching struct {
	config      Config
	set         Settings
	maxSplit    units.Bytes // max_split_size, its default written out
	maxRounding units.Bytes // max_non_split_rounding_size
	allowed     units.Bytes // what a memory fraction allows to reserve; maxBytes without one
	limit       units.Bytes // what the device has; maxBytes without a limit

	blocks   []block
	spare    []blockID // numbers to be used again
	segments []segment
	lostSegs []int32 // numbers of segments given back
	pools    [2]pool // small, large
	private  []pool  // of private pools, one a name; never allocated from
	owners   []string
	streams  []int
	active   addrTable
	ranges   uint64          // where the next range of an expandable segment begins
	device   driverAddresses // where segments lie
	local    extent          // what the context holds until a kernel runs
	stats    Stats
}

const maxBytes = units.Bytes(math.MaxInt64)

func newCaching(c Config) (*caching, error) {
	a := &caching{config: c, set: c.Settings, ranges: firstAddr, active: addrTable{shift: 64 - firstTableBits}}
	a.maxSplit, a.maxRounding = maxBytes, a.set.MaxNonSplitRounding
	if a.set.MaxSplitSize > 0 {
		a.maxSplit = a.set.MaxSplitSize
	}
	if a.maxRounding == 0 {
		a.maxRounding = a.set.LargeSegment
	}
	a.limit, a.allowed = maxBytes, maxBytes
	if c.Limit > 0 {
		a.limit = c.Limit
	}
	total := c.Total
	if total == 0 {
		total = a.limit
	}
	if a.set.MemoryFraction < 1 && total != maxBytes {
		a.allowed = units.Bytes(a.set.MemoryFraction * float64(total))
	}
	a.pools[0].small = true
	a.stream(0)
	if err := a.load(c.Heap); err != nil {
		return nil, err
	}
	if c.Local > 0 && len(c.Heap) == 0 {
		a.local = extent{a.device.place(c.Local), c.Local}
	}
	return a, nil
}

// kernelRan says that the process has launched a kernel: the driver then gives the memory that it
// holds for the local variables of kernels another place.
func (a *caching) kernelRan() {
	if a.local.size > 0 {
		a.device.release(a.local.at, a.local.size)
		a.local = extent{}
	}
}

// stream returns the number under which a stream's lists are kept.
func (a *caching) stream(s int) int32 {
	for i, have := range a.streams {
		if have == s {
			return int32(i)
		}
	}
	a.streams = append(a.streams, s)
	for _, p := range a.everyPool() {
		p.free = append(p.free, nil)
		p.unmapped = append(p.unmapped, nil)
	}
	return int32(len(a.streams) - 1)
}

// everyPool is the two default pools and then the private ones.
func (a *caching) everyPool() []*pool {
	out := []*pool{&a.pools[0], &a.pools[1]}
	for i := range a.private {
		out = append(out, &a.private[i])
	}
	return out
}

// poolOf returns the pool that a segment's free blocks belong to.
func (a *caching) poolOf(s *segment) *pool {
	if s.private != "" {
		return &a.private[slices.Index(a.owners, s.private)]
	}
	if s.small {
		return &a.pools[0]
	}
	return &a.pools[1]
}

// Malloc is DeviceCachingAllocator::malloc.
func (a *caching) Malloc(n units.Bytes, stream int) (Addr, error) {
	if n <= 0 {
		return 0, nil
	}
	if n >= hugeRequest {
		a.stats.OOMs++
		return 0, &OOMError{Requested: n, Segment: n, Limit: min(a.limit, a.allowed), Stats: a.stats}
	}
	size := a.set.round(n)
	p := &a.pools[1]
	if size <= smallSize {
		p = &a.pools[0]
	}
	s := int32(0)
	if stream != a.streams[0] {
		s = a.stream(stream)
	}
	id := a.bestFit(p, size, s)
	if id == none {
		if id = a.grow(p, size, s); id == none {
			a.stats.OOMs++
			return 0, &OOMError{Requested: n, Segment: a.set.segmentSize(size), Limit: min(a.limit, a.allowed),
				Stats: a.stats}
		}
	}
	return a.hand(p, id, size, n), nil
}

// bestFit is get_free_block: the smallest free block of the stream that is large enough leaves its
// list.
func (a *caching) bestFit(p *pool, size units.Bytes, stream int32) blockID {
	if a.collects() {
		p.searches++
	}
	l := p.free[stream]
	i := l.lower(size, 0)
	if i == len(l) {
		return none
	}
	if a.expandable(l[i].id) {
		if i = a.expandableFit(l, i); i == len(l) {
			return none
		}
	}
	if have := l[i].size; size < a.maxSplit && have >= a.maxSplit || size >= a.maxSplit && have >= size+a.maxRounding {
		return none // an oversize block is not for a small request, nor for one that would waste it
	}
	id := l[i].id
	p.free[stream] = append(l[:i], l[i+1:]...)
	return id
}

// grow gets a block from the device: at once, or after giving back what is cached. The block is in
// no list.
func (a *caching) grow(p *pool, size units.Bytes, stream int32) blockID {
	if a.collects() {
		a.collectGarbage()
	}
	if id := a.newSegment(p, size, stream); id != none {
		return id
	}
	if a.set.MaxSplitSize > 0 && a.releaseOversize(p, size, stream) {
		if id := a.newSegment(p, size, stream); id != none {
			return id
		}
	}
	a.releaseCached()
	a.stats.Retries++
	return a.newSegment(p, size, stream)
}

// newSegment is alloc_block.
func (a *caching) newSegment(p *pool, size units.Bytes, stream int32) blockID {
	bytes := a.set.segmentSize(size)
	if bytes > a.allowed-a.stats.Reserved {
		return none
	}
	if a.set.Expandable {
		return a.growExpandable(p, size, stream)
	}
	if bytes > a.limit-a.stats.Reserved {
		return none
	}
	seg := a.addSegment(segment{addr: a.place(bytes), size: bytes, head: none, stream: stream, small: p.small})
	id := a.newBlock(block{addr: a.segments[seg].addr, size: bytes, segment: seg, stream: stream})
	a.link(none, id, none)
	a.stats.Reserved += bytes
	a.stats.Segments++
	a.stats.DeviceAllocs++
	return id
}

func (a *caching) addSegment(s segment) int32 {
	if n := len(a.lostSegs); n > 0 {
		i := a.lostSegs[n-1]
		a.lostSegs = a.lostSegs[:n-1]
		a.segments[i] = s
		return i
	}
	a.segments = append(a.segments, s)
	return int32(len(a.segments) - 1)
}

// place asks where the device puts a segment.
func (a *caching) place(size units.Bytes) uint64 {
	if a.config.SegmentAddr != nil {
		return uint64(a.config.SegmentAddr(size))
	}
	return a.device.place(size)
}

// placeRange asks where the device puts the addresses of an expandable segment.
func (a *caching) placeRange(size units.Bytes) uint64 {
	if a.config.SegmentAddr != nil {
		return uint64(a.config.SegmentAddr(size))
	}
	addr := a.ranges
	a.ranges += uint64(size.RoundUp(roundLarge))
	return addr
}

// hand is alloc_found_block: it splits the block if that is worth it and gives it out.
func (a *caching) hand(p *pool, id blockID, size, requested units.Bytes) Addr {
	b := &a.blocks[id]
	expandable := a.segments[b.segment].expandable
	split := b.prev != none || b.next != none
	if a.splittable(p, b.size, size) {
		rest := a.newBlock(block{addr: b.addr + uint64(size), size: b.size - size, segment: b.segment,
			stream: b.stream})
		b = &a.blocks[id]
		b.size = size
		a.link(id, rest, b.next)
		a.addFree(p, rest)
		if !expandable && !split {
			a.stats.InactiveSplit += a.blocks[rest].size
		} else if !expandable {
			a.stats.InactiveSplit -= size
		}
	} else if split && !expandable {
		a.stats.InactiveSplit -= b.size
	}
	b.state, b.requested = trace.ActiveAllocated, requested
	a.active.put(b.addr, id)
	a.stats.Allocated += b.size
	a.stats.Active += b.size
	a.stats.Requested += requested
	a.stats.Blocks++
	a.stats.ActiveBlocks++
	return Addr(b.addr)
}

// Free is free without recorded streams.
func (a *caching) Free(addr Addr) {
	a.FreeRequested(addr)
	a.FreeCompleted(addr)
}

// FreeRequested is free with recorded streams.
func (a *caching) FreeRequested(addr Addr) {
	id := a.active.get(uint64(addr))
	if id == none || a.blocks[id].state != trace.ActiveAllocated {
		return
	}
	b := &a.blocks[id]
	b.state = trace.ActiveAwaitingFree
	a.stats.Allocated -= b.size
	a.stats.Blocks--
}

// FreeCompleted is free_block.
func (a *caching) FreeCompleted(addr Addr) {
	id := a.active.get(uint64(addr))
	if id == none || a.blocks[id].state != trace.ActiveAwaitingFree {
		return
	}
	a.active.remove(uint64(addr))
	b := &a.blocks[id]
	a.stats.Active -= b.size
	a.stats.Requested -= b.requested
	a.stats.ActiveBlocks--
	b.state, b.requested = trace.Inactive, 0
	s := &a.segments[b.segment]
	p := a.poolOf(s)
	a.absorb(p, id, b.prev)
	a.absorb(p, id, b.next)
	a.addFree(p, id)
	if !s.expandable && (b.prev != none || b.next != none) {
		a.stats.InactiveSplit += b.size
	}
}

// Stats returns the current figures.
func (a *caching) Stats() Stats { return a.stats }

// Fresh returns another allocator of the same configuration, with room for as much as this one
// held.
func (a *caching) Fresh() Allocator {
	b, _ := newCaching(a.config) // which was good before
	b.blocks = slices.Grow(b.blocks, len(a.blocks))
	return b
}
