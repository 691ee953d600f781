package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// load puts the segments in place that were there before.
func (a *caching) load(heap []trace.Segment) error {
	for i := range heap {
		s := &heap[i]
		if s.Private != "" && !slices.Contains(a.owners, s.Private) {
			a.owners = append(a.owners, s.Private)
			a.private = append(a.private, pool{small: s.Small, free: make([]freeList, len(a.streams)),
				unmapped: make([][]blockID, len(a.streams))})
		}
		if err := a.loadSegment(s); err != nil {
			return fmt.Errorf("heap: segment %#x: %w", s.Addr, err)
		}
		a.ranges = max(a.ranges, s.Addr+uint64(s.Size.RoundUp(roundLarge)))
		a.device.hold(s.Addr, s.Size)
	}
	for i := range a.segments {
		if a.segments[i].expandable {
			a.closeRange(int32(i))
		}
	}
	return nil
}

func (a *caching) loadSegment(s *trace.Segment) error {
	stream := a.stream(s.Stream)
	seg, last := a.openRange(s, stream)
	if seg < 0 {
		seg = a.addSegment(segment{addr: s.Addr, size: s.Size, head: none, stream: stream, small: s.Small,
			private: s.Private, expandable: s.Expandable})
	}
	p := a.poolOf(&a.segments[seg])
	if last != none {
		if end := a.end(last); end < s.Addr { // pages between two runs that are not mapped
			last = a.append(seg, last, block{addr: end, size: units.Bytes(s.Addr - end), unmapped: true})
			a.addUnmapped(p, last)
		}
	}
	at := s.Addr
	for _, b := range s.Blocks {
		if b.Addr != at || b.Size <= 0 {
			return fmt.Errorf("block at %#x: got %d bytes, want one at %#x", b.Addr, b.Size, at)
		}
		at += uint64(b.Size)
		last = a.append(seg, last, block{addr: b.Addr, size: b.Size, requested: b.Requested, state: b.State})
		switch b.State {
		case trace.Inactive:
			a.blocks[last].requested = 0
			a.addFree(p, last)
			if !s.Expandable && b.Size != s.Size {
				a.stats.InactiveSplit += b.Size
			}
			continue
		case trace.ActiveAllocated:
			a.stats.Allocated += b.Size
			a.stats.Blocks++
		}
		a.active.put(b.Addr, last)
		a.stats.Active += b.Size
		a.stats.Requested += b.Requested
		a.stats.ActiveBlocks++
	}
	if at != s.Addr+uint64(s.Size) {
		return fmt.Errorf("got blocks up to %#x, want %#x", at, s.Addr+uint64(s.Size))
	}
	a.stats.Reserved += s.Size
	if !s.Expandable {
		a.stats.Segments++
	}
	return nil
}

// openRange finds the expandable segment that a mapped run belongs to: the one of its stream and
// pool whose range it lies in.
func (a *caching) openRange(s *trace.Segment, stream int32) (int32, blockID) {
	if !s.Expandable {
		return -1, none
	}
	for i := range a.segments {
		have := &a.segments[i]
		if have.expandable && have.stream == stream && have.small == s.Small && have.private == s.Private &&
			s.Addr+uint64(s.Size)-have.addr <= uint64(a.rangeSize(a.page(a.poolOf(have)))) {
			last := have.head
			for a.blocks[last].next != none {
				last = a.blocks[last].next
			}
			return int32(i), last
		}
	}
	return -1, none
}

// closeRange adds the unmapped rest of an expandable segment, whose recorded runs do not say how
// far it reaches.
func (a *caching) closeRange(seg int32) {
	s := &a.segments[seg]
	p := a.poolOf(s)
	s.size = a.rangeSize(a.page(p))
	last := s.head
	for a.blocks[last].next != none {
		last = a.blocks[last].next
	}
	if end := a.end(last); end < s.addr+uint64(s.size) {
		last = a.append(seg, last, block{addr: end, size: units.Bytes(s.addr + uint64(s.size) - end), unmapped: true})
		a.addUnmapped(p, last)
	}
}

func (a *caching) end(id blockID) uint64 { return a.blocks[id].addr + uint64(a.blocks[id].size) }

// append adds a block at the end of a segment.
func (a *caching) append(seg int32, last blockID, b block) blockID {
	b.segment, b.stream = seg, a.segments[seg].stream
	id := a.newBlock(b)
	a.link(last, id, none)
	return id
}

// Snapshot returns segments and blocks. Of an expandable segment each mapped run is one, as PyTorch
// states them.
func (a *caching) Snapshot() Snapshot {
	var out []trace.Segment
	for i := range a.segments {
		s := &a.segments[i]
		if s.gone {
			continue
		}
		open := -1 // the run under way
		for id := s.head; id != none; id = a.blocks[id].next {
			b := &a.blocks[id]
			if b.unmapped {
				open = -1
				continue
			}
			if open < 0 {
				open = len(out)
				out = append(out, trace.Segment{Addr: b.addr, Stream: a.streams[s.stream], Small: s.small,
					Private: s.private, Expandable: s.expandable})
			}
			out[open].Size += b.size
			out[open].Blocks = append(out[open].Blocks,
				trace.Block{Addr: b.addr, Size: b.size, Requested: b.requested, State: b.state,
					Storage: trace.NoStorage})
		}
	}
	slices.SortFunc(out, func(x, y trace.Segment) int { return cmp.Compare(x.Addr, y.Addr) })
	return Snapshot{out}
}
