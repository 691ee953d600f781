package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDTypes(t *testing.T) {
	tests := []struct {
		name string
		want DType
		size int64
	}{
		{"float32", Float32, 4}, {"torch.float32", Float32, 4}, {"float", Float32, 4}, {"half", Float16, 2}, {"bfloat16", BFloat16, 2},
		{"long", Int64, 8}, {"bool", Bool, 1}, {"complex64", Complex64, 8}, {"float8_e4m3fn", Float8E4M3FN, 1}, {"uint16", Uint16, 2},
	}
	for _, tt := range tests {
		d, err := ParseDType(tt.name)
		require.NoError(t, err)
		require.Equal(t, tt.want, d)
		require.Equal(t, tt.size, d.ItemSize())
	}
	_, err := ParseDType("float33")
	require.EqualError(t, err, `got dtype "float33", want one of PyTorch's, such as float32, float16, bfloat16, int64, bool`)
	for d := range dtypeFacts {
		back, err := ParseDType(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back, "every name is read back")
	}
}

func meta(sizes, strides []int64) *Meta { return &Meta{DType: Float32, Sizes: sizes, Strides: strides} }

func TestLayouts(t *testing.T) {
	tests := []struct {
		sizes, strides          []int64
		contiguous, last, dense bool
		suggest                 MemoryFormat
		bytes                   int64
		why                     string
	}{
		{[]int64{2, 3, 4, 5}, []int64{60, 20, 5, 1}, true, false, true, Contiguous, 480, "row-major"},
		{[]int64{2, 3, 4, 5}, []int64{60, 1, 15, 3}, false, true, true, ChannelsLast, 480, "channels last"},
		{[]int64{1, 3, 1, 1}, []int64{3, 1, 1, 1}, true, true, true, Contiguous, 12, "both: N111 with contiguous strides counts as contiguous"},
		{[]int64{1, 3, 1, 1}, []int64{3, 1, 3, 3}, true, true, true, ChannelsLast, 12, "sizes of 1 do not matter to contiguity, but to what is suggested"},
		{[]int64{4, 6}, []int64{1, 4}, false, false, true, Contiguous, 96, "transposed: dense"},
		{[]int64{4, 6}, []int64{12, 1}, false, false, false, Contiguous, 168, "a slice: gaps, and the storage reaches to the last element"},
		{[]int64{4, 6}, []int64{0, 1}, false, false, false, Contiguous, 24, "expanded: elements share memory"},
		{[]int64{0, 6}, []int64{6, 1}, true, false, true, Contiguous, 0, "no elements, no bytes"},
		{nil, nil, true, false, true, Contiguous, 4, "0-dim: one element"},
	}
	for _, tt := range tests {
		m := meta(tt.sizes, tt.strides)
		require.Equal(t, tt.contiguous, m.IsContiguous(), tt.why)
		require.Equal(t, tt.last, m.IsFormat(ChannelsLast), tt.why)
		require.Equal(t, tt.dense, m.IsDense(), tt.why)
		require.Equal(t, tt.suggest, m.SuggestFormat(), tt.why)
		require.EqualValues(t, tt.bytes, m.StorageBytes(), tt.why)
		require.NoError(t, m.Check(), tt.why)
	}
}

func TestOverflow(t *testing.T) {
	big := int64(1) << 40
	_, err := Product([]int64{big, big})
	require.ErrorIs(t, err, ErrOverflow)
	n, err := Product([]int64{big, big, 0})
	require.NoError(t, err, "a size of 0 makes it 0, whatever the others")
	require.Zero(t, n)
	m := meta([]int64{1 << 61, 2}, []int64{2, 1})
	require.ErrorIs(t, m.Check(), ErrOverflow, "elements fit, bytes do not")
	m = meta([]int64{2, 2}, []int64{1 << 60, 1})
	require.ErrorIs(t, m.Check(), ErrOverflow, "a stride that reaches too far")
}

func TestCategories(t *testing.T) {
	for c := Activation; c <= Workspace; c++ {
		back, ok := ParseCategory(c.String())
		require.True(t, ok)
		require.Equal(t, c, back)
	}
}
