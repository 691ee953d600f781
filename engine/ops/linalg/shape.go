package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Results of LAPACK-like operators: matrices are column-major (native/LinearAlgebraUtils.h
// batched_matrix_contiguous_strides).

// columnMajor is a fresh result whose matrices are column-major.
func columnMajor(like *tensor.Tensor, d tensor.DType, sizes ...int64) tensor.Meta {
	m := ops.FreshAs(like, d, sizes...)
	if n := len(sizes); n >= 2 {
		m.Strides[n-1] = max(sizes[n-2], 1)
		m.Strides[n-2] = 1
	}
	return m
}

// matrix splits self's sizes into the batch's, rows and columns.
func matrix(c *ops.Call, t *tensor.Tensor) (batch []int64, rows, cols int64, err error) {
	n := len(t.Sizes)
	if n < 2 {
		return nil, 0, 0, c.Errorf("got %v, want at least 2 dimensions", t.Sizes)
	}
	return t.Sizes[:n-2], t.Sizes[n-2], t.Sizes[n-1], nil
}

// square is matrix for one with as many rows as columns.
func square(c *ops.Call, t *tensor.Tensor) ([]int64, int64, error) {
	batch, rows, cols, err := matrix(c, t)
	if err == nil && rows != cols {
		err = c.Errorf("got %v, want square matrices", t.Sizes)
	}
	return batch, rows, err
}

func with(batch []int64, more ...int64) []int64 { return append(slices.Clone(batch), more...) }

func columnMajorSelf(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	if _, _, _, err := matrix(c, x); err != nil {
		return nil, err
	}
	return ops.One(columnMajor(x, x.DType, x.Sizes...))
}

func polarPair(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	batch, _, cols, _ := matrix(c, x) // tallMatrices has refused others
	return []tensor.Meta{ops.FreshLike(x, x.Sizes...), ops.FreshLike(x, with(batch, cols, cols)...)}, nil
}

// factored is a factorisation in place of the matrix, pivots where there are any, and an info a
// matrix.
func factored(pivots bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		a := c.Self()
		batch, rows, cols, err := matrix(c, a)
		if err != nil {
			return nil, err
		}
		if !pivots && rows != cols {
			return nil, c.Errorf("got %v, want square matrices", a.Sizes)
		}
		out := []tensor.Meta{columnMajor(a, a.DType, a.Sizes...)}
		if pivots {
			out = append(out, ops.FreshAs(a, tensor.Int32, with(batch, min(rows, cols))...))
		}
		return append(out, ops.FreshAs(a, tensor.Int32, with(batch)...)), nil
	}
}

func ldlFactor(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{columnMajor(a, a.DType, a.Sizes...), ops.FreshAs(a, tensor.Int32, with(batch, n)...),
		ops.FreshAs(a, tensor.Int32, with(batch)...)}, nil
}

func detOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{ops.FreshLike(a, with(batch)...), columnMajor(a, a.DType, a.Sizes...),
		ops.FreshAs(a, tensor.Int32, with(batch, n)...)}, nil
}

func slogdetOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{ops.FreshLike(a, with(batch)...), ops.FreshAs(a, a.DType.ToReal(), with(batch)...),
		columnMajor(a, a.DType, a.Sizes...), ops.FreshAs(a, tensor.Int32, with(batch, n)...)}, nil
}

// solved is B's shape with the batches of B and A broadcast.
func solved(rhs, lhs string) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		b, a := c.T(rhs), c.T(lhs)
		batchB, rows, cols, err := matrix(c, b)
		if err != nil {
			return nil, err
		}
		batchA, _, _, err := matrix(c, a)
		if err != nil {
			return nil, err
		}
		batch, err := c.Broadcast(batchB, batchA)
		if err != nil {
			return nil, err
		}
		return ops.One(columnMajor(b, b.DType, with(batch, rows, cols)...))
	}
}

func triangularSolve(c *ops.Call) ([]tensor.Meta, error) {
	ms, err := solved("self", "A")(c)
	if err != nil {
		return nil, err
	}
	a := c.T("A")
	n := len(a.Sizes)
	batch := ms[0].Sizes[:len(ms[0].Sizes)-2]
	return append(ms, columnMajor(a, a.DType, with(batch, a.Sizes[n-2], a.Sizes[n-1])...)), nil
}

