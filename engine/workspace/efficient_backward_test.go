package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// bmhk is batch × heads × length × dim in the layout batch × length × heads × dim.
func bmhk(d tensor.DType, b, h, m, k int64) *tensor.Meta {
	return &tensor.Meta{DType: d, Device: "cuda", Sizes: []int64{b, h, m, k}, Strides: []int64{m * h * k, k, h * k, 1}}
}

// What aten::_scaled_dot_product_efficient_attention_backward asked for on memshim's pretend GPUs
// beside its three gradients, torch 2.15.
func TestEfficientBackward(t *testing.T) {
	for _, tt := range []struct {
		device                  string
		dtype                   tensor.DType
		b, h, m, n, head, value int64
		dropout                 float64
		want                    []units.Bytes
	}{
		{"t4", tensor.Float32, 1, 4, 64, 64, 64, 64, 0, []units.Bytes{65536, 1024, 1024, 65600}},
		{"t4", tensor.Float32, 1, 4, 64, 64, 64, 64, 0.1, []units.Bytes{65536, 1024, 1024, 65600}},
		{"t4", tensor.Float32, 2, 3, 100, 77, 32, 32, 0, []units.Bytes{76800, 2400, 2400, 196800}},
		{"t4", tensor.Float32, 2, 1, 48, 48, 32, 32, 0, []units.Bytes{12288, 384, 32800}},
		{"t4", tensor.Float32, 2, 2, 1, 48, 32, 32, 0, []units.Bytes{512, 16, 65600}},
		{"t4", tensor.Float32, 1, 2, 130, 1300, 256, 256, 0, []units.Bytes{266240, 1040, 1040, 393600}},
		{"t4", tensor.Float32, 1, 2, 128, 256, 40, 72, 0, []units.Bytes{73728, 1024, 1024, 65600}},
		{"t4", tensor.Float16, 1, 2, 130, 300, 96, 96, 0, []units.Bytes{1040, 262272}},
		{"t4", tensor.Float16, 1, 2, 130, 300, 256, 256, 0, []units.Bytes{1040, 1835264}},
		{"t4", tensor.Float16, 1, 2, 130, 1300, 256, 256, 0, []units.Bytes{1040, 6029568}},
		{"t4", tensor.Float16, 16, 20, 130, 1300, 160, 160, 0, []units.Bytes{166400, 104888320}},
		{"t4", tensor.Float16, 1, 2, 128, 256, 40, 72, 0, []units.Bytes{1024, 65568}},
		{"a100-sxm-80gb", tensor.Float32, 1, 4, 64, 64, 64, 64, 0, []units.Bytes{65536, 1024, 1024, 65600}},
		{"a100-sxm-80gb", tensor.Float32, 1, 2, 130, 300, 128, 128, 0.1, []units.Bytes{133120, 1040, 1040, 262272}},
		{"a100-sxm-80gb", tensor.Float32, 16, 20, 130, 1300, 160, 160, 0, []units.Bytes{26624000, 166400, 166400, 62945280}},
		{"a100-sxm-80gb", tensor.BFloat16, 1, 2, 130, 300, 128, 128, 0, []units.Bytes{1040, 262208}},
		{"a100-sxm-80gb", tensor.BFloat16, 1, 2, 130, 300, 256, 256, 0, []units.Bytes{1040, 1835264}},
		{"a100-sxm-80gb", tensor.Float16, 3, 5, 128, 256, 128, 128, 0, []units.Bytes{7680, 983280}},
		{"h100-sxm-80gb", tensor.Float32, 1, 2, 130, 300, 256, 256, 0, []units.Bytes{266240, 1040, 1040, 524544}},
		{"b200", tensor.Float16, 1, 2, 130, 300, 80, 80, 0, []units.Bytes{1040, 262208}},
		{"a10", tensor.Float32, 1, 2, 130, 300, 128, 128, 0, []units.Bytes{133120, 1040, 1040, 196800}},
		{"a10", tensor.Float32, 1, 2, 130, 300, 256, 256, 0, []units.Bytes{266240, 1040, 1040, 393600}},
		{"a10", tensor.Float16, 1, 2, 130, 300, 80, 80, 0, []units.Bytes{1040, 262272}},
		{"rtx-4090", tensor.Float16, 1, 2, 130, 300, 96, 96, 0.1, []units.Bytes{1040, 852160}},
		{"rtx-4090", tensor.Float16, 1, 2, 130, 300, 128, 128, 0, []units.Bytes{1040, 852160}},
		{"rtx-5090", tensor.Float16, 1, 2, 130, 300, 80, 80, 0, []units.Bytes{1040, 852160}},
		{"rtx-5090", tensor.Float32, 1, 2, 130, 300, 80, 80, 0, []units.Bytes{83200, 1040, 1040, 196800}},
	} {
		a := Attention{Query: bmhk(tt.dtype, tt.b, tt.h, tt.m, tt.head), Key: bmhk(tt.dtype, tt.b, tt.h, tt.n, tt.head),
			Value: bmhk(tt.dtype, tt.b, tt.h, tt.n, tt.value), Dropout: tt.dropout}
		assert.Equal(t, tt.want,
			bytesAsked(a.EfficientBackward(on(t, tt.device, "2.15"), bmhk(tt.dtype, tt.b, tt.h, tt.m, tt.value))), "%+v", tt)
	}

	// a gradient in another layout is copied first
	a := Attention{Query: bmhk(tensor.Float16, 2, 2, 48, 32), Key: bmhk(tensor.Float16, 2, 2, 48, 32),
		Value: bmhk(tensor.Float16, 2, 2, 48, 32)}
	grad := bmhk(tensor.Float16, 2, 2, 48, 32)
	grad.Strides = []int64{3072, 1536, 32, 1}
	got := a.EfficientBackward(on(t, "t4", "2.15"), grad)
	assert.Equal(t, []units.Bytes{12288, 768, 65600}, bytesAsked(got))
	assert.True(t, got[0].Before)

	// batch and heads share 200 parts of the keys: 66 have three each, 67 two
	for heads, parts := range map[int64]int64{66: 3, 67: 2} {
		q, kv := bmhk(tensor.Float16, 1, heads, 130, 256), bmhk(tensor.Float16, 1, heads, 1300, 256)
		a := Attention{Query: q, Key: kv, Value: kv}
		room := 2*4*(128*64+4) + parts*64*(2+2)*128
		assert.Equal(t, []units.Bytes{units.Bytes(4 * heads * 130), units.Bytes(4 * heads * room)},
			bytesAsked(a.EfficientBackward(on(t, "t4", "2.15"), q)), "%d heads", heads)
	}

	got = a.EfficientBackward(on(t, "v100-16gb", "2.10"), grad)
	assert.Equal(t, note.WorkspaceEstimate, got[2].Note, "no pretend GPU was asked")
}

