// Package allocator replays a trace through a simulation of PyTorch's CUDA caching allocator and
// says what it held at every event.
//
// The simulated allocator does what c10/cuda/CUDACachingAllocator.cpp does: requests are rounded to
// multiples of 512 bytes, served from the best fitting free block of their pool and stream, split
// from it or taken whole; a miss takes a new segment from the device; freed blocks merge with free
// neighbours and stay reserved. Run out of memory, it gives cached segments back and tries once
// more. Settings are those of PYTORCH_CUDA_ALLOC_CONF. Ideal is the baseline without rounding and
// cache, which no peak may undercut. Replaying a recorded snapshot (ReplaySnapshot) puts every
// allocation at the address the device recorded.
//
// Not modelled: private pools of captured graphs (their segments are kept but not allocated from),
// the cudaMallocAsync backend, host memory, physical fragmentation of the device.
package allocator

import (
	"fmt"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Addr is an address on the device. 0 is the address of nothing: a request of no bytes.
type Addr uint64

// Allocator is what a trace is replayed through.
type Allocator interface {
	// Malloc hands out a block of at least size bytes to a stream. The error is an *OOMError.
	Malloc(size units.Bytes, stream int) (Addr, error)
	// Free returns a block that no other stream uses.
	Free(Addr)
	// FreeRequested takes a block from its owner while another stream may still use it: active, not
	// allocated.
	FreeRequested(Addr)
	// FreeCompleted returns such a block. One that came back meanwhile is left alone.
	FreeCompleted(Addr)
	// EmptyCache gives every segment back that holds no active block.
	EmptyCache()
	Stats() Stats
	// Snapshot returns segments and blocks as they are now, by address.
	Snapshot() Snapshot
	// Fresh returns another allocator in the state this one began in.
	Fresh() Allocator
}

// Snapshot is the state of an allocator: its segments by address. The blocks name no storage.
type Snapshot struct{ Segments []trace.Segment }

// Config says how an allocator begins. The zero value is PyTorch's default on a device of unlimited
// memory.
type Config struct {
	// what all segments together may take: the device's memory less the context; 0 is no limit
	Limit units.Bytes
	// the device's memory: what per_process_memory_fraction is a fraction of; 0 stands for Limit
	Total       units.Bytes
	Settings    Settings                    // the zero value is the default
	Heap        []trace.Segment             // what is there already
	SegmentAddr func(size units.Bytes) Addr // where the device puts a new segment; nil is where a driver does
	// what a context holds for the local variables of kernels until the first one runs, and then
	// has elsewhere: a hole among the addresses of segments; 0 is none
	Local units.Bytes
}

// New returns the allocator of the settings' backend.
func New(c Config) (Allocator, error) {
	if c.Settings == (Settings{}) {
		c.Settings = DefaultSettings()
	}
	if err := c.Settings.Check(); err != nil {
		return nil, err
	}
	return newCaching(c)
}

// OOMError is an allocation that the device has no memory for.
type OOMError struct {
	Requested units.Bytes // asked for
	Segment   units.Bytes // what the device was asked for: the size PyTorch's message prints
	Limit     units.Bytes // what all segments may take
	Stats     Stats       // when it failed, after everything cached was given back
}

func (e *OOMError) Error() string {
	return fmt.Sprintf("out of memory: tried to allocate %s, got %s reserved (%s allocated), want at most %s",
		e.Segment, e.Stats.Reserved, e.Stats.Allocated, e.Limit)
}
