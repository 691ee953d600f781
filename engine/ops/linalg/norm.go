package linalg

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Norms of vectors and matrices (aten/src/ATen/native/LinearAlgebra.cpp).

func linalgNorm(c *ops.Call) (any, error) {
	x := c.Self()
	dims := c.Ints("dim")
	if !c.Has("dim") && len(x.Sizes) == 2 {
		dims = []int64{0, 1}
	}
	if _, named := c.Arg("ord").(string); named || c.Has("ord") && (len(dims) == 2) {
		key := "aten::linalg_matrix_norm"
		if named {
			key += ".str_ord"
		}
		if len(dims) == 0 {
			dims = []int64{0, 1}
		}
		return c.Do(key, x, c.Arg("ord"), ops.IntList(dims...), c.Bool("keepdim"), ops.Kw{"dtype": c.Arg("dtype")}), nil
	}
	ord := c.Arg("ord")
	if ord == nil {
		ord = int64(2)
	}
	return c.Do("aten::linalg_vector_norm", x, ord, c.Arg("dim"), c.Bool("keepdim"), ops.Kw{"dtype": c.Arg("dtype")}),
		nil
}

// twoDims are the two dimensions of a matrix norm.
func twoDims(c *ops.Call, x *tensor.Tensor, given []int64) (a, b int, err error) {
	if len(given) != 2 || len(x.Sizes) < 2 {
		return 0, 0, c.Errorf("got dims %v for %v, want two", given, x.Sizes)
	}
	if a, err = c.WrapDim(given[0], len(x.Sizes)); err != nil {
		return 0, 0, err
	}
	b, err = c.WrapDim(given[1], len(x.Sizes))
	if err == nil && a == b {
		err = c.Errorf("got dim %d twice, want two dims", a)
	}
	return a, b, err
}

// toBack moves two dimensions to the end.
func toBack(c *ops.Call, x *tensor.Tensor, a, b int) *tensor.Tensor {
	var order []int
	for i := range x.Sizes {
		if i != a && i != b {
			order = append(order, i)
		}
	}
	return c.Do("aten::permute", x, ops.DimList(append(order, a, b)))
}

// singular reduces the singular values, and puts kept dimensions back where they were.
func singular(
	c *ops.Call, x *tensor.Tensor, a, b int, keep bool, reduce func(s *tensor.Tensor) *tensor.Tensor,
) *tensor.Tensor {
	s := c.Do("aten::linalg_svdvals", toBack(c, x, a, b))
	out := reduce(s)
	if !keep {
		return out
	}
	n := len(x.Sizes)
	back := make([]int, n)
	at := 0
	for i := range n {
		if i != a && i != b {
			back[i] = at
			at++
		}
	}
	back[a], back[b] = n-2, n-1
	return c.Do("aten::permute", c.Do("aten::unsqueeze", out, int64(-1)), ops.DimList(back))
}

func matrixNorm(c *ops.Call) (any, error) {
	x := c.Self()
	a, b, err := twoDims(c, x, c.Ints("dim"))
	if err != nil {
		return nil, err
	}
	keep, kw := c.Bool("keepdim"), ops.Kw{"dtype": c.Arg("dtype")}
	name, named := c.Arg("ord").(string)
	ord := c.Float("ord")
	if named && name == "fro" {
		return c.Do("aten::linalg_vector_norm", x, int64(2), ops.IntList(int64(a), int64(b)), keep, kw), nil
	}
	if d := c.DTypeOr("dtype", x.DType); d != x.DType && (named || math.Abs(ord) == 2) {
		x = c.Do("aten::_to_copy", x, ops.Kw{"dtype": int64(d)})
		if !c.OK() {
			return nil, nil
		}
	}
	extreme := "aten::amax"
	if ord < 0 {
		extreme = "aten::amin"
	}
	switch {
	case named && name == "nuc":
		return singular(c, x, a, b, keep, func(s *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::sum.dim_IntList", s, ops.IntList(-1), keep)
		}), nil
	case !named && math.Abs(ord) == 2:
		return singular(c, x, a, b, keep, func(s *tensor.Tensor) *tensor.Tensor {
			return extremeOf(c, extreme, s, len(x.Sizes)-2, keep)
		}), nil
	case !named && (math.Abs(ord) == 1 || math.IsInf(ord, 0)):
		if math.IsInf(ord, 0) {
			a, b = b, a
		}
		if b > a && !keep {
			b--
		}
		sums := c.Do("aten::linalg_vector_norm", x, int64(1), ops.IntList(int64(a)), keep, kw)
		return extremeOf(c, extreme, sums, b, keep), nil
	}
	return nil, c.Errorf("got order %v, want fro, nuc, inf, -inf, 1, -1, 2 or -2", c.Arg("ord"))
}

