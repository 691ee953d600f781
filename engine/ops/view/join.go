package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Joining tensors and repeating them (aten/src/ATen/native/TensorShape.cpp).

// given is the tensors argument; none is an error.
func given(c *ops.Call, name string) ([]*tensor.Tensor, error) {
	ts := c.Tensors(name)
	if len(ts) == 0 {
		return nil, c.Errorf("got no tensors, want one or more")
	}
	for _, t := range ts {
		if t == nil {
			return nil, c.Errorf("got None among %s", name)
		}
	}
	return ts, nil
}

// listType is the dtype tensors meet in.
func listType(ts []*tensor.Tensor) tensor.DType {
	vs := make([]any, len(ts))
	for i, t := range ts {
		vs[i] = t
	}
	return ops.ResultType(vs...)
}

// isSkipped says whether cat ignores t: an empty vector, for old programs (cat_should_skip_tensor).
func isSkipped(t *tensor.Tensor) bool { return len(t.Sizes) == 1 && t.Sizes[0] == 0 }

// catFormat is the layout all inputs suggest, else contiguous (cat_compute_output_memory_format).
func catFormat(ts []*tensor.Tensor) tensor.MemoryFormat {
	f := ts[0].SuggestFormat()
	for _, t := range ts[1:] {
		if t.SuggestFormat() != f {
			return tensor.Contiguous
		}
	}
	return f
}

func cat(c *ops.Call) ([]tensor.Meta, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	device, err := c.CommonDevice(ts)
	if err != nil {
		return nil, err
	}
	m := tensor.Meta{DType: listType(ts), Sizes: []int64{0}, Strides: []int64{1}, Device: device}
	first := slices.IndexFunc(ts, func(t *tensor.Tensor) bool { return !isSkipped(t) })
	for _, t := range ts {
		if len(t.Sizes) == 0 {
			return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
		}
	}
	if first < 0 {
		return ops.One(m)
	}
	m.Sizes = slices.Clone(ts[first].Sizes)
	dim, err := c.WrapDim(c.Int("dim"), len(m.Sizes))
	if err != nil {
		return nil, err
	}
	for _, t := range ts[first+1:] {
		if isSkipped(t) {
			continue
		}
		if len(t.Sizes) != len(m.Sizes) {
			return nil, c.Errorf("got %d and %d dimensions, want as many", len(m.Sizes), len(t.Sizes))
		}
		for i, d := range t.Sizes {
			if i != dim && d != m.Sizes[i] {
				return nil, c.Errorf("got sizes %v and %v, want them equal except in dimension %d", m.Sizes, t.Sizes,
					dim)
			}
		}
		m.Sizes[dim] += t.Sizes[dim]
	}
	m.Strides = tensor.FormatStrides(m.Sizes, catFormat(ts))
	return ops.One(m)
}

// stack is cat, seen with one more dimension; along a new last dimension it is cat of unsqueezed
// tensors.
func stack(c *ops.Call) ([]tensor.Meta, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	device, err := c.CommonDevice(ts)
	if err != nil {
		return nil, err
	}
	first := ts[0]
	for _, t := range ts[1:] {
		if !slices.Equal(t.Sizes, first.Sizes) {
			return nil, c.Errorf("got sizes %v and %v, want them equal", first.Sizes, t.Sizes)
		}
	}
	rank := len(first.Sizes)
	dim, err := c.WrapDim(c.Int("dim"), rank+1)
	if err != nil {
		return nil, err
	}
	n := int64(len(ts))
	sizes := slices.Insert(slices.Clone(first.Sizes), dim, n)
	m := ops.NewMeta(listType(ts), device, sizes)
	if dim < rank {
		long := slices.Clone(first.Sizes)
		long[dim] *= n
		if st, ok := ops.ViewStrides(long, tensor.FormatStrides(long, catFormat(ts)), sizes); ok {
			m.Strides = st
		}
		return ops.One(m)
	}
	wide := make([]*tensor.Tensor, n)
	for i, t := range ts {
		wide[i] = &tensor.Tensor{Meta: ops.ViewOf(t, append(slices.Clone(t.Sizes), 1),
			append(slices.Clone(t.Strides), 1), 0)}
	}
	m.Strides = tensor.FormatStrides(sizes, catFormat(wide))
	return ops.One(m)
}

// joined is the Value of cat and stack of host tensors.
func joined(c *ops.Call) *tensor.Data {
	m, ok := c.KnownMeta()
	if !ok {
		return nil
	}
	dim := int(c.Int("dim"))
	if dim < 0 {
		dim += len(m.Sizes)
	}
	out := ops.NewElements(int(m.Numel()))
	inner := int(tensor.Numel(m.Sizes[dim+1:]))
	row := int(m.Sizes[dim]) * inner
	at := 0
	for _, t := range c.Tensors("tensors") {
		n := int(t.Numel())
		if n == 0 {
			continue
		}
		width := inner // of a stacked tensor in one row of the result
		if len(t.Sizes) == len(m.Sizes) {
			width *= int(t.Sizes[dim])
		}
		for k := range n {
			to := k/width*row + at + k%width
			out.Ints[to], out.Floats[to] = ops.ElementAt(t, k)
		}
		at += width
	}
	return out.Data(m.DType)
}

