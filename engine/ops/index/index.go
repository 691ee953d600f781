package index

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

// Indexing (aten/src/ATen/native/TensorAdvancedIndexing.cpp, IndexingUtils.h).

const (
	indexSource = "aten/src/ATen/native/cuda/IndexKernel.cpp"
)

// masked counts how many elements a mask chooses.
func masked(c *ops.Call, mask *tensor.Tensor) int64 {
	if mask.Data != nil {
		n := int64(0)
		for i := range int(mask.Numel()) {
			if v, f := ops.ElementAt(mask, i); v != 0 || f != 0 {
				n++
			}
		}
		return n
	}
	return c.SizeBetween(0, mask.Numel())
}

// indexed are the index tensors by dimension of self, with masks turned into one index a dimension;
// nil where a dimension is whole.
type indexed struct {
	at   []*tensor.Tensor
	self *tensor.Tensor
}

// indices expands the masks of an index (at::native::expandTensors) and pads with nil.
func indices(c *ops.Call, self *tensor.Tensor) (*indexed, error) {
	out := &indexed{self: self}
	for _, t := range c.Tensors("indices") {
		if t == nil {
			out.at = append(out.at, nil)
			continue
		}
		switch t.DType {
		case tensor.Bool, tensor.Uint8:
			n := masked(c, t)
			for k := range t.Sizes {
				d := len(out.at)
				if d >= len(self.Sizes) || t.Sizes[k] != self.Sizes[d] {
					return nil, c.Errorf("got a mask of sizes %v for sizes %v", t.Sizes, self.Sizes)
				}
				m := tensor.Meta{DType: tensor.Int64, Sizes: []int64{n}, Strides: []int64{1}, Device: t.Device}
				out.at = append(out.at, &tensor.Tensor{Meta: m})
			}
			if len(t.Sizes) == 0 {
				return nil, c.Errorf("got a 0-dim mask, want one with dimensions")
			}
		case tensor.Int64, tensor.Int32:
			out.at = append(out.at, t)
		default:
			return nil, c.Errorf("got an index of %s, want long, int, byte or bool", t.DType)
		}
	}
	if len(out.at) > len(self.Sizes) {
		return nil, c.Errorf("got %d indices for %d dimensions", len(out.at), len(self.Sizes))
	}
	for len(out.at) < len(self.Sizes) {
		out.at = append(out.at, nil)
	}
	return out, nil
}

// isAdjacent says whether the indexed dimensions lie side by side.
func (x *indexed) isAdjacent() bool {
	first := slices.IndexFunc(x.at, func(t *tensor.Tensor) bool { return t != nil })
	last := first
	for i, t := range x.at {
		if t != nil {
			last = i
		}
	}
	return first < 0 || !slices.Contains(x.at[first:last+1], nil)
}

// toFront moves the indexed dimensions to the front (transposeToFront).
func (x *indexed) toFront() {
	var perm []int
	var at []*tensor.Tensor
	for i, t := range x.at {
		if t != nil {
			perm, at = append(perm, i), append(at, t)
		}
	}
	for i, t := range x.at {
		if t == nil {
			perm, at = append(perm, i), append(at, nil)
		}
	}
	x.self = &tensor.Tensor{Meta: ops.Permuted(x.self, perm)}
	x.at = at
}

// places are the parts of an advanced index: the dimensions before and after the indexed ones, and
// the indices' common shape.
type indexPlaces struct {
	head, chosen, tail []int64
	strides            []int64 // of self in that order, standing still along chosen
}

// readPlaces finds them (at::native::AdvancedIndex).
func readPlaces(c *ops.Call) (*indexPlaces, error) {
	x, err := indices(c, c.Self())
	if err != nil {
		return nil, err
	}
	var shapes [][]int64
	for _, t := range x.at {
		if t != nil {
			shapes = append(shapes, t.Sizes)
		}
	}
	if len(shapes) == 0 {
		return nil, c.Errorf("got no index, want one or more")
	}
	chosen, err := c.Broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	if !x.isAdjacent() {
		x.toFront()
	}
	before := slices.IndexFunc(x.at, func(t *tensor.Tensor) bool { return t != nil })
	after := before
	for after < len(x.at) && x.at[after] != nil {
		if x.self.Sizes[after] == 0 && tensor.Numel(chosen) != 0 {
			return nil, c.Errorf("got an index into dimension %d of size 0", after)
		}
		after++
	}
	return &indexPlaces{
		head: x.self.Sizes[:before], chosen: chosen, tail: x.self.Sizes[after:],
		strides: slices.Concat(x.self.Strides[:before], make([]int64, len(chosen)), x.self.Strides[after:]),
	}, nil
}

