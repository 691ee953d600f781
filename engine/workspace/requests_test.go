package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// asked writes requests in their order: bytes, with a bang those that come before the results; "-n"
// gives n back, "-1 past k" one behind k others.
func asked(rs []Request) string {
	var out []string
	for _, r := range rs {
		text := fmt.Sprint(int64(r.Bytes))
		if r.Drops > 0 {
			text = fmt.Sprintf("-%d", r.Drops)
		}
		if r.Past > 0 {
			text += fmt.Sprintf(" past %d", r.Past)
		}
		if r.Before {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestRequests holds what kernels ask for by functions of shapes alone. The sizes of a case all
// differ, so that none stands for another.
func TestRequests(t *testing.T) {
	const f, h = tensor.Float32, tensor.Float16
	meta := func(d tensor.DType, sizes ...int64) *tensor.Meta { return dense(d, tensor.Contiguous, sizes...) }
	host := meta(f, 2, 3, 5, 7)
	host.Device = "cpu"
	p := on(t, "a100-sxm-80gb", "2.15")
	for _, tt := range []struct {
		why  string
		got  []Request
		want string
	}{
		{"flash's gradient: sums and the query's accumulator in float32, rows rounded up to 128 and heads to 32",
			FlashAttentionBackward(meta(h, 2, 3, 130, 40)), fmt.Sprintf("%d %d", 4*2*3*256, 4*2*3*256*64)},
		{"rows and heads that fit are not rounded", FlashAttentionBackward(meta(h, 2, 3, 128, 32)),
			fmt.Sprintf("%d %d", 4*2*3*128, 4*2*3*128*32)},
		{"a tensor of the host asks for nothing", FlashAttentionBackward(host), ""},
		{"nor does one of three dimensions", FlashAttentionBackward(meta(h, 2, 3, 128)), ""},
		{"deformable convolution: result, the same in the columns' order, columns of as many images as divide the batch",
			DeformConv2d(p, meta(f, 6, 3, 9, 8), meta(f, 4, 3, 3, 2), []int64{6, 4, 7, 5})[:3],
			fmt.Sprintf("%d! %d! %d!", 4*6*4*7*5, 4*6*4*7*5, 4*3*3*2*6*7*5)},
		{"of 34 images 17 at once, the greatest divisor of up to 32",
			DeformConv2d(p, meta(f, 34, 3, 9, 8), meta(f, 4, 3, 3, 2), []int64{34, 4, 7, 5})[2:3],
			fmt.Sprintf("%d!", 4*3*3*2*17*7*5)},
		{"of 37 one by one", DeformConv2d(p, meta(f, 37, 3, 9, 8), meta(f, 4, 3, 3, 2), []int64{37, 4, 7, 5})[2:3],
			fmt.Sprintf("%d!", 4*3*3*2*7*5)},
		{"of 32 all", DeformConv2d(p, meta(f, 32, 3, 9, 8), meta(f, 4, 3, 3, 2), []int64{32, 4, 7, 5})[2:3],
			fmt.Sprintf("%d!", 4*3*3*2*32*7*5)},
		{"of none nothing", DeformConv2d(p, meta(f, 0, 3, 9, 8), meta(f, 4, 3, 3, 2), []int64{0, 4, 7, 5}), ""},
		{"on the host nothing", DeformConv2d(p, host, meta(f, 4, 3, 3, 2), []int64{2, 4, 7, 5}), ""},
		{"no element counts nothing", Nonzero(p, 0), ""},
		{"nor does a mask of none", Mask(p, meta(tensor.Bool, 0, 3), 0), ""},
		{"contiguous copies of what is not, on the device alone",
			Contiguous("x", host, meta(f, 2, 3), dense(f, tensor.ChannelsLast, 2, 3, 5, 7)), fmt.Sprint(4 * 2 * 3 * 5 * 7)},
	} {
		assert.Equal(t, tt.want, asked(tt.got), tt.why)
	}

	mask := asked(Mask(p, meta(tensor.Bool, 3, 4, 5), 7))
	parts := strings.Fields(mask)
	assert.Equal(t, "4!", parts[0], "a count")
	assert.Equal(t, []string{"-1!", fmt.Sprintf("%d!", 8*3*7)}, parts[2:4], "what counting took goes; three positions a "+
		"chosen element")
	assert.Equal(t, []string{"-1!", "-1", "past", "1!"}, parts[5:], "what choosing took goes, and the count behind the "+
		"positions, which stay")
	assert.Len(t, parts, 9)
	assert.Contains(t, asked(Mask(p, meta(tensor.Bool), 1)), " 8! ", "a mask without dimensions has one position an "+
		"element")

	counted := strings.Fields(asked(Nonzero(p, 60)))
	assert.Equal(t, "4!", counted[0])
	assert.Equal(t, "-1!", counted[2])
	assert.Len(t, counted, 4)
	assert.NotContains(t, counted[3], "!", "what choosing takes comes after the result, whose size was counted")
}

// TestMatrixRequests: what is copied before a product, and which products take no library.
func TestMatrixRequests(t *testing.T) {
	const f = tensor.Float32
	strided := func(sizes, strides []int64) *tensor.Meta {
		return &tensor.Meta{DType: f, Sizes: sizes, Strides: strides, Device: "cuda"}
	}
	for _, tt := range []struct {
		why    string
		m      *tensor.Meta
		copied bool
	}{
		{"rows one behind another", strided([]int64{4, 6}, []int64{6, 1}), false},
		{"rows apart", strided([]int64{4, 6}, []int64{7, 1}), false},
		{"rows over each other", strided([]int64{4, 6}, []int64{5, 1}), true},
		{"columns one behind another", strided([]int64{4, 6}, []int64{1, 4}), false},
		{"columns over each other", strided([]int64{4, 6}, []int64{1, 3}), true},
		{"every second", strided([]int64{4, 6}, []int64{12, 2}), true},
		{"one row, which no stride leads on from (resnet50 as AOTInductor compiles it)",
			strided([]int64{1, 6}, []int64{0, 1}), false},
		{"one element", strided([]int64{1, 1}, []int64{0, 1}), false},
		{"no element", strided([]int64{0, 6}, []int64{12, 2}), false},
		{"a batch, each of every second", strided([]int64{3, 4, 6}, []int64{48, 12, 2}), true},
		{"a batch that stands still", strided([]int64{3, 4, 6}, []int64{0, 6, 1}), false},
	} {
		want := ""
		if tt.copied {
			want = fmt.Sprint(int64(tt.m.NBytes()))
		}
		assert.Equal(t, want, asked(matrixCopy(tt.m)), tt.why)
	}

	column, row := dense(f, tensor.Contiguous, 2, 5, 1), dense(f, tensor.Contiguous, 2, 1, 7)
	for _, tt := range []struct {
		torch string
		a     *tensor.Meta
		want  bool
	}{
		{"2.15", column, true}, {"2.11", column, false}, {"2.15", dense(f, tensor.Contiguous, 5, 1), false},
		{"2.15", row, false},
	} {
		assert.Equal(t, tt.want, MatMul{A: tt.a, B: row}.OuterProducts(on(t, "a100-sxm-80gb", tt.torch)), "%s, %v", tt.torch,
			tt.a.Sizes)
	}

	p := on(t, "a100-sxm-80gb", "2.15")
	lt, plain := CuBLASLt(p)[0].Bytes, CuBLAS(p)[0].Bytes
	for _, tt := range []struct {
		why  string
		bias []int64
		d    tensor.DType
		b    [2]int64
		lt   bool
	}{
		{"a vector", []int64{16}, f, [2]int64{32, 16}, true},
		{"one row", []int64{1, 16}, f, [2]int64{32, 16}, true},
		{"one column of as many", []int64{16, 1}, f, [2]int64{32, 16}, true},
		{"two dimensions of more than one", []int64{4, 4}, f, [2]int64{32, 16}, false},
		{"three dimensions", []int64{1, 1, 16}, f, [2]int64{32, 16}, false},
		{"of another length", []int64{1}, f, [2]int64{32, 16}, false},
		{"one column of results", []int64{1}, f, [2]int64{32, 1}, false},
		{"one row of the second", []int64{16}, f, [2]int64{1, 16}, false},
		{"complex numbers", []int64{16}, tensor.Complex64, [2]int64{32, 16}, false},
		{"two rows and columns", []int64{2}, f, [2]int64{2, 2}, true},
	} {
		m := MatMul{A: dense(tt.d, tensor.Contiguous, 64, tt.b[0]), B: dense(tt.d, tensor.Contiguous, tt.b[0], tt.b[1]),
			Bias: dense(tt.d, tensor.Contiguous, tt.bias...), Beta: 1}
		want := plain
		if tt.lt {
			want = lt
		}
		assert.Equal(t, fmt.Sprint(int64(want)), asked(m.Requests(p)), tt.why)
	}
	empty := MatMul{A: dense(f, tensor.Contiguous, 0, 4), B: dense(f, tensor.Contiguous, 4, 5)}
	assert.Empty(t, empty.Requests(p), "nothing to multiply")
	vector := MatMul{A: strided([]int64{4, 6}, []int64{12, 2}), B: dense(f, tensor.Contiguous, 6)}
	assert.Equal(t, fmt.Sprintf("%d %d", 4*4*6, int64(plain)), asked(vector.Requests(p)),
		"a matrix by a vector: the matrix alone is looked at")
}

// TestAttentionOfTheHost: no backend but math is asked of tensors that are on no device.
func TestAttentionOfTheHost(t *testing.T) {
	q := dense(tensor.Float16, tensor.Contiguous, 1, 4, 4, 64)
	p := on(t, "a100-sxm-80gb", "2.15")
	b, err := (&Attention{Query: q, Key: q, Value: q}).Backend(p)
	require.NoError(t, err)
	assert.Equal(t, platform.SDPAFlash, b)
	host := *q
	host.Device = "cpu"
	b, err = (&Attention{Query: &host, Key: &host, Value: &host}).Backend(p)
	require.NoError(t, err)
	assert.Equal(t, platform.SDPAMath, b)
}

// TestAttentionSplits: into how many parts a single query's keys go, at the edges of the rule.
func TestAttentionSplits(t *testing.T) {
	for _, tt := range []struct {
		batch, heads, keys int64
		sms                int
		want               int64
		why                string
	}{
		{1, 1, 512, 132, 0, "short keys are not split"},
		{1, 1, 513, 132, 4, "the first that are: four parts of at least 128"},
		{1, 1, 1023, 132, 4, "seven parts of 128, of which four are a power of two"},
		{1, 1, 1024, 132, 8, "eight"},
		{1, 1, 8191, 132, 32, "63 parts"},
		{1, 1, 8192, 132, 64, "64 parts"},
		{1, 1, 1 << 20, 132, 64, "never more"},
		{2, 33, 1024, 132, 4, "264 blocks for 66 heads: four each"},
		{2, 34, 1024, 132, 0, "three each are too few to split"},
		{1, 33, 1024, 132, 8, "eight each"},
		{1, 1, 1024, 1, 0, "one multiprocessor has two blocks"},
	} {
		q := dense(tensor.Float16, tensor.Contiguous, tt.batch, tt.heads, 1, 64)
		k := dense(tensor.Float16, tensor.Contiguous, tt.batch, tt.heads, tt.keys, 64)
		assert.Equal(t, tt.want, (&Attention{Query: q, Key: k, Value: k}).splits(tt.sms), tt.why)
	}
}

// TestFlashSplits: into how many parts flash attention splits keys, at the edges of
// num_splits_heuristic (native/transformers/cuda/flash_attn/flash_api.cpp).
func TestFlashSplits(t *testing.T) {
	for _, tt := range []struct {
		work, keys, dim, sms int64
		want                 int64
		why                  string
	}{
		{1, 2048, 64, 216, 8, "up to 64 a block is 256 keys"},
		{1, 2048, 65, 216, 16, "then 128"},
		{1, 2048, 128, 216, 16, "up to 128"},
		{1, 2048, 129, 216, 32, "and then 64"},
		{80, 1 << 13, 256, 100, 1, "four fifths of the multiprocessors are enough"},
		{79, 1 << 13, 256, 100, 5, "five parts of 79 are 3.95 waves, nearly four whole ones"},
		{1, 128 * 127 * 64, 256, 1000, 109, "85 % of 128, the most"},
		{1, 32 * 31 * 64, 256, 32, 28, "85 % of the multiprocessors"},
	} {
		assert.Equal(t, tt.want, flashSplits(tt.work, tt.keys, tt.dim, tt.sms), tt.why)
	}
}

// TestReduceStagingEdges: buffer and semaphores of the blocks that a sum is split into, at the
// edges of setReduceConfig, as PyTorch's own sum takes them on a pretend A100.
func TestReduceStagingEdges(t *testing.T) {
	for _, tt := range []struct {
		why                string
		dims               []int
		size               []int64
		buffer, semaphores int64
	}{
		{"all of a vector", []int{0}, []int64{1 << 20}, 512, 4},
		{"too little for a second block", []int{0}, []int64{1 << 15}, 0, 0},
		{"rows that are long", []int{1}, []int64{3, 1 << 20}, 1536, 12},
		{"as many rows as blocks run", []int{1}, []int64{432, 1 << 18}, 3456, 1728},
		{"one row more than blocks run", []int{1}, []int64{433, 1 << 18}, 0, 0},
		{"rows of less than 128", []int{1}, []int64{2, 127}, 0, 0},
		{"a dimension between two", []int{1}, []int64{4, 1 << 16, 6}, 196608, 8},
		{"two dimensions around one", []int{0, 2}, []int64{1 << 12, 5, 1 << 6}, 640, 20},
		{"three columns", []int{0}, []int64{1 << 18, 3}, 1536, 8},
		{"two columns", []int{0}, []int64{1 << 18, 2}, 1024, 4},
		{"four columns", []int{0}, []int64{1 << 18, 4}, 8192, 4},
		{"sixteen columns", []int{0}, []int64{1 << 18, 16}, 524288, 4},
	} {
		buffer, semaphores := shapeReduction(dense(tensor.Float32, tensor.Contiguous, tt.size...), tt.dims).staging(4, 4, 108,
			2048)
		assert.Equal(t, []int64{tt.buffer, tt.semaphores}, []int64{buffer, semaphores}, tt.why)
	}
}

// TestNativeGradients: operands of the forward call are laid out before the gradients exist, the
// result's gradient after, and the patches last.
func TestNativeGradients(t *testing.T) {
	p := on(t, "a100-sxm-80gb", "2.15")
	x, w, g := dense(tensor.Float32, tensor.ChannelsLast, 2, 3, 9, 8), dense(tensor.Float32, tensor.ChannelsLast, 4, 3, 3,
		2), dense(tensor.Float32, tensor.ChannelsLast, 2, 4, 9, 9)
	v := aConv(x, w)
	v.CuDNNOff = true
	assert.Equal(t, fmt.Sprintf("%d! %d! %d %d", 4*2*3*9*8, 4*4*3*3*2, 4*2*4*9*9, 4*3*3*2*9*9),
		asked(v.NativeGradients(p, g, false)))
	host := *x
	host.Device = "cpu"
	assert.Empty(t, aConv(&host, w).NativeGradients(p, g, false))
	assert.Empty(t, aConv(dense(tensor.Float32, tensor.Contiguous, 0, 3, 9, 8), w).NativeGradients(p, g, false))
}

// TestDepthwiseGradients: the kernel of the input's gradient reads the weight as it lies in memory,
// that of the weight's reads the input, and that of three dimensions reads all.
func TestDepthwiseGradients(t *testing.T) {
	p := on(t, "a100-sxm-80gb", "2.15")
	const f = tensor.Float32
	flat := func(sizes ...int64) *tensor.Meta { // rows and columns exchanged
		m := dense(f, tensor.Contiguous, sizes...)
		n := len(sizes)
		m.Strides[n-2], m.Strides[n-1] = 1, sizes[n-2]
		return m
	}
	for _, tt := range []struct {
		why     string
		x, w, g *tensor.Meta
		weight  bool
		want    string
	}{
		{"of the input", flat(2, 4, 9, 8), flat(8, 1, 3, 2), flat(2, 8, 9, 9), false, fmt.Sprintf("%d!", 4*8*3*2)},
		{"of the weight", flat(2, 4, 9, 8), flat(8, 1, 3, 2), flat(2, 8, 9, 9), true, fmt.Sprintf("%d!", 4*2*4*9*8)},
		{"of the weight, of an input that lies as it should", dense(f, tensor.Contiguous, 2, 4, 9, 8), flat(8, 1, 3, 2),
			flat(2, 8, 9, 9), true, ""},
		{"in three dimensions", flat(2, 4, 5, 9, 8), flat(8, 1, 3, 3, 2), flat(2, 8, 5, 9, 9), false,
			fmt.Sprintf("%d %d %d", 4*2*8*5*9*9, 4*2*4*5*9*8, 4*8*3*3*2)},
	} {
		v := aConv(tt.x, tt.w)
		v.CuDNNOff = true
		assert.Equal(t, ConvDepthwise, v.Backend(p, tt.g.Sizes), tt.why)
		assert.Equal(t, tt.want, asked(v.NativeGradients(p, tt.g, tt.weight)), tt.why)
	}
}

// TestCuDNNTakesDepthwise: an operator of cuDNN's own goes to cuDNN where aten::convolution takes
// the kernel for depthwise convolutions.
func TestCuDNNTakesDepthwise(t *testing.T) {
	p := on(t, "a100-sxm-80gb", "2.15")
	x, w := dense(tensor.Float32, tensor.Contiguous, 2, 4, 9, 8), dense(tensor.Float32, tensor.Contiguous, 8, 1, 3, 3)
	out := []int64{2, 8, 9, 8}
	v := aConv(x, w)
	assert.Equal(t, ConvDepthwise, v.Backend(p, out))
	assert.Empty(t, v.Requests(p, out, AnyConv))
	assert.Equal(t, v.CuDNN(p, out, false), v.Requests(p, out, CuDNNConv))
	assert.NotEmpty(t, v.CuDNN(p, out, false))
}

// TestDepthwiseOfCuDNN: which depthwise convolutions PyTorch leaves to cuDNN, at each edge of
// check_cudnn_depthwise_workload_with_filter.
func TestDepthwiseOfCuDNN(t *testing.T) {
	good := func(change func(v *Convolution)) *Convolution {
		v := aConv(dense(tensor.Float16, tensor.Contiguous, 4, 32, 9, 8),
			dense(tensor.Float16, tensor.Contiguous, 32, 1, 3, 3))
		change(v)
		return v
	}
	sizes := func(m *tensor.Meta, s ...int64) { *m = *dense(tensor.Float16, tensor.Contiguous, s...) }
	for _, tt := range []struct {
		why    string
		change func(v *Convolution)
		want   bool
	}{
		{"a square filter of 3", func(*Convolution) {}, true},
		{"rows that are dilated", func(v *Convolution) { v.Dilation = []int64{2, 1} }, false},
		{"columns that are", func(v *Convolution) { v.Dilation = []int64{1, 2} }, false},
		{"another dtype", func(v *Convolution) { v.Input.DType = tensor.BFloat16 }, false},
		{"fewer channels than 32", func(v *Convolution) { sizes(v.Input, 4, 31, 9, 8) }, false},
		{"steps that differ", func(v *Convolution) { v.Stride = []int64{2, 1} }, false},
		{"in one row they may", func(v *Convolution) { sizes(v.Input, 4, 32, 1, 8); v.Stride = []int64{2, 1} }, true},
		{"a filter that is not square", func(v *Convolution) { sizes(v.Weight, 32, 1, 5, 3) }, false},
		{"one of 5", func(v *Convolution) { sizes(v.Weight, 32, 1, 5, 5) }, true},
		{"one of 2", func(v *Convolution) { sizes(v.Weight, 32, 1, 2, 2) }, false},
		{"columns of 7", func(v *Convolution) { sizes(v.Input, 4, 32, 9, 7) }, true},
		{"of 6", func(v *Convolution) { sizes(v.Input, 4, 32, 9, 6) }, false},
		{"steps of 3", func(v *Convolution) { v.Stride = []int64{3, 3} }, false},
		{"steps of 2 want more channels", func(v *Convolution) { v.Stride = []int64{2, 2} }, false},
		{"512 of them", func(v *Convolution) { sizes(v.Input, 4, 512, 9, 8); v.Stride = []int64{2, 2} }, true},
		{"256 of 28 columns", func(v *Convolution) { sizes(v.Input, 4, 256, 9, 28); v.Stride = []int64{2, 2} }, true},
		{"not of 27", func(v *Convolution) { sizes(v.Input, 4, 256, 9, 27); v.Stride = []int64{2, 2} }, false},
		{"one image", func(v *Convolution) { sizes(v.Input, 1, 32, 9, 29); v.Stride = []int64{2, 2} }, true},
		{"with a filter of 1 of up to 28 columns", func(v *Convolution) {
			sizes(v.Input, 1, 32, 9, 28)
			sizes(v.Weight, 32, 1, 1, 1)
			v.Stride = []int64{2, 2}
		}, true},
		{"no more", func(v *Convolution) {
			sizes(v.Input, 1, 32, 9, 29)
			sizes(v.Weight, 32, 1, 1, 1)
			v.Stride = []int64{2, 2}
		}, false},
		{"16 images with a filter of 1", func(v *Convolution) {
			sizes(v.Input, 16, 128, 9, 7)
			sizes(v.Weight, 128, 1, 1, 1)
			v.Stride = []int64{2, 2}
		}, true},
		{"17", func(v *Convolution) {
			sizes(v.Input, 17, 128, 9, 7)
			sizes(v.Weight, 128, 1, 1, 1)
			v.Stride = []int64{2, 2}
		}, false},
	} {
		assert.Equal(t, tt.want, good(tt.change).depthwiseOfCuDNN(), tt.why)
	}
}

// TestReduceStagingOfFewBlocks: on one multiprocessor of 2,048 threads, worked out by hand from
// setReduceConfig.
func TestReduceStagingOfFewBlocks(t *testing.T) {
	for _, tt := range []struct {
		why    string
		d      tensor.DType
		rows   int64
		cols   int64
		buffer int64
	}{
		{"16 blocks run, 8 are wanted, each value is added up by two", tensor.Float32, 1024, 1024, 4 * 1024 * 2 * 128},
		{"fewer than 256 values a thread", tensor.Float32, 1020, 1024, 0},
		{"16 are wanted, so one each is enough", tensor.Float32, 1024, 2048, 0},
		{"257 values a thread are two blocks' work", tensor.Float32, 1028, 2048, 4 * 2048 * 2 * 128},
		{"blocks of half as many threads where elements have 16 bytes", tensor.Complex128, 1024, 1024,
			16 * 1024 * 4 * 128},
	} {
		size := tt.d.ItemSize()
		buffer, _ := shapeReduction(dense(tt.d, tensor.Contiguous, tt.rows, tt.cols), []int{0}).staging(size, size, 1, 2048)
		assert.Equal(t, tt.buffer, buffer, tt.why)
	}
}

// TestNothingAsked: tensors of the host, devices that are not described, and a library that may
// take nothing.
func TestNothingAsked(t *testing.T) {
	none, p := on(t, "none", "2.15"), on(t, "a100-sxm-80gb", "2.15")
	assert.Empty(t, CuBLAS(none))
	assert.Empty(t, CuBLASLt(none))
	p.CublasWorkspace = ":0:0"
	assert.Empty(t, CuBLAS(p))
	host := dense(tensor.Float16, tensor.Contiguous, 2, 3, 64, 32)
	host.Device = "cpu"
	assert.Empty(t, CuDNNAttentionBackward(host))
	q := bmhk(tensor.Float32, 1, 4, 64, 64)
	for i := range 4 {
		m := [4]*tensor.Meta{q, q, q, q}
		flat := dense(tensor.Float32, tensor.Contiguous, 4, 64, 64)
		m[i] = flat
		a := Attention{Query: m[0], Key: m[1], Value: m[2]}
		assert.Empty(t, a.EfficientBackward(p, m[3]), "operand %d has three dimensions", i)
	}
	a := Attention{Query: host, Key: host, Value: host}
	assert.Empty(t, a.EfficientBackward(p, host))
}

// TestTakesWhatIsAllowed: a backend that the program forbids takes no call.
func TestTakesWhatIsAllowed(t *testing.T) {
	p := on(t, "a100-sxm-80gb", "2.15")
	q := bmhk(tensor.Float16, 1, 4, 64, 64)
	a := Attention{Query: q, Key: q, Value: q}
	assert.True(t, a.Takes(p, platform.SDPAFlash))
	p.Attention = 1 << platform.SDPAMath
	assert.False(t, a.Takes(p, platform.SDPAFlash))
	assert.True(t, a.Takes(p, platform.SDPAMath))
}