// catAlong is hstack and its like: each tensor made at least of some rank, then cat.
func catAlong(key string, dim func(*tensor.Tensor) int64) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		ts := c.DoList(key, c.Args[0])
		if len(ts) == 0 {
			return nil, c.Errorf("got no tensors, want one or more")
		}
		return c.Do("aten::cat", ops.TensorList(ts...), dim(ts[0])), nil
	}
}

func rows(*tensor.Tensor) int64 { return 0 }

func depth(*tensor.Tensor) int64 { return 2 }

// columns is 0 for vectors, which have no other dimension.
func columns(t *tensor.Tensor) int64 {
	if len(t.Sizes) == 1 {
		return 0
	}
	return 1
}

// columnStack makes columns of vectors.
func columnStack(c *ops.Call) (any, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	out := make([]*tensor.Tensor, len(ts))
	for i, t := range ts {
		out[i] = t
		if len(t.Sizes) < 2 {
			out[i] = c.Do("aten::reshape", t, ops.IntList(t.Numel(), 1))
		}
	}
	return c.Do("aten::hstack", ops.TensorList(out...)), nil
}

// atLeast gives a tensor rank dimensions at least.
func atLeast(c *ops.Call, rank int, t *tensor.Tensor) *tensor.Tensor {
	n := len(t.Sizes)
	switch {
	case n >= rank:
		return t
	case n == 0:
		return c.Do("aten::reshape", t, ops.IntList(slices.Repeat([]int64{1}, rank)...))
	case rank == 3 && n == 1:
		return c.Do("aten::unsqueeze", c.Do("aten::unsqueeze", t, int64(0)), int64(-1))
	case rank == 3:
		return c.Do("aten::unsqueeze", t, int64(-1))
	}
	return c.Do("aten::unsqueeze", t, int64(0))
}

// atLeastDims is atleast_1d, 2d and 3d of one tensor.
func atLeastDims(rank int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return atLeast(c, rank, c.Self()), nil }
}

// atLeastEach is the same of a list.
func atLeastEach(rank int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return each(c, "tensors", func(t *tensor.Tensor) *tensor.Tensor { return atLeast(c, rank, t) })
	}
}

// each is a list of what f gives for each tensor.
func each(c *ops.Call, name string, f func(*tensor.Tensor) *tensor.Tensor) (any, error) {
	var items []any
	for _, t := range c.Tensors(name) {
		items = append(items, f(t))
	}
	if c.Err() != nil {
		return nil, nil
	}
	return c.List(schema.Tensor, items...), nil
}

// maxGridDims bounds the dimensions of a grid: PyTorch's iterators take no more.
const maxGridDims = 64

// meshgrid shows each vector along its own dimension.
func meshgrid(c *ops.Call) (any, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	if len(ts) > maxGridDims {
		return nil, c.Errorf("got %d tensors, want at most %d", len(ts), maxGridDims)
	}
	xy := false
	if i := c.Schema.ArgIndex("indexing"); i >= 0 {
		switch c.Str("indexing") {
		case "xy":
			xy = len(ts) >= 2
		case "ij":
		default:
			return nil, c.Errorf("got indexing %q, want xy or ij", c.Str("indexing"))
		}
	}
	if xy {
		ts[0], ts[1] = ts[1], ts[0]
	}
	shape := make([]int64, len(ts))
	for i, t := range ts {
		if len(t.Sizes) > 1 {
			return nil, c.Errorf("got sizes %v, want vectors", t.Sizes)
		}
		shape[i] = t.Numel()
	}
	grids := make([]any, len(ts))
	for i, t := range ts {
		along := slices.Repeat([]int64{1}, len(ts))
		along[i] = -1
		g := c.Do("aten::expand", c.Do("aten::view", t, ops.IntList(along...)), ops.IntList(shape...))
		grids[i] = g
	}
	if xy {
		grids[0], grids[1] = grids[1], grids[0]
	}
	if c.Err() != nil {
		return nil, nil
	}
	return c.List(schema.Tensor, grids...), nil
}

// broadcastTensors expands those that have not the common shape.
func broadcastTensors(c *ops.Call) (any, error) {
	var shapes [][]int64
	for _, t := range c.Tensors("tensors") {
		shapes = append(shapes, t.Sizes)
	}
	shape, err := c.Broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	return each(c, "tensors", func(t *tensor.Tensor) *tensor.Tensor {
		if slices.Equal(t.Sizes, shape) {
			return t
		}
		return c.Do("aten::expand", t, ops.IntList(shape...))
	})
}