func luSolve(c *ops.Call) ([]tensor.Meta, error) {
	ms, err := solved("B", "LU")(c)
	if err == nil && !c.Bool("left") {
		ms[0].Strides = tensor.ContiguousStrides(ms[0].Sizes)
	}
	return ms, err
}

// vectorRHS says whether B is a vector a matrix, not a matrix.
func vectorRHS(a, b *tensor.Tensor) bool {
	return len(b.Sizes) == 1 || len(a.Sizes)-1 == len(b.Sizes) && slices.Equal(b.Sizes, a.Sizes[:len(a.Sizes)-1])
}

func solveEx(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("A"), c.T("B")
	batchA, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	sizes := b.Sizes
	vector := vectorRHS(a, b)
	if vector {
		sizes = with(b.Sizes, 1)
	}
	if len(sizes) < 2 {
		return nil, c.Errorf("got B %v, want at least 1 dimension", b.Sizes)
	}
	batch, err := c.Broadcast(sizes[:len(sizes)-2], batchA)
	if err != nil {
		return nil, err
	}
	shape := with(batch, sizes[len(sizes)-2])
	if !vector {
		shape = append(shape, sizes[len(sizes)-1])
	}
	result := columnMajor(b, b.DType, shape...)
	if !c.Bool("left") {
		result = ops.FreshLike(b, shape...)
	}
	return []tensor.Meta{result, columnMajor(a, a.DType, a.Sizes...), ops.FreshAs(a, tensor.Int32, with(batchA, n)...),
		ops.FreshAs(a, tensor.Int32, with(batchA)...)}, nil
}

func luOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	p := ops.FreshLike(a, 0)
	if c.Bool("pivot") {
		p = ops.FreshLike(a, with(batch, rows, rows)...)
	}
	return []tensor.Meta{p, ops.FreshLike(a, with(batch, rows, k)...), ops.FreshLike(a, with(batch, k, cols)...)}, nil
}

func luUnpack(c *ops.Call) ([]tensor.Meta, error) {
	a := c.T("LU_data")
	batch, rows, cols, _ := matrix(c, a) // unpackable has refused others
	k := min(rows, cols)
	p, l, u := ops.FreshLike(a, 0), ops.FreshLike(a, 0), ops.FreshLike(a, 0)
	if c.Bool("unpack_pivots") {
		p = ops.FreshLike(a, with(batch, rows, rows)...)
	}
	if c.Bool("unpack_data") {
		l, u = ops.FreshLike(a, with(batch, rows, k)...), ops.FreshLike(a, with(batch, k, cols)...)
	}
	return []tensor.Meta{p, l, u}, nil
}

func qr(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	switch c.Str("mode") {
	case "complete":
		return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, rows)...),
			columnMajor(a, a.DType, with(batch, rows, cols)...)}, nil
	case "r":
		return []tensor.Meta{ops.FreshLike(a, 0), columnMajor(a, a.DType, with(batch, k, cols)...)}, nil
	case "reduced":
		return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, k)...),
			columnMajor(a, a.DType, with(batch, k, cols)...)}, nil
	}
	return nil, c.Errorf("got mode %q, want reduced, complete or r", c.Str("mode"))
}

func geqrf(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{columnMajor(a, a.DType, a.Sizes...), ops.FreshLike(a, with(batch, min(rows, cols))...)}, nil
}

func ormqr(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input3")
	return ops.One(columnMajor(x, x.DType, x.Sizes...))
}

func svdOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	s := ops.FreshAs(a, a.DType.ToReal(), with(batch, k)...)
	if !c.Bool("compute_uv") {
		return []tensor.Meta{ops.FreshLike(a, 0), s, ops.FreshLike(a, 0)}, nil
	}
	nu, nv := k, k
	if c.Bool("full_matrices") {
		nu, nv = rows, cols
	}
	v := ops.FreshLike(a, with(batch, nv, cols)...) // cuSOLVER gives V in rows
	if a.Device == "cpu" {
		v = columnMajor(a, a.DType, with(batch, nv, cols)...)
	}
	return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, nu)...), s, v}, nil
}

