package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// matmul as native/LinearAlgebra.cpp _matmul_impl takes it apart.
func matmul(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	if len(a.Sizes) == 0 || len(b.Sizes) == 0 {
		return nil, c.Errorf("got %d and %d dimensions, want at least 1 in both", len(a.Sizes), len(b.Sizes))
	}
	return product(c, a, b), nil
}

func product(c *ops.Call, a, b *tensor.Tensor) *tensor.Tensor {
	da, db := len(a.Sizes), len(b.Sizes)
	switch {
	case !c.OK():
		return ops.NoResult()
	case da == 1 && db == 1:
		return c.Do("aten::dot", a, b)
	case da == 2 && db == 1:
		return c.Do("aten::mv", a, b)
	case da == 1 && db == 2:
		return c.Do("aten::squeeze_.dim", c.Do("aten::mm", c.Do("aten::unsqueeze", a, int64(0)), b), int64(0))
	case da == 2 && db == 2:
		return c.Do("aten::mm", a, b)
	case folds(c, a, b):
		return folded(c, a, b)
	}
	return batched(c, a, b)
}

// folds is should_fold: the larger operand becomes one matrix where that needs no copy, or where
// the smaller one needs a gradient.
func folds(c *ops.Call, a, b *tensor.Tensor) bool {
	large, small := a, b
	if len(a.Sizes) < len(b.Sizes) {
		large, small = c.Do("aten::mT", b), a
	}
	if !c.OK() || len(large.Sizes) < 3 || len(small.Sizes) > 2 {
		return false
	}
	if small.RequiresGrad {
		return true
	}
	if len(a.Sizes) == 2 {
		return false
	}
	if large.Numel() == 0 {
		return true
	}
	for i := range len(large.Sizes) - 2 {
		if large.Strides[i] != large.Strides[i+1]*large.Sizes[i+1] {
			return false
		}
	}
	return true
}

func folded(c *ops.Call, a, b *tensor.Tensor) *tensor.Tensor {
	flip := len(b.Sizes) > len(a.Sizes)
	large, small := a, b
	if flip {
		large, small = c.Do("aten::mT", b), a
		if len(a.Sizes) == 2 {
			small = c.Do("aten::t", a)
		}
	}
	if !c.OK() {
		return ops.NoResult()
	}
	n := len(large.Sizes) - 1
	shape := slices.Clone(large.Sizes[:n])
	rows := c.Do("aten::reshape", large, ops.IntList(tensor.Numel(shape), large.Sizes[n]))
	if len(small.Sizes) == 1 {
		return c.Do("aten::_unsafe_view", c.Do("aten::mv", rows, small), ops.IntList(shape...))
	}
	out := c.Do("aten::_unsafe_view", c.Do("aten::mm", rows, small), ops.IntList(append(shape, small.Sizes[1])...))
	if flip {
		return c.Do("aten::contiguous", c.Do("aten::mT", out))
	}
	return out
}

func batched(c *ops.Call, a, b *tensor.Tensor) *tensor.Tensor {
	da, db := len(a.Sizes), len(b.Sizes)
	n, m1, batchA := int64(1), a.Sizes[da-1], a.Sizes[:max(da-2, 0)]
	if da > 1 {
		n = a.Sizes[da-2]
	}
	m2, p, batchB := b.Sizes[0], int64(1), b.Sizes[:max(db-2, 0)]
	if db > 1 {
		m2, p = b.Sizes[db-2], b.Sizes[db-1]
	}
	if da == 3 && db == 3 && batchA[0] != batchB[0] {
		if batchA[0] == 1 && (a.RequiresGrad || c.OnFakeTensors()) {
			return product(c, c.Do("aten::squeeze.dim", a, int64(0)), b)
		}
		if batchB[0] == 1 && (b.RequiresGrad || c.OnFakeTensors()) {
			return product(c, a, c.Do("aten::squeeze.dim", b, int64(0)))
		}
	}
	batch, err := c.Broadcast(batchA, batchB)
	if err != nil {
		c.Fail(err)
		return ops.NoResult()
	}
	count := tensor.Numel(batch)
	left := c.Do("aten::reshape", c.Do("aten::expand", a, ops.IntList(append(slices.Clone(batch), n, m1)...)),
		ops.IntList(count, n, m1))
	if db == 1 {
		right := c.Do("aten::reshape", c.Do("aten::expand", b, ops.IntList(append(slices.Clone(batch), m2)...)),
			ops.IntList(count, m2))
		out := c.Do("aten::squeeze.dim", c.Do("aten::bmm", left, c.Do("aten::unsqueeze", right, int64(2))), int64(-1))
		return c.Do("aten::_unsafe_view", out, ops.IntList(append(batch, n)...))
	}
	right := c.Do("aten::reshape", c.Do("aten::expand", b, ops.IntList(append(slices.Clone(batch), m2, p)...)),
		ops.IntList(count, m2, p))
	shape := slices.Clone(batch)
	if da > 1 {
		shape = append(shape, n)
	}
	return c.Do("aten::_unsafe_view", c.Do("aten::bmm", left, right), ops.IntList(append(shape, p)...))
}

// linear is native/Linear.cpp's: addmm where the input is contiguous, else matmul and the bias.
func linear(c *ops.Call) (any, error) {
	x, w, bias := c.T("input"), c.T("weight"), c.T("bias")
	if len(x.Sizes) == 0 {
		return nil, c.Errorf("got an input without dimensions, want at least 1")
	}
	if bias == nil {
		return c.Do("aten::matmul", x, c.Do("aten::t", w)), nil
	}
	n := len(x.Sizes) - 1
	switch {
	case n == 1 && len(w.Sizes) == 2:
		return c.Do("aten::addmm", bias, x, c.Do("aten::t", w)), nil
	case x.IsContiguous() && len(w.Sizes) == 2 && len(bias.Sizes) == 1:
		rows := c.Do("aten::reshape", x, ops.IntList(tensor.Numel(x.Sizes[:n]), x.Sizes[n]))
		out := c.Do("aten::addmm", bias, rows, c.Do("aten::t", w))
		return c.Do("aten::_unsafe_view", out, ops.IntList(append(slices.Clone(x.Sizes[:n]), w.Sizes[0])...)), nil
	}
	out := c.Do("aten::matmul", x, c.Do("aten::t", w))
	if c.OnFakeTensors() {
		return c.Do("aten::add.Tensor", out, bias), nil
	}
	return c.Do("aten::add_.Tensor", out, bias), nil
}
