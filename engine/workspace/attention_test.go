package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Keys are split as num_splits_heuristic of flash_attn/flash_api.cpp splits them: into the fewest
// parts that fill 85 % as many multiprocessors as the best number of parts, of 128 at most.
func TestSplitsOfKeys(t *testing.T) {
	for _, c := range []struct {
		why                  string
		work, keys, dim, sms int64
		want                 int64
	}{
		{"four fifths of the multiprocessors are busy already", 16, 340 * 256, 64, 20, 1},
		{"a block of keys", 1, 256, 64, 200, 1},
		{"a key more", 1, 257, 64, 200, 2},
		{"a block of larger heads", 1, 128, 65, 200, 1},
		{"a key more of them", 1, 129, 128, 200, 2},
		{"a block of the largest heads", 1, 64, 129, 200, 1},
		{"a key more of these", 1, 65, 256, 200, 2},
		{"as many parts as may be", 1, 128 * 256, 64, 1000, 128},
		{"one block more is halved", 1, 129 * 256, 64, 1000, 65},
		{"no more parts than multiprocessors", 1, 128 * 256, 64, 10, 9},
		{"just 85 %", 1, 340 * 256, 64, 20, 17},
		{"one part fills as many as two", 79, 2 * 256, 64, 100, 1},
	} {
		assert.Equal(t, c.want, flashSplits(c.work, c.keys, c.dim, c.sms), c.why)
	}
}

// A row of each part has its sums and its result in float32, in a kernel's size of heads.
func TestFlashAttentionParts(t *testing.T) {
	p := &platform.Platform{Device: device.Device{SMs: 10}}
	meta := func(b, h, l, d int64) *tensor.Meta {
		return &tensor.Meta{DType: tensor.Float16, Sizes: []int64{b, h, l, d}, Device: "cuda"}
	}
	bytes := func(requests []Request) []units.Bytes {
		var out []units.Bytes
		for _, r := range requests {
			out = append(out, r.Bytes)
		}
		return out
	}
	long := meta(1, 1, 340*256, 64)
	assert.Equal(t, []units.Bytes{4 * 17 * 64, 4 * 17 * 64 * 64},
		bytes(FlashAttention(p, meta(1, 1, 64, 64), long, false)))
	assert.Equal(t, []units.Bytes{4 * 9 * 65, 4 * 9 * 65 * 64},
		bytes(FlashAttention(p, meta(1, 1, 65, 64), long, false)))
	assert.Equal(t, []units.Bytes{4 * 9 * 2 * 64, 4 * 9 * 2 * 64 * 64},
		bytes(FlashAttention(p, meta(1, 2, 64, 64), long, false)))
	assert.Empty(t, FlashAttention(p, meta(1, 1, 64, 64), long, true), "dropout")
	assert.Empty(t, FlashAttention(p, meta(1, 1, 64, 64), meta(1, 1, 256, 64), false), "one part")
	assert.Empty(t, FlashAttention(&platform.Platform{}, meta(1, 1, 64, 64), long, false), "a device of no known size")
	for d, want := range map[int64]int64{1: 32, 32: 32, 33: 64, 64: 64, 65: 96, 96: 96, 97: 128, 128: 128, 129: 192,
		192: 192, 193: 256, 256: 256, 257: 257} {
		assert.Equal(t, want, flashHead(d))
	}
	for _, c := range [][4]int64{{128, 32, 128, 32}, {129, 32, 256, 32}, {128, 33, 128, 64}} {
		rows, width := c[2], c[3]
		assert.Equal(t, []units.Bytes{units.Bytes(4 * 2 * 3 * rows), units.Bytes(4 * 2 * 3 * rows * width)},
			bytes(FlashAttentionBackward(meta(2, 3, c[0], c[1]))))
	}
	assert.Empty(t, EfficientAttention(meta(2, 3, 5, 128), meta(2, 3, 5, 128)))
	for _, c := range [][2]int64{{129, 64}, {64, 129}} {
		assert.Equal(t, []units.Bytes{units.Bytes(4 * 2 * 3 * 5 * c[1])},
			bytes(EfficientAttention(meta(2, 3, 5, c[0]), meta(2, 3, 5, c[1]))))
	}
}
