package attention

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Results and workspaces of the fused attention kernels.

// turned is a result of the kernel's own layout, batch × length × heads × dim, seen as batch ×
// heads × length × dim.
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

// lengths are the longest query and the longest key, which flash and cuDNN's attention return as
// ints.
func lengths(c *ops.Call) []int64 { return []int64{c.T("query").Sizes[2], c.T("key").Sizes[2]} }

func flashAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, _, _, err := fourDimensional(c)
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
	return []tensor.Meta{out, lse, ops.NoTensor(), ops.NoTensor(), state, unused, ops.FreshLike(q, 0)}, nil
}

func flashWorkspace(c *ops.Call) []workspace.Request {
	q, k, _, err := fourDimensional(c)
	if err != nil {
		return nil
	}
	parts := workspace.FlashAttention(c.Platform(), &q.Meta, &k.Meta, c.Float("dropout_p") > 0)
	if parts == nil {
		return nil
	}
	// the parts are there before the random state
	return slices.Concat([]workspace.Request{workspace.Make(0), workspace.Make(1)}, parts,
		[]workspace.Request{workspace.Make(4), workspace.Make(5)}, workspace.DropOldest(len(parts)))
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
	if c.OnFakeTensors() || efficientRNGOnGPU(c) {
		seed = ops.FreshAs(q, tensor.Int64)
	}
	return []tensor.Meta{out, ops.FreshAs(q, tensor.Float32, q.Sizes[0], q.Sizes[1], n), seed, seed}, nil
}

// efficientRNGOnGPU says that the random state is on the device, and made first. With dropout it is
// two numbers on the host.
func efficientRNGOnGPU(c *ops.Call) bool {
	return c.Platform().Release().EfficientRNGOnGPU && c.Float("dropout_p") == 0
}

func efficientWorkspace(c *ops.Call) []workspace.Request {
	q, _, v, err := fourDimensional(c)
	if err != nil {
		return nil
	}
	parts := workspace.EfficientAttention(&q.Meta, &v.Meta)
	if !efficientRNGOnGPU(c) {
		return parts
	}
	return append([]workspace.Request{workspace.Make(2), workspace.Make(3), workspace.Make(0), workspace.Make(1)},
		parts...)
}

func cudnnWorkspace(c *ops.Call) []workspace.Request {
	q, k, v, err := fourDimensional(c)
	if err != nil {
		return nil
	}
	a := workspace.Attention{Query: &q.Meta, Key: &k.Meta, Value: &v.Meta, Dropout: c.Float("dropout_p")}
	// the random state is there before the results (native/transformers/cuda/attention.cu
	// _cudnn_attention_forward)
	return []workspace.Request{workspace.Make(4), workspace.Make(5), workspace.Make(0), a.CuDNN(c.Platform())}
}

func cudnnBackwardWorkspace(c *ops.Call) []workspace.Request {
	return workspace.CuDNNAttentionBackward(&c.T("query").Meta)
}

func cudnnAttention(c *ops.Call) ([]tensor.Meta, error) {
	q, _, v, err := fourDimensional(c)
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
	return []tensor.Meta{out, lse, ops.NoTensor(), ops.NoTensor(), seed, seed, ops.NoTensor()}, nil
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