// index is advanced indexing: the indexed dimensions give way to the indices' common shape; strides
// are TensorIterator's over self, standing still in those dimensions (the indices' own strides are
// left out, as torch/_meta_registrations.py does).
func index(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	p, err := readPlaces(c)
	if err != nil {
		return nil, err
	}
	shape := slices.Concat(p.head, p.chosen, p.tail)
	still := &tensor.Tensor{Meta: tensor.Meta{DType: self.DType, Sizes: shape, Strides: p.strides}}
	return ops.One(tensor.Meta{DType: self.DType, Sizes: shape,
		Strides: ops.ReorderedStrides(shape, []*tensor.Tensor{still}), Device: self.Device})
}

// indexWorkspace are the places that masks choose, indices as int64 on the device, and several of
// them laid out alike.
func indexWorkspace(c *ops.Call) []workspace.Request {
	if c.Self().Device == "cpu" {
		return nil
	}
	var out []workspace.Request
	var places []*tensor.Tensor
	for _, t := range c.Tensors("indices") {
		switch {
		case t == nil:
			continue
		case t.DType == tensor.Bool || t.DType == tensor.Uint8:
			out = append(out, workspace.Mask(c.Platform(), &t.Meta, masked(c, t))...)
			continue
		case t.DType == tensor.Int32 || t.Device == "cpu":
			out = append(out, workspace.Before(workspace.Request{Bytes: units.Bytes(8 * t.Numel()),
				Source: indexSource})...)
		}
		places = append(places, t)
	}
	return append(out, workspace.Before(alike(c, places)...)...)
}

// alike are the contiguous copies of indices whose strides differ once they have one shape
// (AdvancedIndex).
func alike(c *ops.Call, places []*tensor.Tensor) []workspace.Request {
	shapes := make([][]int64, len(places))
	for i, t := range places {
		shapes[i] = t.Sizes
	}
	shape, err := c.Broadcast(shapes...)
	if err != nil || len(places) < 2 {
		return nil
	}
	var out []workspace.Request
	strides := make([][]int64, len(places))
	for i, t := range places {
		strides[i] = make([]int64, len(shape))
		for d, n := range t.Sizes {
			if n > 1 {
				strides[i][len(shape)-len(t.Sizes)+d] = t.Strides[d]
			}
		}
		m := tensor.Meta{DType: tensor.Int64, Sizes: shape, Strides: strides[i]}
		if !m.IsContiguous() {
			out = append(out, workspace.CopyOf(&m, indexSource))
		}
	}
	if !slices.ContainsFunc(strides, func(s []int64) bool { return !slices.Equal(s, strides[0]) }) {
		return nil
	}
	return out
}

// indexPutWorkspace adds what sorting takes where values accumulate: linear, sorted and original
// places, a range, and the sort's own storage.
func indexPutWorkspace(c *ops.Call) []workspace.Request {
	ts := c.Tensors("indices")
	if v := c.T("values"); v != nil && v.Device == "cpu" && v.Numel() == 1 && !c.Bool("accumulate") && len(ts) == 1 &&
		ts[0] != nil && ts[0].DType == tensor.Bool {
		return nil // canDispatchToMaskedFill
	}
	out := indexWorkspace(c)
	if p, err := readPlaces(c); err == nil && c.Bool("accumulate") && c.Self().Device != "cpu" {
		out = append(out, workspace.SortedIndices(tensor.Numel(p.head)*tensor.Numel(p.chosen),
			"aten/src/ATen/native/cuda/Indexing.cu index_put_with_sort_kernel")...)
	}
	return out
}

// indexValue is one index along dimension 0 of a host tensor.
func indexValue(c *ops.Call) *tensor.Data {
	self := c.Self()
	m, ok := c.KnownMeta()
	ts := c.Tensors("indices")
	if !ok || len(ts) != 1 || ts[0] == nil || ts[0].Data == nil || ts[0].DType == tensor.Bool ||
		ts[0].DType == tensor.Uint8 || len(self.Sizes) == 0 {
		return nil
	}
	return rowsOf(self, ts[0].Data.Ints, m.DType)
}

