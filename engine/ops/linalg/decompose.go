package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// checked runs an _ex operator, looks at its info, and keeps the first result.
func checked(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		kw := ops.Kw{"check_errors": false}
		if c.Schema.ArgIndex("upper") >= 0 {
			kw["upper"] = c.Bool("upper")
		}
		ts := c.DoParts(key, c.Self(), kw)
		check(c, ts[1])
		return ops.OrNone(ts[0]), nil
	}
}

// check looks whether a factorisation's info has an error.
func check(c *ops.Call, info *tensor.Tensor) {
	if c.OK() {
		c.Do("aten::_linalg_check_errors", info, "", len(c.Self().Sizes) == 2)
	}
}

func luFactor(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::linalg_lu_factor_ex", c.Self(), ops.Kw{"pivot": c.Bool("pivot")})
	check(c, ts[2])
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1])), nil
}

func luWithInfo(c *ops.Call) (any, error) {
	return c.DoAny("aten::linalg_lu_factor_ex", c.Self(), ops.Kw{"pivot": c.Bool("pivot")}), nil
}

func luSolveOld(c *ops.Call) (any, error) {
	return c.Do("aten::linalg_lu_solve", c.T("LU_data"), c.T("LU_pivots"), c.T("self")), nil
}

func ldlChecked(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::linalg_ldl_factor_ex", c.Self(), ops.Kw{"hermitian": c.Bool("hermitian")})
	check(c, ts[2])
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1])), nil
}

func linalgSolve(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::linalg_solve_ex", c.T("A"), c.T("B"), ops.Kw{"left": c.Bool("left")}), nil
}

func linalgSolveEx(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::_linalg_solve_ex", c.T("A"), c.T("B"), ops.Kw{"left": c.Bool("left")})
	c.Free(ts[1], ts[2])
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[3])), nil
}

func slogdet(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::_linalg_slogdet", c.Self())
	c.Free(ts[2], ts[3])
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1])), nil
}

func logdet(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::linalg_slogdet", c.Self())
	if !c.OK() {
		return nil, nil
	}
	if c.Self().DType.Complex() {
		logs := c.Do("aten::log", ts[0])
		out := c.Do("aten::add.Tensor", ts[1], logs)
		c.Free(logs, ts[0], ts[1])
		return out, nil
	}
	neg := c.Do("aten::eq.Scalar", ts[0], int64(-1))
	nan := c.Do("aten::scalar_tensor", 0.0, ops.Kw{"dtype": int64(ts[1].DType), "device": ops.Device(ts[1].Device)})
	out := c.Do("aten::where.self", neg, nan, ts[1])
	c.Free(nan, neg, ts[0], ts[1])
	return out, nil
}

func cross(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	dim := c.Int("dim")
	if !c.Has("dim") {
		at := slices.Index(a.Sizes, 3)
		if at < 0 {
			return nil, c.Errorf("got %v, want a dimension of size 3", a.Sizes)
		}
		dim = int64(at)
	}
	return c.Do("aten::linalg_cross", a, b, ops.Kw{"dim": dim}), nil
}

func linalgSVD(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::_linalg_svd", c.Self(), c.Bool("full_matrices"), true, ops.Kw{"driver": c.Arg("driver")})
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1]), ops.OrNone(ts[2])), nil
}

// svdvals leaves the vectors uncomputed but on fake tensors.
func svdvals(c *ops.Call) (any, error) {
	return c.DoGet(1, "aten::_linalg_svd", c.Self(), false, c.OnFakeTensors(), ops.Kw{"driver": c.Arg("driver")}), nil
}

func svd(c *ops.Call) (any, error) {
	if c.Bool("compute_uv") {
		ts := c.DoParts("aten::_linalg_svd", c.Self(), !c.Bool("some"), true)
		if !c.OK() {
			return nil, nil
		}
		return c.Tuple(ts[0], ts[1], c.Do("aten::mH", ts[2])), nil
	}
	values := c.Do("aten::linalg_svdvals", c.Self())
	if !c.OK() {
		return nil, nil
	}
	a := c.Self()
	n := len(a.Sizes)
	zeros := func(k int64) *tensor.Tensor {
		return c.Do("aten::zeros", ops.IntList(with(a.Sizes[:n-2], k, k)...),
			ops.Kw{"dtype": int64(a.DType), "device": ops.Device(a.Device)})
	}
	left := zeros(a.Sizes[n-2])
	return c.Tuple(left, values, c.Do("aten::mH", zeros(a.Sizes[n-1]))), nil
}

