package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

func cosineSimilarity(c *ops.Call) (any, error) {
	x1, x2, dim := c.T("x1"), c.T("x2"), c.Int("dim")
	d := ops.ResultType(x1, x2)
	shape, err := c.Broadcast(x1.Sizes, x2.Sizes)
	if err != nil {
		return nil, err
	}
	ready := func(x *tensor.Tensor) *tensor.Tensor {
		if x.DType.Integral(true) {
			x = c.Do("aten::_to_copy", x, ops.Kw{"dtype": int64(d)})
		}
		if !slices.Equal(x.Sizes, shape) {
			x = c.Do("aten::expand", x, ops.IntList(shape...))
		}
		return x
	}
	x1, x2 = ready(x1), ready(x2)
	norm := func(x *tensor.Tensor) *tensor.Tensor {
		n := c.Do("aten::linalg_vector_norm", x, int64(2), ops.IntList(dim), true)
		out := c.Do("aten::clone", n)
		c.Free(n)
		return out
	}
	n1, n2 := norm(x1), norm(x2)
	eps := c.Do("aten::scalar_tensor", c.Arg("eps"),
		ops.Kw{"dtype": int64(ops.PromoteTypes(d, tensor.Float32)), "device": ops.Device(x1.Device)})
	n1 = c.Do("aten::clamp_min_.Tensor", n1, eps)
	n2 = c.Do("aten::clamp_min_.Tensor", n2, eps)
	b := c.Do("aten::div.Tensor", x2, n2)
	a := c.Do("aten::div.Tensor", x1, n1)
	out := c.Do("aten::sum.dim_IntList", c.Do("aten::mul.Tensor", a, b), ops.IntList(dim))
	return out, nil
}

func pairwiseDistance(c *ops.Call) (any, error) {
	diff := c.Do("aten::sub.Tensor", c.T("x1"), c.T("x2"))
	last := int64(max(len(c.T("x1").Sizes), len(c.T("x2").Sizes)) - 1)
	shifted := c.Do("aten::add.Scalar", diff, c.Arg("eps"))
	return c.Do("aten::norm.ScalarOpt_dim", shifted, c.Arg("p"), ops.IntList(last), c.Bool("keepdim")), nil
}

// cdist takes the way through a product of matrices for p of 2 and more than 25 points
// (Distance.cpp).
func cdist(c *ops.Call) (any, error) {
	x1, x2 := c.T("x1"), c.T("x2")
	n1, n2 := len(x1.Sizes), len(x2.Sizes)
	if n1 < 2 || n2 < 2 || x1.Sizes[n1-1] != x2.Sizes[n2-1] {
		return nil, c.Errorf("got %v and %v, want points of one dimension", x1.Sizes, x2.Sizes)
	}
	mode := c.IntOr("compute_mode", 0)
	r1, r2, w := x1.Sizes[n1-2], x2.Sizes[n2-2], x1.Sizes[n1-1]
	batch, err := c.Broadcast(x1.Sizes[:n1-2], x2.Sizes[:n2-2])
	if err != nil {
		return nil, err
	}
	empty := tensor.Numel(batch)*r1*r2*w == 0
	if c.Float("p") != 2 || empty || mode == 2 || mode == 0 && r1 <= 25 && r2 <= 25 {
		return c.Do("aten::_cdist_forward", x1, x2, c.Arg("p"), c.Arg("compute_mode")), nil
	}
	flat := func(x *tensor.Tensor, r int64) *tensor.Tensor {
		wide := c.Do("aten::expand", x, ops.IntList(append(slices.Clone(batch), r, w)...))
		return c.Do("aten::view", c.Do("aten::contiguous", wide), ops.IntList(tensor.Numel(batch), r, w))
	}
	f1, f2 := flat(x1, r1), flat(x2, r2)
	return c.Do("aten::view", c.Do("aten::_euclidean_dist", f1, f2),
		ops.IntList(append(slices.Clone(batch), r1, r2)...)), nil
}

func cdistForward(c *ops.Call) ([]tensor.Meta, error) {
	x1, x2 := c.T("x1"), c.T("x2")
	n1, n2 := len(x1.Sizes), len(x2.Sizes)
	if n1 < 2 || n2 < 2 || x1.Sizes[n1-1] != x2.Sizes[n2-1] {
		return nil, c.Errorf("got %v and %v, want points of one dimension", x1.Sizes, x2.Sizes)
	}
	batch, err := c.Broadcast(x1.Sizes[:n1-2], x2.Sizes[:n2-2])
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(x1, append(batch, x1.Sizes[n1-2], x2.Sizes[n2-2])...))
}

// euclideanWorkspace are the operands with their squares and ones appended.
func euclideanWorkspace(c *ops.Call) []workspace.Request {
	var out []workspace.Request
	for _, t := range c.Operands() {
		if !ops.OnCUDA(t) {
			return nil
		}
		n := len(t.Sizes) - 1
		bytes := tensor.Numel(t.Sizes[:n]) * (t.Sizes[n] + 2) * t.DType.ItemSize()
		out = append(out, workspace.Request{Bytes: units.Bytes(bytes), Before: true,
			Source: "native/Distance.cpp _euclidean_dist"})
	}
	return append(out, workspace.CuBLAS(c.Platform())...)
}

func pdist(c *ops.Call) (any, error) {
	return c.Do("aten::_pdist_forward", c.Do("aten::contiguous", c.T("self")), c.Arg("p")), nil
}

func pdistForward(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	if len(x.Sizes) != 2 {
		return nil, c.Errorf("got %v, want 2 dimensions", x.Sizes)
	}
	n := x.Sizes[0]
	return ops.One(ops.FreshLike(x, max(n*(n-1)/2, 0)))
}

func renormed(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.FreshLike(c.T("self"), c.T("self").Sizes...))
}