// rowsOf are self's rows at these places.
func rowsOf(self *tensor.Tensor, at []int64, d tensor.DType) *tensor.Data {
	width := int(tensor.Numel(self.Sizes[1:]))
	out := ops.NewElements(len(at) * width)
	for k, i := range at {
		if i < 0 {
			i += self.Sizes[0]
		}
		if i < 0 || i >= self.Sizes[0] {
			return nil
		}
		for j := range width {
			out.Ints[k*width+j], out.Floats[k*width+j] = ops.ElementAt(self, int(i)*width+j)
		}
	}
	return out.Data(d)
}

func indexSelect(c *ops.Call) ([]tensor.Meta, error) {
	self, at := c.Self(), c.T("index")
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(at.Sizes) > 1 {
		return nil, c.Errorf("got an index of sizes %v, want a vector", at.Sizes)
	}
	sizes := slices.Clone(self.Sizes)
	if len(sizes) > 0 {
		sizes[dim] = at.Numel()
	}
	return ops.One(ops.FreshLike(self, sizes...))
}

func indexSelectValue(c *ops.Call) *tensor.Data {
	self, at := c.Self(), c.T("index")
	if _, ok := c.KnownMeta(); !ok || c.Int("dim") != 0 || len(self.Sizes) == 0 || at.Data == nil {
		return nil
	}
	return rowsOf(self, at.Data.Ints, self.DType)
}

func gather(c *ops.Call) ([]tensor.Meta, error) {
	self, at := c.Self(), c.T("index")
	if max(len(self.Sizes), 1) != max(len(at.Sizes), 1) && at.Numel() != 0 {
		return nil, c.Errorf("got an index of %d dimensions for %d, want as many", len(at.Sizes), len(self.Sizes))
	}
	if at.DType != tensor.Int64 && at.DType != tensor.Int32 && at.Numel() > 0 {
		return nil, c.Errorf("got an index of %s, want int64", at.DType)
	}
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	for i := range at.Sizes {
		if i != dim && len(self.Sizes) == len(at.Sizes) && at.Sizes[i] > self.Sizes[i] {
			return nil, c.Errorf("got an index of sizes %v for sizes %v", at.Sizes, self.Sizes)
		}
	}
	return ops.One(ops.FreshLike(self, at.Sizes...))
}

func take(c *ops.Call) ([]tensor.Meta, error) {
	at := c.T("index")
	if at.DType != tensor.Int64 {
		return nil, c.Errorf("got an index of %s, want int64", at.DType)
	}
	m := ops.EmptyLike(at, c.Self().DType, tensor.Preserve)
	m.Device = c.Self().Device
	return ops.One(ops.NewMeta(m.DType, m.Device, m.Sizes))
}

// takeAlongDim broadcasts all but dim, wraps negative indices, and gathers.
func takeAlongDim(c *ops.Call) (any, error) {
	self, at := c.Self(), c.T("indices")
	if !c.Has("dim") {
		flat := c.Do("aten::reshape", at, ops.IntList(-1))
		return c.Do("aten::gather", c.Do("aten::reshape", self, ops.IntList(-1)), int64(0), flat), nil
	}
	if len(self.Sizes) != len(at.Sizes) {
		return nil, c.Errorf("got indices of %d dimensions for %d, want as many", len(at.Sizes), len(self.Sizes))
	}
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	a, b := slices.Clone(self.Sizes), slices.Clone(at.Sizes)
	b[dim] = a[dim]
	wide, err := c.Broadcast(a, b)
	if err != nil {
		return nil, err
	}
	x := c.Do("aten::expand", self, ops.IntList(wide...))
	a[dim] = at.Sizes[dim]
	if b, err = c.Broadcast(a, at.Sizes); err != nil {
		return nil, err
	}
	y := c.Do("aten::expand", at, ops.IntList(b...))
	return c.Do("aten::gather", x, int64(dim), c.Do("aten::remainder.Scalar", y, self.Sizes[dim])), nil
}

// nonzero has one row an element that is not zero, laid out by columns.
func nonzero(c *ops.Call) ([]tensor.Meta, error) { return ops.One(places(c, masked(c, c.Self()))) }

func nonzeroStatic(c *ops.Call) ([]tensor.Meta, error) { return ops.One(places(c, c.Int("size"))) }

func places(c *ops.Call, n int64) tensor.Meta {
	rank := int64(len(c.Self().Sizes))
	m := ops.FreshAs(c.Self(), tensor.Int64, n, rank)
	m.Strides = []int64{1, n}
	return m
}