func blockDiag(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("tensors")
	if len(ts) == 0 {
		return ops.One(ops.NewMeta(tensor.Float32, "cpu", []int64{1, 0}))
	}
	sizes := []int64{0, 0}
	for _, t := range ts {
		shape := append([]int64{1, 1}, t.Sizes...)
		if len(t.Sizes) > 2 {
			return nil, c.Errorf("got sizes %v, want at most 2 dimensions", t.Sizes)
		}
		n := len(shape)
		sizes[0] += shape[n-2]
		sizes[1] += shape[n-1]
	}
	return ops.One(ops.FreshAs(ts[0], listType(ts), sizes...))
}

// cartesianProd stacks the flattened grids of vectors.
func cartesianProd(c *ops.Call) (any, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	if len(ts) > maxGridDims {
		return nil, c.Errorf("got %d tensors, want at most %d", len(ts), maxGridDims)
	}
	for _, t := range ts {
		if len(t.Sizes) != 1 {
			return nil, c.Errorf("got sizes %v, want vectors", t.Sizes)
		}
	}
	if len(ts) == 1 {
		return ts[0], nil
	}
	grids := c.DoList("aten::meshgrid.indexing", c.Args[0], "ij")
	for i, g := range grids {
		grids[i] = c.Do("aten::flatten.using_ints", g)
	}
	out := c.Do("aten::stack", ops.TensorList(grids...), int64(1))
	c.Free(grids...)
	return out, nil
}

// combinations chooses r of n by a mask over the n^r grid.
func combinations(c *ops.Call) (any, error) {
	self, r := c.Self(), c.Int("r")
	if len(self.Sizes) != 1 || r < 0 {
		return nil, c.Errorf("got sizes %v and r %d, want a vector and r of at least 0", self.Sizes, r)
	}
	if r > maxGridDims {
		return nil, c.Errorf("got r %d, want at most %d", r, maxGridDims)
	}
	if r == 0 {
		return c.Do("aten::empty.memory_format", ops.IntList(0),
			ops.Kw{"dtype": int64(self.DType), "device": ops.Device(self.Device)}), nil
	}
	n := self.Sizes[0]
	on := ops.Kw{"dtype": int64(tensor.Int64), "device": ops.Device(self.Device)}
	places := c.Do("aten::arange", n, on)
	grids := c.DoAny("aten::meshgrid", ops.TensorList(slices.Repeat([]*tensor.Tensor{places}, int(r))...))
	list, ok := grids.(*ops.List)
	if !ok {
		return grids, nil
	}
	mask := c.Do("aten::full", ops.IntList(slices.Repeat([]int64{n}, int(r))...), true,
		ops.Kw{"dtype": int64(tensor.Bool), "device": ops.Device(self.Device)})
	op, count := "aten::lt.Tensor", choose(n, r)
	if c.Bool("with_replacement") {
		op, count = "aten::le.Tensor", choose(n+r-1, r)
	}
	for i := 1; i < int(r) && c.Err() == nil; i++ {
		ordered := c.Do(op, list.Items[i-1], list.Items[i])
		c.DoWrite("aten::mul_.Tensor", mask, ordered)
		c.Free(ordered)
	}
	if c.Err() != nil {
		return nil, nil
	}
	c.M.Free(list)
	c.Free(places)
	at := c.Do("aten::nonzero_static", mask, ops.Kw{"size": count})
	c.Free(mask)
	return c.Do("aten::index.Tensor", self, ops.NewList(schema.Tensor, at)), nil
}

func choose(n, r int64) int64 {
	out := int64(1)
	for i := range r {
		out = out * (n - i) / (i + 1)
	}
	return max(out, 0)
}

// chunkCat pads each tensor to whole chunks and lays the chunks side by side.
func chunkCat(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("tensors")
	if len(ts) == 0 {
		return nil, c.Errorf("got no tensors, want one or more")
	}
	dim, err := c.WrapDim(c.Int("dim"), len(ts[0].Sizes))
	if err != nil {
		return nil, err
	}
	n := c.Int("num_chunks")
	if n < 1 {
		return nil, c.Errorf("got num_chunks %d, want at least 1", n)
	}
	width := int64(0)
	for _, t := range ts {
		if len(t.Sizes) <= dim {
			return nil, c.Errorf("got a tensor %v, want more than %d dimensions", t.Sizes, dim)
		}
		width += ops.DivCeil(t.Sizes[dim], n) * tensor.Numel(t.Sizes[dim+1:])
	}
	return ops.One(ops.FreshLike(ts[0], append(slices.Clone(ts[0].Sizes[:dim]), n, width)...))
}
