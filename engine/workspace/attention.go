package workspace

import (
	"math"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Attention by flash and memory-efficient kernels. Queries, keys and values are batch × heads ×
// length × dim.

// FlashAttention is the partial results of attention split along the keys (flash_attn/flash_api.cpp
// set_params_splitkv). Dropout keeps it whole.
func FlashAttention(p *platform.Platform, q, k *tensor.Meta, dropout bool) []Request {
	if dropout {
		return nil
	}
	b, h, lq, lk, d := q.Sizes[0], q.Sizes[1], q.Sizes[2], k.Sizes[2], q.Sizes[3]
	n := flashSplits(b*h*divCeil(lq, 64), lk, d, 2*int64(p.Device.SMs)) // blocks of 128 threads, two at once on each
	if n <= 1 {
		return nil
	}
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp num_splits_heuristic"
	rows := n * b * h * lq
	return []Request{{Bytes: units.Bytes(4 * rows), Source: source},
		{Bytes: units.Bytes(4 * rows * flashHead(d)), Source: source}}
}

// flashHead is the head size of the kernel that takes heads of d.
func flashHead(d int64) int64 {
	for _, size := range []int64{32, 64, 96, 128, 192, 256} {
		if d <= size {
			return size
		}
	}
	return d // no kernel takes it
}

// flashSplits is num_splits_heuristic: the fewest splits that fill 85 % as many multiprocessors as
// the best number of splits does.
func flashSplits(work, keys, dim, sms int64) int64 {
	if float64(work) >= 0.8*float64(sms) {
		return 1
	}
	block := int64(64)
	if dim <= 64 {
		block = 256
	} else if dim <= 128 {
		block = 128
	}
	blocks := divCeil(keys, block)
	most := min(128, sms, blocks)
	eligible := func(s int64) bool { return s == 1 || divCeil(blocks, s) != divCeil(blocks, s-1) }
	fill := func(s int64) float64 {
		waves := float64(work*s) / float64(sms)
		return waves / math.Ceil(waves)
	}
	best := 0.0
	for i := range most {
		if s := i + 1; eligible(s) {
			best = max(best, fill(s))
		}
	}
	s := int64(1)
	for !eligible(s) || fill(s) < 0.85*best {
		s++
	}
	return s
}

// FlashAttentionBackward is the softmax's sums and the query gradient's accumulator
// (flash_attn/flash_api.cpp mha_bwd).
func FlashAttentionBackward(q *tensor.Meta) []Request {
	if !OnDevice(q) || len(q.Sizes) != 4 {
		return nil
	}
	b, h, rows, d := q.Sizes[0], q.Sizes[1], divCeil(q.Sizes[2], 128)*128, divCeil(q.Sizes[3], 32)*32
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp mha_bwd"
	return []Request{{Bytes: units.Bytes(4 * b * h * rows), Source: source},
		{Bytes: units.Bytes(4 * b * h * rows * d), Source: source}}
}

// EfficientAttention is the accumulator in float32 that half precision needs for heads of more than
// 128 (native/transformers/cuda/attention.cu).
func EfficientAttention(q, v *tensor.Meta) []Request {
	if max(q.Sizes[3], v.Sizes[3]) <= 128 || q.DType != tensor.Float16 && q.DType != tensor.BFloat16 {
		return nil
	}
	return []Request{{
		Bytes:  units.Bytes(4 * q.Sizes[0] * q.Sizes[2] * q.Sizes[1] * v.Sizes[3]),
		Source: "native/transformers/cuda/attention.cu output_accum",
	}}
}
