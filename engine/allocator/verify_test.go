package allocator

import (
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Verify checks a snapshot against itself and against the statistics. It knows nothing of how
// blocks are chosen, only what must hold: blocks tile their segments, segments do not overlap, and
// the sums are the figures. Every violation is reported.
func Verify(s Snapshot, st Stats) error {
	v := verifier{}
	var end uint64
	for i := range s.Segments {
		seg := &s.Segments[i]
		v.check(seg.Addr != 0 && seg.Size > 0, "segment %#x: got %d bytes at that place, want some at an address", seg.Addr,
			seg.Size)
		v.check(seg.Addr >= end, "segment %#x: got one that ends at %#x before it, want no overlap", seg.Addr, end)
		end = seg.Addr + uint64(seg.Size)
		v.segment(seg)
	}
	v.equal("requested", v.sum.Requested, st.Requested)
	v.equal("allocated", v.sum.Allocated, st.Allocated)
	v.equal("active", v.sum.Active, st.Active)
	v.equal("reserved", v.sum.Reserved, st.Reserved)
	v.equal("inactive split", v.sum.InactiveSplit, st.InactiveSplit)
	v.equal("blocks", units.Bytes(v.sum.Blocks), units.Bytes(st.Blocks))
	v.equal("active blocks", units.Bytes(v.sum.ActiveBlocks), units.Bytes(st.ActiveBlocks))
	v.equal("segments", units.Bytes(v.sum.Segments), units.Bytes(st.Segments))
	v.check(st.Requested <= st.Active && st.Allocated <= st.Active && st.Active <= st.Reserved,
		"got requested %d, allocated %d, active %d, reserved %d, want requested and allocated within active within reserved",
		st.Requested, st.Allocated, st.Active, st.Reserved)
	return errors.Join(v.errs...)
}

type verifier struct {
	sum  Stats
	errs []error
}

func (v *verifier) check(ok bool, format string, args ...any) {
	if !ok {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	}
}

func (v *verifier) equal(what string, sum, stat units.Bytes) {
	v.check(sum == stat, "%s: got %d, want %d, the sum over the blocks", what, stat, sum)
}

func (v *verifier) segment(seg *trace.Segment) {
	v.sum.Reserved += seg.Size
	if !seg.Expandable {
		v.sum.Segments++
	}
	at := seg.Addr
	for i := range seg.Blocks {
		b := &seg.Blocks[i]
		v.check(b.Addr == at && b.Size > 0, "block %#x: got %d bytes there, want one at %#x", b.Addr, b.Size, at)
		at = b.Addr + uint64(b.Size)
		v.check(b.Requested >= 0 && b.Requested <= b.Size, "block %#x: got %d bytes requested of %d", b.Addr, b.Requested,
			b.Size)
		if b.State == trace.Inactive {
			v.check(i == 0 || seg.Blocks[i-1].State != trace.Inactive, "block %#x: got two free neighbours, want them merged",
				b.Addr)
			v.check(b.Requested == 0, "block %#x: got %d bytes requested of a free one", b.Addr, b.Requested)
			if !seg.Expandable && len(seg.Blocks) > 1 {
				v.sum.InactiveSplit += b.Size
			}
			continue
		}
		v.sum.Active += b.Size
		v.sum.Requested += b.Requested
		v.sum.ActiveBlocks++
		if b.State == trace.ActiveAllocated {
			v.sum.Allocated += b.Size
			v.sum.Blocks++
		}
	}
	v.check(at == seg.Addr+uint64(seg.Size), "segment %#x: got blocks up to %#x, want %#x", seg.Addr, at,
		seg.Addr+uint64(seg.Size))
}
