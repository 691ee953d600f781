package index

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// What CUDA's kernels refuse though the results would have sizes
// (native/cuda/ScatterGatherKernel.cpp, native/TensorAdvancedIndexing.cpp,
// native/cuda/Indexing.cu).

// somethingThere refuses places in a dimension that has none.
func somethingThere(c *ops.Call) error {
	self, at := c.Self(), c.T("index")
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil || at == nil || len(self.Sizes) == 0 || self.Sizes[dim] != 0 || at.Numel() == 0 {
		return err
	}
	for i, n := range self.Sizes {
		if i != dim && n == 0 {
			return nil
		}
	}
	return c.Errorf("got %d places in dimension %d of %v, want none", at.Numel(), dim, self.Sizes)
}

// placesInDim wants places that are int32 or int64 (native/TensorAdvancedIndexing.cpp
// scatter_meta_impl), and somethingThere.
func placesInDim(c *ops.Call) error {
	if at := c.T("index"); at != nil && at.DType != tensor.Int64 && at.DType != tensor.Int32 && at.Numel() > 0 {
		return c.Errorf("got places of %s, want int32 or int64", at.DType)
	}
	return somethingThere(c)
}

// somethingInAll is somethingThere for places in all of self.
func somethingInAll(c *ops.Call) error {
	if self, at := c.Self(), c.T("index"); self.Numel() == 0 && at.Numel() > 0 {
		return c.Errorf("got %d places in %v, want none", at.Numel(), self.Sizes)
	}
	return nil
}

// reducible is somethingThere for a source with as many dimensions as self.
func reducible(c *ops.Call) error {
	if self, src := c.Self(), c.T("source"); len(self.Sizes) != len(src.Sizes) {
		return c.Errorf("got a source of sizes %v for %v, want as many dimensions", src.Sizes, self.Sizes)
	}
	return somethingThere(c)
}

// onePlace wants one place in a tensor without dimensions.
func onePlace(c *ops.Call) error {
	if self, at := c.Self(), c.T("index"); len(self.Sizes) == 0 && at.Numel() != 1 {
		return c.Errorf("got %d places in a tensor without dimensions, want 1", at.Numel())
	}
	return nil
}

// maskExpands wants a mask that expands to what is written.
func maskExpands(c *ops.Call) error {
	self, mask := c.Self(), c.T("mask")
	if wide, err := c.Broadcast(self.Sizes, mask.Sizes); err != nil || !slices.Equal(wide, self.Sizes) {
		return c.Errorf("got a mask of %v, want it to expand to %v", mask.Sizes, self.Sizes)
	}
	return nil
}

// hasDiagonal wants at least two dimensions, all as long where there are more.
func hasDiagonal(c *ops.Call) error {
	sizes := c.Self().Sizes
	if len(sizes) < 2 || len(sizes) > 2 && slices.ContainsFunc(sizes, func(n int64) bool { return n != sizes[0] }) {
		return c.Errorf("got %v, want 2 dimensions or more of one size", sizes)
	}
	return nil
}

// eachOnce refuses to write a place twice.
func eachOnce(c *ops.Call) error {
	sizes, strides := c.Ints("size"), c.Ints("stride")
	for i := range min(len(sizes), len(strides)) {
		if sizes[i] > 1 && strides[i] == 0 {
			return c.Errorf("got stride 0 for %d elements, want a separate place for each", sizes[i])
		}
	}
	return nil
}
