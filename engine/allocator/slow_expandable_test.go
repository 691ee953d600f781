package allocator

import (
	"sort"

	"github.com/memspec/memspec/engine/trace"
)

// growExpandable looks at every address at which free space begins, lowest unmapped block first.
func (s *slow) growExpandable(size int64, small bool, stream int) (slowPlace, bool) {
	type start struct {
		seg      *slowSegment
		i        int
		unmapped uint64
	}
	var starts []start
	for _, seg := range s.segs {
		if !seg.expandable || seg.small != small || seg.stream != stream {
			continue
		}
		for i, b := range seg.blocks {
			if !b.unmapped {
				continue
			}
			from := i
			if i > 0 && seg.blocks[i-1].state == trace.Inactive {
				from = i - 1
			}
			have := int64(0)
			for j := from; j < len(seg.blocks) && seg.blocks[j].state == trace.Inactive; j++ {
				have += seg.blocks[j].size
			}
			if have >= size {
				starts = append(starts, start{seg, from, b.addr})
			}
		}
	}
	sort.Slice(starts, func(i, j int) bool { return starts[i].unmapped < starts[j].unmapped })
	if len(starts) == 0 {
		total := int64(s.c.Total)
		if total == 0 {
			total = int64(s.c.Limit)
		}
		if total == 0 {
			total = int64(unknownRange)
		}
		bytes := (total + total/8 + s.page(small) - 1) / s.page(small) * s.page(small)
		if bytes < size {
			return slowPlace{}, false
		}
		seg := &slowSegment{addr: s.addr, size: bytes, stream: stream, small: small, expandable: true,
			blocks: []*slowBlock{{addr: s.addr, size: bytes, unmapped: true}}}
		s.addr += uint64((bytes + 2<<20 - 1) / (2 << 20) * (2 << 20))
		s.segs = append(s.segs, seg)
		starts = append(starts, start{seg: seg})
	}
	seg, addr := starts[0].seg, starts[0].seg.blocks[starts[0].i].addr
	for {
		// The mapped free block that covers addr, if there is one, has so many bytes from addr on.
		have := int64(0)
		var cover *slowBlock
		for _, b := range seg.blocks {
			if !b.unmapped && b.addr == addr {
				have, cover = b.size, b
			}
		}
		if have >= size {
			return slowPlace{seg, cover}, true
		}
		for i, b := range seg.blocks {
			if b.addr != addr+uint64(have) {
				continue
			}
			bytes := min((min(size-have, b.size)+s.page(small)-1)/s.page(small)*s.page(small), b.size)
			if bytes > s.limit()-int64(s.stats().Reserved) {
				return slowPlace{}, false
			}
			s.allocs++
			with := []*slowBlock{{addr: b.addr, size: bytes, age: s.searches[small]}}
			if rest := b.size - bytes; rest > 0 {
				with = append(with, &slowBlock{addr: b.addr + uint64(bytes), size: rest, unmapped: true})
			}
			seg.replace(i, with...)
			seg.merge(s.searches[small])
			break
		}
	}
}
