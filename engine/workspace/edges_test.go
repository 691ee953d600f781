package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSeveralBlocks holds both ends of each class of should_use_multiblock
// (native/cuda/TensorTopK.cu).
func TestSeveralBlocks(t *testing.T) {
	for _, tt := range []struct{ least, most, length int64 }{
		{1, 20, 20000}, {21, 40, 10000}, {41, 80, 8000}, {81, 199, 5000}, {200, 799, 3000}, {800, 4000, 800},
		{4001, 1 << 20, 400},
	} {
		for _, rows := range []int64{tt.least, tt.most} {
			assert.True(t, severalBlocks(rows, tt.length), "%d rows of %d", rows, tt.length)
			assert.False(t, severalBlocks(rows, tt.length-1), "%d rows of %d", rows, tt.length-1)
		}
	}
}

// TestSortRequests holds what a sort and the greatest of many take, in the order of
// native/cuda/Sort.cpp and TensorTopK.cpp.
func TestSortRequests(t *testing.T) {
	const f = tensor.Float32
	p, hopper := on(t, "a100-sxm-80gb", "2.15"), on(t, "h100-sxm-80gb", "2.15")
	meta := func(sizes ...int64) *tensor.Meta { return dense(f, tensor.Contiguous, sizes...) }
	turned := func(a, b int64) *tensor.Meta {
		return &tensor.Meta{DType: f, Sizes: []int64{a, b}, Strides: []int64{1, a}, Device: "cuda"}
	}
	host := meta(5000)
	host.Device = "cpu"
	radix := func(p *platform.Platform, s radixSort) int64 { return s.bytes(p) }
	for _, tt := range []struct {
		why  string
		got  []Request
		want string
	}{
		{"on the host nothing", Sort(p, host, 0), ""},
		{"a number is sorted", Sort(p, meta(), 0), ""},
		{"no element", Sort(p, meta(3, 0), 1), ""},
		{"up to 4096 the places alone", Sort(p, meta(3, 4096), 1), fmt.Sprint(8 * 4096)},
		{"one slice: the places, and CUB's storage", Sort(p, meta(4097), 0),
			fmt.Sprintf("%d %d -1", 8*4097, radix(p, radixSort{n: 4097, key: 4}))},
		{"one slice of several dimensions", Sort(p, meta(1, 4097), 1),
			fmt.Sprintf("%d %d -1", 8*4097, radix(p, radixSort{n: 4097, key: 4}))},
		{"few slices: all at once, then by slice, whose keys are places", Sort(p, meta(127, 5000), 1),
			fmt.Sprintf("%d %d %d %d -2 %d", 8*127*5000, 8*127*5000, 4*127*5000,
				radix(p, radixSort{n: 127 * 5000, key: 4}), radix(p, radixSort{n: 127 * 5000, key: 8, bits: 7}))},
		{"from 9.0 on by slice with values of 4 bytes", Sort(hopper, meta(3, 5000), 1),
			fmt.Sprintf("%d %d %d %d -2 %d", 8*3*5000, 8*3*5000, 4*3*5000,
				radix(hopper, radixSort{n: 3 * 5000, key: 4}), radix(hopper, radixSort{n: 3 * 5000, key: 8, bits: 2, value: 4}))},
		{"128 slices: each apart, keys and places twice", Sort(p, meta(128, 5000), 1),
			fmt.Sprintf("%d %d", 8*128*5000, cubStorage(4*128*5000, 8*128*5000))},
		{"long slices one after the other", Sort(p, meta(2, 1000000), 1), fmt.Sprintf("%d %d -1 %d -1", 8*1000000,
			radix(p, radixSort{n: 1000000, key: 4}), radix(p, radixSort{n: 1000000, key: 4}))},
		{"slices that are nearly as long not", Sort(p, meta(2, 999999), 1)[:1], fmt.Sprint(8 * 2 * 999999)},
		{"not innermost: copies of keys, and of results as they lie", Sort(p, turned(128, 5000), 1)[:3],
			fmt.Sprintf("%d %d %d", 4*128*5000, 4*128*5000, 8*128*5000)},
		{"short slices are not copied", Sort(p, turned(128, 4096), 1), fmt.Sprint(8 * 4096)},

		{"the greatest: on the host nothing", TopK(p, host, 0, 3), ""},
		{"of a number", TopK(p, meta(), 0, 1), ""},
		{"of no element", TopK(p, meta(3, 0), 1, 0), ""},
		{"of short slices nothing", TopK(p, meta(4, 100), 1, 3), ""},
		{"of what does not lie row by row a copy", TopK(p, turned(4, 100), 1, 3), fmt.Sprint(4 * 4 * 100)},
		{"one block a slice, one element short of several", TopK(p, meta(20, 19999), 1, 3), ""},
		{"several blocks a slice: values, counts and places by slice, by block and digit, and sums twice",
			TopK(p, meta(20, 20000), 1, 3),
			// 108 multiprocessors of 6 blocks of 256 threads with four elements each: 20 blocks a slice
			fmt.Sprintf("%d %d %d %d %d %d %d %d -1 %d -8", 20*4, 20*8, 2*4*20, 512*20*20, 1024*20, 4*20*20, 4*20*20, 5*256-1,
				5*256-1)},
		{"halves are counted in 4 bytes", TopK(p, dense(tensor.Float16, tensor.Contiguous, 20, 20000), 1, 3)[:3],
			fmt.Sprintf("%d %d %d", 20*2, 20*8, 2*4*20)},
		{"4096 of many are as they were found", TopK(p, meta(2, 10000), 1, 4096), ""},
		{"more are sorted: places, values, what sorting takes, and places in that order",
			TopK(p, meta(130, 4200), 1, 4097)[len(TopK(p, meta(130, 4200), 1, 3)):],
			fmt.Sprintf("%d %d %d %d -2 %d", 8*130*4097, 4*130*4097, 8*130*4097, cubStorage(4*130*4097, 8*130*4097),
				8*130*4097)},

		{"few indices of an embedding are not sorted", EmbeddingBackward(dense(tensor.Int64, tensor.Contiguous, 3072), false),
			""},
		{"more are", EmbeddingBackward(dense(tensor.Int64, tensor.Contiguous, 3073), false),
			fmt.Sprintf("%[1]d %[1]d %[1]d %[1]d %[2]d", 8*3073, 16*3073)},
		{"few are where their number is a scale", EmbeddingBackward(dense(tensor.Int64, tensor.Contiguous, 2), true),
			"16 16 16 16 32"},
		{"those of the host are not", EmbeddingBackward(host, true), ""},
		{"a mask in the result's shape is read itself", MaskedScatter(p, meta(4, 5), []int64{4, 5}),
			fmt.Sprintf("%d %d", 8*20, cubScan(p, 20, tensor.Int64))},
		{"another is copied there", MaskedScatter(p, meta(5), []int64{4, 5}),
			fmt.Sprintf("%d 20 %d", 8*20, cubScan(p, 20, tensor.Int64))},
		{"and one that does not lie row by row", MaskedScatter(p, turned(4, 5), []int64{4, 5}),
			fmt.Sprintf("%d 20 %d", 8*20, cubScan(p, 20, tensor.Int64))},
		{"no element, no place", MaskedScatter(p, meta(0), []int64{0}), ""},
	} {
		assert.Equal(t, tt.want, asked(tt.got), tt.why)
	}
	assert.Equal(t, int64(16*3073+1<<20), int64(SortedIndices(3073, "")[4].Upper), "the double buffers may take a MiB "+
		"more")
	// tile of 256 threads with four to 64 elements: 108 multiprocessors × 6 blocks × 256 threads ×
	// 65 elements are more than 64 each
	long := TopK(p, meta(1, 108*6*256*65), 1, 3)
	assert.Equal(t, int64(4*divCeil(108*6*256*65, 256*64)), int64(long[5].Bytes), "no thread takes more than 64")
	middle := TopK(p, meta(1, 108*6*256*20), 1, 3)
	assert.Equal(t, int64(4*divCeil(108*6*256*20, 256*20)), int64(middle[5].Bytes), "20 elements a thread")
}

