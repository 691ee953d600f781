package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

func outer(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("vec2")
	if len(a.Sizes) != 1 || len(b.Sizes) != 1 {
		return nil, c.Errorf("got %v and %v, want two vectors", a.Sizes, b.Sizes)
	}
	return c.Do("aten::mul.Tensor", c.Do("aten::reshape", a, ops.IntList(a.Sizes[0], 1)), b), nil
}

func inner(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	if len(a.Sizes) == 0 || len(b.Sizes) == 0 {
		return c.Do("aten::mul.Tensor", a, b), nil
	}
	return c.Do("aten::tensordot", a, b, ops.IntList(-1), ops.IntList(-1)), nil
}

func vecdot(c *ops.Call) (any, error) {
	x, y, dim := c.T("x"), c.T("y"), c.Int("dim")
	if len(x.Sizes) == 1 && len(y.Sizes) == 1 {
		return c.Do("aten::vdot", x, y), nil
	}
	var conjugated *tensor.Tensor // a product materialises the conjugate
	if x.DType.Complex() {
		conjugated = c.Do("aten::clone", x)
		x = conjugated
	}
	prod := c.Do("aten::mul.Tensor", x, y)
	c.Free(conjugated)
	return c.Do("aten::sum.dim_IntList", prod, ops.IntList(dim)), nil
}

// tensordot is native/Linear.cpp's: the contracted dimensions move together and one mm does it.
func tensordot(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	da, err := c.WrapDims(c.Ints("dims_self"), len(a.Sizes))
	if err != nil {
		return nil, err
	}
	db, err := c.WrapDims(c.Ints("dims_other"), len(b.Sizes))
	if err != nil {
		return nil, err
	}
	if len(da) != len(db) {
		return nil, c.Errorf("got %d and %d dims, want as many of both", len(da), len(db))
	}
	if len(da) > 0 && min(len(a.Sizes), len(b.Sizes)) == 0 {
		return nil, c.Errorf("got %v and %v, want at least 1 dimension", a.Sizes, b.Sizes)
	}
	count := int64(1)
	for i := range da {
		sa, sb := a.Sizes[da[i]], b.Sizes[db[i]]
		switch {
		case sb == 1 && sa != 1:
			a = c.Do("aten::sum.dim_IntList", a, ops.IntList(int64(da[i])), true)
		case sa == 1 && sb != 1:
			b = c.Do("aten::sum.dim_IntList", b, ops.IntList(int64(db[i])), true)
		case sa != sb:
			return nil, c.Errorf("got sizes %d and %d at dims %d and %d, want equal ones", sa, sb, da[i], db[i])
		default:
			count *= sa
		}
	}
	if !c.OK() {
		return nil, nil
	}
	var freeA, freeB []int
	var shape []int64
	rows, cols := int64(1), int64(1)
	for i, d := range a.Sizes {
		if !slices.Contains(da, i) {
			freeA = append(freeA, i)
			rows *= d
			shape = append(shape, d)
		}
	}
	for i, d := range b.Sizes {
		if !slices.Contains(db, i) {
			freeB = append(freeB, i)
			cols *= d
			shape = append(shape, d)
		}
	}
	ta := c.Do("aten::permute", a, ops.DimList(append(freeA, da...)))
	tb := c.Do("aten::permute", b, ops.DimList(append(slices.Clone(db), freeB...)))
	if len(shape) == 0 && scalarDot(c) {
		tb = c.Do("aten::reshape", tb, ops.IntList(count))
		ta = c.Do("aten::reshape", ta, ops.IntList(count))
		return c.Do("aten::reshape", c.Do("aten::dot", ta, tb), ops.IntList()), nil
	}
	ta = c.Do("aten::reshape", ta, ops.IntList(rows, count))
	tb = c.Do("aten::reshape", tb, ops.IntList(count, cols))
	return c.Do("aten::reshape", c.Do("aten::mm", ta, tb), ops.IntList(shape...)), nil
}

// scalarDot says that a full contraction goes through dot.
func scalarDot(c *ops.Call) bool { return c.Platform().Release().Torch.AtLeast(2, 5) }

// kron is native/LinearAlgebra.cpp's: views with alternating ones, one product.
func kron(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	n := max(len(a.Sizes), len(b.Sizes))
	pad := func(sizes []int64) []int64 {
		return append(slices.Repeat([]int64{1}, n-len(sizes)), sizes...)
	}
	sa, sb := pad(a.Sizes), pad(b.Sizes)
	va, vb, out := make([]int64, 0, 2*n), make([]int64, 0, 2*n), make([]int64, n)
	for i := range n {
		va = append(va, sa[i], 1)
		vb = append(vb, 1, sb[i])
		out[i] = sa[i] * sb[i]
	}
	prod := c.Do("aten::mul.Tensor", c.Do("aten::_unsafe_view", a, ops.IntList(va...)),
		c.Do("aten::_unsafe_view", b, ops.IntList(vb...)))
	return c.Do("aten::_unsafe_view", prod, ops.IntList(out...)), nil
}

