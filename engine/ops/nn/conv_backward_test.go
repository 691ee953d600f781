package nn_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func on(t *testing.T, dev, torch string, answered bool) *platform.Platform {
	t.Helper()
	p := aten.On(t, dev, torch)
	if answered {
		data, err := os.ReadFile("../../../testdata/workspace/kinds.workspace.json")
		require.NoError(t, err)
		p.Workspace, err = profile.Parse(data)
		require.NoError(t, err)
	}
	return p
}

// aGradient is a convolution_backward with padding and dilation 1.
type aGradient struct {
	x, w, g    []int64
	fx, fw, fg tensor.MemoryFormat
	transposed bool
	stride     int64
	groups     int64
	skip       int // a gradient that nobody wants, 0 for none: 1 + its place
}

// events runs it: births as sizes, deaths as negative ones.
func (a aGradient) events(t *testing.T, p *platform.Platform) (sizes []int64, notes []trace.Note) {
	t.Helper()
	b := aten.NewBench(builtin.Table(), p)
	dense := func(f tensor.MemoryFormat, sizes []int64) *tensor.Tensor {
		return b.Tensor(tensor.Meta{DType: tensor.Float32, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f),
			Device: "cuda"}, nil)
	}
	ints := func(n int64) *ops.List {
		l := ops.NewList(schema.Int)
		for range len(a.x) - 2 {
			l.Items = append(l.Items, n)
		}
		return l
	}
	mask := []any{true, true, true}
	if a.skip > 0 {
		mask[a.skip-1] = false
	}
	_, events, err := b.Run("aten::convolution_backward", []any{dense(a.fg, a.g), dense(a.fx, a.x), dense(a.fw, a.w), nil,
		ints(max(a.stride, 1)), ints(1), ints(1),
		a.transposed, ints(0), max(a.groups, 1), ops.NewList(schema.Bool, mask...)}, nil)
	require.NoError(t, err)
	born := map[tensor.StorageID]int64{}
	for _, e := range events {
		switch e.Action {
		case trace.Alloc:
			born[e.Storage] = int64(e.Bytes)
			sizes = append(sizes, int64(e.Bytes))
		case trace.FreeRequested:
			sizes = append(sizes, -born[e.Storage])
		}
	}
	return sizes, b.Notes()
}

