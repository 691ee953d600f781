package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/tensor"
)

// The buffers a reduction stages its parts in. The figures for columns were worked out by hand from
// setReduceConfig.
func TestReduceStaging(t *testing.T) {
	const mib = 1 << 20
	contiguous := func(sizes ...int64) *tensor.Meta { return dense(tensor.Float32, tensor.Contiguous, sizes...) }
	tests := []struct {
		name       string
		x          *tensor.Meta
		dims       []int
		sms        int64
		capability device.Capability
		buffer     int64
		why        string
	}{
		{"columns on T4", contiguous(65536, 1024), []int{0}, 40, device.Capability{Major: 7, Minor: 5}, 32 * mib,
			"target 40 × 8, grid 8: 40 blocks an output would leave a thread more than 256 values, so 64"},
		{"columns on A100", contiguous(65536, 1024), []int{0}, 108, device.Capability{Major: 8}, 108 * mib,
			"target 108 × 16, grid 8: 216 blocks an output"},
		{"columns on H100", contiguous(65536, 1024), []int{0}, 132, device.Capability{Major: 9}, 132 * mib, ""},
		{"columns on RTX 3090", contiguous(65536, 1024), []int{0}, 82, device.Capability{Major: 8, Minor: 6}, 61*mib + mib/2,
			""},
		{"columns on RTX 4090", contiguous(65536, 1024), []int{0}, 128, device.Capability{Major: 8, Minor: 9}, 96 * mib, ""},
		{"short columns on A100", contiguous(2048, 4096), []int{0}, 108, device.Capability{Major: 8}, 64 * mib,
			"as many blocks as there are 16 values for each thread"},
		{"rows", contiguous(64, 1024), []int{1}, 108, device.Capability{Major: 8}, 0, "a row is one block's work"},
		{"average pooling", contiguous(32, 2048, 7, 7), []int{2, 3}, 108, device.Capability{Major: 8}, 0,
			"49 values an output"},
		{"everything", contiguous(1 << 26), []int{0}, 108, device.Capability{Major: 8}, 4 * 512,
			"the 432 blocks that run at once would leave a thread more than 256 values, so 512"},
		{"one element an output", contiguous(8, 1), []int{1}, 108, device.Capability{Major: 8}, 0, "nothing to add up"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			buffer, _ := shapeReduction(tt.x, tt.dims).staging(4, 4, tt.sms, threadsPerSM(tt.capability))
			assert.Equal(t, tt.buffer, buffer, tt.why)
		})
	}
}

// Dimensions that lie behind each other are one, whatever their order in the tensor.
func TestShapeReduction(t *testing.T) {
	x := dense(tensor.Float32, tensor.Contiguous, 2, 3, 4, 5)
	r := shapeReduction(x, []int{2, 3})
	assert.Equal(t, []int64{20, 6}, r.sizes)
	assert.Equal(t, []int64{1, 20}, r.strides)
	assert.Equal(t, 1, r.reduced)

	x.Strides = tensor.ChannelsLastStrides(x.Sizes)
	r = shapeReduction(x, []int{2, 3})
	assert.Equal(t, []int64{20, 3, 2}, r.sizes, "channels last: the channels lie between")
	assert.Equal(t, []int64{3, 1, 60}, r.strides)

	r = shapeReduction(x, []int{0, 1, 2, 3})
	assert.Equal(t, []int64{120}, r.sizes)
}
