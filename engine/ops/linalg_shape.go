package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Results of LAPACK-like operators: matrices are column-major (native/LinearAlgebraUtils.h batched_matrix_contiguous_strides).

// columnMajor is a fresh result whose matrices are column-major.
func columnMajor(like *tensor.Tensor, d tensor.DType, sizes ...int64) tensor.Meta {
	m := freshAs(like, d, sizes...)
	if n := len(sizes); n >= 2 {
		m.Strides[n-1] = max(sizes[n-2], 1)
		m.Strides[n-2] = 1
	}
	return m
}

// matrix splits self's sizes into the batch's, rows and columns.
func (c *Call) matrix(t *tensor.Tensor) (batch []int64, rows, cols int64, err error) {
	n := len(t.Sizes)
	if n < 2 {
		return nil, 0, 0, c.Errorf("got %v, want at least 2 dimensions", t.Sizes)
	}
	return t.Sizes[:n-2], t.Sizes[n-2], t.Sizes[n-1], nil
}

// square is matrix for one with as many rows as columns.
func (c *Call) square(t *tensor.Tensor) ([]int64, int64, error) {
	batch, rows, cols, err := c.matrix(t)
	if err == nil && rows != cols {
		err = c.Errorf("got %v, want square matrices", t.Sizes)
	}
	return batch, rows, err
}

func with(batch []int64, more ...int64) []int64 { return append(slices.Clone(batch), more...) }

func columnMajorSelf(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	if _, _, _, err := c.matrix(x); err != nil {
		return nil, err
	}
	return one(columnMajor(x, x.DType, x.Sizes...))
}

func polarPair(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	batch, _, cols, err := c.matrix(x)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{fresh(x, x.Sizes...), fresh(x, with(batch, cols, cols)...)}, nil
}

// factored is a factorisation in place of the matrix, pivots where there are any, and an info a matrix.
func factored(pivots bool) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		a := c.self()
		batch, rows, cols, err := c.matrix(a)
		if err != nil {
			return nil, err
		}
		if !pivots && rows != cols {
			return nil, c.Errorf("got %v, want square matrices", a.Sizes)
		}
		out := []tensor.Meta{columnMajor(a, a.DType, a.Sizes...)}
		if pivots {
			out = append(out, freshAs(a, tensor.Int32, with(batch, min(rows, cols))...))
		}
		return append(out, freshAs(a, tensor.Int32, with(batch)...)), nil
	}
}

func ldlFactor(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, n, err := c.square(a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{columnMajor(a, a.DType, a.Sizes...), freshAs(a, tensor.Int32, with(batch, n)...), freshAs(a, tensor.Int32, with(batch)...)}, nil
}

func detOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, n, err := c.square(a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{fresh(a, with(batch)...), columnMajor(a, a.DType, a.Sizes...), freshAs(a, tensor.Int32, with(batch, n)...)}, nil
}

func slogdetOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, n, err := c.square(a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{fresh(a, with(batch)...), freshAs(a, a.DType.ToReal(), with(batch)...), columnMajor(a, a.DType, a.Sizes...), freshAs(a, tensor.Int32, with(batch, n)...)}, nil
}

// solved is B's shape with the batches of B and A broadcast.
func solved(rhs, lhs string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		b, a := c.T(rhs), c.T(lhs)
		batchB, rows, cols, err := c.matrix(b)
		if err != nil {
			return nil, err
		}
		batchA, _, _, err := c.matrix(a)
		if err != nil {
			return nil, err
		}
		batch, err := c.broadcast(batchB, batchA)
		if err != nil {
			return nil, err
		}
		return one(columnMajor(b, b.DType, with(batch, rows, cols)...))
	}
}

func triangularSolve(c *Call) ([]tensor.Meta, error) {
	ms, err := solved("self", "A")(c)
	if err != nil {
		return nil, err
	}
	a := c.T("A")
	n := len(a.Sizes)
	batch := ms[0].Sizes[:len(ms[0].Sizes)-2]
	return append(ms, columnMajor(a, a.DType, with(batch, a.Sizes[n-2], a.Sizes[n-1])...)), nil
}

func luSolve(c *Call) ([]tensor.Meta, error) {
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

func solveEx(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("A"), c.T("B")
	batchA, n, err := c.square(a)
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
	batch, err := c.broadcast(sizes[:len(sizes)-2], batchA)
	if err != nil {
		return nil, err
	}
	shape := with(batch, sizes[len(sizes)-2])
	if !vector {
		shape = append(shape, sizes[len(sizes)-1])
	}
	result := columnMajor(b, b.DType, shape...)
	if !c.Bool("left") {
		result = fresh(b, shape...)
	}
	return []tensor.Meta{result, columnMajor(a, a.DType, a.Sizes...), freshAs(a, tensor.Int32, with(batchA, n)...), freshAs(a, tensor.Int32, with(batchA)...)}, nil
}

func luOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	p := fresh(a, 0)
	if c.Bool("pivot") {
		p = fresh(a, with(batch, rows, rows)...)
	}
	return []tensor.Meta{p, fresh(a, with(batch, rows, k)...), fresh(a, with(batch, k, cols)...)}, nil
}