// TestCUBEdges holds CUB's storage where one block more begins, and what a block takes by the size
// of an element.
func TestCUBEdges(t *testing.T) {
	for _, tt := range []struct {
		dtype tensor.DType
		tile  int64 // 128 threads: 60 bytes of elements each, and 30 of them at most
	}{
		{tensor.Uint8, 3840}, {tensor.Int16, 3840}, {tensor.Float32, 1920}, {tensor.Int64, 896}, {tensor.Complex128, 384},
	} {
		p := on(t, "t4", "2.15")
		item := tt.dtype.ItemSize()
		words := func(tiles int64) int64 {
			if item > 8 {
				return cubStorage(4*(tiles+32), item*(tiles+32), item*(tiles+32), 1)
			}
			return cubStorage(2*item*(tiles+32), 1)
		}
		tiles := int64(1)
		for words(tiles) == words(tiles+1) { // what is aligned hides one more
			tiles++
		}
		assert.Equal(t, words(tiles), cubScan(p, tiles*tt.tile, tt.dtype), "%s: full blocks", tt.dtype)
		assert.Equal(t, words(tiles+1), cubScan(p, tiles*tt.tile+1, tt.dtype), "%s: one element more", tt.dtype)
	}

	capable := func(major, minor int) *platform.Platform {
		p := on(t, "a100-sxm-80gb", "2.15")
		p.Device.ComputeCapability = device.Capability{Major: major, Minor: minor}
		return p
	}
	for _, tt := range []struct {
		p    *platform.Platform
		tile int64
	}{
		{capable(7, 5), 640}, {capable(8, 0), 2304}, {capable(8, 6), 640}, {capable(9, 0), 4224}, {capable(10, 0), 3520},
		{capable(12, 0), 3520},
	} {
		// 8 bytes a block: 32 of them are a part of the storage, which 32 more in front fill
		assert.Equal(t, cubStorage(8*64, 1), cubSelect(tt.p, 32*tt.tile), tt.p.Device.ComputeCapability)
		assert.Equal(t, cubStorage(8*65, 1), cubSelect(tt.p, 32*tt.tile+1), tt.p.Device.ComputeCapability)
	}
	assert.Equal(t, int64(1), cubReduce(capable(8, 0), 4096))
	assert.Equal(t, cubStorage(4*108*8*5), cubReduce(capable(8, 0), 4097))

	for _, tt := range []struct {
		major int
		s     radixSort
		tile  int64
	}{
		{7, radixSort{key: 8}, 2816}, {7, radixSort{key: 4}, 2816}, {8, radixSort{key: 8}, 3840},
		{8, radixSort{key: 4}, 3072}, {9, radixSort{key: 8, value: 4}, 5760},
		{9, radixSort{key: 1}, 3456}, {9, radixSort{key: 2}, 5632}, {9, radixSort{key: 4}, 5376},
		{10, radixSort{key: 8}, 4608},
	} {
		assert.Equal(t, tt.tile, tt.s.tile(tt.major), "%+v on %d", tt.s, tt.major)
	}
	for _, tt := range []struct {
		key, value, most int64
	}{{8, 0, 256 * 9}, {4, 0, 256 * 9}, {4, 4, 256 * 19}, {1, 2, 256 * 19}, {8, 4, 256 * 9}} {
		p := capable(9, 0)
		assert.Equal(t, int64(1), radixSort{n: tt.most, key: tt.key, value: tt.value}.bytes(p), "one block's: %+v", tt)
		assert.Greater(t, radixSort{n: tt.most + 1, key: tt.key, value: tt.value}.bytes(p), int64(1), "%+v", tt)
	}
	// of few bits one sweep needs neither keys nor values twice; of more than a portion there are two
	p := capable(8, 0)
	assert.Equal(t, cubStorage(256*8, divCeil(10000, 3840)*256*4, 8), radixSort{n: 10000, key: 8, bits: 8}.bytes(p))
	assert.Equal(t, cubStorage(2*256*8, divCeil(10000, 3840)*256*4, 2*8, 8*10000, 8*10000),
		radixSort{n: 10000, key: 8, bits: 9}.bytes(p))
	const portion = 1 << 28
	assert.Equal(t, cubStorage(2*256*8, divCeil(portion, 3840)*256*4, 2*8),
		radixSort{n: portion + 1, key: 8, bits: 1}.bytes(p))
	assert.Equal(t, cubStorage((108*8*5*64*2+5632)*8, 20000, 80000), radixSort{n: 10000, key: 2}.bytes(p),
		"keys of two bytes before 9.0")
	assert.Equal(t, cubStorage(4*256*8, divCeil(10000, 3072)*256*4, 4*8, 40000, 80000),
		radixSort{n: 10000, key: 4}.bytes(p))
}

