package index

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// What is written at places of a tensor must fit there (native/TensorAdvancedIndexing.cpp,
// ScatterGatherChecks.h, TensorShape.cpp).

// checkWritten refuses what does not fit.
func checkWritten(c *ops.Call) error {
	self := c.Self()
	switch {
	case c.T("source") != nil && c.T("index") != nil:
		return checkSource(c)
	case c.Schema.ArgIndex("index") >= 0 && c.T("index") != nil && c.Schema.ArgIndex("dim") >= 0:
		return checkScatter(c)
	case c.T("values") != nil:
		return checkValues(c)
	case c.T("src") == nil:
		return nil
	}
	at := map[string]string{"aten::select_scatter": "aten::select.int", "aten::slice_scatter": "aten::slice.Tensor",
		"aten::diagonal_scatter":   "aten::diagonal",
		"aten::as_strided_scatter": "aten::as_strided"}[c.Schema.Name]
	if at == "" {
		return nil
	}
	sizes, err := seenAs(c, at, append([]any{self}, c.Args[2:]...))
	if err == nil && !slices.Equal(sizes, c.T("src").Sizes) {
		err = c.Errorf("got a source of sizes %v, want %v", c.T("src").Sizes, sizes)
	}
	return err
}

// seenAs are the sizes of a view that another operator gives.
func seenAs(c *ops.Call, key string, args []any) ([]int64, error) {
	b, ok := c.M.Table().Lookup(key)
	if !ok {
		return nil, &ops.MissingError{Op: key}
	}
	metas, err := b.Rule.Out(&ops.Call{Bound: b, Args: args, M: c.M})
	if err != nil {
		return nil, err
	}
	return metas[0].Sizes, nil
}

// checkScatter is for an index of as many dimensions as self: no longer than self but in dim, and
// nowhere longer than its source.
func checkScatter(c *ops.Call) error {
	self, at, src := c.Self(), c.T("index"), c.T("src")
	if at.Numel() == 0 || len(at.Sizes) <= 1 && c.Schema.ArgIndex("src") < 0 && c.Schema.ArgIndex("value") >= 0 &&
		c.Schema.Name != "aten::scatter" && c.Schema.Name != "aten::scatter_" {
		return nil // index_fill takes a vector
	}
	if max(len(self.Sizes), 1) != max(len(at.Sizes), 1) {
		return c.Errorf("got an index of %d dimensions for %d, want as many", len(at.Sizes), len(self.Sizes))
	}
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return err
	}
	for i, n := range at.Sizes {
		if i != dim && i < len(self.Sizes) && n > self.Sizes[i] {
			return c.Errorf("got an index of sizes %v for sizes %v, want none larger but in dimension %d", at.Sizes,
				self.Sizes, dim)
		}
	}
	if src == nil {
		return nil
	}
	if max(len(src.Sizes), 1) != max(len(at.Sizes), 1) {
		return c.Errorf("got an index of %d dimensions for a source of %d, want as many", len(at.Sizes), len(src.Sizes))
	}
	for i, n := range at.Sizes {
		if i < len(src.Sizes) && n > src.Sizes[i] {
			return c.Errorf("got an index of sizes %v for a source of sizes %v, want none larger", at.Sizes, src.Sizes)
		}
	}
	return nil
}

// checkSource is for a vector of places along dim, and a source with one slice each.
func checkSource(c *ops.Call) error {
	self, at, src := c.Self(), c.T("index"), c.T("source")
	if c.Schema.ArgIndex("dim") < 0 { // put: places in all of self
		if at.Numel() != src.Numel() {
			return c.Errorf("got %d places and a source of sizes %v, want as many", at.Numel(), src.Sizes)
		}
		return nil
	}
	if len(at.Sizes) > 1 {
		return c.Errorf("got an index of sizes %v, want a vector", at.Sizes)
	}
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return err
	}
	if len(src.Sizes) == 0 || len(self.Sizes) == 0 {
		if at.Numel() != 1 || src.Numel() != 1 {
			return c.Errorf("got an index of %d places and a source of sizes %v for sizes %v, want one of each",
				at.Numel(), src.Sizes, self.Sizes)
		}
		return nil
	}
	want := slices.Clone(self.Sizes)
	want[dim] = at.Numel()
	if !slices.Equal(src.Sizes, want) {
		return c.Errorf("got a source of sizes %v, want %v", src.Sizes, want)
	}
	return nil
}

// checkValues is for values that expand to what an index chooses. How many a mask chooses is not
// known.
func checkValues(c *ops.Call) error {
	for _, t := range c.Tensors("indices") {
		if t != nil && (t.DType == tensor.Bool || t.DType == tensor.Uint8) {
			return nil
		}
	}
	p, err := readPlaces(c)
	if err != nil {
		return err
	}
	shape := slices.Concat(p.head, p.chosen, p.tail)
	values := c.T("values").Sizes
	for len(values) > len(shape) && values[0] == 1 { // leading ones are dropped
		values = values[1:]
	}
	if wide, err := c.Broadcast(shape, values); err != nil || !slices.Equal(wide, shape) {
		return c.Errorf("got values of sizes %v, want them to expand to %v", c.T("values").Sizes, shape)
	}
	return nil
}
