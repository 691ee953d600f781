package trace

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// A snapshot says what the allocator held at its end. Rewind walks the events backwards from there
// to what it held before the first.
//
// One thing the events do not record: the size of the block of an allocation that was there before
// and is freed in the trace. The block is the request rounded, or more, where what remained of the
// free block was too small to be split off. Such a remainder shows as a gap too small to exist as a
// free block, up to the next block or to the place where another allocation began meanwhile, and is
// given back to its block.

// Geometry is what Rewind must know of the allocator.
type Geometry struct {
	Round    func(units.Bytes) units.Bytes // a request's size
	Unsplit  units.Bytes                   // in the large pool a remainder up to this is not split off
	MaxSplit units.Bytes                   // blocks from this size on are not split; 0 is no limit
	Page     units.Bytes                   // of the large pool's expandable segments
}

// smallBuffer is the size of a segment of the small pool: kSmallBuffer of CUDACachingAllocator.cpp.
const smallBuffer units.Bytes = 2 << 20

// Rewind fills Trace.Heap and returns the number of events that contradict the segments: recorded
// before or after others were lost.
func (r *Recording) Rewind(g Geometry) int {
	w := rewinder{g: g}
	for _, s := range r.Final {
		seg := &rewound{Segment: s, pieces: make([]piece, len(s.Blocks))}
		seg.Blocks = nil
		for i, b := range s.Blocks {
			seg.pieces[i] = piece{Block: b}
		}
		w.segments = append(w.segments, seg)
	}
	slices.SortFunc(w.segments, func(a, b *rewound) int { return cmp.Compare(a.Addr, b.Addr) })
	conflicts := 0
	for i := len(r.Trace.Events) - 1; i >= 0; i-- {
		if !w.undo(&r.Trace.Events[i]) {
			conflicts++
		}
	}
	r.Trace.Heap = w.heap()
	return conflicts
}

type rewinder struct {
	g        Geometry
	segments []*rewound // by address
}

// rewound is a segment on the way back. Its pieces tile it; unlike blocks, free pieces may lie side
// by side.
type rewound struct {
	Segment
	pieces []piece
}

type piece struct {
	Block
	guessed bool // the size is the request's, rounded
}

func (p *piece) end() uint64 { return p.Addr + uint64(p.Size) }