func eig(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	d := a.DType.ToComplex()
	return []tensor.Meta{ops.FreshAs(a, d, with(batch, n)...), ops.FreshAs(a, d, a.Sizes...)}, nil
}

func eigvals(c *ops.Call) ([]tensor.Meta, error) {
	ms, err := eig(c)
	if err != nil {
		return nil, err
	}
	return ms[:1], nil
}

func eighOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, n, err := square(c, a)
	if err != nil {
		return nil, err
	}
	v := ops.FreshLike(a, 0)
	if c.Bool("compute_v") {
		v = columnMajor(a, a.DType, a.Sizes...)
	}
	return []tensor.Meta{ops.FreshAs(a, a.DType.ToReal(), with(batch, n)...), v}, nil
}

func pinvOut(c *ops.Call) ([]tensor.Meta, error) {
	a := c.Self()
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(a, with(batch, cols, rows)...))
}

// lstsq solves in place of a copy of b that has room for the solution, whose rows are a part of it.
// What else there is the driver decides. Source: linalg_lstsq in
// aten/src/ATen/native/BatchLinearAlgebra.cpp.
func lstsq(c *ops.Call) (any, error) {
	a, b := c.Self(), c.T("b")
	batchA, rows, cols, err := matrix(c, a)
	if err != nil {
		return nil, err
	}
	if n := len(a.Sizes) - len(b.Sizes); len(b.Sizes) == 0 || n < 0 || n > 1 {
		return nil, c.Errorf("got b %v, want as many dimensions as self %v or one fewer", b.Sizes, a.Sizes)
	}
	vector, sides := len(b.Sizes) < len(a.Sizes), slices.Clone(b.Sizes)
	if vector {
		sides = append(sides, 1)
	}
	n := len(sides)
	if sides[n-2] != rows {
		return nil, c.Errorf("got b %v, want %d rows, as self %v has", b.Sizes, rows, a.Sizes)
	}
	width := sides[n-1]
	batch, err := c.Broadcast(batchA, sides[:n-2])
	if err != nil {
		return nil, err
	}
	m := columnMajor(b, b.DType, with(batch, max(rows, cols), width)...)
	on := func(d tensor.DType) ops.Kw { return ops.Kw{"dtype": int64(d), "device": ops.Device(a.Device)} }
	empty := func(d tensor.DType, sizes ...int64) *tensor.Tensor {
		return c.Do("aten::empty.memory_format", ops.IntList(sizes...), on(d))
	}
	x := c.Do("aten::empty_strided", ops.IntList(m.Sizes...), ops.IntList(m.Strides...), on(b.DType))
	x = c.Do("aten::narrow", x, int64(-2), int64(0), cols)
	if vector {
		x = c.Do("aten::squeeze.dim", x, int64(-1))
	}
	residuals, rank, values := []int64{0}, []int64{0}, []int64{0}
	driver := c.Str("driver")
	if driver == "" && a.Device == "cpu" {
		driver = "gelsy"
	}
	if rows > cols && driver != "gelsy" {
		residuals = with(batch, width)
	}
	if a.Device == "cpu" && driver != "gels" {
		rank = batchA
	}
	if driver == "gelsd" || driver == "gelss" {
		values = with(batchA, min(rows, cols))
	}
	return c.Tuple(x, empty(a.DType.ToReal(), residuals...), empty(tensor.Int64, rank...),
		empty(a.DType.ToReal(), values...)), nil
}

func crossed(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("other")
	shape, err := c.Broadcast(a.Sizes, b.Sizes)
	if err != nil {
		return nil, err
	}
	d, err := c.WrapDim(c.Int("dim"), len(shape))
	if err != nil {
		return nil, err
	}
	if len(shape) == 0 || len(a.Sizes) != len(b.Sizes) || a.Sizes[d] != 3 || b.Sizes[d] != 3 {
		return nil, c.Errorf("got %v and %v, want size 3 in dim %d", a.Sizes, b.Sizes, d)
	}
	return ops.One(ops.FreshLike(a, shape...))
}