// TestBackwardKernels: the first kernel of cutlassB.h's list that takes a head, at both ends of
// each, by what the shared memory of a class holds.
func TestBackwardKernels(t *testing.T) {
	const f, h = tensor.Float32, tensor.Float16
	for _, tt := range []struct {
		major, minor int
		dtype        tensor.DType
		dropout      bool
		heads        []int64 // the least and the most of a kernel
		want         backwardKernel
	}{
		{7, 5, f, false, []int64{8, 32}, backwardKernel{64, 64, 32}},
		{9, 0, h, false, []int64{33, 64}, backwardKernel{64, 64, 64}},
		{7, 5, h, false, []int64{65, 128}, backwardKernel{128, 64, 128}},
		{7, 5, f, false, []int64{65, 128}, backwardKernel{64, 64, 128}},
		{8, 0, h, false, []int64{65, 128}, backwardKernel{128, 128, 128}},
		{8, 0, f, false, []int64{65, 128}, backwardKernel{128, 64, 128}},
		{8, 6, h, false, []int64{65, 96}, backwardKernel{128, 64, 96}},
		{8, 9, h, false, []int64{65, 96}, backwardKernel{128, 64, 96}},
		{8, 6, h, true, []int64{65, 96}, backwardKernel{64, 64, 128}},
		{8, 6, h, false, []int64{97, 128}, backwardKernel{64, 64, 128}},
		{8, 6, f, false, []int64{65, 128}, backwardKernel{64, 64, 128}},
		{12, 0, h, false, []int64{65, 96, 128}, backwardKernel{64, 64, 128}},
		{12, 0, f, false, []int64{65, 128}, backwardKernel{64, 64, 128}},
		{10, 0, h, false, []int64{65, 128}, backwardKernel{128, 128, 128}},
		{7, 5, h, false, []int64{129, 512}, backwardKernel{128, 64, wholeHead}},
		{8, 6, h, false, []int64{129}, backwardKernel{128, 64, wholeHead}},
		{8, 0, f, false, []int64{129}, backwardKernel{128, 64, wholeHead}},
		{8, 6, f, false, []int64{129}, backwardKernel{64, 64, wholeHead}},
		{7, 5, f, false, []int64{129}, backwardKernel{64, 64, wholeHead}},
	} {
		for _, head := range tt.heads {
			assert.Equal(t, tt.want, backwardKernelFor(device.Capability{Major: tt.major, Minor: tt.minor}, tt.dtype, head,
				tt.dropout), "%d.%d, %s, %d", tt.major, tt.minor, tt.dtype, head)
		}
	}
}

// bytesAsked are the sizes that are asked for.
func bytesAsked(requests []Request) []units.Bytes {
	var out []units.Bytes
	for _, r := range requests {
		if r.Bytes > 0 {
			out = append(out, r.Bytes)
		}
	}
	return out
}
