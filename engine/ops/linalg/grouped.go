package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// groupedMM is one product a group: groups are rows, columns or the sum of matrices, whose ends
// offs gives, or a batch. Rows of the result begin at multiples of 16 bytes
// (native/GroupedMMUtils.h create_grouped_gemm_output_tensor).
func groupedMM(c *ops.Call) ([]tensor.Meta, error) {
	a, b, offs := c.T("self"), c.T("mat2"), c.T("offs")
	ra, rb := len(a.Sizes), len(b.Sizes)
	switch {
	case ra < 2 || ra > 3 || rb < 2 || rb > 3:
		return nil, c.Errorf("got %v and %v, want two or three dimensions of each", a.Sizes, b.Sizes)
	case a.Sizes[ra-1] != b.Sizes[rb-2]:
		return nil, c.Errorf("got %v and %v, want as many columns as rows", a.Sizes, b.Sizes)
	case (ra == 3 && rb == 3) != (offs == nil):
		return nil, c.Errorf("got %v and %v and offs %v, want offs where one is a matrix", a.Sizes, b.Sizes,
			offs != nil)
	case offs != nil && (len(offs.Sizes) != 1 || offs.DType != tensor.Int32):
		return nil, c.Errorf("got offs of %s %v, want a vector of int32", offs.DType, offs.Sizes)
	case c.T("bias") != nil:
		return nil, c.Errorf("got a bias, want none: PyTorch does not take one yet")
	}
	if err := sameKind(c, a, b); err != nil {
		return nil, err
	}
	groups := groupCount(a, offs)
	for _, t := range []*tensor.Tensor{a, b} {
		if len(t.Sizes) == 3 && t.Sizes[0] != groups {
			return nil, c.Errorf("got %v and %v in %d groups, want as many of each", a.Sizes, b.Sizes, groups)
		}
	}
	sizes := []int64{a.Sizes[ra-2], b.Sizes[rb-1]}
	if ra == rb {
		sizes = slices.Insert(sizes, 0, groups)
	}
	m := ops.FreshAs(a, c.DTypeOr("out_dtype", a.DType), sizes...)
	row := ops.DivCeil(16, m.DType.ItemSize())
	row = ops.DivCeil(sizes[len(sizes)-1], row) * row
	m.Strides = slices.Clone(m.Strides)
	m.Strides[len(sizes)-2] = row
	if len(sizes) == 3 {
		m.Strides[0] = row * sizes[1]
	}
	return ops.One(m)
}

func groupCount(a, offs *tensor.Tensor) int64 {
	if offs != nil {
		return offs.Sizes[0]
	}
	return a.Sizes[0]
}

func groupedWorkspace(c *ops.Call) []workspace.Request {
	a, offs := c.T("self"), c.T("offs")
	if !ops.OnCUDA(a) {
		return nil
	}
	g := workspace.GroupedMatMul{A: &a.Meta, Groups: groupCount(a, offs), Batch: offs == nil,
		Result: c.DTypeOr("out_dtype", a.DType)}
	return g.Requests(c.Platform())
}

// groupedFallback is transformers' own operator (integrations/moe.py _grouped_mm_fallback): zeros,
// and a product for each group that has rows, written into them. How the rows are shared out is
// data; what a product takes beside its result is most for one of all rows.
func groupedFallback(c *ops.Call) (any, error) {
	x, w, offs := c.T("input"), c.T("weight"), c.T("offs")
	if len(x.Sizes) != 2 || len(w.Sizes) != 3 || len(offs.Sizes) != 1 || offs.Sizes[0] != w.Sizes[0] ||
		x.Sizes[1] != w.Sizes[1] {
		return nil, c.Errorf("got %v, %v and %v, want rows, a matrix for each group and the groups' ends", x.Sizes,
			w.Sizes, offs.Sizes)
	}
	if err := sameKind(c, x, w); err != nil {
		return nil, err
	}
	if c.OnFakeTensors() {
		return c.Empty(x, x.DType, x.Sizes[0], w.Sizes[2]), nil
	}
	out := c.Do("aten::zeros", ops.IntList(x.Sizes[0], w.Sizes[2]),
		ops.Kw{"dtype": int64(x.DType), "device": ops.Device(x.Device)})
	rows := x.Sizes[0]
	if w.Sizes[0] > 1 && rows > 0 {
		rows = c.SizeBetween(1, rows)
	}
	if rows == 0 || !c.OK() {
		return out, nil
	}
	part := func(t *tensor.Tensor) *tensor.Tensor { return c.Do("aten::slice.Tensor", t, int64(0), int64(0), rows) }
	c.DoWrite("aten::mm.out", part(x), c.Do("aten::select.int", w, int64(0), int64(0)), ops.Kw{"out": part(out)})
	return out, nil
}