func eigh(c *ops.Call) (any, error) {
	ts := c.DoParts("aten::_linalg_eigh", c.Self(), c.Arg("UPLO"), true)
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1])), nil
}

func eigvalsh(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::_linalg_eigh", c.Self(), c.Arg("UPLO"), c.OnFakeTensors()), nil
}

// full0 is a number as a double on t's device.
func full0(c *ops.Call, t *tensor.Tensor, v any) *tensor.Tensor {
	return c.Do("aten::full", ops.IntList(), v, ops.Kw{"dtype": int64(tensor.Float64), "device": ops.Device(t.Device)})
}

func pinv(c *ops.Call) (any, error) {
	a := c.Self()
	h := ops.Kw{"hermitian": c.Bool("hermitian"), "atol": 0.0, "rtol": c.Arg("rcond")}
	if r := c.T("rcond"); r != nil {
		atol := full0(c, a, 0.0)
		return c.Do("aten::linalg_pinv.atol_rtol_tensor", a,
			ops.Kw{"hermitian": c.Bool("hermitian"), "atol": atol, "rtol": r}), nil
	}
	return c.Do("aten::linalg_pinv.atol_rtol_float", a, h), nil
}

func number0(v any) any {
	if v == nil {
		return 0.0
	}
	return v
}

func pinvTolerances(c *ops.Call) (any, error) {
	a := c.Self()
	atol, rtol := full0(c, a, number0(c.Arg("atol"))), full0(c, a, number0(c.Arg("rtol")))
	out := c.Do("aten::linalg_pinv.atol_rtol_tensor", a,
		ops.Kw{"hermitian": c.Bool("hermitian"), "atol": atol, "rtol": rtol})
	c.Free(atol, rtol)
	return out, nil
}

// matrixRank counts the singular values above the larger of two tolerances.
func matrixRank(c *ops.Call) (any, error) {
	a := c.Self()
	batch, _, _, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	result := c.Empty(a, tensor.Int64, batch...)
	atol, rtol := c.T("atol"), c.T("rtol")
	var made []*tensor.Tensor
	if tol := c.T("tol"); tol != nil {
		atol, rtol = tol, c.Do("aten::zeros", ops.IntList(), ops.Kw{"dtype": int64(tol.DType),
			"device": ops.Device(tol.Device)})
		made = append(made, rtol)
	}
	fill := func(t *tensor.Tensor, v any) *tensor.Tensor {
		if t != nil {
			return t
		}
		m := full0(c, a, number0(v))
		made = append(made, m)
		return m
	}
	first := c.Arg("atol")
	if c.Schema.Overload == "" {
		first = c.Arg("tol")
	}
	atol, rtol = fill(atol, first), fill(rtol, c.Arg("rtol"))
	if a.Numel() == 0 {
		c.Free(made...)
		return c.Do("aten::fill_.Scalar", result, int64(0)), nil
	}
	var s *tensor.Tensor
	if c.Bool("hermitian") {
		e := c.Do("aten::linalg_eigvalsh", a)
		s = c.Do("aten::abs", e)
		c.Free(e)
	} else {
		s = c.Do("aten::linalg_svdvals", a)
	}
	var largest *tensor.Tensor
	if c.Bool("hermitian") {
		largest = c.Do("aten::amax", s, ops.IntList(-1), true)
	} else {
		largest = c.Do("aten::slice.Tensor", s, int64(-1), int64(0), int64(1))
	}
	wideR := c.Do("aten::unsqueeze", rtol, int64(-1))
	prod := c.Do("aten::mul.Tensor", wideR, largest)
	wideA := c.Do("aten::unsqueeze", atol, int64(-1))
	limit := c.Do("aten::maximum", wideA, prod)
	c.Free(prod, wideA, wideR)
	above := c.Do("aten::gt.Tensor", s, limit)
	out := c.Do("aten::sum.dim_IntList", above, ops.IntList(-1), false)
	c.Free(result, above, limit, largest, s)
	c.Free(made...)
	return out, nil
}

