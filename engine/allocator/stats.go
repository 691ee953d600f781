package allocator

import "github.com/memspec/memspec/engine/units"

// Stats is what torch.cuda.memory_stats reports as `current`, of both pools together.
type Stats struct {
	Requested     units.Bytes // requested_bytes: asked for, of active blocks
	Allocated     units.Bytes // allocated_bytes: blocks handed out, after rounding and splitting
	Active        units.Bytes // active_bytes: allocated, and freed but awaiting another stream
	Reserved      units.Bytes // reserved_bytes: segments and mapped pages
	InactiveSplit units.Bytes // inactive_split_bytes: free blocks of partly used segments, which cannot be given back
	Blocks        int         // allocation: blocks handed out
	ActiveBlocks  int         // active
	Segments      int         // segment: those of cudaMalloc, not the expandable
	DeviceAllocs  int         // num_device_alloc, since the start: cudaMalloc and mappings
	DeviceFrees   int         // num_device_free
	Retries       int         // num_alloc_retries: allocations that gave the cache back first
	OOMs          int         // num_ooms
}

// Inactive is what is reserved and free for reuse.
func (s Stats) Inactive() units.Bytes { return s.Reserved - s.Active }

// Rounding is what active blocks hold beyond what was asked for: the internal fragmentation.
func (s Stats) Rounding() units.Bytes { return s.Active - s.Requested }