// TestUpsampleRequests: which layouts a kernel copies, result and input.
func TestUpsampleRequests(t *testing.T) {
	const f = tensor.Float32
	out := []int64{2, 8, 9, 9}
	sliced := dense(f, tensor.Contiguous, 2, 8, 3, 3)
	sliced.Strides = []int64{144, 18, 6, 1}
	host := dense(f, tensor.ChannelsLast, 2, 8, 3, 3)
	host.Device = "cpu"
	for _, tt := range []struct {
		why   string
		x     *tensor.Meta
		least int64
		want  string
	}{
		{"row by row", dense(f, tensor.Contiguous, 2, 8, 3, 3), 4, ""},
		{"on the host", host, 16, ""},
		{"rows apart are copied", sliced, 4, fmt.Sprint(4 * 2 * 8 * 9)},
		{"enough channels last are read as they lie", dense(f, tensor.ChannelsLast, 2, 8, 3, 3), 8, ""},
		{"fewer are copied, the result too", dense(f, tensor.ChannelsLast, 2, 8, 3, 3), 9,
			fmt.Sprintf("%d %d", 4*2*8*81, 4*2*8*9)},
		{"channels last in three dimensions always are", dense(f, tensor.ChannelsLast3d, 2, 8, 3, 3, 3), 4,
			fmt.Sprintf("%d %d", 4*2*8*81, 4*2*8*27)},
	} {
		assert.Equal(t, tt.want, asked(Upsample(tt.x, out, tt.least)), tt.why)
	}
	boxes, scores := dense(f, tensor.Contiguous, 65, 4), dense(f, tensor.Contiguous, 65)
	assert.Equal(t, fmt.Sprintf("%d! %d! %d! %d!", 4*65, 8*65, 4*4*65, 8*65*2), asked(NMS(boxes, scores)),
		"a bit for each pair of boxes, in words of 64")
	assert.Empty(t, NMS(dense(f, tensor.Contiguous, 0, 4), dense(f, tensor.Contiguous, 0)))
	host = dense(f, tensor.Contiguous, 65, 4)
	host.Device = "cpu"
	assert.Empty(t, NMS(host, scores))

	// 33 images: 11 at once, the greatest divisor up to 32
	deform := DeformConv2d(on(t, "a100-sxm-80gb", "2.15"), dense(f, tensor.Contiguous, 33, 3, 9, 8),
		dense(f, tensor.Contiguous, 4, 3, 3, 2), []int64{33, 4, 7, 5})
	assert.Equal(t, int64(4*3*3*2*11*7*5), int64(deform[2].Bytes))
	assert.Equal(t, "-1!", asked(deform[4:]), "cuBLAS's workspace goes after the product")
}