// TestConvolutionBackward holds the order of gradients, copies and workspaces against
// native/Convolution.cpp and native/cudnn/ConvShared.cpp, and the workspaces against the answers of
// cuDNN in testdata/workspace/kinds.workspace.json.
func TestConvolutionBackward(t *testing.T) {
	const x, w, bias = 8 * 64 * 56 * 56 * 4, 64 * 64 * 9 * 4, 256
	const last = tensor.ChannelsLast
	square := aGradient{x: []int64{8, 64, 56, 56}, w: []int64{64, 64, 3, 3}, g: []int64{8, 64, 56, 56}}
	with := func(change func(*aGradient)) aGradient {
		a := square
		change(&a)
		return a
	}
	depthwise := with(func(a *aGradient) { a.w, a.groups = []int64{64, 1, 3, 3}, 64 })
	for _, c := range []struct {
		why        string
		a          aGradient
		dev, torch string
		want       []int64
	}{
		{"both gradients, then the bias's", square, "rtx-4090", "2.15", []int64{x, 12992528, -12992528, w, 17121424,
			-17121424, bias}},
		{"another library, other workspaces", square, "rtx-4090", "2.10", []int64{x, 409856, -409856, w, 14467216, -14467216,
			bias}},
		{"no gradient of the input: the first layer", with(func(a *aGradient) { a.skip = 1 }), "rtx-4090", "2.15",
			[]int64{w, 17121424, -17121424, bias}},
		{"no gradient of the weight: it is frozen", with(func(a *aGradient) { a.skip = 2 }), "rtx-4090", "2.15",
			[]int64{x, 12992528, -12992528, bias}},
		{"channels last: the weight is copied for the input's gradient only", with(func(a *aGradient) {
			a.fx, a.fg, a.skip = last, last, 3
		}), "rtx-4090", "2.15",
			[]int64{x, w, 6570000, -6570000, -w, w, 16973968, -16973968}},
		{"a gradient of another layout is copied once", with(func(a *aGradient) { a.fx, a.fw = last, last }), "rtx-4090",
			"2.15",
			[]int64{x, x, 6570000, -6570000, w, 16973968, -16973968, -x, bias}},
		{"a transposed convolution's: the input's gradient is a convolution", with(func(a *aGradient) {
			a.transposed = true
		}), "rtx-4090", "2.10",
			[]int64{x, 6570000, -6570000, w, 14467216, -14467216, bias}},
		{"depthwise by kernels of PyTorch's own: the weight's gradient first", depthwise, "rtx-4090", "2.15",
			[]int64{64 * 9 * 4, x, bias}},
		{"depthwise by kernels of PyTorch's own: a gradient of another layout is copied", with(func(a *aGradient) {
			a.w, a.groups, a.fg, a.skip = depthwise.w, depthwise.groups, last, 3
		}), "rtx-4090", "2.15", []int64{x, 64 * 9 * 4, x, -x}},
		{"depthwise in channels last through cuDNN", with(func(a *aGradient) {
			a.w, a.groups, a.fx, a.fw, a.fg, a.skip = depthwise.w, depthwise.groups, last, last, last, 3
		}), "rtx-4090", "2.15", []int64{x, 64 * 9 * 4, 293838, -293838}},
		{"one dimension is two of height 1", aGradient{x: []int64{8, 64, 512}, w: []int64{128, 64, 3},
			g: []int64{8, 128, 512}}, "rtx-4090", "2.15",
			[]int64{8 * 64 * 512 * 4, 3244048, -3244048, 128 * 64 * 3 * 4, 3441103, -3441103, 512}},
		{"an empty batch", aGradient{x: []int64{0, 64, 56, 56}, w: square.w, g: []int64{0, 64, 56, 56}}, "rtx-4090", "2.15",
			[]int64{w, bias}},
		{"the input's gradient has its size, which a stride leaves open", with(func(a *aGradient) {
			a.g, a.stride = []int64{8, 64, 28, 28}, 2
		}), "none", "2.15", []int64{x, w, bias}},
		{"a transposed convolution of a stride", with(func(a *aGradient) {
			a.x, a.g, a.stride, a.transposed = []int64{8, 64, 28, 28}, []int64{8, 64, 55, 55}, 2, true
		}), "none", "2.15", []int64{x / 4, w, bias}},
		{"the device none has no workspace", square, "none", "2.15", []int64{x, w, bias}},
	} {
		t.Run(c.why, func(t *testing.T) {
			p := on(t, c.dev, c.torch, true)
			got, notes := c.a.events(t, p)
			assert.Equal(t, c.want, got, "go test ./engine/ops/nn -run %q", t.Name())
			assert.False(t, slices.ContainsFunc(notes, func(n trace.Note) bool {
				return strings.HasPrefix(string(n.ID), "workspace")
			}), "%v", notes)
		})
	}
}

// Where nobody was asked each gradient's workspace is by formula, says so, and has an upper figure.
func TestConvolutionBackwardByRule(t *testing.T) {
	const x, w = 8 * 64 * 56 * 56 * 4, 64 * 64 * 9 * 4
	a := aGradient{x: []int64{8, 64, 56, 56}, w: []int64{64, 64, 3, 3}, g: []int64{8, 64, 56, 56}, skip: 3}
	got, notes := a.events(t, on(t, "rtx-4090", "2.15", false))
	const copies = 2*x + w + 16
	const sums = 26 * w // as many as multiprocessors over five tiles
	assert.Equal(t, []int64{x, copies, -copies, w, copies + sums, -(copies + sums)}, got)
	require.Len(t, notes, 1)
	assert.Equal(t, note.WorkspaceEstimate, notes[0].ID)
}

