package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// The temporary storage of CUB, NVIDIA's library of parallel primitives (github.com/NVIDIA/cccl,
// cub/device/dispatch). How many elements a block takes is its tuning for a compute capability. The
// figures are those of PyTorch 2.10, 2.11 and 2.15 on described GPUs of 7.5 to 12.0
// (testdata/aten/2.15/devices and TestCUB); other releases may differ, and say so.

// cubPart is what a part of a temporary storage is aligned to.
const cubPart = 256

// cubStorage is one allocation for several parts, each aligned.
func cubStorage(parts ...int64) int64 {
	n := int64(cubPart - 1) // the allocation itself may start anywhere
	for _, p := range parts {
		n += divCeil(p, cubPart) * cubPart
	}
	return n
}

// cubRequest is a temporary storage of so many bytes; for releases that were not looked at it is an
// estimate.
func cubRequest(p *platform.Platform, bytes int64, source string) Request {
	r := Request{Bytes: units.Bytes(bytes), Source: source}
	if !p.Release().Torch.AtLeast(2, 10) {
		r.Upper, r.Note = r.Bytes*5/4+64*units.KiB, note.WorkspaceEstimate
	}
	return r
}

// tileStates are the words by which blocks exchange their sums, with 32 more in front: a value and
// its state in one word where the machine can write both at once, else three arrays. From CUDA 13
// on there is one part more.
func tileStates(p *platform.Platform, tiles, item int64, oneWord bool) []int64 {
	tiles += 32
	switch {
	case !oneWord:
		return []int64{4 * tiles, item * tiles, item * tiles, 1}
	case p.Release().Torch.AtLeast(2, 11):
		return []int64{2 * item * tiles, 1}
	}
	return []int64{2 * item * tiles}
}

// cubScan is an inclusive scan of n elements: 128 threads with 15 elements of 4 bytes each.
func cubScan(p *platform.Platform, n int64, d tensor.DType) int64 {
	item := d.ItemSize()
	tile := 128 * max(1, min(60/item, 30))
	oneWord := item <= 8 && d != tensor.Float16 && d != tensor.BFloat16 && !d.Complex()
	return cubStorage(tileStates(p, divCeil(n, tile), item, oneWord)...)
}

// cubReduce is a sum of n elements into an int: nothing (a byte) for one block, else a partial sum
// for each block that runs at once, five times.
func cubReduce(p *platform.Platform, n int64) int64 {
	if n <= 4096 {
		return 1
	}
	return cubStorage(4 * cubGrid(p))
}

// cubGrid are the blocks of 256 threads that the device runs at once, five times.
func cubGrid(p *platform.Platform) int64 {
	return int64(p.Device.SMs) * (threadsPerSM(p.Device.ComputeCapability) / 256) * 5
}

// cubSelect is a selection of n elements by a flag.
func cubSelect(p *platform.Platform, n int64) int64 {
	tile := int64(640)
	switch c := p.Device.ComputeCapability; {
	case c.Major >= 10:
		tile = 3520
	case c.Major == 9:
		tile = 4224
	case c.Major == 8 && c.Minor == 0:
		tile = 2304
	}
	return cubStorage(tileStates(p, divCeil(n, tile), 4, true)...)
}

// radixSort is a sort of n keys of so many bytes by their lowest bits, each with a value of 8
// bytes.
type radixSort struct {
	n, key int64
	bits   int64 // 0: all
	value  int64 // bytes, 0: 8
}

// bytes is one block's for few elements. Keys of less than 4 bytes before 9.0 are counted by a grid
// of blocks, all others sorted in one sweep for each 8 bits. More than one sweep needs keys and
// values twice.
func (s radixSort) bytes(p *platform.Platform) int64 {
	value := s.value
	if value == 0 {
		value = 8
	}
	if s.n <= 256*(19*4/max(s.key, value, 4)) {
		return 1
	}
	c := p.Device.ComputeCapability
	if s.key < 4 && c.Major < 9 {
		digits := int64(64) * s.key
		return cubStorage((cubGrid(p)*digits+5632)*8, s.n*s.key, s.n*value)
	}
	bits := s.bits
	if bits == 0 {
		bits = 8 * s.key
	}
	const portion, word = 1 << 28, 8
	passes, portions := divCeil(bits, 8), divCeil(s.n, portion)
	blocks := divCeil(min(s.n, portion), s.tile(c.Major))
	parts := []int64{portions * passes * 256 * word, blocks * 256 * 4, portions * passes * word}
	if passes > 1 {
		parts = append(parts, s.n*s.key, s.n*value)
	}
	return cubStorage(parts...)
}

// tile is how many elements a block takes of a sweep.
func (s radixSort) tile(major int) int64 {
	switch {
	case major < 8:
		return 2816
	case major < 9 && s.key == 8:
		return 3840
	case major < 9:
		return 3072
	case s.value == 4:
		return 5760
	}
	return map[int64]int64{1: 3456, 2: 5632, 4: 5376, 8: 4608}[s.key]
}
