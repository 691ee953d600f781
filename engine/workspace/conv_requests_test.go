package workspace

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// sparse is every second element of a tensor.
func sparse(sizes ...int64) *tensor.Meta {
	m := dense(tensor.Float32, tensor.Contiguous, sizes...)
	for i := range m.Strides {
		m.Strides[i] *= 2
	}
	return m
}

// TestConvRequests: what a convolution takes by the kernel that it goes to and by the operator that
// calls it. cuDNN's workspace, by formula, is the last of its requests.
func TestConvRequests(t *testing.T) {
	const f, d = tensor.Float32, tensor.Float64
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	p := on(t, "a100-sxm-80gb", "2.15")
	host := dense(f, plain, 2, 3, 9, 8)
	host.Device = "cpu"
	transposed := func(x, w *tensor.Meta) *Convolution {
		v := aConv(x, w)
		v.Transposed, v.Groups = true, 1
		return v
	}
	off := aConv(dense(f, last, 2, 3, 9, 8), dense(f, plain, 4, 3, 3, 2))
	off.CuDNNOff = true
	line := aConv(dense(f, plain, 2, 3, 9), dense(f, plain, 4, 3, 3))
	turned := dense(f, plain, 2, 3, 9)
	turned.Strides = []int64{27, 1, 3}
	x, w := fmt.Sprint(4*2*3*9*8), fmt.Sprint(4*4*3*3*2)
	for _, tt := range []struct {
		why  string
		v    *Convolution
		by   ConvOperator
		out  []int64
		want string // what it takes before the library's workspace
		dnn  bool   // and that
	}{
		{"on the host nothing", aConv(host, dense(f, plain, 4, 3, 3, 2)), AnyConv, []int64{2, 4, 9, 9}, "", false},
		{"of no element nothing", aConv(dense(f, plain, 0, 3, 9, 8), dense(f, plain, 4, 3, 3, 2)), AnyConv,
			[]int64{0, 4, 9, 9}, "", false},
		{"row by row nothing is copied", aConv(dense(f, plain, 2, 3, 9, 8), dense(f, plain, 4, 3, 3, 2)), AnyConv,
			[]int64{2, 4, 9, 9}, "", true},
		{"an input that is channels last: the weight becomes it", aConv(dense(f, last, 2, 3, 9, 8),
			dense(f, plain, 4, 3, 3, 2)), AnyConv, []int64{2, 4, 9, 9}, w, true},
		{"a weight that is: the input, before the result", aConv(dense(f, plain, 2, 3, 9, 8),
			dense(f, last, 4, 3, 3, 2)), AnyConv, []int64{2, 4, 9, 9}, x + "!", true},
		{"doubles are taken row by row", aConv(dense(d, last, 2, 3, 9, 8), dense(d, last, 4, 3, 3, 2)), AnyConv,
			[]int64{2, 4, 9, 9}, fmt.Sprintf("%d! %d", 8*2*3*9*8, 8*4*3*3*2), true},
		{"a transposed one as aten::convolution runs it", transposed(dense(d, last, 2, 4, 9, 8), dense(d, last, 4, 3, 3, 2)),
			AnyConv, []int64{2, 3, 9, 7}, fmt.Sprintf("%d! %d", 8*2*4*9*8, 8*4*3*3*2), true},
		{"called as cuDNN's: the weight first, both behind the result",
			transposed(dense(d, last, 2, 4, 9, 8), dense(d, last, 4, 3, 3, 2)), CuDNNConv, []int64{2, 3, 9, 7},
			fmt.Sprintf("%d %d", 8*4*3*3*2, 8*2*4*9*8), true},
		{"another called as cuDNN's is as ever", aConv(dense(d, last, 2, 3, 9, 8), dense(d, last, 4, 3, 3, 2)), CuDNNConv,
			[]int64{2, 4, 9, 9}, fmt.Sprintf("%d! %d", 8*2*3*9*8, 8*4*3*3*2), true},
		{"depthwise, channels last: cuDNN's", aConv(dense(f, last, 2, 3, 9, 8), dense(f, plain, 3, 1, 3, 2)),
			AnyConv, []int64{2, 3, 9, 9}, "", true},
		{"depthwise, row by row", aConv(dense(f, plain, 2, 3, 9, 8), dense(f, plain, 3, 1, 3, 2)), AnyConv,
			[]int64{2, 3, 9, 9}, "", false},
		{"depthwise, of every second element: copies", aConv(sparse(2, 3, 9, 8), sparse(3, 1, 3, 2)), AnyConv,
			[]int64{2, 3, 9, 9}, fmt.Sprintf("%s! %d", x, 4*3*3*2), false},
		{"depthwise, called as cuDNN's", aConv(dense(f, plain, 2, 3, 9, 8), dense(f, plain, 3, 1, 3, 2)), CuDNNConv,
			[]int64{2, 3, 9, 9}, "", true},
		{"without cuDNN: copies and columns", off, AnyConv, []int64{2, 4, 9, 9},
			fmt.Sprintf("%s 0 %d %d -1 %d -1 -1", x, 4*3*3*2*9*9, CuBLAS(p)[0].Bytes, CuBLAS(p)[0].Bytes), false},
		{"of one dimension", line, AnyConv, []int64{2, 4, 9}, "", true},
		{"of one dimension, on copies of what is not row by row", aConv(turned, line.Weight), AnyConv, []int64{2, 4, 9},
			fmt.Sprintf("%d!", 4*2*3*9), true},
	} {
		got := tt.v.Requests(p, tt.out, tt.by)
		if tt.dnn {
			if assert.NotEmpty(t, got, tt.why) {
				assert.Contains(t, got[len(got)-1].Source, "cuDNN convolution", tt.why)
				got = got[:len(got)-1]
			}
		}
		assert.Equal(t, tt.want, asked(got), tt.why)
	}
	v := aConv(dense(f, plain, 2, 3, 9, 8), dense(f, plain, 4, 3, 3, 2))
	assert.NotNil(t, v.Requests(p, []int64{2, 4, 9, 9}, CuDNNConv)[0].Asked, "the library is asked")
	assert.Nil(t, v.Requests(p, []int64{2, 4, 9, 9}, FusedConv)[0].Asked, "of a fused one it cannot be")
}

