package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Embeddings (aten/src/ATen/native/Embedding.cpp, EmbeddingBag.cpp, Onehot.cpp).

// maxMode is EmbeddingBagMode::MAX.
const maxMode = 2

func embedding(c *ops.Call) ([]tensor.Meta, error) {
	weight, at := c.T("weight"), c.T("indices")
	if len(weight.Sizes) != 2 {
		return nil, c.Errorf("got a weight of sizes %v, want a matrix", weight.Sizes)
	}
	if at.DType != tensor.Int64 && at.DType != tensor.Int32 {
		return nil, c.Errorf("got indices of %s, want int64 or int32", at.DType)
	}
	return ops.One(ops.FreshLike(weight, append(slices.Clone(at.Sizes), weight.Sizes[1])...))
}

// embeddingWorkspace is the contiguous copy of indices that cannot be seen as one row.
func embeddingWorkspace(c *ops.Call) []workspace.Request {
	at := c.T("indices")
	if _, ok := ops.ViewStrides(at.Sizes, at.Strides, []int64{at.Numel()}); ok || !ops.OnCUDA(at) {
		return nil
	}
	return workspace.Before(workspace.CopyOf(&at.Meta, "aten/src/ATen/native/Embedding.cpp embedding_symint"))
}

// embeddingBag is the sums of bags, the bag of each index, the bags' sizes, and for max the indices
// chosen.
func embeddingBag(c *ops.Call) ([]tensor.Meta, error) {
	weight, at, offsets := c.T("weight"), c.T("indices"), c.T("offsets")
	if len(weight.Sizes) != 2 || len(at.Sizes) != 1 || len(offsets.Sizes) != 1 {
		return nil, c.Errorf("got sizes %v, %v and %v, want a matrix and two vectors", weight.Sizes, at.Sizes,
			offsets.Sizes)
	}
	bags := offsets.Sizes[0]
	if c.Bool("include_last_offset") {
		bags--
	}
	d := ops.PromoteTypes(at.DType, offsets.DType)
	chosen := ops.FreshAs(at, d, 0)
	if c.Int("mode") == maxMode {
		chosen = ops.FreshAs(at, d, bags, weight.Sizes[1])
	}
	return []tensor.Meta{ops.FreshLike(weight, bags, weight.Sizes[1]), ops.FreshAs(at, d, at.Sizes[0]),
		ops.FreshAs(at, d, offsets.Sizes[0]), chosen}, nil
}

// embeddingBagForward makes indices and offsets contiguous first.
func embeddingBagForward(c *ops.Call) (any, error) {
	if m := c.Int("mode"); m < 0 || m > 2 {
		return nil, c.Errorf("got mode %d, want 0 (sum), 1 (mean) or 2 (max)", m)
	}
	if w := c.T("per_sample_weights"); w != nil && !slices.Equal(w.Sizes, c.T("indices").Sizes) {
		return nil, c.Errorf("got per_sample_weights %v, want the indices' %v", w.Sizes, c.T("indices").Sizes)
	}
	args := slices.Clone(c.Args)
	for _, i := range []int{2, 1} { // C++ evaluates arguments from the right
		args[i] = c.Do("aten::contiguous", args[i])
	}
	if len(args) == 9 && args[8] == nil {
		args[8] = int64(-1)
	}
	return c.DoAny("aten::_embedding_bag_forward_only", args...), nil
}

// oneHot compares with a range on the device none, as PyTorch does on fake tensors; else it
// scatters ones into zeros.
func oneHot(c *ops.Call) (any, error) {
	self, n := c.Self(), c.Int("num_classes")
	if self.DType != tensor.Int64 {
		return nil, c.Errorf("got %s, want int64", self.DType)
	}
	if n < 0 {
		if self.Data == nil {
			return nil, c.Errorf("got indices whose values are not known, want num_classes")
		}
		n = slices.Max(append([]int64{-1}, self.Data.Ints...)) + 1
	}
	on := ops.Kw{"dtype": int64(tensor.Int64), "device": ops.Device(self.Device)}
	if c.Platform().IsNone() {
		classes := c.Do("aten::arange", n, on)
		same := c.Do("aten::eq.Tensor", c.Do("aten::unsqueeze", self, int64(-1)), classes)
		return c.Do("aten::to.dtype", same, int64(tensor.Int64)), nil
	}
	out := c.Do("aten::zeros", ops.IntList(append(slices.Clone(self.Sizes), n)...), on)
	return c.Do("aten::scatter_.value", out, int64(-1), c.Do("aten::unsqueeze", self, int64(-1)), int64(1)), nil
}

// denseRows is the gradient of an embedding: a row a weight.
func denseRows(c *ops.Call) ([]tensor.Meta, error) {
	g := c.Self()
	if len(g.Sizes) == 0 {
		return nil, c.Errorf("got a gradient without dimensions, want at least 1")
	}
	return ops.One(ops.FreshLike(g, c.Int("num_weights"), g.Sizes[len(g.Sizes)-1]))
}

func denseRowsWorkspace(c *ops.Call) []workspace.Request {
	return workspace.EmbeddingBackward(&c.T("indices").Meta, c.Bool("scale_grad_by_freq"))
}