// TestLayerRequests: norms, transforms, groups of products and recurrent layers by their shapes
// alone.
func TestLayerRequests(t *testing.T) {
	const f, h = tensor.Float32, tensor.Float16
	host := dense(f, tensor.Contiguous, 2, 6, 4, 5)
	host.Device = "cpu"
	norm := func(x *tensor.Meta, perChannel int64, affine bool) string {
		return asked(GroupNorm{Input: x, N: 2, Channels: 6, PerChannel: perChannel, Groups: 3, Affine: affine}.Requests())
	}
	mixed := dense(f, tensor.Contiguous, 2, 6, 4, 5)
	mixed.Strides = []int64{240, 40, 10, 2}
	scales, sums := fmt.Sprintf("%[1]d %[1]d", 4*2*6), fmt.Sprintf("%[1]d %[1]d", 4*2*3)
	copied := fmt.Sprint(4*2*6*20) + " "
	for _, tt := range []struct{ why, got, want string }{
		{"scale and shift of each sample's channels", norm(dense(f, tensor.Contiguous, 2, 6, 4, 5), 20, true), scales},
		{"none without weights", norm(dense(f, tensor.Contiguous, 2, 6, 4, 5), 20, false), ""},
		{"nor of one element a channel", norm(dense(f, tensor.Contiguous, 2, 6), 1, true), ""},
		{"two elements a channel", norm(dense(f, tensor.Contiguous, 2, 6, 2), 2, true), scales},
		{"channels last always", norm(dense(f, tensor.ChannelsLast, 2, 6, 4, 5), 20, false), scales},
		{"of half the statistics in float first", norm(dense(h, tensor.Contiguous, 2, 6, 4, 5), 20, true),
			sums + " " + scales},
		{"of half without weights these alone", norm(dense(h, tensor.Contiguous, 2, 6, 4, 5), 20, false), sums},
		{"another layout is copied", norm(mixed, 20, true), copied + scales},
		{"no element", norm(dense(f, tensor.Contiguous, 0, 6, 4, 5), 20, true), ""},
		{"on the host", norm(host, 20, true), ""},
	} {
		assert.Equal(t, tt.want, tt.got, tt.why)
	}

	last := dense(f, tensor.ChannelsLast, 2, 6, 4, 5)
	assert.Equal(t, last.NBytes(), CuDNNBatchNorm(last, true)[0].Upper)
	assert.Empty(t, CuDNNBatchNorm(last, false), "in inference nothing")
	assert.Empty(t, CuDNNBatchNorm(dense(f, tensor.Contiguous, 2, 6, 4, 5), true), "nor row by row")
	lastOnHost := *last
	lastOnHost.Device = "cpu"
	assert.Empty(t, CuDNNBatchNorm(&lastOnHost, true))
}