// TestConvGradients: what the gradients of a convolution take by PyTorch's kernels, and the copies
// of what cuDNN makes a weight's gradient of.
func TestConvGradients(t *testing.T) {
	const f = tensor.Float32
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	p := on(t, "a100-sxm-80gb", "2.15")
	host := dense(f, plain, 2, 3, 9, 8)
	host.Device = "cpu"
	grad, columns := dense(f, last, 2, 4, 9, 9), fmt.Sprint(4*3*3*2*9*9)
	off := func(v *Convolution) *Convolution {
		v.CuDNNOff = true
		return v
	}
	for _, tt := range []struct {
		why    string
		v      *Convolution
		grad   *tensor.Meta
		weight bool
		want   string
	}{
		{"on the host", aConv(host, dense(f, plain, 4, 3, 3, 2)), grad, false, ""},
		{"of no element", aConv(dense(f, plain, 0, 3, 9, 8), dense(f, plain, 4, 3, 3, 2)), grad, false, ""},
		{"columns: input and weight before the result, its gradient after", off(aConv(sparse(2, 3, 9, 8),
			sparse(4, 3, 3, 2))), grad, false,
			fmt.Sprintf("%d! %d! %d %s", 4*2*3*9*8, 4*4*3*3*2, 4*2*4*9*9, columns)},
		{"columns of what lies row by row", off(aConv(dense(f, plain, 2, 3, 9, 8), dense(f, plain, 4, 3, 3, 2))),
			dense(f, plain, 2, 4, 9, 9), true, columns},
		{"depthwise, the input's: the weight is read", off(aConv(sparse(2, 3, 9, 8), sparse(3, 1, 3, 2))),
			dense(f, last, 2, 3, 9, 9), false, fmt.Sprintf("%d!", 4*3*3*2)},
		{"depthwise, the weight's: the input is", off(aConv(sparse(2, 3, 9, 8), sparse(3, 1, 3, 2))),
			dense(f, last, 2, 3, 9, 9), true, fmt.Sprintf("%d!", 4*2*3*9*8)},
		{"depthwise in three dimensions: all", off(aConv(sparse(2, 3, 5, 9, 8), sparse(3, 1, 2, 3, 2))),
			dense(f, tensor.ChannelsLast3d, 2, 3, 6, 9, 9), true,
			fmt.Sprintf("%d %d %d", 4*2*3*6*9*9, 4*2*3*5*9*8, 4*3*2*3*2)},
	} {
		assert.Equal(t, tt.want, asked(tt.v.NativeGradients(p, tt.grad, tt.weight)), tt.why)
	}

	x := dense(f, plain, 2, 3, 9, 8)
	for _, tt := range []struct {
		why     string
		x, grad *tensor.Meta
		want    string
	}{
		{"row by row", x, dense(f, plain, 2, 4, 9, 9), ""},
		{"a gradient that is channels last: the input becomes it", x, grad, fmt.Sprintf("%d!", 4*2*3*9*8)},
		{"an input that is: the gradient", dense(f, last, 2, 3, 9, 8), dense(f, plain, 2, 4, 9, 9),
			fmt.Sprintf("%d!", 4*2*4*9*9)},
		{"neither, nor row by row: the gradient first", sparse(2, 3, 9, 8), sparse(2, 4, 9, 9),
			fmt.Sprintf("%d! %d!", 4*2*4*9*9, 4*2*3*9*8)},
	} {
		v := aConv(tt.x, dense(f, plain, 4, 3, 3, 2))
		v.Grad = tt.grad
		got := v.WeightGradient(p)
		assert.Equal(t, tt.want, asked(got[:len(got)-1]), tt.why)
		assert.Contains(t, got[len(got)-1].Source, "cuDNN convolution", tt.why)
	}
}

