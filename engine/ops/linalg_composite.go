package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// checked runs an _ex operator, looks at its info, and keeps the first result.
func checked(key string) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		kw := Kw{"check_errors": false}
		if c.Schema.ArgIndex("upper") >= 0 {
			kw["upper"] = c.Bool("upper")
		}
		ts := c.parts(key, c.self(), kw)
		return opt(ts[0]), nil
	}
}

func luFactor(c *Call) (any, error) {
	ts := c.parts("aten::linalg_lu_factor_ex", c.self(), Kw{"pivot": c.Bool("pivot")})
	return c.Tuple(opt(ts[0]), opt(ts[1])), nil
}

func luWithInfo(c *Call) (any, error) {
	return c.DoAny("aten::linalg_lu_factor_ex", c.self(), Kw{"pivot": c.Bool("pivot")}), nil
}

func luSolveOld(c *Call) (any, error) {
	return c.Do("aten::linalg_lu_solve", c.T("LU_data"), c.T("LU_pivots"), c.T("self")), nil
}

func ldlChecked(c *Call) (any, error) {
	ts := c.parts("aten::linalg_ldl_factor_ex", c.self(), Kw{"hermitian": c.Bool("hermitian")})
	return c.Tuple(opt(ts[0]), opt(ts[1])), nil
}

func linalgSolve(c *Call) (any, error) {
	return c.get(0, "aten::linalg_solve_ex", c.T("A"), c.T("B"), Kw{"left": c.Bool("left")}), nil
}

func linalgSolveEx(c *Call) (any, error) {
	ts := c.parts("aten::_linalg_solve_ex", c.T("A"), c.T("B"), Kw{"left": c.Bool("left")})
	c.Free(ts[1], ts[2])
	return c.Tuple(opt(ts[0]), opt(ts[3])), nil
}

func slogdet(c *Call) (any, error) {
	ts := c.parts("aten::_linalg_slogdet", c.self())
	c.Free(ts[2], ts[3])
	return c.Tuple(opt(ts[0]), opt(ts[1])), nil
}

func logdet(c *Call) (any, error) {
	ts := c.parts("aten::linalg_slogdet", c.self())
	if !c.ok() {
		return nil, nil
	}
	if c.self().DType.Complex() {
		logs := c.Do("aten::log", ts[0])
		out := c.Do("aten::add.Tensor", ts[1], logs)
		c.Free(logs, ts[0], ts[1])
		return out, nil
	}
	neg := c.Do("aten::eq.Scalar", ts[0], int64(-1))
	nan := c.Do("aten::scalar_tensor", 0.0, Kw{"dtype": int64(ts[1].DType), "device": Device(ts[1].Device)})
	out := c.Do("aten::where.self", neg, nan, ts[1])
	c.Free(nan, neg, ts[0], ts[1])
	return out, nil
}

func cross(c *Call) (any, error) {
	a, b := c.T("self"), c.T("other")
	dim := c.Int("dim")
	if !c.Has("dim") {
		at := slices.Index(a.Sizes, 3)
		if at < 0 {
			return nil, c.Errorf("got %v, want a dimension of size 3", a.Sizes)
		}
		dim = int64(at)
	}
	return c.Do("aten::linalg_cross", a, b, Kw{"dim": dim}), nil
}

func linalgSVD(c *Call) (any, error) {
	ts := c.parts("aten::_linalg_svd", c.self(), c.Bool("full_matrices"), true, Kw{"driver": c.Arg("driver")})
	return c.Tuple(opt(ts[0]), opt(ts[1]), opt(ts[2])), nil
}

// svdvals leaves the vectors uncomputed but on fake tensors.
func svdvals(c *Call) (any, error) {
	return c.get(1, "aten::_linalg_svd", c.self(), false, c.fake(), Kw{"driver": c.Arg("driver")}), nil
}

func svd(c *Call) (any, error) {
	ts := c.parts("aten::_linalg_svd", c.self(), !c.Bool("some"), c.Bool("compute_uv"))
	if !c.ok() {
		return nil, nil
	}
	if !c.Bool("compute_uv") {
		a := c.self()
		n := len(a.Sizes)
		zeros := func(k int64) any {
			return c.Do("aten::zeros", intList(with(a.Sizes[:n-2], k, k)...), Kw{"dtype": int64(a.DType), "device": Device(a.Device)})
		}
		return c.Tuple(zeros(a.Sizes[n-2]), ts[1], zeros(a.Sizes[n-1])), nil
	}
	return c.Tuple(ts[0], ts[1], c.Do("aten::mH", ts[2])), nil
}

func eigh(c *Call) (any, error) {
	ts := c.parts("aten::_linalg_eigh", c.self(), c.Arg("UPLO"), true)
	return c.Tuple(opt(ts[0]), opt(ts[1])), nil
}

func eigvalsh(c *Call) (any, error) {
	return c.get(0, "aten::_linalg_eigh", c.self(), c.Arg("UPLO"), c.fake()), nil
}

// full0 is a number as a double on t's device.
func (c *Call) full0(t *tensor.Tensor, v any) *tensor.Tensor {
	return c.Do("aten::full", intList(), v, Kw{"dtype": int64(tensor.Float64), "device": Device(t.Device)})
}

func pinv(c *Call) (any, error) {
	a := c.self()
	h := Kw{"hermitian": c.Bool("hermitian"), "atol": 0.0, "rtol": c.Arg("rcond")}
	if r := c.T("rcond"); r != nil {
		atol := c.full0(a, 0.0)
		return c.Do("aten::linalg_pinv.atol_rtol_tensor", a, Kw{"hermitian": c.Bool("hermitian"), "atol": atol, "rtol": r}), nil
	}
	return c.Do("aten::linalg_pinv.atol_rtol_float", a, h), nil
}

