package tensor

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// Meta is a tensor without data and without storage.
type Meta struct {
	DType          DType
	Sizes, Strides []int64
	StorageOffset  int64
	Device         string // "cuda", "cpu", "meta"
	RequiresGrad   bool
}

// MemoryFormat is PyTorch's c10::MemoryFormat with the same numbers.
type MemoryFormat int64

// The memory formats (c10/core/MemoryFormat.h).
const (
	Contiguous     MemoryFormat = 0
	Preserve       MemoryFormat = 1
	ChannelsLast   MemoryFormat = 2
	ChannelsLast3d MemoryFormat = 3
)

// ErrOverflow is a size that does not fit 63 bits.
var ErrOverflow = errors.New("size overflows int64")

// Product multiplies dimensions, with ErrOverflow instead of wrapping. A zero anywhere gives 0.
func Product(dims []int64) (int64, error) {
	n := int64(1)
	over := false
	for _, d := range dims {
		if d == 0 {
			return 0, nil
		}
		if d < 0 {
			return 0, errors.New("got a negative size")
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > 1<<62 {
			over = true
			continue
		}
		n = int64(lo)
	}
	if over {
		return 0, ErrOverflow
	}
	return n, nil
}

// Numel is the number of elements; a size that overflows was refused when the Meta was made (see
// Check).
func (m *Meta) Numel() int64 { return Numel(m.Sizes) }

// Numel is how many elements sizes hold, where they are known not to overflow.
func Numel(sizes []int64) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= d
	}
	return n
}

// Dim is the number of dimensions.
func (m *Meta) Dim() int { return len(m.Sizes) }

// NBytes is numel times item size: what the elements take, not what the storage takes.
func (m *Meta) NBytes() units.Bytes { return units.Bytes(m.Numel() * m.DType.ItemSize()) }

// ContiguousStrides are the row-major strides of sizes (a size 0 counts as 1, as in c10).
func ContiguousStrides(sizes []int64) []int64 {
	st := make([]int64, len(sizes))
	s := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		st[i] = s
		s *= max(sizes[i], 1)
	}
	return st
}

// ChannelsLastStrides are the strides of NHWC (4 sizes) or NDHWC (5 sizes); other ranks get
// row-major strides.
func ChannelsLastStrides(sizes []int64) []int64 {
	n := len(sizes)
	if n != 4 && n != 5 {
		return ContiguousStrides(sizes)
	}
	st := make([]int64, n)
	st[1] = 1
	s := max(sizes[1], 1)
	for i := n - 1; i >= 2; i-- {
		st[i] = s
		s *= max(sizes[i], 1)
	}
	st[0] = s
	return st
}

// FormatStrides are the strides of sizes laid out in f; Preserve is row-major here.
func FormatStrides(sizes []int64, f MemoryFormat) []int64 {
	if f == ChannelsLast || f == ChannelsLast3d {
		return ChannelsLastStrides(sizes)
	}
	return ContiguousStrides(sizes)
}

// IsContiguous says whether the elements lie in row-major order without gaps (c10
// compute_contiguous: sizes of 1 do not matter).
func (m *Meta) IsContiguous() bool {
	want := int64(1)
	for i := len(m.Sizes) - 1; i >= 0; i-- {
		d := m.Sizes[i]
		if d == 0 {
			return true
		}
	}
	for i := len(m.Sizes) - 1; i >= 0; i-- {
		if m.Sizes[i] == 1 {
			continue
		}
		if m.Strides[i] != want {
			return false
		}
		want *= m.Sizes[i]
	}
	return true
}

// IsFormat says whether the tensor is contiguous in f (c10 is_contiguous(memory_format)).
func (m *Meta) IsFormat(f MemoryFormat) bool {
	switch f {
	case ChannelsLast:
		return len(m.Sizes) == 4 && m.isChannelsLast([]int{1, 3, 2, 0})
	case ChannelsLast3d:
		return len(m.Sizes) == 5 && m.isChannelsLast([]int{1, 4, 3, 2, 0})
	}
	return m.IsContiguous()
}

