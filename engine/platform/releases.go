package platform

import (
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/units"
)

// Lifetime says how long a library workspace lives.
type Lifetime uint8

const (
	// PerCall is allocated inside the call and freed when it returns.
	PerCall Lifetime = iota
	// Kept is allocated by the first call on a (handle, stream) and never freed.
	Kept
	// Shared has no own block: it lies in the kept cuBLAS block, which the first user creates.
	Shared
)

func (l Lifetime) String() string { return [...]string{"per call", "kept", "shared"}[l] }

// bigWorkspace says which devices get the 32 MiB cuBLAS workspace by default
// (parseChosenWorkspaceSize).
type bigWorkspace uint8

const (
	bigExactly90     bigWorkspace = iota // compute capability 9.0
	bigMajors9_10_12                     // any minor
	bigMajors9to12                       // 9, 10, 11, 12
)

func (b bigWorkspace) has(c device.Capability) bool {
	switch b {
	case bigExactly90:
		return c.Major == 9 && c.Minor == 0
	case bigMajors9_10_12:
		return c.Major == 9 || c.Major == 10 || c.Major == 12
	}
	return c.Major >= 9 && c.Major <= 12
}

// cudnnSDPA says where cuDNN's attention stands in the default order.
type cudnnSDPA uint8

const (
	sdpaLast          cudnnSDPA = iota // behind math, which always succeeds: never taken by default
	sdpaPreferMinor03                  // first on majors 9 and 10 with minor 0 or 3, if cuDNN > 9.15.0
	sdpaPreferMajor                    // first on majors 9 and 10, if cuDNN > 9.15.0
)

// Release is what one torch release does. Everything here is of the default Linux x86-64 wheel; its
// CUDA and cuDNN are the pins in the wheel's metadata.
type Release struct {
	Torch Version // major.minor
	CUDA  string
	CuDNN Version

	Big            bigWorkspace
	Cublas         Lifetime
	Lt             Lifetime
	LtBytes        units.Bytes
	LtTakesCublas  bool // fetching the Lt handle creates the cuBLAS block first
	LtMinRows      int64
	LtSqueezesBias bool // a bias that squeezes to 1-D still takes cublasLt in addmm

	SDPA       cudnnSDPA
	MathUpcast bool // math attention computes half and bfloat16 in float32 copies
	// math attention goes through _safe_softmax; absent in 2.4, present in 2.11, first release not
	// settled
	SafeSoftmax   bool
	FlashRNGOnGPU bool // flash attention returns its random state as two 512-byte blocks on the device

	// memory-efficient attention without dropout returns its random state on the device, made first;
	// from 2.14 on
	EfficientRNGOnGPU bool
	// _native_multi_head_attention runs fused attention on heads of any size; before, of multiples of
	// 8
	FusedMHAAnyHead bool
	EfficientGQA    bool // memory-efficient attention takes fewer heads of keys and values than of queries; from 2.14 on

	FusedRMSNorm bool // _fused_rms_norm runs on CUDA
	// cuDNN >= 9.3 takes convolutions of more than INT_MAX elements a sample; absent in 2.4, present
	// in 2.10, first release not settled
	BigConvCuDNN    bool
	LargeSegmentKey bool // large_segment_size_mb is a setting

	Source string
}

