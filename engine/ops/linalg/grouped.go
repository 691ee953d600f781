package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// groupedMM is one product a group: groups are rows, columns or the sum of matrices, whose ends offs gives, or a batch. Rows of the result begin at
// multiples of 16 bytes (native/GroupedMMUtils.h create_grouped_gemm_output_tensor).
func groupedMM(c *ops.Call) ([]tensor.Meta, error) {
	a, b, offs := c.T("self"), c.T("mat2"), c.T("offs")
	ra, rb := len(a.Sizes), len(b.Sizes)
	switch {
	case ra < 2 || ra > 3 || rb < 2 || rb > 3:
		return nil, c.Errorf("got %v and %v, want two or three dimensions of each", a.Sizes, b.Sizes)
	case a.Sizes[ra-1] != b.Sizes[rb-2]:
		return nil, c.Errorf("got %v and %v, want as many columns as rows", a.Sizes, b.Sizes)
	case (ra == 3 && rb == 3) != (offs == nil):
		return nil, c.Errorf("got %v and %v and offs %v, want offs where one is a matrix", a.Sizes, b.Sizes, offs != nil)
	case offs != nil && (len(offs.Sizes) != 1 || offs.DType != tensor.Int32):
		return nil, c.Errorf("got offs of %s %v, want a vector of int32", offs.DType, offs.Sizes)
	case c.T("bias") != nil:
		return nil, c.Errorf("got a bias, want none: PyTorch does not take one yet")
	}
	if err := sameKind(c, a, b); err != nil {
		return nil, err
	}
	groups := groupCount(a, b, offs)
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

func groupCount(a, b, offs *tensor.Tensor) int64 {
	if offs != nil {
		return offs.Sizes[0]
	}
	return a.Sizes[0]
}

func groupedWorkspace(c *ops.Call) []workspace.Request {
	a, b, offs := c.T("self"), c.T("mat2"), c.T("offs")
	if !ops.OnCUDA(a) {
		return nil
	}
	g := workspace.GroupedMatMul{A: &a.Meta, Groups: groupCount(a, b, offs), Batch: offs == nil, Result: c.DTypeOr("out_dtype", a.DType)}
	return g.Requests(c.Platform())
}
