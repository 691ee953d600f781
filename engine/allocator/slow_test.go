package allocator

import (
	"math"
	"sort"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// slow is a second caching allocator, written for being obviously right: segments are lists of
// blocks, every question is answered by looking at all of them, every figure is summed up anew. It
// shares no code with the first but the settings' fields.
type slow struct {
	c        Config
	segs     []*slowSegment // in the order made
	addr     uint64
	searches map[bool]int64 // by small
	retries  int
	ooms     int
	allocs   int
	frees    int
}

type slowSegment struct {
	addr       uint64
	size       int64
	stream     int
	small      bool
	expandable bool
	blocks     []*slowBlock
}

type slowBlock struct {
	addr      uint64
	size      int64
	requested int64
	state     trace.BlockState
	unmapped  bool
	age       int64
}

func newSlow(c Config) *slow {
	return &slow{c: c, addr: firstAddr, searches: map[bool]int64{}}
}

func (s *slow) round(n int64) int64 {
	if n < 512 {
		return 512
	}
	interval := 0
	for interval < 15 && n>>(20+interval) > 1 {
		interval++
	}
	if d := s.c.Settings.RoundupDivisions[interval]; d > 1 && n > 512*d {
		power := int64(1)
		for power*2 <= n {
			power *= 2
		}
		if power == n {
			return n
		}
		if power/d == 0 {
			return power * 2
		}
		for size := power; ; size += power / d {
			if size >= n {
				return size
			}
		}
	}
	return (n + 511) / 512 * 512
}

func (s *slow) segmentSize(size int64) int64 {
	if size <= 1<<20 {
		return 2 << 20
	}
	if size < 10<<20 {
		return int64(s.c.Settings.LargeSegment)
	}
	return (size + 2<<20 - 1) / (2 << 20) * (2 << 20)
}

func (s *slow) page(small bool) int64 {
	if small {
		return 2 << 20
	}
	return int64(s.c.Settings.LargeSegment)
}

func (s *slow) maxSplit() int64 {
	if s.c.Settings.MaxSplitSize == 0 {
		return math.MaxInt64
	}
	return int64(s.c.Settings.MaxSplitSize)
}

func (s *slow) stats() Stats {
	st := Stats{Retries: s.retries, OOMs: s.ooms, DeviceAllocs: s.allocs, DeviceFrees: s.frees}
	for _, seg := range s.segs {
		if !seg.expandable {
			st.Segments++
		}
		for _, b := range seg.blocks {
			size := units.Bytes(b.size)
			if b.unmapped {
				continue
			}
			st.Reserved += size
			switch b.state {
			case trace.ActiveAllocated:
				st.Allocated += size
				st.Blocks++
				fallthrough
			case trace.ActiveAwaitingFree:
				st.Active += size
				st.ActiveBlocks++
				st.Requested += units.Bytes(b.requested)
			default:
				if !seg.expandable && len(seg.blocks) > 1 {
					st.InactiveSplit += size
				}
			}
		}
	}
	return st
}

func (s *slow) limit() int64 {
	if s.c.Limit == 0 {
		return math.MaxInt64
	}
	return int64(s.c.Limit)
}

// allowed is what the memory fraction allows; ok says whether there is one.
func (s *slow) allowed() (int64, bool) {
	total := s.c.Total
	if total == 0 {
		total = s.c.Limit
	}
	if s.c.Settings.MemoryFraction >= 1 || total == 0 {
		return math.MaxInt64, false
	}
	return int64(s.c.Settings.MemoryFraction * float64(total)), true
}

func (s *slow) collects() bool {
	_, ok := s.allowed()
	return ok && s.c.Settings.GCThreshold > 0
}

type slowPlace struct {
	seg   *slowSegment
	block *slowBlock
}

// free lists the free blocks of a pool by size and address; of one stream, or of all with stream
// -1.
func (s *slow) free(small bool, stream int) []slowPlace {
	var out []slowPlace
	for _, seg := range s.segs {
		for _, b := range seg.blocks {
			if seg.small == small && (stream < 0 || seg.stream == stream) && b.state == trace.Inactive && !b.unmapped {
				out = append(out, slowPlace{seg, b})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].block, out[j].block
		return a.size < b.size || a.size == b.size && a.addr < b.addr
	})
	return out
}

func (seg *slowSegment) index(b *slowBlock) int {
	for i := range seg.blocks {
		if seg.blocks[i] == b {
			return i
		}
	}
	panic("no such block")
}

func (seg *slowSegment) replace(i int, with ...*slowBlock) {
	seg.blocks = append(seg.blocks[:i:i], append(with, seg.blocks[i+1:]...)...)
}

// merge joins free neighbours; age is that of what grew.
func (seg *slowSegment) merge(age int64) {
	for i := 0; i+1 < len(seg.blocks); {
		a, b := seg.blocks[i], seg.blocks[i+1]
		if a.state == trace.Inactive && b.state == trace.Inactive && a.unmapped == b.unmapped {
			a.size += b.size
			a.age = age
			seg.replace(i + 1)
			continue
		}
		i++
	}
}

func (s *slow) drop(seg *slowSegment) {
	for i := range s.segs {
		if s.segs[i] == seg {
			s.segs = append(s.segs[:i:i], s.segs[i+1:]...)
			s.frees++
			return
		}
	}
	panic("no such segment")
}

func (s *slow) malloc(n int64, stream int) (uint64, bool) {
	if n <= 0 {
		return 0, true
	}
	size := s.round(n)
	small := size <= 1<<20
	if s.collects() {
		s.searches[small]++
	}
	p, ok := s.fit(size, small, stream)
	if !ok {
		if s.collects() {
			s.collect()
		}
		p, ok = s.grow(size, small, stream)
		if !ok && s.c.Settings.MaxSplitSize > 0 && s.releaseOversize(size, small, stream) {
			p, ok = s.grow(size, small, stream)
		}
		if !ok {
			s.emptyCache()
			s.retries++
			p, ok = s.grow(size, small, stream)
		}
		if !ok {
			s.ooms++
			return 0, false
		}
	}
	b := p.block
	rest := b.size - size
	split := rest >= 512
	if !small && !s.c.Settings.Expandable {
		split = size < s.maxSplit() && rest > 1<<20
	}
	if split {
		p.seg.replace(p.seg.index(b), b, &slowBlock{addr: b.addr + uint64(size), size: rest, age: s.searches[small]})
		b.size = size
	}
	b.state, b.requested = trace.ActiveAllocated, n
	return b.addr, true
}

func (s *slow) fit(size int64, small bool, stream int) (slowPlace, bool) {
	list := s.free(small, stream)
	for len(list) > 0 && list[0].block.size < size {
		list = list[1:]
	}
	if len(list) == 0 {
		return slowPlace{}, false
	}
	if list[0].seg.expandable {
		reach := func(p slowPlace) int64 {
			i := p.seg.index(p.block)
			if i+1 < len(p.seg.blocks) && p.seg.blocks[i+1].unmapped {
				return p.block.size + p.seg.blocks[i+1].size
			}
			return p.block.size
		}
		for len(list) > 1 && reach(list[1]) < reach(list[0]) {
			list = list[1:]
		}
	}
	have, least := list[0].block.size, s.maxSplit()
	rounding := int64(s.c.Settings.MaxNonSplitRounding)
	if rounding == 0 {
		rounding = int64(s.c.Settings.LargeSegment)
	}
	if size < least && have >= least || size >= least && have >= size+rounding {
		return slowPlace{}, false
	}
	return list[0], true
}

func (s *slow) grow(size int64, small bool, stream int) (slowPlace, bool) {
	bytes := s.segmentSize(size)
	reserved := int64(s.stats().Reserved)
	if allowed, _ := s.allowed(); bytes > allowed-reserved {
		return slowPlace{}, false
	}
	if s.c.Settings.Expandable {
		return s.growExpandable(size, small, stream)
	}
	if bytes > s.limit()-reserved {
		return slowPlace{}, false
	}
	seg := &slowSegment{addr: s.addr, size: bytes, stream: stream, small: small,
		blocks: []*slowBlock{{addr: s.addr, size: bytes}}}
	s.addr += uint64((bytes + 2<<20 - 1) / (2 << 20) * (2 << 20))
	s.segs = append(s.segs, seg)
	s.allocs++
	return slowPlace{seg, seg.blocks[0]}, true
}

func (s *slow) find(addr uint64, state trace.BlockState) (*slowSegment, *slowBlock) {
	for _, seg := range s.segs {
		for _, b := range seg.blocks {
			if b.addr == addr && b.state == state && !b.unmapped {
				return seg, b
			}
		}
	}
	return nil, nil
}

func (s *slow) freeRequested(addr uint64) {
	if _, b := s.find(addr, trace.ActiveAllocated); b != nil {
		b.state = trace.ActiveAwaitingFree
	}
}

func (s *slow) freeCompleted(addr uint64) {
	seg, b := s.find(addr, trace.ActiveAwaitingFree)
	if b == nil {
		return
	}
	*b = slowBlock{addr: b.addr, size: b.size, age: s.searches[seg.small]}
	seg.merge(s.searches[seg.small])
}

func (s *slow) emptyCache() {
	for _, seg := range s.segs {
		for _, b := range append([]*slowBlock(nil), seg.blocks...) {
			if b.state == trace.ActiveAwaitingFree {
				s.freeCompleted(b.addr)
			}
		}
	}
	for _, seg := range append([]*slowSegment(nil), s.segs...) {
		if !seg.expandable {
			if len(seg.blocks) == 1 && seg.blocks[0].state == trace.Inactive {
				s.drop(seg)
			}
			continue
		}
		page := uint64(s.page(seg.small))
		for again := true; again; {
			again = false
			for i, b := range seg.blocks {
				first := seg.addr + (b.addr-seg.addr+page-1)/page*page
				last := seg.addr + (b.addr+uint64(b.size)-seg.addr)/page*page
				if b.state != trace.Inactive || b.unmapped || first >= last {
					continue
				}
				var with []*slowBlock
				if first > b.addr {
					with = append(with, &slowBlock{addr: b.addr, size: int64(first - b.addr), age: s.searches[seg.small]})
				}
				with = append(with, &slowBlock{addr: first, size: int64(last - first), unmapped: true})
				if end := b.addr + uint64(b.size); end > last {
					with = append(with, &slowBlock{addr: last, size: int64(end - last), age: s.searches[seg.small]})
				}
				seg.replace(i, with...)
				s.frees++
				again = true
				break
			}
		}
		seg.merge(0)
		if len(seg.blocks) == 1 && seg.blocks[0].unmapped {
			s.drop(seg)
			s.frees--
		}
	}
}

func (s *slow) releaseOversize(size int64, small bool, stream int) bool {
	want := max(size, s.maxSplit())
	list := s.free(small, stream)
	for _, p := range list {
		if p.block.size >= want {
			if p.seg.expandable {
				return false
			}
			s.drop(p.seg)
			return true
		}
	}
	released := int64(0)
	for i := len(list) - 1; i >= 0 && released < want && list[i].block.size >= s.maxSplit(); i-- {
		if !list[i].seg.expandable {
			released += list[i].block.size
			s.drop(list[i].seg)
		}
	}
	return released >= want
}

func (s *slow) collect() {
	allowed, _ := s.allowed()
	threshold := int64(s.c.Settings.GCThreshold * float64(allowed))
	target := int64(s.stats().Reserved) - threshold
	reclaimed := int64(0)
	for target > 0 && reclaimed < target {
		var whole []slowPlace
		age := int64(0)
		for _, p := range s.free(false, -1) {
			if len(p.seg.blocks) == 1 {
				whole = append(whole, p)
				age += s.searches[false] - p.block.age
			}
		}
		freed := false
		for _, p := range whole {
			if !p.seg.expandable && float64(s.searches[false]-p.block.age) >= float64(age)/float64(len(whole)) {
				reclaimed += p.block.size
				s.drop(p.seg)
				freed = true
			}
		}
		if !freed {
			return
		}
	}
}

// snapshot is the state in the form of Snapshot.
func (s *slow) snapshot() Snapshot {
	var out []trace.Segment
	for _, seg := range s.segs {
		open := false
		for _, b := range seg.blocks {
			if b.unmapped {
				open = false
				continue
			}
			if !open {
				open = true
				out = append(out, trace.Segment{Addr: b.addr, Stream: seg.stream, Small: seg.small, Expandable: seg.expandable})
			}
			o := &out[len(out)-1]
			o.Size += units.Bytes(b.size)
			o.Blocks = append(o.Blocks, trace.Block{Addr: b.addr, Size: units.Bytes(b.size), Requested: units.Bytes(b.requested),
				State: b.state, Storage: trace.NoStorage})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Addr < out[j].Addr })
	return Snapshot{out}
}