// isChannelsLast is c10 compute_channels_last_contiguous_2d and _3d.
func (m *Meta) isChannelsLast(order []int) bool {
	want := int64(1)
	for _, d := range order {
		if m.Sizes[d] != 1 {
			if m.Strides[d] != want {
				return false
			}
			want *= m.Sizes[d]
		}
	}
	return true
}

// StridesLike says whether the strides look channels-last (c10 is_channels_last_strides_2d_s4 and
// _3d_s5): what "suggests" a format.
func (m *Meta) StridesLike(f MemoryFormat) bool {
	var order []int
	switch {
	case f == ChannelsLast && len(m.Sizes) == 4:
		order = []int{1, 3, 2, 0}
	case f == ChannelsLast3d && len(m.Sizes) == 5:
		order = []int{1, 4, 3, 2, 0}
	default:
		return false
	}
	low := int64(0)
	if m.Strides[1] == 0 {
		return false
	}
	for _, d := range order {
		if m.Sizes[d] == 0 || m.Strides[d] < low {
			return false
		}
		// N111 with contiguous strides is ambiguous and counts as contiguous
		if d == 0 && low == m.Strides[1] {
			return false
		}
		low = m.Strides[d]
		if m.Sizes[d] > 1 {
			low *= m.Sizes[d]
		}
	}
	return true
}

// SuggestFormat is at::Tensor::suggest_memory_format.
func (m *Meta) SuggestFormat() MemoryFormat {
	if m.StridesLike(ChannelsLast) {
		return ChannelsLast
	}
	if m.StridesLike(ChannelsLast3d) {
		return ChannelsLast3d
	}
	return Contiguous
}

// IsDense says whether the tensor is non-overlapping and dense: a permutation of a contiguous one
// (c10 compute_non_overlapping_and_dense).
func (m *Meta) IsDense() bool {
	if m.IsContiguous() {
		return true
	}
	perm := make([]int, 0, len(m.Sizes)) // a dimension of one element may have any stride
	for i, d := range m.Sizes {
		if d > 1 {
			perm = append(perm, i)
		}
	}
	slices.SortFunc(perm, func(a, b int) int { return cmp.Compare(m.Strides[a], m.Strides[b]) })
	want := int64(1)
	for _, d := range perm {
		if m.Strides[d] != want {
			return false
		}
		want *= m.Sizes[d]
	}
	return true
}

// StorageBytes is the least storage this tensor needs, offset included: 0 where there are no
// elements (at::detail::computeStorageNbytes).
func (m *Meta) StorageBytes() units.Bytes {
	n := m.StorageOffset + 1
	for i, d := range m.Sizes {
		if d == 0 {
			return 0
		}
		n += (d - 1) * m.Strides[i]
	}
	return units.Bytes(n * m.DType.ItemSize())
}

// Check refuses a Meta whose element or byte count overflows, or whose dimensions are negative.
func (m *Meta) Check() error {
	n, err := Product(m.Sizes)
	if err != nil {
		return err
	}
	if hi, lo := bits.Mul64(uint64(n), uint64(m.DType.ItemSize())); hi != 0 || lo > 1<<62 {
		return ErrOverflow
	}
	if len(m.Strides) != len(m.Sizes) {
		return errors.New("got strides of another length than sizes")
	}
	if n == 0 {
		return nil
	}
	left := uint64(1 << 58) // elements from the first to the last
	for i, d := range m.Sizes {
		hi, lo := bits.Mul64(uint64(d-1), uint64(m.Strides[i]))
		if hi != 0 || lo > left {
			return ErrOverflow
		}
		left -= lo
	}
	return nil
}

// Clone copies m with its own slices.
func (m *Meta) Clone() Meta {
	c := *m
	c.Sizes = slices.Clone(m.Sizes)
	c.Strides = slices.Clone(m.Strides)
	return c
}
