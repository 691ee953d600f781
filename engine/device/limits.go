package device

import "github.com/memspec/memspec/engine/units"

// Limits are what every card of a compute capability has (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability").
type Limits struct {
	ComputeCapability Capability
	ThreadsPerSM      int
	BlocksPerSM       int
	RegistersPerSM    int         // of 32 bits
	SharedPerSM       units.Bytes // shared memory of a multiprocessor
	SharedPerBlock    units.Bytes // without asking
	SharedOptIn       units.Bytes // the most that a block may ask for
	SharedReserved    units.Bytes // what CUDA takes of a multiprocessor's for each block
}

// limits is by capability, ascending. Before 7.0 no PyTorch that memspec knows has kernels.
var limits = []Limits{
	row(7, 0, 2048, 32, 96, 96),
	row(7, 5, 1024, 16, 64, 64),
	row(8, 0, 2048, 32, 164, 163),
	row(8, 6, 1536, 16, 100, 99),
	row(8, 7, 1536, 16, 164, 163),
	row(8, 9, 1536, 24, 100, 99),
	row(9, 0, 2048, 32, 228, 227),
	row(10, 0, 2048, 32, 228, 227),
	row(10, 3, 2048, 32, 228, 227),
	row(11, 0, 1536, 24, 228, 227),
	row(12, 0, 1536, 24, 100, 99),
	row(12, 1, 1536, 24, 100, 99),
}

func row(major, minor, threads, blocks int, sharedKiB, optInKiB units.Bytes) Limits {
	l := Limits{ComputeCapability: Capability{major, minor}, ThreadsPerSM: threads, BlocksPerSM: blocks,
		RegistersPerSM: 64 << 10,
		SharedPerSM:    sharedKiB * units.KiB, SharedPerBlock: 48 * units.KiB, SharedOptIn: optInKiB * units.KiB}
	if l.ComputeCapability.AtLeast(8, 0) {
		l.SharedReserved = units.KiB // "NVIDIA Ampere GPU Architecture Tuning Guide", 1.4.1.6
	}
	return l
}

// AllLimits returns the limits of every capability that is known, ascending.
func AllLimits() []Limits { return append([]Limits(nil), limits...) }
