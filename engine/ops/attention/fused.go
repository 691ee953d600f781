package attention

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Results and scratch of the fused attention kernels.

// turned is a result of the kernel's own layout, batch × length × heads × dim, seen as batch × heads × length × dim.
func turned(m tensor.Meta) tensor.Meta { return ops.TransposedMeta(m, 1, 2) }

func fourDimensional(c *ops.Call) (q, k, v *tensor.Tensor, err error) {
	q, k, v = c.T("query"), c.T("key"), c.T("value")
	for _, t := range []*tensor.Tensor{q, k, v} {
		if len(t.Sizes) != 4 {
			return nil, nil, nil, c.Errorf("got sizes %v, want 4 dimensions", t.Sizes)
		}
	}
	return q, k, v, nil
}

func flashAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, k, _, err := fourDimensional(c)
	if err != nil {
		return nil, err
	}
	qt := &tensor.Tensor{Meta: ops.Transposed(q, 1, 2)}
	out := turned(ops.EmptyLike(qt, q.DType, tensor.Preserve))
	lse := ops.FreshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], q.Sizes[2])
	state, unused := ops.FreshAs(q, tensor.Uint64, 2), ops.FreshAs(q, tensor.Uint64)
	if !c.Platform().Release().FlashRNGOnGPU {
		state, unused = ops.NewMeta(tensor.Int64, "cpu", nil), ops.NewMeta(tensor.Int64, "cpu", nil)
	}
	return []tensor.Meta{out, lse, ops.NoTensor(), ops.NoTensor(), ops.NumberResult(q.Sizes[2]), ops.NumberResult(k.Sizes[2]), state, unused, ops.FreshLike(q, 0)}, nil
}

// flashScratch are the partial results of attention split along the keys (flash_attn/flash_api.cpp set_params_splitkv).
func flashScratch(c *ops.Call) []ops.Scratch {
	q, k, _, err := fourDimensional(c)
	if err != nil || c.Float("dropout_p") > 0 || c.Platform().Device.SMs == 0 {
		return nil
	}
	b, h, lq, lk, d := q.Sizes[0], q.Sizes[1], q.Sizes[2], k.Sizes[2], q.Sizes[3]
	n := flashSplits(b*h*ops.DivCeil(lq, 64), lk, d, int64(c.Platform().Device.SMs))
	if n <= 1 {
		return nil
	}
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp num_splits_heuristic"
	return []ops.Scratch{
		{Bytes: units.Bytes(4 * n * b * h * lq), Source: source},
		{Bytes: units.Bytes(4 * n * b * h * lq * ops.DivCeil(d, 32) * 32), Source: source},
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
	blocks := ops.DivCeil(keys, block)
	most := min(128, sms, blocks)
	eligible := func(s int64) bool { return s == 1 || ops.DivCeil(blocks, s) != ops.DivCeil(blocks, s-1) }
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

func efficientAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, _, v, err := fourDimensional(c)
	if err != nil {
		return nil, err
	}
	out := turned(ops.FreshLike(q, q.Sizes[0], q.Sizes[2], q.Sizes[1], v.Sizes[3]))
	n := int64(0)
	if c.Bool("compute_log_sumexp") {
		n = ops.DivCeil(q.Sizes[2], 32) * 32
	}
	seed := ops.NewMeta(tensor.Int64, "cpu", nil)
	if c.OnFakeTensors() {
		seed = ops.FreshAs(q, tensor.Int64)
	}
	return []tensor.Meta{out, ops.FreshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], n), seed, seed}, nil
}

// efficientScratch is the accumulator that half precision needs for wide heads (native/transformers/cuda/attention.cu).
func efficientScratch(c *ops.Call) []ops.Scratch {
	q, _, v, err := fourDimensional(c)
	if err != nil || max(q.Sizes[3], v.Sizes[3]) <= 128 || !halfType(q.DType) {
		return nil
	}
	m := ops.FreshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[2], q.Sizes[1], v.Sizes[3])
	return []ops.Scratch{{Bytes: m.NBytes(), Source: "native/transformers/cuda/attention.cu output_accum"}}
}

func cudnnAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, k, v, err := fourDimensional(c)
	if err != nil {
		return nil, err
	}
	like := &tensor.Tensor{Meta: q.Meta.Clone()}
	like.Sizes[3] = v.Sizes[3]
	if v.Sizes[3] != q.Sizes[3] {
		like.Strides = ops.InferDenseStrides(like.Sizes, q.Strides)
	}
	out := ops.EmptyLike(like, q.DType, tensor.Preserve)
	lse := ops.NoTensor()
	if c.Bool("compute_log_sumexp") || c.OnFakeTensors() {
		lse = ops.FreshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], q.Sizes[2], 1)
	}
	seed := ops.FreshAs(q, tensor.Int64)
	return []tensor.Meta{out, lse, ops.NoTensor(), ops.NoTensor(), ops.NumberResult(q.Sizes[2]), ops.NumberResult(k.Sizes[2]), seed, seed, ops.NoTensor()}, nil
}

func hostAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, _, _, err := fourDimensional(c)
	if err != nil {
		return nil, err
	}
	out := ops.EmptyLike(q, q.DType, tensor.Preserve)
	d := tensor.Float32
	if q.DType == tensor.Float64 {
		d = tensor.Float64
	}
	return []tensor.Meta{out, turned(ops.FreshAs(q, d, q.Sizes[0], q.Sizes[2], q.Sizes[1]))}, nil
}