func number0(v any) any {
	if v == nil {
		return 0.0
	}
	return v
}

func pinvTolerances(c *Call) (any, error) {
	a := c.self()
	atol, rtol := c.full0(a, number0(c.Arg("atol"))), c.full0(a, number0(c.Arg("rtol")))
	out := c.Do("aten::linalg_pinv.atol_rtol_tensor", a, Kw{"hermitian": c.Bool("hermitian"), "atol": atol, "rtol": rtol})
	c.Free(atol, rtol)
	return out, nil
}

// matrixRank counts the singular values above the larger of two tolerances.
func matrixRank(c *Call) (any, error) {
	a := c.self()
	batch, _, _, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	result := c.empty(a, tensor.Int64, batch...)
	atol, rtol := c.T("atol"), c.T("rtol")
	var made []*tensor.Tensor
	if tol := c.T("tol"); tol != nil {
		atol = tol
	}
	fill := func(t *tensor.Tensor, v any) *tensor.Tensor {
		if t != nil {
			return t
		}
		m := c.full0(a, number0(v))
		made = append(made, m)
		return m
	}
	first := c.Arg("atol")
	if c.Schema.Overload == "" {
		first = c.Arg("tol")
	}
	if _, ok := first.(*tensor.Tensor); ok {
		first = nil
	}
	second := c.Arg("rtol")
	if _, ok := second.(*tensor.Tensor); ok {
		second = nil
	}
	atol = fill(atol, first)
	rtol = fill(rtol, second)
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
		largest = c.Do("aten::amax", s, intList(-1), true)
	} else {
		largest = c.Do("aten::slice.Tensor", s, int64(-1), int64(0), int64(1))
	}
	wideR := c.Do("aten::unsqueeze", rtol, int64(-1))
	prod := c.Do("aten::mul.Tensor", wideR, largest)
	wideA := c.Do("aten::unsqueeze", atol, int64(-1))
	limit := c.Do("aten::maximum", wideA, prod)
	c.Free(prod, wideA, wideR)
	above := c.Do("aten::gt.Tensor", s, limit)
	out := c.Do("aten::sum.dim_IntList", above, intList(-1), false)
	c.Free(result, above, limit, largest, s)
	c.Free(made...)
	return out, nil
}

func matrixPower(c *Call) (any, error) {
	a, n := c.self(), c.Int("n")
	if _, _, err := c.square(a); err != nil {
		return nil, err
	}
	switch {
	case n == 0:
		out := c.Do("aten::clone", a)
		eye := c.Do("aten::eye", a.Sizes[len(a.Sizes)-1], Kw{"dtype": int64(a.DType), "device": Device(a.Device)})
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

func linalgVander(c *Call) (any, error) {
	x := c.T("x")
	if len(x.Sizes) == 0 {
		x = c.Do("aten::unsqueeze", x, int64(-1))
	}
	if !c.ok() {
		return nil, nil
	}
	n := c.IntOr("N", x.Sizes[len(x.Sizes)-1])
	wide := c.Do("aten::expand", c.Do("aten::unsqueeze", x, int64(-1)), intList(with(x.Sizes, n-1)...))
	powers := c.Do("aten::cumprod", wide, int64(-1))
	ones := c.Do("aten::ones", intList(with(x.Sizes, 1)...), Kw{"dtype": int64(x.DType), "device": Device(x.Device)})
	if c.ok() && powers.DType != x.DType {
		c.Free(ones)
		ones = c.Do("aten::ones", intList(with(x.Sizes, 1)...), Kw{"dtype": int64(powers.DType), "device": Device(x.Device)})
	}
	out := c.Do("aten::cat", tensorList(ones, powers), int64(-1))
	c.Free(powers, ones)
	return out, nil
}

func tensorInv(c *Call) (any, error) {
	x, ind := c.self(), int(c.Int("ind"))
	if ind <= 0 || ind > len(x.Sizes) {
		return nil, c.Errorf("got ind %d for %v, want one inside", ind, x.Sizes)
	}
	rows, cols := product(x.Sizes[:ind]), product(x.Sizes[ind:])
	shape := append(slices.Clone(x.Sizes[ind:]), x.Sizes[:ind]...)
	inv := c.Do("aten::linalg_inv", c.Do("aten::reshape", x, intList(cols, rows)))
	return c.Do("aten::reshape", inv, intList(shape...)), nil
}

func tensorSolve(c *Call) (any, error) {
	a, b := c.self(), c.T("other")
	n := len(a.Sizes)
	if c.Has("dims") {
		dims, err := c.dimsOf(c.Ints("dims"), n)
		if err != nil {
			return nil, err
		}
		var order []int
		for i := range n {
			if !slices.Contains(dims, i) {
				order = append(order, i)
			}
		}
		a = c.Do("aten::permute", a, dimList(append(order, dims...)))
	}
	if !c.ok() || len(b.Sizes) > n {
		return nil, c.Errorf("got %v and %v, want a system that fits", c.self().Sizes, b.Sizes)
	}
	shape := slices.Clone(a.Sizes[len(b.Sizes):])
	cols := product(shape)
	m := c.Do("aten::reshape", a, intList(cols, cols))
	v := c.Do("aten::reshape", b, intList(cols))
	return c.Do("aten::reshape", c.Do("aten::linalg_solve", m, v), intList(shape...)), nil
}