// TestColumnRequests: a convolution as products of matrices, of one group, of several, of a
// transposed one in three dimensions.
func TestColumnRequests(t *testing.T) {
	const f = tensor.Float32
	p := on(t, "a100-sxm-80gb", "2.15")
	blas := fmt.Sprint(int64(CuBLAS(p)[0].Bytes))
	turn := func(n int) string { return strings.TrimSuffix(strings.Repeat(blas+" -1 ", n), " ") }
	v := aConv(dense(f, tensor.Contiguous, 3, 4, 9, 8), dense(f, tensor.Contiguous, 6, 4, 3, 2))
	assert.Equal(t, fmt.Sprintf("0 %d %s -1", 4*4*3*2*9*9, turn(3)), asked(v.Columns(p, []int64{3, 6, 9, 9})),
		"result, patches of one sample, a product a sample")

	v = aConv(dense(f, tensor.ChannelsLast, 3, 4, 9, 8), dense(f, tensor.ChannelsLast, 6, 4, 3, 2))
	assert.Equal(t, fmt.Sprintf("%d %d 0 %d %s -1", 4*3*4*9*8, 4*6*4*3*2, 4*4*3*2*9*9, turn(3)),
		asked(v.Columns(p, []int64{3, 6, 9, 9})), "operands that do not lie row by row are copied")

	// two groups: a slice of the channels of several samples is copied, each group's result lives
	// to the end, where they are joined
	v = aConv(dense(f, tensor.Contiguous, 3, 4, 9, 8), dense(f, tensor.Contiguous, 6, 2, 3, 2))
	group := fmt.Sprintf("%d %d %d %s -1 -1 past 1", 4*3*2*9*8, 4*3*3*9*9, 4*2*3*2*9*9, turn(3))
	assert.Equal(t, group+" "+group+" 0 -1 past 1 -1", asked(v.Columns(p, []int64{3, 6, 9, 9})))
	v = aConv(dense(f, tensor.Contiguous, 1, 4, 9, 8), dense(f, tensor.Contiguous, 6, 2, 3, 2))
	group = fmt.Sprintf("%d %d %s -1", 4*3*9*9, 4*2*3*2*9*9, turn(1))
	assert.Equal(t, group+" "+group+" 0 -1 past 1 -1", asked(v.Columns(p, []int64{1, 6, 9, 9})),
		"of one sample it is a view")

	one := aConv(dense(f, tensor.Contiguous, 3, 4, 9, 8), dense(f, tensor.Contiguous, 6, 4, 1, 1))
	one.Padding = []int64{0, 0}
	assert.Empty(t, one.patches([]int64{3, 6, 9, 8}), "one element reads the input itself")
	for _, change := range []func(*Convolution){
		func(v *Convolution) { v.Padding = []int64{0, 1} }, func(v *Convolution) {
			v.Stride = []int64{2, 1}
		}, func(v *Convolution) { v.Dilation = []int64{1, 2} },
		func(v *Convolution) { v.Weight = dense(f, tensor.Contiguous, 6, 4, 1, 2) },
	} {
		v := *one
		change(&v)
		assert.Len(t, v.patches([]int64{3, 6, 9, 8}), 1)
	}
	deep := aConv(dense(f, tensor.Contiguous, 3, 4, 5, 6, 7), dense(f, tensor.Contiguous, 6, 4, 1, 1, 1))
	deep.Padding = []int64{0, 0, 0}
	assert.Equal(t, fmt.Sprint(4*4*5*6*7), asked(deep.patches([]int64{3, 6, 5, 6, 7})), "in three dimensions it is copied")

	back := aConv(dense(f, tensor.Contiguous, 3, 4, 9, 8), dense(f, tensor.Contiguous, 4, 6, 3, 2))
	back.Transposed, back.Groups = true, 1
	assert.Equal(t, fmt.Sprintf("0 %d %s -1", 4*6*3*2*9*8, turn(3)), asked(back.Columns(p, []int64{3, 6, 11, 9})),
		"transposed: a place for each element of the input")
	back.Bias = true
	assert.Equal(t, fmt.Sprintf("0 %d %d %s -1 -1", 4*6*3*2*9*8, 4*11*9, turn(6)),
		asked(back.Columns(p, []int64{3, 6, 11, 9})), "its bias is multiplied by ones, a product more each")
	back3 := aConv(dense(f, tensor.Contiguous, 2, 4, 3, 3, 3), dense(f, tensor.Contiguous, 4, 6, 3, 2, 2))
	back3.Transposed, back3.Groups = true, 1
	assert.Equal(t, fmt.Sprintf("%d 0 -1 %d %s -1", 4*2*4*27, 4*6*12*27, turn(2)),
		asked(back3.Columns(p, []int64{2, 6, 5, 4, 4})), "in three dimensions the result is made like the input first")
	assert.Equal(t, fmt.Sprintf("0 %d %s -1", 4*6*12*27, turn(2)), asked(back3.Columns(p, []int64{2, 6, 1, 2, 2})),
		"where it is larger than that")
}
