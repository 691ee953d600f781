package allocator

import (
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Expandable segments: a range of addresses into which pages are mapped as it grows. The part
// without memory is a chain of unmapped blocks.

// unknownRange stands for the range of a device whose memory is not known.
const unknownRange = units.Bytes(1) << 42

func (a *caching) expandable(id blockID) bool { return a.segments[a.blocks[id].segment].expandable }

// page is the unit of mapping in a pool.
func (a *caching) page(p *pool) units.Bytes {
	if p.small {
		return smallBuffer
	}
	return a.set.LargeSegment
}

// rangeSize is the address space of one expandable segment: 9/8 of the device's memory.
func (a *caching) rangeSize(page units.Bytes) units.Bytes {
	total := a.config.Total
	if total == 0 {
		total = a.config.Limit
	}
	if total == 0 {
		total = unknownRange
	}
	return (total + total/8).RoundUp(page)
}

// expandableFit goes on from the best fit to blocks that cannot grow as far: the one at the end of
// the mapped part is the last to be taken. Where expandable segments were turned off meanwhile,
// their blocks are passed over.
func (a *caching) expandableFit(l freeList, i int) int {
	if !a.set.Expandable {
		for i < len(l) && a.expandable(l[i].id) {
			i++
		}
		return i
	}
	for i+1 < len(l) && a.expandable(l[i].id) && a.reach(l[i+1].id) < a.reach(l[i].id) {
		i++
	}
	return i
}

// reach is a free block's size with what could be mapped behind it.
func (a *caching) reach(id blockID) units.Bytes {
	b := &a.blocks[id]
	if b.next != none && a.blocks[b.next].unmapped {
		return b.size + a.blocks[b.next].size
	}
	return b.size
}

// growExpandable is try_allocate_expandable_block. The block is in no list.
func (a *caching) growExpandable(p *pool, size units.Bytes, stream int32) blockID {
	id := a.room(p, size, stream)
	if id == none {
		return none
	}
	if a.blocks[id].unmapped && !a.mapPages(p, id, min(a.blocks[id].size, size)) {
		return none
	}
	for a.blocks[id].size < size {
		next := a.blocks[id].next
		if !a.mapPages(p, next, min(size-a.blocks[id].size, a.blocks[next].size)) {
			return none
		}
		id = next
	}
	a.dropFree(p, id)
	return id
}

// room is find_expandable_block: the lowest place with enough free and unmapped space in a row, or
// a new segment.
func (a *caching) room(p *pool, size units.Bytes, stream int32) blockID {
	usable := func(id blockID) bool { return id != none && a.blocks[id].state == trace.Inactive }
	for _, id := range p.unmapped[stream] {
		if prev := a.blocks[id].prev; usable(prev) {
			id = prev
		}
		var have units.Bytes
		for c := id; have < size && usable(c); c = a.blocks[c].next {
			have += a.blocks[c].size
		}
		if have >= size {
			return id
		}
	}
	bytes := a.rangeSize(a.page(p))
	if bytes < size {
		return none
	}
	addr := a.placeRange(bytes)
	seg := a.addSegment(segment{addr: addr, size: bytes, head: none, stream: stream, small: p.small, expandable: true})
	id := a.newBlock(block{addr: addr, size: bytes, segment: seg, stream: stream, unmapped: true})
	a.link(none, id, none)
	a.addUnmapped(p, id)
	return id
}

// mapPages is map_block: memory for the first size bytes of an unmapped block, in whole pages. What
// becomes free merges with its neighbours and keeps the block's number.
func (a *caching) mapPages(p *pool, id blockID, size units.Bytes) bool {
	b := &a.blocks[id]
	mapped := min(size.RoundUp(a.page(p)), b.size)
	if mapped > a.limit-a.stats.Reserved {
		return false
	}
	a.dropUnmapped(p, id)
	if mapped < b.size {
		rest := a.newBlock(block{addr: b.addr + uint64(mapped), size: b.size - mapped, segment: b.segment,
			stream: b.stream, unmapped: true})
		b = &a.blocks[id]
		b.size = mapped
		a.link(id, rest, b.next)
		a.addUnmapped(p, rest)
	}
	b.unmapped = false
	a.absorb(p, id, b.prev)
	a.absorb(p, id, b.next)
	a.addFree(p, id)
	a.stats.Reserved += mapped
	a.stats.DeviceAllocs++
	return true
}

// unmap is unmap_block: the whole pages between addr and addr+size, inside a free block, lose their
// memory.
func (a *caching) unmap(p *pool, id blockID, addr uint64, size units.Bytes) {
	b := a.blocks[id]
	page := uint64(a.page(p))
	base := a.segments[b.segment].addr
	first := base + (addr-base+page-1)/page*page
	last := base + (addr-base+uint64(size))/page*page
	if first >= last {
		return
	}
	a.dropFree(p, id)
	if before := units.Bytes(first - b.addr); before > 0 {
		left := a.newBlock(block{addr: b.addr, size: before, segment: b.segment, stream: b.stream})
		a.link(b.prev, left, id)
		a.addFree(p, left)
	}
	if after := b.addr + uint64(b.size) - last; after > 0 {
		right := a.newBlock(block{addr: last, size: units.Bytes(after), segment: b.segment, stream: b.stream})
		a.link(id, right, a.blocks[id].next)
		a.addFree(p, right)
	}
	c := &a.blocks[id]
	c.addr, c.size, c.unmapped = first, units.Bytes(last-first), true
	a.absorb(p, id, c.prev)
	a.absorb(p, id, c.next)
	a.stats.Reserved -= units.Bytes(last - first)
	a.stats.DeviceFrees++
	if c.prev == none && c.next == none { // release_expandable_segment
		seg := c.segment
		a.segments[seg] = segment{head: none, gone: true}
		a.lostSegs = append(a.lostSegs, seg)
		a.spare = append(a.spare, id)
		return
	}
	a.addUnmapped(p, id)
}
