package allocator

import (
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// How memory goes back to the device.

// EmptyCache is emptyCache.
func (a *caching) EmptyCache() { a.releaseCached() }

// releaseCached is release_cached_blocks: streams are waited for, then every segment without an
// active block goes.
func (a *caching) releaseCached() {
	for i := range a.blocks {
		if b := &a.blocks[i]; b.state == trace.ActiveAwaitingFree {
			a.FreeCompleted(Addr(b.addr))
		}
	}
	for _, p := range []*pool{&a.pools[1], &a.pools[0]} {
		for s := range p.free {
			a.releaseWhole(p, s)
		}
	}
}

// releaseWhole gives the whole segments in one free list back, and the whole pages of expandable
// ones.
func (a *caching) releaseWhole(p *pool, stream int) {
	kept := p.free[stream][:0]
	var shrink []blockID
	for _, f := range p.free[stream] {
		switch b := &a.blocks[f.id]; {
		case a.expandable(f.id):
			shrink = append(shrink, f.id)
			kept = append(kept, f)
		case b.prev == none && b.next == none:
			a.release(f.id)
		default:
			kept = append(kept, f)
		}
	}
	p.free[stream] = kept
	for _, id := range shrink {
		b := &a.blocks[id]
		a.unmap(p, id, b.addr, b.size)
	}
}

// release is release_block. The block is its whole segment and has left its list.
func (a *caching) release(id blockID) {
	seg := a.blocks[id].segment
	a.stats.Reserved -= a.segments[seg].size
	a.stats.Segments--
	a.stats.DeviceFrees++
	if a.config.SegmentAddr == nil && a.device.chunkOf(a.segments[seg].addr) >= 0 {
		a.device.release(a.segments[seg].addr, a.segments[seg].size)
	}
	a.segments[seg] = segment{head: none, gone: true}
	a.lostSegs = append(a.lostSegs, seg)
	a.spare = append(a.spare, id)
}

// releaseOversize is release_available_cached_blocks: with max_split_size_mb, oversize blocks are
// given back before everything else is. PyTorch looks from the larger of request and max_split_size
// on; between the two there is no free block, or the request would have been served from it.
func (a *caching) releaseOversize(p *pool, size units.Bytes, stream int32) bool {
	l := &p.free[stream]
	if i := l.lower(size, 0); i < len(*l) {
		id := (*l)[i].id
		if a.expandable(id) {
			return false
		}
		*l = append((*l)[:i], (*l)[i+1:]...)
		a.release(id)
		return true
	}
	var released units.Bytes
	for i := len(*l) - 1; i >= 0 && released < size && (*l)[i].size >= a.maxSplit; i-- {
		if id := (*l)[i].id; !a.expandable(id) {
			released += (*l)[i].size
			*l = append((*l)[:i], (*l)[i+1:]...)
			a.release(id)
		}
	}
	return released >= size
}

// collects says whether garbage collection is on: it takes a threshold and a memory fraction.
func (a *caching) collects() bool { return a.set.GCThreshold > 0 && a.allowed != maxBytes }

// collectGarbage is garbage_collect_cached_blocks: above the threshold, whole free segments of the
// large pool go that are older than average.
func (a *caching) collectGarbage() {
	threshold := units.Bytes(a.set.GCThreshold * float64(a.allowed))
	if a.stats.Reserved <= threshold {
		return
	}
	target := a.stats.Reserved - threshold
	p := &a.pools[1]
	var age int64
	count := 0
	whole := func(id blockID) bool { return a.blocks[id].prev == none && a.blocks[id].next == none }
	for _, l := range p.free {
		for _, f := range l {
			if whole(f.id) {
				age += p.searches - a.blocks[f.id].age
				count++
			}
		}
	}
	var reclaimed units.Bytes
	for freed := true; freed && reclaimed < target && count > 0; {
		freed = false
		average := float64(age) / float64(count)
		for s := range p.free {
			kept := p.free[s][:0]
			for _, f := range p.free[s] {
				old := p.searches - a.blocks[f.id].age
				if !whole(f.id) || a.expandable(f.id) || float64(old) < average {
					kept = append(kept, f)
					continue
				}
				freed = true
				reclaimed += f.size
				age -= old
				count--
				a.release(f.id)
			}
			p.free[s] = kept
		}
	}
}
