package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
)

// What PyTorch refuses though the results would have sizes (native/BucketizationUtils.h
// searchsorted_pre_check, native/ReduceOps.cpp, native/SegmentReduce.cpp).

// searchable wants boundaries of one dimension, or of as many as what is looked up and of the same
// sizes but the last, and an order for each.
func searchable(c *ops.Call) error {
	seq := c.T("sorted_sequence")
	if seq == nil {
		if at := c.T("boundaries").Sizes; len(at) != 1 {
			return c.Errorf("got boundaries %v, want 1 dimension", at)
		}
		return nil
	}
	if s := c.T("sorter"); s != nil && !slices.Equal(s.Sizes, seq.Sizes) {
		return c.Errorf("got sorter %v for %v, want one each", s.Sizes, seq.Sizes)
	}
	var x []int64
	if t := c.T("self"); t != nil {
		x = t.Sizes
	}
	n := len(seq.Sizes)
	if n == 0 || n > 1 && (len(x) != n || !slices.Equal(x[:n-1], seq.Sizes[:n-1])) {
		return c.Errorf("got %v and %v to look up, want 1 dimension or the same sizes but the last", seq.Sizes, x)
	}
	return nil
}

// somethingToHash wants something in each dimension that is named.
func somethingToHash(c *ops.Call) error {
	sizes := c.Self().Sizes
	for _, given := range c.Ints("dim") {
		if d, err := c.WrapDim(given, len(sizes)); err != nil || len(sizes) > 0 && sizes[d] == 0 {
			return c.Errorf("got %v and dim %d, want something in it", sizes, given)
		}
	}
	return nil
}

// dimensionsNamed refuses no dimensions, where those of the largest elements would be all and those
// of the result none.
func dimensionsNamed(c *ops.Call) error {
	if n := len(c.Self().Sizes); n > 0 && len(c.Ints("dim")) == 0 && !c.Bool("keepdim") {
		return c.Errorf("got no dimension of %d, want one", n)
	}
	return nil
}

// lastAxis wants segments to be known along the last dimension of lengths or offsets.
func lastAxis(c *ops.Call) error {
	for _, name := range [...]string{"lengths", "offsets"} {
		if by := c.T(name); by != nil && c.Int("axis") != int64(len(by.Sizes)-1) {
			return c.Errorf("got %s %v and axis %d, want its last dimension", name, by.Sizes, c.Int("axis"))
		}
	}
	return nil
}