// nonzeroWorkspace is the count, and cub's temporary storage.
func nonzeroWorkspace(c *ops.Call) []workspace.Request {
	if !ops.OnCUDA(c.Self()) {
		return nil
	}
	return workspace.Nonzero(c.Platform(), c.Self().Numel())
}

// nonzeroColumns is nonzero, one vector a dimension.
func nonzeroColumns(c *ops.Call) (any, error) {
	x := c.Self()
	if len(x.Sizes) == 0 {
		x = c.Do("aten::unsqueeze", x, int64(0))
	}
	return c.DoAny("aten::unbind.int", c.Do("aten::nonzero", x), int64(1)), nil
}

func argwhere(c *ops.Call) (any, error) { return c.Do("aten::nonzero", c.Self()), nil }

func maskedSelect(c *ops.Call) ([]tensor.Meta, error) {
	self, mask := c.Self(), c.T("mask")
	if mask.DType != tensor.Bool {
		return nil, c.Errorf("got a mask of %s, want bool", mask.DType)
	}
	shape, err := c.Broadcast(self.Sizes, mask.Sizes)
	if err != nil {
		return nil, err
	}
	wide := &tensor.Tensor{Meta: ops.NewMeta(tensor.Bool, mask.Device, shape)}
	if slices.Equal(shape, mask.Sizes) {
		wide.Data = mask.Data
	}
	return ops.One(ops.FreshLike(self, masked(c, wide)))
}

// maskedSelectWorkspace are the places the mask chooses: the operator is index with one mask.
func maskedSelectWorkspace(c *ops.Call) []workspace.Request {
	m, err := maskedSelect(c)
	if err != nil || c.Self().Device == "cpu" {
		return nil
	}
	shape, _ := c.Broadcast(c.Self().Sizes, c.T("mask").Sizes)
	mask := ops.NewMeta(tensor.Bool, c.Self().Device, shape)
	return workspace.Mask(c.Platform(), &mask, m[0].Sizes[0])
}

// maskedScatter is a contiguous copy in the common shape.
func maskedScatter(c *ops.Call) ([]tensor.Meta, error) {
	self, mask := c.Self(), c.T("mask")
	if mask.DType != tensor.Bool || self.DType != c.T("source").DType {
		return nil, c.Errorf("got a mask of %s and a source of %s, want bool and %s", mask.DType, c.T("source").DType,
			self.DType)
	}
	shape, err := c.Broadcast(self.Sizes, mask.Sizes)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(self, shape...))
}

// maskedScatterWorkspace is the running count of the mask.
func maskedScatterWorkspace(c *ops.Call) []workspace.Request {
	if c.Self().Device == "cpu" {
		return nil
	}
	m, err := c.Rule.Out(c)
	if err != nil {
		return nil
	}
	return workspace.MaskedScatter(c.Platform(), &c.T("mask").Meta, m[0].Sizes)
}

// writtenAt is self, written at places.
func writtenAt(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	if src := c.T("src"); src != nil && src.DType != self.DType {
		return nil, c.Errorf("got a source of %s for %s, want one dtype", src.DType, self.DType)
	}
	if v := c.T("value"); v != nil && len(v.Sizes) > 0 {
		return nil, c.Errorf("got a value of sizes %v, want a 0-dim tensor", v.Sizes)
	}
	if c.Schema.ArgIndex("dim") >= 0 {
		if _, err := c.WrapDim(c.Int("dim"), len(self.Sizes)); err != nil {
			return nil, err
		}
	}
	if err := checkWritten(c); err != nil {
		return nil, err
	}
	return ops.One(self.Meta)
}

// copyWrittenAt is a contiguous copy of self, written at places.
func copyWrittenAt(c *ops.Call) ([]tensor.Meta, error) {
	if _, err := writtenAt(c); err != nil {
		return nil, err
	}
	return ops.FreshSelf(c)
}

// likeWrittenAt is a copy with self's strides, written at places.
func likeWrittenAt(c *ops.Call) ([]tensor.Meta, error) {
	if _, err := writtenAt(c); err != nil {
		return nil, err
	}
	m := ops.EmptyLike(c.Self(), c.Self().DType, tensor.Preserve)
	if strings.HasSuffix(c.Schema.Name, "_scatter") && !slices.Contains(c.Self().Strides, 0) {
		m.Strides = slices.Clone(c.Self().Strides) // clone_preserve_strides keeps gaps too
	}
	return ops.One(m)
}