// TestWhoseGradient: each gradient has the sizes of what it is the gradient of, in its place,
// whatever kernel makes it, and is None where nobody asked.
func TestWhoseGradient(t *testing.T) {
	h, f := tensor.BFloat16, tensor.Float32
	one := ops.IntList(1, 1)
	for _, tt := range []struct {
		why, dev string
		d        tensor.DType
		w        []int64
		groups   int64
	}{
		{"cuDNN", "a10g", f, []int64{4, 8, 3, 3}, 1},
		{"columns, as cuDNN has no bfloat16 there", "t4", h, []int64{4, 8, 3, 3}, 1},
		{"depthwise", "a10g", f, []int64{8, 1, 3, 3}, 8},
		{"fake tensors", "none", f, []int64{4, 8, 3, 3}, 1},
	} {
		x, g := []int64{2, 8, 6, 6}, []int64{2, tt.w[0], 6, 6}
		for asked := range 8 {
			b := aten.NewBench(builtin.Table(), on(t, tt.dev, "2.15", false))
			of := func(sizes []int64) any { return b.Tensor(aten.Dense(tt.d, sizes...), nil) }
			mask := ops.NewList(schema.Bool, asked&1 > 0, asked&2 > 0, asked&4 > 0)
			got, _, err := b.Run("aten::convolution_backward", []any{of(g), of(x), of(tt.w), ops.IntList(tt.w[0]), one, one, one,
				false, ops.IntList(0, 0), tt.groups, mask}, nil)
			require.NoError(t, err, tt.why)
			for i, sizes := range [][]int64{x, tt.w, tt.w[:1]} {
				item := got.(*ops.Tuple).Items[i]
				if asked>>i&1 == 0 {
					assert.Nil(t, item, "%s, %03b asked: %d", tt.why, asked, i)
					continue
				}
				require.NotNil(t, item, "%s, %03b asked: %d", tt.why, asked, i)
				assert.Equal(t, sizes, item.(*tensor.Tensor).Sizes, "%s, %03b asked: %d", tt.why, asked, i)
			}
		}
	}
}

// TestGradientsDimensions: gradient, input and weight have as many dimensions, three at least.
func TestGradientsDimensions(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		g, x, w []int64
		want    string // of an error
	}{
		{[]int64{2, 4, 6}, []int64{2, 8, 6}, []int64{4, 8, 3}, ""},
		{[]int64{2, 4}, []int64{2, 8}, []int64{4, 8}, "got gradient [2 4], input [2 8] and weight [4 8], want as many " +
			"dimensions"},
		{[]int64{4, 6}, []int64{2, 8, 6}, []int64{4, 8, 3}, "got gradient [4 6], input [2 8 6] and weight [4 8 3], want as " +
			"many dimensions"},
		{[]int64{2, 4, 6}, []int64{8, 6}, []int64{4, 8, 3}, "got gradient [2 4 6], input [8 6] and weight [4 8 3], want as " +
			"many dimensions"},
		{[]int64{2, 4, 6}, []int64{2, 8, 6}, []int64{4, 8, 3, 3}, "got gradient [2 4 6], input [2 8 6] and weight [4 8 3 " +
			"3], want as many dimensions"},
	} {
		of := func(sizes []int64) any { return h.Of(tensor.Float32, sizes...) }
		one := ops.IntList(1)
		got, events, err := h.Bench.Run("aten::convolution_backward", []any{of(tt.g), of(tt.x), of(tt.w), nil, one, one, one,
			false, ops.IntList(0), int64(1),
			ops.NewList(schema.Bool, true, true, true)}, nil)
		if tt.want != "" {
			assert.EqualError(t, err, "aten::convolution_backward: "+tt.want)
			continue
		}
		require.NoError(t, err)
		assert.Empty(t, events, "the host's gradients take nothing on the device")
		assert.Equal(t, "(float32[2, 8, 6] [48, 6, 1], float32[4, 8, 3] [24, 3, 1], float32[4] [1])", aten.Describe(got))
	}
}