// find returns the segment around an address.
func (w *rewinder) find(addr uint64) (int, *rewound) {
	i, exact := slices.BinarySearchFunc(w.segments, addr,
		func(s *rewound, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	if !exact {
		i--
	}
	if i < 0 || addr >= w.segments[i].Addr+uint64(w.segments[i].Size) {
		return i + 1, nil
	}
	return i, w.segments[i]
}

// at returns the piece around an address.
func (s *rewound) at(addr uint64) int {
	i, exact := slices.BinarySearchFunc(s.pieces, addr,
		func(p piece, addr uint64) int { return cmp.Compare(p.Addr, addr) })
	if !exact {
		i--
	}
	return i
}

// undo takes one event back, and says whether the segments allow it.
func (w *rewinder) undo(e *Event) bool {
	switch e.Action {
	case Alloc:
		return w.undoAlloc(e)
	case FreeRequested:
		_, s := w.find(e.Addr)
		if s == nil {
			return false
		}
		p := &s.pieces[s.at(e.Addr)]
		if p.Addr != e.Addr || p.State != ActiveAwaitingFree {
			return false
		}
		p.State, p.Storage = ActiveAllocated, e.Storage
	case FreeCompleted:
		return w.undoFree(e)
	case SegmentAlloc, SegmentMap:
		return w.undoMap(e)
	case SegmentFree, SegmentUnmap:
		return w.undoUnmap(e)
	}
	return true
}

// undoAlloc frees the block. What is free behind it was one with it; what seems free before it is
// not.
func (w *rewinder) undoAlloc(e *Event) bool {
	_, s := w.find(e.Addr)
	if s == nil {
		return false
	}
	i := s.at(e.Addr)
	p := &s.pieces[i]
	if p.Addr != e.Addr || p.State != ActiveAllocated {
		return false
	}
	*p = piece{Block: Block{Addr: p.Addr, Size: p.Size, Storage: NoStorage}}
	j := i + 1
	for ; j < len(s.pieces) && s.pieces[j].State == Inactive; j++ {
		p.Size += s.pieces[j].Size
	}
	s.pieces = slices.Delete(s.pieces, i+1, j)
	return true
}

// undoFree puts a block back into free space.
func (w *rewinder) undoFree(e *Event) bool {
	_, s := w.find(e.Addr)
	if s == nil {
		return false
	}
	i := s.at(e.Addr)
	size := w.g.Round(e.Bytes)
	if w.g.MaxSplit > 0 && size >= w.g.MaxSplit {
		size = units.Bytes(s.pieces[i].end() - e.Addr)
	}
	end := e.Addr + uint64(size)
	j := i
	for s.pieces[j].State == Inactive && s.pieces[j].end() < end && j+1 < len(s.pieces) {
		j++
	}
	if s.pieces[j].State != Inactive || s.pieces[j].end() < end {
		return false
	}
	var put []piece
	if before := units.Bytes(e.Addr - s.pieces[i].Addr); before > 0 {
		put = append(put, piece{Block: Block{Addr: s.pieces[i].Addr, Size: before, Storage: NoStorage}})
	}
	put = append(put, piece{Block{e.Addr, size, e.Bytes, ActiveAwaitingFree, e.Storage}, true})
	if after := units.Bytes(s.pieces[j].end() - end); after > 0 {
		put = append(put, piece{Block: Block{Addr: end, Size: after, Storage: NoStorage}})
	}
	s.pieces = slices.Replace(s.pieces, i, j+1, put...)
	return true
}

// undoMap takes free memory away: a whole segment, or pages of one.
func (w *rewinder) undoMap(e *Event) bool {
	i, s := w.find(e.Addr)
	end := e.Addr + uint64(e.Bytes)
	if s == nil || end > s.Addr+uint64(s.Size) || e.Action == SegmentAlloc && (s.Addr != e.Addr || s.Size != e.Bytes) {
		return false
	}
	first := s.cut(e.Addr)
	last := s.cut(end)
	for _, p := range s.pieces[first:last] {
		if p.State != Inactive {
			return false
		}
	}
	left := &rewound{Segment: s.Segment, pieces: s.pieces[:first:first]}
	right := &rewound{Segment: s.Segment, pieces: s.pieces[last:]}
	var kept []*rewound
	for _, part := range []*rewound{left, right} {
		if n := len(part.pieces); n > 0 {
			part.Addr = part.pieces[0].Addr
			part.Size = units.Bytes(part.pieces[n-1].end() - part.Addr)
			kept = append(kept, part)
		}
	}
	w.segments = slices.Replace(w.segments, i, i+1, kept...)
	return true
}

// cut makes a piece begin at addr and returns its place. Only free pieces are cut.
func (s *rewound) cut(addr uint64) int {
	if addr == s.Addr+uint64(s.Size) {
		return len(s.pieces)
	}
	i := s.at(addr)
	p := s.pieces[i]
	if p.Addr == addr || p.State != Inactive {
		return i
	}
	s.pieces[i].Size = units.Bytes(addr - p.Addr)
	p.Size = units.Bytes(p.end() - addr)
	p.Addr = addr
	s.pieces = slices.Insert(s.pieces, i+1, p)
	return i + 1
}

// undoUnmap puts free memory back: a segment, or pages beside others of the same kind.
func (w *rewinder) undoUnmap(e *Event) bool {
	i, s := w.find(e.Addr)
	if s != nil || e.Bytes <= 0 || i < len(w.segments) && e.Addr+uint64(e.Bytes) > w.segments[i].Addr {
		return false
	}
	n := &rewound{Segment: Segment{Addr: e.Addr, Size: e.Bytes, Stream: e.Stream, Small: e.Bytes == smallBuffer,
		Expandable: e.Action == SegmentUnmap}}
	n.pieces = []piece{{Block: Block{Addr: e.Addr, Size: e.Bytes, Storage: NoStorage}}}
	if n.Expandable {
		n.Small = e.Bytes%w.g.Page != 0
		if i > 0 && w.segments[i-1].joins(n) {
			n.Small = w.segments[i-1].Small
			n.pieces = append(w.segments[i-1].pieces, n.pieces...)
			n.Addr = w.segments[i-1].Addr
			n.Size += w.segments[i-1].Size
			i--
			w.segments = slices.Delete(w.segments, i, i+1)
		}
		if i < len(w.segments) && n.joins(w.segments[i]) {
			n.pieces = append(n.pieces, w.segments[i].pieces...)
			n.Small = w.segments[i].Small
			n.Size += w.segments[i].Size
			w.segments = slices.Delete(w.segments, i, i+1)
		}
	}
	w.segments = slices.Insert(w.segments, i, n)
	return true
}

// joins says whether another run follows directly in the same expandable segment.
func (s *rewound) joins(t *rewound) bool {
	return s.Expandable && t.Expandable && s.Stream == t.Stream && s.Private == t.Private &&
		s.Addr+uint64(s.Size) == t.Addr
}

// heap is what is left, with unsplit remainders given back to their blocks.
func (w *rewinder) heap() []Segment {
	out := make([]Segment, 0, len(w.segments))
	for _, s := range w.segments {
		seg := s.Segment
		for i := 0; i < len(s.pieces); {
			p := s.pieces[i]
			j := i + 1
			for j < len(s.pieces) && s.pieces[j].State == Inactive {
				j++
			}
			if p.State == Inactive {
				p.Size = units.Bytes(s.pieces[j-1].end() - p.Addr)
				seg.Blocks = append(seg.Blocks, p.Block)
				i = j
				continue
			}
			if k := i + 1; k < j && p.guessed && !s.Small && !s.Expandable && s.pieces[k].Size <= w.g.Unsplit {
				p.Size += s.pieces[k].Size
				i = k
			}
			seg.Blocks = append(seg.Blocks, p.Block)
			if i+1 < j {
				free := s.pieces[i+1]
				free.Size = units.Bytes(s.pieces[j-1].end() - free.Addr)
				seg.Blocks = append(seg.Blocks, free.Block)
			}
			i = j
		}
		out = append(out, seg)
	}
	return out
}

// Before lists the storages that were there before the first event and are freed by one, by number.
func (t *Trace) Before() []tensor.StorageID {
	var out []tensor.StorageID
	for i := range t.Heap {
		for _, b := range t.Heap[i].Blocks {
			if b.Storage != NoStorage {
				out = append(out, b.Storage)
			}
		}
	}
	slices.Sort(out)
	return out
}