func chainMatmul(c *ops.Call) (any, error) {
	ts := c.Tensors("matrices")
	for _, t := range ts {
		if len(t.Sizes) != 2 {
			return nil, c.Errorf("got %d dimensions, want 2", len(t.Sizes))
		}
	}
	switch len(ts) {
	case 0:
		return nil, c.Errorf("got no matrices, want at least 1")
	case 1:
		return c.Do("aten::clone", ts[0]), nil
	}
	return c.Do("aten::linalg_multi_dot", ops.TensorList(ts...)), nil
}

// multiDot is native/LinearAlgebra.cpp's: the cheapest order of products, vectors at the ends as
// matrices.
func multiDot(c *ops.Call) (any, error) {
	ts := c.Tensors("tensors")
	n := len(ts)
	if n < 2 {
		return nil, c.Errorf("got %d tensors, want at least 2", n)
	}
	for i, t := range ts {
		if k := len(t.Sizes); k != 2 && (k != 1 || i > 0 && i < n-1) {
			return nil, c.Errorf("got a tensor of %d dimensions, want matrices, or a vector at either end", k)
		}
	}
	ts = slices.Clone(ts)
	var shape []int64
	if first := ts[0]; len(first.Sizes) == 1 {
		ts[0] = c.Do("aten::unsqueeze", first, int64(0))
	} else {
		shape = append(shape, first.Sizes[0])
	}
	if last := ts[n-1]; len(last.Sizes) == 1 {
		ts[n-1] = c.Do("aten::unsqueeze", last, int64(1))
	} else {
		shape = append(shape, last.Sizes[1])
	}
	if !c.OK() {
		return nil, nil
	}
	for _, t := range ts {
		if len(t.Sizes) != 2 {
			return nil, c.Errorf("got %d dimensions, want 2", len(t.Sizes))
		}
	}
	var out *tensor.Tensor
	switch n {
	case 2:
		out = c.Do("aten::mm", ts[0], ts[1])
	case 3:
		a, b, d, e := ts[0].Sizes[0], ts[1].Sizes[0], ts[2].Sizes[0], ts[2].Sizes[1]
		if (a*d)*(b+e) <= (b*e)*(a+d) {
			out = c.Do("aten::mm", c.Do("aten::mm", ts[0], ts[1]), ts[2])
		} else {
			out = c.Do("aten::mm", ts[0], c.Do("aten::mm", ts[1], ts[2]))
		}
	default:
		out = chain(c, ts, chainOrder(ts), 0, n-1)
	}
	return c.Do("aten::view", out, ops.IntList(shape...)), nil
}

// chainOrder is matrix_chain_order: where to split each run of matrices.
func chainOrder(ts []*tensor.Tensor) [][]int {
	n := len(ts)
	p := make([]float64, n+1)
	for i, t := range ts {
		p[i] = float64(t.Sizes[0])
	}
	p[n] = float64(ts[n-1].Sizes[1])
	cost, split := make([][]float64, n), make([][]int, n)
	for i := range n {
		cost[i], split[i] = make([]float64, n), make([]int, n)
	}
	for l := 1; l < n; l++ {
		for i := 0; i+l < n; i++ {
			j := i + l
			cost[i][j] = -1
			for k := i; k < j; k++ {
				if q := cost[i][k] + cost[k+1][j] + p[i]*p[k+1]*p[j+1]; cost[i][j] < 0 || q < cost[i][j] {
					cost[i][j], split[i][j] = q, k
				}
			}
		}
	}
	return split
}

func chain(c *ops.Call, ts []*tensor.Tensor, split [][]int, i, j int) *tensor.Tensor {
	if i == j {
		return ts[i]
	}
	k := split[i][j]
	right := chain(c, ts, split, k+1, j) // C++ evaluates the last argument first
	left := chain(c, ts, split, i, k)
	out := c.Do("aten::mm", left, right)
	c.Free(left, right)
	return out
}

func bilinear(c *ops.Call) (any, error) {
	x1, x2, w, bias := c.T("input1"), c.T("input2"), c.T("weight"), c.T("bias")
	if len(x1.Sizes) == 0 || len(x2.Sizes) == 0 || len(w.Sizes) != 3 {
		return nil, c.Errorf("got %v, %v and weight %v, want inputs with dimensions and a weight of 3", x1.Sizes,
			x2.Sizes, w.Sizes)
	}
	shape := append(slices.Clone(x1.Sizes[:len(x1.Sizes)-1]), w.Sizes[0])
	f1 := c.Do("aten::reshape", x1, ops.IntList(-1, x1.Sizes[len(x1.Sizes)-1]))
	f2 := c.Do("aten::reshape", x2, ops.IntList(-1, x2.Sizes[len(x2.Sizes)-1]))
	out := c.Do("aten::_trilinear", f1, w, f2, ops.IntList(1, 3), ops.IntList(0), ops.IntList(1, 2), ops.IntList(2, 3))
	out = c.Do("aten::reshape", out, ops.IntList(shape...))
	if bias != nil {
		return c.Do("aten::add.Tensor", out, bias), nil
	}
	return out, nil
}
