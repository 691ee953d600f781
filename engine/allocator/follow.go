package allocator

import (
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// What follows a recording: each does at an address what the device did there, and says whether the
// blocks allow it.

// segmentAt adds a segment that is wholly free. The small pool's are the only ones of 2 MiB.
func (a *caching) segmentAt(e *trace.Event) {
	s := a.stream(e.Stream)
	small := e.Bytes == smallBuffer
	seg := a.addSegment(segment{addr: e.Addr, size: e.Bytes, head: none, stream: s, small: small})
	id := a.append(seg, none, block{addr: e.Addr, size: e.Bytes})
	a.addFree(a.poolOf(&a.segments[seg]), id)
	a.stats.Reserved += e.Bytes
	a.stats.Segments++
	a.stats.DeviceAllocs++
}

// freeAt returns the free block around an address, and its pool.
func (a *caching) freeAt(addr uint64) (*pool, blockID) {
	for i := range a.pools {
		p := &a.pools[i]
		for _, l := range p.free {
			for _, f := range l {
				if f.addr <= addr && addr < f.addr+uint64(f.size) {
					return p, f.id
				}
			}
		}
	}
	return nil, none
}

// handAt hands out the free block that begins at the recorded address.
func (a *caching) handAt(e *trace.Event) bool {
	p, id := a.freeAt(e.Addr)
	size := a.set.round(e.Bytes)
	if id == none || a.blocks[id].addr != e.Addr || a.blocks[id].size < size {
		return false
	}
	a.dropFree(p, id)
	a.hand(p, id, size, e.Bytes)
	return true
}

// releaseAt gives a wholly free segment back.
func (a *caching) releaseAt(e *trace.Event) bool {
	p, id := a.freeAt(e.Addr)
	if id == none || a.expandable(id) {
		return false
	}
	if b := &a.blocks[id]; b.addr != e.Addr || b.size != e.Bytes || b.prev != none || b.next != none {
		return false
	}
	a.dropFree(p, id)
	a.release(id)
	return true
}

// mapAt maps pages at an address: of a range that is there, or of a new one that begins at it.
func (a *caching) mapAt(e *trace.Event) bool {
	s := a.stream(e.Stream)
	p := &a.pools[1]
	if e.Bytes == smallBuffer {
		p = &a.pools[0]
	}
	for _, id := range p.unmapped[s] {
		b := &a.blocks[id]
		if b.addr <= e.Addr && e.Addr+uint64(e.Bytes) <= a.end(id) {
			if before := units.Bytes(e.Addr - b.addr); before > 0 {
				a.dropUnmapped(p, id)
				rest := a.newBlock(block{addr: e.Addr, size: b.size - before, segment: b.segment, stream: b.stream,
					unmapped: true})
				a.blocks[id].size = before
				a.link(id, rest, a.blocks[id].next)
				a.addUnmapped(p, id)
				a.addUnmapped(p, rest)
				id = rest
			}
			return a.mapPages(p, id, e.Bytes)
		}
	}
	size := a.rangeSize(a.page(p))
	seg := a.addSegment(segment{addr: e.Addr, size: size, head: none, stream: s, small: p.small, expandable: true})
	id := a.append(seg, none, block{addr: e.Addr, size: size, unmapped: true})
	a.addUnmapped(p, id)
	return a.mapPages(p, id, e.Bytes)
}

// unmapAt unmaps free pages.
func (a *caching) unmapAt(e *trace.Event) bool {
	p, id := a.freeAt(e.Addr)
	if id == none || !a.expandable(id) || e.Addr+uint64(e.Bytes) > a.end(id) {
		return false
	}
	before := a.stats.Reserved
	a.unmap(p, id, e.Addr, e.Bytes)
	return before-a.stats.Reserved == e.Bytes
}
