package ops

import (
	"math"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Results and scratch of the fused attention kernels.

// number is an int among the results: an undefined tensor with one size.
func numberResult(n int64) tensor.Meta {
	return tensor.Meta{DType: tensor.Undefined, Sizes: []int64{n}}
}

// none is an undefined tensor among the results.
func none() tensor.Meta { return tensor.Meta{DType: tensor.Undefined} }

// turned is a result of the kernel's own layout, batch × length × heads × dim, seen as batch × heads × length × dim.
func turned(m tensor.Meta) tensor.Meta { return swapMeta(m, 1, 2) }

func swapMeta(m tensor.Meta, a, b int) tensor.Meta {
	t := &tensor.Tensor{Meta: m}
	return swapped(t, a, b)
}

func (c *Call) fourDimensional() (q, k, v *tensor.Tensor, err error) {
	q, k, v = c.T("query"), c.T("key"), c.T("value")
	for _, t := range []*tensor.Tensor{q, k, v} {
		if len(t.Sizes) != 4 {
			return nil, nil, nil, c.Errorf("got sizes %v, want 4 dimensions", t.Sizes)
		}
	}
	return q, k, v, nil
}

func flashAttention(c *Call) ([]tensor.Meta, error) {
	q, k, _, err := c.fourDimensional()
	if err != nil {
		return nil, err
	}
	qt := &tensor.Tensor{Meta: swapped(q, 1, 2)}
	out := turned(emptyLike(qt, q.DType, tensor.Preserve))
	lse := freshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], q.Sizes[2])
	state, unused := freshAs(q, tensor.Uint64, 2), freshAs(q, tensor.Uint64)
	if !c.Platform().Release().FlashRNGOnGPU {
		state, unused = newMeta(tensor.Int64, "cpu", nil), newMeta(tensor.Int64, "cpu", nil)
	}
	return []tensor.Meta{out, lse, none(), none(), numberResult(q.Sizes[2]), numberResult(k.Sizes[2]), state, unused, fresh(q, 0)}, nil
}

// flashScratch are the partial results of attention split along the keys (flash_attn/flash_api.cpp set_params_splitkv).
func flashScratch(c *Call) []Scratch {
	q, k, _, err := c.fourDimensional()
	if err != nil || c.Float("dropout_p") > 0 || c.Platform().Device.SMs == 0 {
		return nil
	}
	b, h, lq, lk, d := q.Sizes[0], q.Sizes[1], q.Sizes[2], k.Sizes[2], q.Sizes[3]
	n := flashSplits(b*h*divCeil(lq, 64), lk, d, int64(c.Platform().Device.SMs))
	if n <= 1 {
		return nil
	}
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp num_splits_heuristic"
	return []Scratch{
		{Bytes: units.Bytes(4 * n * b * h * lq), Source: source},
		{Bytes: units.Bytes(4 * n * b * h * lq * divCeil(d, 32) * 32), Source: source},
	}
}

// flashSplits is num_splits_heuristic: the fewest splits that fill 85 % as many multiprocessors as the best number of splits does.
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
	for s := int64(1); s <= most; s++ {
		if eligible(s) {
			best = max(best, fill(s))
		}
	}
	for s := int64(1); s <= most; s++ {
		if eligible(s) && fill(s) >= 0.85*best {
			return s
		}
	}
	return 1
}

func efficientAttention(c *Call) ([]tensor.Meta, error) {
	q, _, v, err := c.fourDimensional()
	if err != nil {
		return nil, err
	}
	out := turned(fresh(q, q.Sizes[0], q.Sizes[2], q.Sizes[1], v.Sizes[3]))
	n := int64(0)
	if c.Bool("compute_log_sumexp") {
		n = divCeil(q.Sizes[2], 32) * 32
	}
	seed := newMeta(tensor.Int64, "cpu", nil)
	if c.fake() {
		seed = freshAs(q, tensor.Int64)
	}
	return []tensor.Meta{out, freshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], n), seed, seed}, nil
}

// efficientScratch is the accumulator that half precision needs for wide heads (native/transformers/cuda/attention.cu).
func efficientScratch(c *Call) []Scratch {
	q, _, v, err := c.fourDimensional()
	if err != nil || max(q.Sizes[3], v.Sizes[3]) <= 128 || !halfType(q.DType) {
		return nil
	}
	m := freshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[2], q.Sizes[1], v.Sizes[3])
	return []Scratch{{Bytes: m.NBytes(), Source: "native/transformers/cuda/attention.cu output_accum"}}
}

func cudnnAttention(c *Call) ([]tensor.Meta, error) {
	q, k, v, err := c.fourDimensional()
	if err != nil {
		return nil, err
	}
	like := &tensor.Tensor{Meta: q.Meta.Clone()}
	like.Sizes[3] = v.Sizes[3]
	if v.Sizes[3] != q.Sizes[3] {
		like.Strides = inferDenseStrides(like.Sizes, q.Strides)
	}
	out := emptyLike(like, q.DType, tensor.Preserve)
	lse := none()
	if c.Bool("compute_log_sumexp") || c.fake() {
		lse = freshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], q.Sizes[2], 1)
	}
	seed := freshAs(q, tensor.Int64)
	return []tensor.Meta{out, lse, none(), none(), numberResult(q.Sizes[2]), numberResult(k.Sizes[2]), seed, seed, none()}, nil
}

func hostAttention(c *Call) ([]tensor.Meta, error) {
	q, _, _, err := c.fourDimensional()
	if err != nil {
		return nil, err
	}
	out := emptyLike(q, q.DType, tensor.Preserve)
	d := tensor.Float32
	if q.DType == tensor.Float64 {
		d = tensor.Float64
	}
	return []tensor.Meta{out, turned(freshAs(q, d, q.Sizes[0], q.Sizes[2], q.Sizes[1]))}, nil
}