// TestReductionRequests: the buffer and the semaphores of a reduction by what it adds up in, and
// where there are none.
func TestReductionRequests(t *testing.T) {
	const f = tensor.Float32
	p := on(t, "a100-sxm-80gb", "2.15")
	x := dense(f, tensor.Contiguous, 65536, 1024)
	host := dense(f, tensor.Contiguous, 65536, 1024)
	host.Device = "cpu"
	unknown := *p
	unknown.Device = device.Device{ComputeCapability: p.Device.ComputeCapability}
	// 27 MiB for each byte of an accumulator: TestReduceStaging has them for four
	const each, semaphores = 27 << 20, " 32"
	for _, tt := range []struct {
		why  string
		got  []Request
		want string
	}{
		{"on the host", Reduction(p, host, []int{0}, AccValue), ""},
		{"on a device of which nothing is known", Reduction(&unknown, x, []int{0}, AccValue), ""},
		{"rows need none", Reduction(p, dense(f, tensor.Contiguous, 64, 1024), []int{1}, AccValue), ""},
		{"values in float32", Reduction(p, x, []int{0}, AccValue), fmt.Sprint(4*each) + semaphores},
		{"of the input's type", Reduction(p, x, []int{0}, AccInput), fmt.Sprint(4*each) + semaphores},
		{"a value and its place", Reduction(p, x, []int{0}, AccPair), fmt.Sprint(16*each) + semaphores},
		{"a bool", Reduction(p, x, []int{0}, AccBool), fmt.Sprint(each) + semaphores},
		{"smallest and largest", Reduction(p, x, []int{0}, AccTwo), fmt.Sprint(8*each) + semaphores},
		{"mean, squares and counts", Reduction(p, x, []int{0}, AccWelford), fmt.Sprint(16*each) + semaphores},
	} {
		assert.Equal(t, tt.want, asked(tt.got), tt.why)
	}
	for _, tt := range []struct {
		acc  Accumulator
		d    tensor.DType
		want int64
	}{
		{AccValue, tensor.Float16, 4}, {AccValue, tensor.Float64, 8}, {AccValue, tensor.Int32, 8},
		{AccInput, tensor.Float16, 2}, {AccPair, tensor.Float64, 16}, {AccWelford, tensor.Float16, 16},
		{AccWelford, tensor.Float64, 32}, {AccBool, tensor.Float64, 1}, {AccTwo, tensor.Float16, 4},
	} {
		assert.Equal(t, tt.want, tt.acc.bytes(tt.d), "%d of %s", tt.acc, tt.d)
	}

	// a cumulative sum copies what is not row by row, and takes CUB's storage where it is over all
	turned := dense(f, tensor.Contiguous, 3, 5)
	turned.Strides = []int64{1, 3}
	column := dense(f, tensor.Contiguous, 1, 5000)
	for _, tt := range []struct {
		x    *tensor.Meta
		dim  int
		want string
	}{
		{turned, 0, fmt.Sprint(4 * 15)}, {dense(f, tensor.Contiguous, 3, 5), 1, ""},
		{column, 1, fmt.Sprint(cubScan(p, 5000, f))}, {column, 0, ""},
	} {
		assert.Equal(t, tt.want, asked(Scan(p, tt.x, tt.dim)), "%v over %d", tt.x.Sizes, tt.dim)
	}
}

// TestRounds: rounds of what is given back again, and what is left to give back.
func TestRounds(t *testing.T) {
	one := []Request{{Bytes: 3}, {Bytes: 5}}
	assert.Empty(t, InTurn(nil, 3), "rounds of nothing")
	assert.Empty(t, InTurn(one, 0))
	assert.Equal(t, "3 5 -2 3 5 -2", asked(InTurn(one, 2)))
	assert.Len(t, InTurn(one, 1<<40), 3*1024, "no more than change anything")
	for _, tt := range []struct {
		why  string
		rs   []Request
		want string
	}{
		{"nothing", nil, ""}, {"all that was taken", one, "3 5 -2"}, {"what is given back already", InTurn(one, 2),
			"3 5 -2 3 5 -2"},
		{"a result is no request", []Request{Make(0), {Bytes: 3}}, "0 3 -1"},
		{"an estimate of nothing holds its place", []Request{{Upper: 4}}, "0 -1"},
		{"one that drops another and takes", []Request{{Bytes: 3}, {Bytes: 5, Drops: 1}}, "3 -1 -1"},
	} {
		assert.Equal(t, tt.want, asked(GivenBack(tt.rs)), tt.why)
	}
	assert.Equal(t, []Request{{Upper: 4 * 2 * 3 << 20, Note: note.WorkspaceEstimate,
		Source: "the workspace of cuDNN's attention backward is not known: taken as none"}},
		CuDNNAttentionBackward(dense(tensor.Float16, tensor.Contiguous, 2, 3, 1024, 1024)))
	assert.Equal(t, units.MiB, CuDNNAttentionBackward(dense(tensor.Float16, tensor.Contiguous, 2, 3))[0].Upper,
		"a MiB at least")
	host := dense(tensor.Float16, tensor.Contiguous, 2, 3)
	host.Device = "cpu"
	assert.Empty(t, CuDNNAttentionBackward(host))
}
