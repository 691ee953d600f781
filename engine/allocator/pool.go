package allocator

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// blockID indexes caching.blocks; none is no block. Blocks are linked by number and hold no
// pointers, so that the garbage collector need not look at them.
type blockID int32

const none blockID = -1

// block is a piece of a segment, or of an expandable segment's range that is not mapped.
type block struct {
	addr       uint64
	size       units.Bytes
	requested  units.Bytes
	prev, next blockID // neighbours in the segment
	segment    int32
	stream     int32 // index into caching.streams
	age        int64 // pool.searches when it was put into the free list
	state      trace.BlockState
	unmapped   bool // address space without memory: only in expandable segments
}

// segment is one cudaMalloc, or one range of an expandable segment.
type segment struct {
	addr       uint64
	size       units.Bytes
	head       blockID
	stream     int32
	small      bool
	expandable bool
	gone       bool // given back; its number is used again
	private    string
}

// pool holds free blocks, by stream.
type pool struct {
	small    bool
	free     []freeList // by stream
	unmapped [][]blockID
	searches int64 // get_free_blocks_call_count: the clock of garbage collection
}

// freeList is sorted by size, then address: the order of BlockComparatorSize.
type freeList []freeBlock

type freeBlock struct {
	size units.Bytes
	addr uint64
	id   blockID
}

// lower returns the first place whose block is not smaller, in the order of the list.
func (l freeList) lower(size units.Bytes, addr uint64) int {
	i, j := 0, len(l)
	for i < j {
		h := int(uint(i+j) >> 1)
		if f := &l[h]; f.size < size || f.size == size && f.addr < addr {
			i = h + 1
		} else {
			j = h
		}
	}
	return i
}

func (l *freeList) insert(f freeBlock) {
	i := l.lower(f.size, f.addr)
	*l = append(*l, freeBlock{})
	copy((*l)[i+1:], (*l)[i:])
	(*l)[i] = f
}

func (l *freeList) remove(size units.Bytes, addr uint64) {
	i := l.lower(size, addr)
	*l = append((*l)[:i], (*l)[i+1:]...)
}

// addFree puts a free block into its list.
func (a *caching) addFree(p *pool, id blockID) {
	b := &a.blocks[id]
	b.age = p.searches
	p.free[b.stream].insert(freeBlock{b.size, b.addr, id})
}

func (a *caching) dropFree(p *pool, id blockID) {
	b := &a.blocks[id]
	p.free[b.stream].remove(b.size, b.addr)
}

// addUnmapped keeps address space without memory by address.
func (a *caching) addUnmapped(p *pool, id blockID) {
	l := &p.unmapped[a.blocks[id].stream]
	i, _ := slices.BinarySearchFunc(*l, a.blocks[id].addr, a.byAddr)
	*l = slices.Insert(*l, i, id)
}

func (a *caching) dropUnmapped(p *pool, id blockID) {
	l := &p.unmapped[a.blocks[id].stream]
	i, _ := slices.BinarySearchFunc(*l, a.blocks[id].addr, a.byAddr)
	*l = slices.Delete(*l, i, i+1)
}

func (a *caching) byAddr(id blockID, addr uint64) int { return cmp.Compare(a.blocks[id].addr, addr) }

// newBlock returns an unlinked free block.
func (a *caching) newBlock(b block) blockID {
	if n := len(a.spare); n > 0 {
		id := a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.blocks[id] = b
		return id
	}
	a.blocks = append(a.blocks, b)
	return blockID(len(a.blocks) - 1)
}

// link puts a block between two that were neighbours.
func (a *caching) link(prev, id, next blockID) {
	a.blocks[id].prev, a.blocks[id].next = prev, next
	if prev != none {
		a.blocks[prev].next = id
	} else {
		a.segments[a.blocks[id].segment].head = id
	}
	if next != none {
		a.blocks[next].prev = id
	}
}

// splittable is should_split: whether what remains is worth a separate block.
func (a *caching) splittable(p *pool, have, want units.Bytes) bool {
	remaining := have - want
	if p.small || a.set.Expandable {
		return remaining >= minBlockSize
	}
	return want < a.maxSplit && remaining > smallSize
}

// absorb is try_merge_blocks: it merges a neighbour into a block if the neighbour is free too. The
// neighbour leaves its list.
func (a *caching) absorb(p *pool, into, from blockID) {
	if from == none {
		return
	}
	dst, src := &a.blocks[into], &a.blocks[from]
	if src.state != trace.Inactive || src.unmapped != dst.unmapped {
		return
	}
	if src.unmapped {
		a.dropUnmapped(p, from)
	} else {
		a.dropFree(p, from)
		if !a.segments[src.segment].expandable {
			a.stats.InactiveSplit -= src.size
		}
	}
	dst.size += src.size
	if dst.prev == from {
		dst.addr = src.addr
		dst.prev = src.prev
		if src.prev != none {
			a.blocks[src.prev].next = into
		} else {
			a.segments[src.segment].head = into
		}
	} else {
		dst.next = src.next
		if src.next != none {
			a.blocks[src.next].prev = into
		}
	}
	a.spare = append(a.spare, from)
}

// addrTable finds handed-out blocks by address: open addressing with linear probing, the empty
// address being 0. It is made at the first put.
type addrTable struct {
	slots []addrSlot
	used  int
	shift uint
}

type addrSlot struct {
	addr uint64
	id   blockID
}

// firstTableBits is the logarithm of the slots it begins with.
const firstTableBits = 9

func newAddrTable(bits uint) addrTable {
	return addrTable{slots: make([]addrSlot, 1<<bits), shift: 64 - bits}
}

func (t *addrTable) home(addr uint64) int {
	return int(addr * 0x9e3779b97f4a7c15 >> t.shift) // Fibonacci hashing
}

func (t *addrTable) put(addr uint64, id blockID) {
	if t.used*2 >= len(t.slots) {
		old, bits := t.slots, 64-t.shift
		if old != nil {
			bits++
		}
		*t = newAddrTable(bits)
		for _, s := range old {
			if s.addr != 0 {
				t.put(s.addr, s.id)
			}
		}
	}
	i := t.home(addr)
	for t.slots[i].addr != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = addrSlot{addr, id}
	t.used++
}

func (t *addrTable) get(addr uint64) blockID {
	if t.used == 0 {
		return none
	}
	for i := t.home(addr); t.slots[i].addr != 0; i = (i + 1) & (len(t.slots) - 1) {
		if t.slots[i].addr == addr {
			return t.slots[i].id
		}
	}
	return none
}

func (t *addrTable) remove(addr uint64) {
	mask := len(t.slots) - 1
	i := t.home(addr)
	for t.slots[i].addr != addr {
		if t.slots[i].addr == 0 {
			return
		}
		i = (i + 1) & mask
	}
	t.used--
	for j := i; ; { // close the gap
		j = (j + 1) & mask
		if t.slots[j].addr == 0 {
			break
		}
		if h := t.home(t.slots[j].addr); (j-h)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = addrSlot{}
}