func matrixPower(c *ops.Call) (any, error) {
	a, n := c.Self(), c.Int("n")
	if _, _, err := square(c, a); err != nil {
		return nil, err
	}
	switch {
	case n == 0:
		out := c.Do("aten::clone", a)
		eye := c.Do("aten::eye", a.Sizes[len(a.Sizes)-1],
			ops.Kw{"dtype": int64(a.DType), "device": ops.Device(a.Device)})
		return c.Do("aten::copy_", out, eye), nil
	case n == 1:
		return c.Do("aten::clone", a), nil
	case n < 0:
		a = c.Do("aten::linalg_inv", a)
		n = -n
	}
	switch n {
	case 1:
		return a, nil
	case 2:
		return c.Do("aten::matmul", a, a), nil
	case 3:
		return c.Do("aten::matmul", c.Do("aten::matmul", a, a), a), nil
	}
	var z, out *tensor.Tensor
	for ; n > 0; n /= 2 {
		old := z
		if z == nil {
			z = a
		} else {
			z = c.Do("aten::matmul", z, z)
		}
		if old != nil && old != a && old != out {
			c.Free(old)
		}
		if n%2 == 1 {
			prev := out
			if out == nil {
				out = z
			} else {
				out = c.Do("aten::matmul", out, z)
			}
			if prev != nil && prev != a {
				c.Free(prev)
			}
		}
	}
	return out, nil
}

func linalgVander(c *ops.Call) (any, error) {
	x := c.T("x")
	if len(x.Sizes) == 0 {
		x = c.Do("aten::unsqueeze", x, int64(-1))
	}
	if !c.OK() {
		return nil, nil
	}
	n := c.IntOr("N", x.Sizes[len(x.Sizes)-1])
	wide := c.Do("aten::expand", c.Do("aten::unsqueeze", x, int64(-1)), ops.IntList(with(x.Sizes, n-1)...))
	powers := c.Do("aten::cumprod", wide, int64(-1))
	ones := c.Do("aten::ones", ops.IntList(with(x.Sizes, 1)...),
		ops.Kw{"dtype": int64(x.DType), "device": ops.Device(x.Device)})
	if c.OK() && powers.DType != x.DType {
		c.Free(ones)
		ones = c.Do("aten::ones", ops.IntList(with(x.Sizes, 1)...),
			ops.Kw{"dtype": int64(powers.DType), "device": ops.Device(x.Device)})
	}
	out := c.Do("aten::cat", ops.TensorList(ones, powers), int64(-1))
	c.Free(powers, ones)
	return out, nil
}

func tensorInv(c *ops.Call) (any, error) {
	x, ind := c.Self(), int(c.Int("ind"))
	if ind <= 0 || ind > len(x.Sizes) {
		return nil, c.Errorf("got ind %d for %v, want one inside", ind, x.Sizes)
	}
	rows, cols := tensor.Numel(x.Sizes[:ind]), tensor.Numel(x.Sizes[ind:])
	shape := append(slices.Clone(x.Sizes[ind:]), x.Sizes[:ind]...)
	inv := c.Do("aten::linalg_inv", c.Do("aten::reshape", x, ops.IntList(cols, rows)))
	return c.Do("aten::reshape", inv, ops.IntList(shape...)), nil
}

func tensorSolve(c *ops.Call) (any, error) {
	a, b := c.Self(), c.T("other")
	n := len(a.Sizes)
	if c.Has("dims") {
		dims, err := c.WrapDims(c.Ints("dims"), n)
		if err != nil {
			return nil, err
		}
		var order []int
		for i := range n {
			if !slices.Contains(dims, i) {
				order = append(order, i)
			}
		}
		a = c.Do("aten::permute", a, ops.DimList(append(order, dims...)))
	}
	if !c.OK() || len(b.Sizes) > n {
		return nil, c.Errorf("got %v and %v, want a system that fits", c.Self().Sizes, b.Sizes)
	}
	shape := slices.Clone(a.Sizes[len(b.Sizes):])
	cols := tensor.Numel(shape)
	m := c.Do("aten::reshape", a, ops.IntList(cols, cols))
	v := c.Do("aten::reshape", b, ops.IntList(cols))
	return c.Do("aten::reshape", c.Do("aten::linalg_solve", m, v), ops.IntList(shape...)), nil
}
