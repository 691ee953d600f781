package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// repeat is contiguous.
func repeat(c *ops.Call) ([]tensor.Meta, error) { return repeated(c, c.Ints("repeats")) }

// tile is repeat with missing repeats of 1 in front.
func tile(c *ops.Call) ([]tensor.Meta, error) {
	reps := c.Ints("dims")
	if n := len(c.Self().Sizes) - len(reps); n > 0 {
		reps = append(slices.Repeat([]int64{1}, n), reps...)
	}
	return repeated(c, reps)
}

func repeated(c *ops.Call, reps []int64) ([]tensor.Meta, error) {
	self := c.Self()
	off := len(reps) - len(self.Sizes)
	if off < 0 {
		return nil, c.Errorf("got %d repeats for %d dimensions, want as many or more", len(reps), len(self.Sizes))
	}
	sizes := slices.Clone(reps)
	for i, d := range self.Sizes {
		sizes[off+i] *= d
	}
	for _, d := range sizes {
		if d < 0 {
			return nil, c.Errorf("got repeats %v, want none below 0", reps)
		}
	}
	return ops.One(ops.FreshLike(self, sizes...))
}

// repeatTotal is how long a repeated dimension becomes, where it is known.
func repeatTotal(c *ops.Call, repeats *tensor.Tensor) (int64, error) {
	switch {
	case c.Has("output_size"):
		return c.Int("output_size"), nil
	case repeats.Data != nil:
		n := int64(0)
		for _, k := range repeats.Data.Ints {
			n += k
		}
		return n, nil
	}
	return 0, c.Errorf("got repeats whose values are not known, want output_size")
}

func repeatInterleave(c *ops.Call) ([]tensor.Meta, error) {
	n, err := repeatTotal(c, c.T("repeats"))
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(c.T("repeats"), n))
}

// repeatWorkspace is the running sum of the counts (native/cuda/Repeat.cu).
func repeatWorkspace(c *ops.Call) []workspace.Request {
	counts := c.T("repeats")
	if !ops.OnCUDA(counts) || counts.Numel() == 0 || len(counts.Sizes) != 1 {
		return nil
	}
	sum := ops.FreshAs(counts, tensor.Int64, counts.Sizes...)
	adding := workspace.GivenBack(workspace.Scan(c.Platform(), &sum, 0))
	return workspace.Before(append([]workspace.Request{workspace.CopyOf(&sum,
		"native/Repeat.cpp repeat_interleave_common")}, adding...)...)
}

// repeatInterleaveBy repeats along dim by a tensor of counts: their running places, then
// index_select.
func repeatInterleaveBy(c *ops.Call) (any, error) {
	input, repeats, dim := c.Self(), c.T("repeats"), c.IntOr("dim", 0)
	if !c.Has("dim") {
		input = c.Do("aten::flatten.using_ints", input)
	}
	at, err := c.WrapDim(dim, len(input.Sizes))
	if err != nil {
		return nil, err
	}
	size := int64(1)
	if len(input.Sizes) > 0 {
		size = input.Sizes[at]
	}
	var total any = c.Arg("output_size")
	switch {
	case len(repeats.Sizes) == 0 || len(repeats.Sizes) == 1 && repeats.Sizes[0] == 1:
		if repeats.Data != nil && total == nil {
			total = repeats.Data.Ints[0] * size
		}
		repeats = c.Do("aten::expand", c.Do("aten::reshape", repeats, ops.IntList(1)), ops.IntList(size))
	case len(repeats.Sizes) != 1 || repeats.Sizes[0] != size:
		return nil, c.Errorf("got repeats of sizes %v for size %d", repeats.Sizes, size)
	}
	places := c.Do("aten::repeat_interleave.Tensor", repeats, ops.Kw{"output_size": total})
	return c.Do("aten::index_select", input, dim, places), nil
}

// repeatInterleaveInt repeats each element in its place: a copy of an expanded view.
func repeatInterleaveInt(c *ops.Call) (any, error) {
	input, dim, n := c.Self(), c.IntOr("dim", 0), c.Int("repeats")
	if !c.Has("dim") {
		input = c.Do("aten::flatten.using_ints", input)
	}
	if n < 0 {
		return nil, c.Errorf("got %d repeats, want at least 0", n)
	}
	at, err := c.WrapDim(dim, len(input.Sizes))
	if err != nil {
		return nil, err
	}
	wide := c.Do("aten::unsqueeze", input, int64(at+1))
	sizes := slices.Clone(wide.Sizes)
	if c.Err() != nil || at+1 >= len(sizes) {
		return nil, c.Err()
	}
	sizes[at+1] = n
	copied := c.Do("aten::clone", c.Do("aten::expand", wide, ops.IntList(sizes...)),
		ops.Kw{"memory_format": int64(tensor.Contiguous)})
	return c.Do("aten::flatten.using_ints", copied, int64(at), int64(at+1)), nil
}