// extremeOf is amax or amin along a dimension; the largest of nothing is 0 here.
func extremeOf(c *ops.Call, key string, x *tensor.Tensor, dim int, keep bool) *tensor.Tensor {
	if key == "aten::amax" && dim < len(x.Sizes) && x.Sizes[dim] == 0 {
		return c.Do("aten::new_zeros", x, ops.IntList(ops.ReducedSizes(x.Sizes, []int{dim}, keep)...))
	}
	return c.Do(key, x, ops.IntList(int64(dim)), keep)
}

func nuclearNorm(c *ops.Call) (any, error) {
	dims := c.Ints("dim")
	if c.Schema.Overload == "" {
		dims = []int64{-2, -1}
	}
	return c.Do("aten::linalg_matrix_norm.str_ord", c.Self(), "nuc", ops.IntList(dims...), c.Bool("keepdim")), nil
}

func frobeniusNorm(c *ops.Call) (any, error) {
	if len(c.Ints("dim")) == 1 {
		return c.Do("aten::norm.ScalarOpt_dim", c.Self(), int64(2), c.Arg("dim"), c.Bool("keepdim")), nil
	}
	return c.Do("aten::linalg_vector_norm", c.Self(), int64(2), c.Arg("dim"), c.Bool("keepdim")), nil
}

// linalgCond is the ratio of the outermost singular values, or a product of two norms.
func linalgCond(c *ops.Call) (any, error) {
	x := c.Self()
	if _, _, _, err := matrix(c, x); err != nil {
		return nil, err
	}
	name, named := c.Arg("p").(string)
	if p := math.Abs(c.Float("p")); !named && (!c.Has("p") || p == 2) {
		s := c.Do("aten::linalg_svdvals", x)
		first := c.Do("aten::slice.Tensor", s, int64(-1), int64(0), int64(1))
		last := c.Do("aten::slice.Tensor", s, int64(-1), int64(-1))
		if c.Float("p") == -2 {
			first, last = last, first
		}
		return c.Do("aten::squeeze.dim", c.Do("aten::div.Tensor", first, last), int64(-1)), nil
	}
	if named && name == "nuc" {
		s := c.Do("aten::linalg_svdvals", x)
		inverse := c.Do("aten::reciprocal", s)
		sum := c.Do("aten::sum.dim_IntList", s, ops.IntList(-1))
		return c.Do("aten::mul.Tensor", sum, c.Do("aten::sum.dim_IntList", inverse, ops.IntList(-1))), nil
	}
	key := "aten::linalg_matrix_norm"
	if named {
		key += ".str_ord"
	}
	parts := c.DoParts("aten::linalg_inv_ex", x) // a matrix that has no inverse becomes infinite
	inv, info := parts[0], parts[1]
	if !c.OK() {
		return nil, nil
	}
	wide := c.Do("aten::unsqueeze", c.Do("aten::unsqueeze", info, int64(-1)), int64(-1))
	none := c.Do("aten::gt.Scalar", wide, int64(0))
	c.DoWrite("aten::masked_fill_.Scalar", inv, none, math.Inf(1))
	c.Free(none)
	norm := c.Do(key, x, c.Arg("p"))
	return c.Do("aten::mul.Tensor", norm, c.Do(key, inv, c.Arg("p"))), nil
}