func luUnpack(c *Call) ([]tensor.Meta, error) {
	a := c.T("LU_data")
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	p, l, u := fresh(a, 0), fresh(a, 0), fresh(a, 0)
	if c.Bool("unpack_pivots") {
		p = fresh(a, with(batch, rows, rows)...)
	}
	if c.Bool("unpack_data") {
		l, u = fresh(a, with(batch, rows, k)...), fresh(a, with(batch, k, cols)...)
	}
	return []tensor.Meta{p, l, u}, nil
}

func qr(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	switch c.Str("mode") {
	case "complete":
		return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, rows)...), columnMajor(a, a.DType, with(batch, rows, cols)...)}, nil
	case "r":
		return []tensor.Meta{fresh(a, 0), columnMajor(a, a.DType, with(batch, k, cols)...)}, nil
	case "reduced":
		return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, k)...), columnMajor(a, a.DType, with(batch, k, cols)...)}, nil
	}
	return nil, c.Errorf("got mode %q, want reduced, complete or r", c.Str("mode"))
}

func geqrf(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{columnMajor(a, a.DType, a.Sizes...), fresh(a, with(batch, min(rows, cols))...)}, nil
}

func ormqr(c *Call) ([]tensor.Meta, error) {
	x := c.T("input3")
	if _, _, _, err := c.matrix(x); err != nil {
		return nil, err
	}
	return one(columnMajor(x, x.DType, x.Sizes...))
}

func svdOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	k := min(rows, cols)
	s := freshAs(a, a.DType.ToReal(), with(batch, k)...)
	if !c.Bool("compute_uv") {
		return []tensor.Meta{fresh(a, 0), s, fresh(a, 0)}, nil
	}
	nu, nv := k, k
	if c.Bool("full_matrices") {
		nu, nv = rows, cols
	}
	v := fresh(a, with(batch, nv, cols)...) // cuSOLVER gives V in rows
	if a.Device == "cpu" {
		v = columnMajor(a, a.DType, with(batch, nv, cols)...)
	}
	return []tensor.Meta{columnMajor(a, a.DType, with(batch, rows, nu)...), s, v}, nil
}

func eig(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, n, err := c.square(a)
	if err != nil {
		return nil, err
	}
	d := a.DType.ToComplex()
	return []tensor.Meta{freshAs(a, d, with(batch, n)...), freshAs(a, d, a.Sizes...)}, nil
}

func eigvals(c *Call) ([]tensor.Meta, error) {
	ms, err := eig(c)
	if err != nil {
		return nil, err
	}
	return ms[:1], nil
}

func eighOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, n, err := c.square(a)
	if err != nil {
		return nil, err
	}
	v := fresh(a, 0)
	if c.Bool("compute_v") {
		v = columnMajor(a, a.DType, a.Sizes...)
	}
	return []tensor.Meta{freshAs(a, a.DType.ToReal(), with(batch, n)...), v}, nil
}

func pinvOut(c *Call) ([]tensor.Meta, error) {
	a := c.self()
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	return one(fresh(a, with(batch, cols, rows)...))
}

func lstsq(c *Call) ([]tensor.Meta, error) {
	a, b := c.self(), c.T("b")
	batch, rows, cols, err := c.matrix(a)
	if err != nil {
		return nil, err
	}
	vector := vectorRHS(a, b)
	sizes := with(batch, cols)
	if !vector {
		sizes = append(sizes, b.Sizes[len(b.Sizes)-1])
	}
	residuals := fresh(a, 0)
	if rows > cols && !vector {
		residuals = freshAs(a, a.DType.ToReal(), with(batch, b.Sizes[len(b.Sizes)-1])...)
	}
	rank := freshAs(a, tensor.Int64, 0)
	if a.Device == "cpu" {
		rank = freshAs(a, tensor.Int64, with(batch)...)
	}
	return []tensor.Meta{columnMajor(b, b.DType, sizes...), residuals, rank, freshAs(a, a.DType.ToReal(), 0)}, nil
}

func crossed(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("other")
	shape, err := c.broadcast(a.Sizes, b.Sizes)
	if err != nil {
		return nil, err
	}
	d, err := c.wrapDim(c.Int("dim"), len(shape))
	if err != nil {
		return nil, err
	}
	if len(shape) == 0 || len(a.Sizes) != len(b.Sizes) || a.Sizes[d] != 3 || b.Sizes[d] != 3 {
		return nil, c.Errorf("got %v and %v, want size 3 in dim %d", a.Sizes, b.Sizes, d)
	}
	return one(fresh(a, shape...))
}