// releases is the table, oldest first. "wheel" means that the machine code, headers and strings of
// exactly that release were read.
var releases = []Release{
	{Torch: Version{Major: 2, Minor: 0}, CUDA: "11.7", CuDNN: Version{8, 5, 0, 96}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		Source: "behaviour as 2.4, not opened; pins from the wheel"},
	{Torch: Version{Major: 2, Minor: 1}, CUDA: "12.1", CuDNN: Version{8, 9, 2, 26}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		Source: "behaviour as 2.4, not opened; pins from the wheel"},
	{Torch: Version{Major: 2, Minor: 2}, CUDA: "12.1", CuDNN: Version{8, 9, 2, 26}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		Source: "behaviour as 2.4, not opened; pins from the wheel"},
	{Torch: Version{Major: 2, Minor: 3}, CUDA: "12.1", CuDNN: Version{8, 9, 2, 26}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		Source: "behaviour as 2.4, not opened; pins from the wheel"},
	{Torch: Version{Major: 2, Minor: 4}, CUDA: "12.1", CuDNN: Version{9, 1, 0, 70}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		Source: "source tree 2.4.0"},
	{Torch: Version{Major: 2, Minor: 5}, CUDA: "12.4", CuDNN: Version{9, 1, 0, 70}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		MathUpcast: true, SafeSoftmax: true,
		Source: "behaviour as 2.6, not opened (the upcast is reported, not read); pins from the wheel. 2.5.0 alone " +
			"preferred cuDNN attention on 9.0 (PR 138522): not modelled"},
	{Torch: Version{Major: 2, Minor: 6}, CUDA: "12.4", CuDNN: Version{9, 1, 0, 70}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		MathUpcast: true, SafeSoftmax: true, BigConvCuDNN: true,
		Source: "wheel 2.6.0"},
	{Torch: Version{Major: 2, Minor: 7}, CUDA: "12.6", CuDNN: Version{9, 5, 1, 17}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, BigConvCuDNN: true,
		Source: "wheel 2.7.1"},
	{Torch: Version{Major: 2, Minor: 8}, CUDA: "12.8", CuDNN: Version{9, 10, 2, 21}, Cublas: Kept, Lt: PerCall,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, BigConvCuDNN: true,
		Source: "wheel 2.8.0"},
	{Torch: Version{Major: 2, Minor: 9}, CUDA: "12.8", CuDNN: Version{9, 10, 2, 21}, Cublas: Kept, Lt: Kept,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1,
		MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, FusedRMSNorm: true, BigConvCuDNN: true,
		Source: "wheel 2.9.1; PR 156495. addmm of one row as on a pretend GPU with 2.9.1 (alexnet)"},
	{Torch: Version{Major: 2, Minor: 10}, CUDA: "12.8", CuDNN: Version{9, 10, 2, 21}, Cublas: Kept, Lt: Kept,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 2, LtSqueezesBias: true,
		SDPA: sdpaPreferMinor03, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, FusedRMSNorm: true,
		BigConvCuDNN: true,
		Source:       "wheel 2.10.0; the row condition from a measured alexnet (one row leaves no memory for an Lt block)"},
	{Torch: Version{Major: 2, Minor: 11}, CUDA: "13.0", CuDNN: Version{9, 19, 0, 56}, Cublas: Kept, Lt: Kept,
		LtBytes: units.MiB, LtTakesCublas: true, LtMinRows: 1, LtSqueezesBias: true,
		SDPA: sdpaPreferMinor03, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, FusedRMSNorm: true,
		BigConvCuDNN: true, LargeSegmentKey: true,
		Source: "wheel 2.11.0"},
	{Torch: Version{Major: 2, Minor: 12}, CUDA: "13.0", CuDNN: Version{9, 20, 0, 48}, Big: bigMajors9_10_12, Cublas: Kept,
		Lt: Shared, LtMinRows: 1, LtSqueezesBias: true,
		SDPA: sdpaPreferMinor03, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, FusedRMSNorm: true,
		BigConvCuDNN: true, LargeSegmentKey: true,
		Source: "wheel 2.12.0; PR 175344, 175879, 173002"},
	{Torch: Version{Major: 2, Minor: 13}, CUDA: "13.0", CuDNN: Version{9, 20, 0, 48}, Big: bigMajors9_10_12, Cublas: Kept,
		Lt: Shared, LtBytes: units.MiB, LtMinRows: 1, LtSqueezesBias: true,
		SDPA: sdpaPreferMajor, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, FusedRMSNorm: true,
		BigConvCuDNN: true, LargeSegmentKey: true,
		Source: "wheel 2.13.0; PR 183923"},
	{Torch: Version{Major: 2, Minor: 14}, CUDA: "13.0", CuDNN: Version{9, 24, 0, 43}, Big: bigMajors9to12, Cublas: Kept,
		Lt: Shared, LtBytes: units.MiB, LtMinRows: 1, LtSqueezesBias: true,
		SDPA: sdpaPreferMajor, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, EfficientRNGOnGPU: true,
		EfficientGQA: true, FusedRMSNorm: true, BigConvCuDNN: true, LargeSegmentKey: true,
		Source: "wheel 2.14.0; PR 189312. Memory-efficient attention as on a pretend GPU with 2.14.0 (ten models of " +
			"transformers)"},
	{Torch: Version{Major: 2, Minor: 15}, CUDA: "13.2", CuDNN: Version{9, 26, 0, 51}, Big: bigMajors9to12, Cublas: PerCall,
		Lt: PerCall, LtBytes: units.MiB, LtMinRows: 1, LtSqueezesBias: true,
		SDPA: sdpaPreferMajor, MathUpcast: true, SafeSoftmax: true, FlashRNGOnGPU: true, EfficientRNGOnGPU: true,
		EfficientGQA: true, FusedMHAAnyHead: true, FusedRMSNorm: true, BigConvCuDNN: true, LargeSegmentKey: true,
		Source: "wheel 2.15.0; PR 194311"},
}

// Newest is the newest release of the table, the default of memspec.yaml.
func Newest() Version { return releases[len(releases)-1].Torch }

// Oldest is the oldest release of the table.
func Oldest() Version { return releases[0].Torch }

// ReleaseOf finds the row that a version goes by. known is false for a version newer than the
// table, which goes by the newest row, and for one older than it, which goes by the oldest.
func ReleaseOf(torch Version) (r Release, known bool) {
	row := 0
	for i := range releases {
		if releases[i].Torch.Compare(torch) <= 0 {
			row = i
		}
	}
	return releases[row], releases[row].Torch == torch.Release()
}
