package tensor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDTypes(t *testing.T) {
	tests := []struct {
		name string
		want DType
		size int64
	}{
		{"float32", Float32, 4}, {"torch.float32", Float32, 4}, {"float", Float32, 4}, {"half", Float16, 2},
		{"bfloat16", BFloat16, 2},
		{"long", Int64, 8}, {"bool", Bool, 1}, {"complex64", Complex64, 8}, {"float8_e4m3fn", Float8E4M3FN, 1},
		{"uint16", Uint16, 2},
	}
	for _, tt := range tests {
		d, err := ParseDType(tt.name)
		require.NoError(t, err)
		require.Equal(t, tt.want, d)
		require.Equal(t, tt.size, d.ItemSize())
	}
	_, err := ParseDType("float33")
	require.EqualError(t, err,
		`got dtype "float33", want one of PyTorch's, such as float32, float16, bfloat16, int64, bool`)
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
		{[]int64{1, 3, 1, 1}, []int64{3, 1, 1, 1}, true, true, true, Contiguous, 12, "both: N111 with contiguous strides " +
			"counts as contiguous"},
		{[]int64{1, 3, 1, 1}, []int64{3, 1, 3, 3}, true, true, true, ChannelsLast, 12,
			"sizes of 1 do not matter to contiguity, but to what is suggested"},
		{[]int64{4, 6}, []int64{1, 4}, false, false, true, Contiguous, 96, "transposed: dense"},
		{[]int64{4, 6}, []int64{12, 1}, false, false, false, Contiguous, 168, "a slice: gaps, and the storage reaches to " +
			"the last element"},
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

// rows are the lines of a file of testdata, in words.
func rows(t *testing.T, name string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var out [][]string
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); !strings.HasPrefix(line, "#") {
			out = append(out, words)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Every dtype here is as PyTorch has it (testdata/record.py), and only what nobody computes with is
// missing.
func TestDTypesOfPyTorch(t *testing.T) {
	known := map[DType]bool{}
	var missing []string
	for _, row := range rows(t, "dtypes.txt") {
		name, traits := row[0], strings.Split(row[5], ",")
		d, err := ParseDType(name)
		if err != nil {
			missing = append(missing, name)
			continue
		}
		known[d] = true
		is := func(trait string) bool { return slices.Contains(traits, trait) }
		assert.Equal(t, row[1], strconv.Itoa(int(d)), "%s: c10's number", name)
		assert.Equal(t, row[2], strconv.FormatInt(d.ItemSize(), 10), name)
		assert.Equal(t, name, d.String())
		assert.Equal(t, row[3], d.ToReal().String(), name)
		if name != "bfloat16" { // see ToComplex
			assert.Equal(t, row[4], strings.Replace(d.ToComplex().String(), name, row[4], 1), name)
		}
		assert.Equal(t, is("floating"), d.Floating(), name)
		assert.Equal(t, is("complex"), d.Complex(), name)
		quantized := strings.HasPrefix(name, "q")
		assert.Equal(t, quantized, d.Quantized(), name)
		integral := !is("floating") && !is("complex") && !quantized && name != "bool"
		assert.Equal(t, integral, d.Integral(false), name)
		assert.Equal(t, integral || name == "bool", d.Integral(true), name)
		assert.Equal(t, integral && !is("signed"), d.Unsigned(), name)
		assert.True(t, d.Valid(), name)
		for _, other := range strings.Split(row[6], ",") {
			if other != "-" {
				got, err := ParseDType("torch." + other)
				require.NoError(t, err)
				assert.Equal(t, d, got, other)
			}
		}
	}
	assert.Len(t, known, len(dtypeFacts), "all of ours are PyTorch's")
	assert.Equal(t, "bcomplex32 bits16 bits1x8 bits2x4 bits4x2 bits8 float4_e2m1fn_x2 int1 int2 int3 int4 int5 int6 "+
		"int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7",
		strings.Join(missing, " "))
	assert.False(t, Undefined.Valid())
	assert.Equal(t, "dtype(255)", Undefined.String())
	assert.EqualValues(t, 255, Undefined)
	_, err := ParseDType("torch.")
	require.Error(t, err)
	_, err = ParseDType("tooch.int8")
	require.Error(t, err)
}

// Layouts as PyTorch has them (testdata/record.py): sizes from 0 to 3, strides contiguous, channels
// last, permuted and odd.
func TestLayoutsOfPyTorch(t *testing.T) {
	numbers := func(text string) []int64 {
		var out []int64
		for _, n := range strings.Split(text, ",") {
			if n != "-" {
				v, err := strconv.ParseInt(n, 10, 64)
				require.NoError(t, err)
				out = append(out, v)
			}
		}
		return out
	}
	for _, row := range rows(t, "layouts.txt") {
		m := meta(numbers(row[0]), numbers(row[1]))
		var flags strings.Builder
		for i, yes := range []bool{m.IsFormat(Contiguous), m.IsFormat(ChannelsLast), m.IsFormat(ChannelsLast3d),
			m.StridesLike(ChannelsLast), m.StridesLike(ChannelsLast3d), m.IsDense()} {
			if yes {
				flags.WriteByte("c23lLd"[i])
			} else {
				flags.WriteByte('-')
			}
		}
		assert.Equal(t, row[2], flags.String(), "%s, strides %s", row[0], row[1])
		assert.Equal(t, row[3], strconv.FormatInt(int64(m.StorageBytes()), 10), "%s, strides %s", row[0], row[1])
		assert.Equal(t, m.IsContiguous(), m.IsFormat(Preserve))
		suggested := map[bool]MemoryFormat{m.StridesLike(ChannelsLast): ChannelsLast,
			m.StridesLike(ChannelsLast3d): ChannelsLast3d}[true]
		assert.Equal(t, suggested, m.SuggestFormat())
		require.NoError(t, m.Check())
		elements := int64(1)
		for _, d := range m.Sizes {
			elements *= d
		}
		assert.Equal(t, elements, m.Numel())
		assert.EqualValues(t, 4*elements, m.NBytes())
		assert.Equal(t, len(m.Sizes), m.Dim())
	}
}

func TestFormats(t *testing.T) {
	assert.Equal(t, []MemoryFormat{0, 1, 2, 3}, []MemoryFormat{Contiguous, Preserve, ChannelsLast, ChannelsLast3d},
		"c10's numbers")
	for _, c := range []struct {
		sizes   []int64
		format  MemoryFormat
		strides []int64
	}{
		{[]int64{2, 3, 4, 5}, Contiguous, []int64{60, 20, 5, 1}},
		{[]int64{2, 3, 4, 5}, Preserve, []int64{60, 20, 5, 1}},
		{[]int64{2, 3, 4, 5}, ChannelsLast, []int64{60, 1, 15, 3}},
		{[]int64{2, 3, 4, 5, 6}, ChannelsLast3d, []int64{360, 1, 90, 18, 3}},
		{[]int64{2, 0, 4, 5}, ChannelsLast, []int64{20, 1, 5, 1}},
		{[]int64{2, 3, 0, 5}, ChannelsLast, []int64{15, 1, 15, 3}},
		{[]int64{2, 0, 3}, Contiguous, []int64{3, 3, 1}},
		{[]int64{4, 5, 6}, ChannelsLast, []int64{30, 6, 1}},
		{nil, Contiguous, []int64{}},
	} {
		assert.Equal(t, c.strides, FormatStrides(c.sizes, c.format), "%v %d", c.sizes, c.format)
	}
}

func TestOverflow(t *testing.T) {
	big := int64(1) << 40
	for _, c := range []struct {
		dims []int64
		want int64
		err  string
	}{
		{nil, 1, ""},
		{[]int64{3, 4, 5}, 60, ""},
		{[]int64{1 << 31, 1 << 31}, 1 << 62, ""},
		{[]int64{1 << 31, 1 << 31, 1}, 1 << 62, ""},
		{[]int64{1 << 31, 1 << 31, 2}, 0, "size overflows int64"},
		{[]int64{1<<31 + 1, 1 << 31}, 0, "size overflows int64"},
		{[]int64{big, big}, 0, "size overflows int64"},
		{[]int64{big, big, 3}, 0, "size overflows int64"},
		{[]int64{big, big, 0}, 0, ""},
		{[]int64{0, -1}, 0, ""},
		{[]int64{-1}, 0, "got a negative size"},
		{[]int64{big, big, -1}, 0, "got a negative size"},
	} {
		n, err := Product(c.dims)
		assert.Equal(t, c.want, n, "%v", c.dims)
		if c.err == "" {
			assert.NoError(t, err, "%v", c.dims)
		} else {
			assert.EqualError(t, err, c.err, "%v", c.dims)
		}
	}
	for _, c := range []struct {
		sizes, strides []int64
		err            string
		why            string
	}{
		{[]int64{1 << 57, 1}, []int64{1, 1}, "", "as many bytes as an address can count"},
		{[]int64{1 << 59}, []int64{1}, "size overflows int64", "elements reach too far"},
		{[]int64{1 << 61, 2}, []int64{2, 1}, "size overflows int64", "elements fit, bytes do not"},
		{[]int64{1 << 60, 1}, []int64{0, 1}, "", "the bytes of an expanded tensor are not all there"},
		{[]int64{1<<60 + 1}, []int64{0}, "size overflows int64", "but their number is stated"},
		{[]int64{2, 2}, []int64{1 << 58, 0}, "", "the furthest a stride may reach"},
		{[]int64{2, 2}, []int64{1<<58 + 1, 0}, "size overflows int64", "and one further"},
		{[]int64{2, 2}, []int64{1 << 57, 1 << 57}, "", "two strides together"},
		{[]int64{2, 2}, []int64{1 << 57, 1<<57 + 1}, "size overflows int64", "and one further"},
		{[]int64{2, 2}, []int64{1 << 60, 1}, "size overflows int64", "a stride that reaches too far"},
		{[]int64{2, 2}, []int64{1, 1 << 60}, "size overflows int64", "the second of two"},
		{[]int64{1 << 50, 2}, []int64{1 << 50, 1}, "size overflows int64", "the product takes more than 64 bits"},
		{[]int64{1, 2}, []int64{1 << 62, 1}, "", "a size of 1 does not reach anywhere"},
		{[]int64{3}, []int64{1 << 57}, "", "two strides to the last of three"},
		{[]int64{4}, []int64{1 << 57}, "size overflows int64", "three to the last of four"},
		{[]int64{2, 2}, []int64{1 << 57, -(1 << 50)}, "size overflows int64", "no stride is negative"},
		{[]int64{2, 2}, []int64{1 << 58, 1}, "size overflows int64", "nothing is left for the second"},
		{[]int64{0, 2}, []int64{1 << 60, 1 << 60}, "", "no element reaches anywhere"},
		{[]int64{2, 2}, []int64{1}, "got strides of another length than sizes", ""},
		{[]int64{-2}, []int64{1}, "got a negative size", ""},
	} {
		err := meta(c.sizes, c.strides).Check()
		if c.err == "" {
			assert.NoError(t, err, "%v %v: %s", c.sizes, c.strides, c.why)
		} else {
			assert.EqualError(t, err, c.err, "%v %v: %s", c.sizes, c.strides, c.why)
		}
	}
	m := meta([]int64{2, 3}, []int64{3, 1})
	m.StorageOffset = 5
	assert.EqualValues(t, 44, m.StorageBytes(), "what lies before the tensor is in its storage")
}

func TestClone(t *testing.T) {
	m := meta([]int64{2, 3}, []int64{3, 1})
	c := m.Clone()
	assert.Equal(t, *m, c)
	c.Sizes[0], c.Strides[0] = 7, 7
	assert.Equal(t, []int64{2, 3}, m.Sizes)
	assert.Equal(t, []int64{3, 1}, m.Strides)
}

func TestCategories(t *testing.T) {
	for c := Activation; c <= Untraced; c++ {
		back, ok := ParseCategory(c.String())
		require.True(t, ok)
		require.Equal(t, c, back)
	}
	require.Equal(t, "unknown", (Untraced + 1).String())
	require.Equal(t, "unknown", Category(255).String())
	_, ok := ParseCategory("unknown")
	require.False(t, ok)
	require.Equal(t, 64, MaxData)
}

// TestAccumulateType: what ATen/AccumulateType.h says of a GPU.
func TestAccumulateType(t *testing.T) {
	for d, want := range map[DType]DType{Float16: Float32, BFloat16: Float32, Float32: Float32, Float64: Float64,
		ComplexHalf: Complex64, Complex64: Complex64, Int8: Int64, Bool: Int64, Int64: Int64} {
		assert.Equal(t, want, d.AccumulateType(), d.String())
	}
}
