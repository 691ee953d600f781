package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Embeddings (aten/src/ATen/native/Embedding.cpp, EmbeddingBag.cpp, Onehot.cpp).

// maxMode is EmbeddingBagMode::MAX.
const maxMode = 2

func embedding(c *Call) ([]tensor.Meta, error) {
	weight, at := c.T("weight"), c.T("indices")
	if len(weight.Sizes) != 2 {
		return nil, c.Errorf("got a weight of sizes %v, want a matrix", weight.Sizes)
	}
	if at.DType != tensor.Int64 && at.DType != tensor.Int32 {
		return nil, c.Errorf("got indices of %s, want int64 or int32", at.DType)
	}
	return one(fresh(weight, append(slices.Clone(at.Sizes), weight.Sizes[1])...))
}

// embeddingScratch is the contiguous copy of strided indices.
func embeddingScratch(c *Call) []Scratch {
	at := c.T("indices")
	if at.Device == "cpu" {
		return nil
	}
	if _, ok := viewStrides(at.Sizes, at.Strides, []int64{at.Numel()}); ok {
		return nil
	}
	return []Scratch{{Bytes: at.NBytes(), Before: true, Source: "aten/src/ATen/native/Embedding.cpp embedding_symint"}}
}

// embeddingBag is the sums of bags, the bag of each index, the bags' sizes, and for max the indices chosen.
func embeddingBag(c *Call) ([]tensor.Meta, error) {
	weight, at, offsets := c.T("weight"), c.T("indices"), c.T("offsets")
	if len(weight.Sizes) != 2 || len(at.Sizes) != 1 || len(offsets.Sizes) != 1 {
		return nil, c.Errorf("got sizes %v, %v and %v, want a matrix and two vectors", weight.Sizes, at.Sizes, offsets.Sizes)
	}
	bags := offsets.Sizes[0]
	if c.Bool("include_last_offset") {
		bags--
	}
	d := promote(at.DType, offsets.DType)
	chosen := freshAs(at, d, 0)
	if c.Int("mode") == maxMode {
		chosen = freshAs(at, d, bags, weight.Sizes[1])
	}
	return []tensor.Meta{fresh(weight, bags, weight.Sizes[1]), freshAs(at, d, at.Sizes[0]), freshAs(at, d, offsets.Sizes[0]), chosen}, nil
}

// embeddingBagForward makes indices and offsets contiguous first.
func embeddingBagForward(c *Call) (any, error) {
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

// oneHot compares with a range on the device none, as PyTorch does on fake tensors; else it scatters ones into zeros.
func oneHot(c *Call) (any, error) {
	self, n := c.self(), c.Int("num_classes")
	if self.DType != tensor.Int64 {
		return nil, c.Errorf("got %s, want int64", self.DType)
	}
	if n < 0 {
		if self.Data == nil {
			return nil, c.Errorf("got indices whose values are not known, want num_classes")
		}
		n = slices.Max(append([]int64{-1}, self.Data.Ints...)) + 1
	}
	on := Kw{"dtype": int64(tensor.Int64), "device": Device(self.Device)}
	if c.Platform().IsNone() {
		classes := c.Do("aten::arange", n, on)
		same := c.Do("aten::eq.Tensor", c.Do("aten::unsqueeze", self, int64(-1)), classes)
		return c.Do("aten::to.dtype", same, int64(tensor.Int64)), nil
	}
	out := c.Do("aten::zeros", intList(append(slices.Clone(self.Sizes), n)...), on)
	return c.Do("aten::scatter_.value", out, int64(-1), c.Do("aten::unsqueeze", self, int64(-1)), int64(1)), nil
}
