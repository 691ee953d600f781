package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// What PyTorch refuses though the results would have sizes (native/LinearAlgebraUtils.h
// squareCheckInputs, checkInputsSolver and linearSolveCheckInputs; native/BatchLinearAlgebra.cpp).

// squareMatrices wants the first tensor to hold square matrices.
func squareMatrices(c *ops.Call) error {
	_, _, err := square(c, c.Self())
	return err
}

// tallMatrices wants it to hold matrices with no more columns than rows.
func tallMatrices(c *ops.Call) error {
	a := c.Self()
	_, rows, cols, err := matrix(c, a)
	if rows < cols {
		err = c.Errorf("got %v, want matrices with no more columns than rows", a.Sizes)
	}
	return err
}

// system wants square matrices in the argument lhs and as many rows in rhs; for X·A = B as many
// columns.
func system(lhs, rhs string) func(*ops.Call) error {
	return func(c *ops.Call) error { return sidesFit(c, c.T(lhs), c.T(rhs), false) }
}

// sidesFit compares the side of a with that of b, a matrix or a vector. What is neither is refused
// by the operator.
func sidesFit(c *ops.Call, a, b *tensor.Tensor, vector bool) error {
	_, n, err := square(c, a)
	if err != nil {
		return err
	}
	sizes := b.Sizes
	if vector {
		sizes = with(sizes, 1)
	}
	if len(sizes) < 2 {
		return nil
	}
	side := sizes[len(sizes)-2]
	if c.Has("left") && !c.Bool("left") {
		side = sizes[len(sizes)-1]
	}
	if side != n {
		return c.Errorf("got %v and %v, want a system whose two sides fit", a.Sizes, b.Sizes)
	}
	return nil
}

// solvable is system for a right hand side that may be a vector, which is one column and never on
// the left.
func solvable(c *ops.Call) error {
	a, b := c.T("A"), c.T("B")
	vector := vectorRHS(a, b)
	err := sidesFit(c, a, b, vector)
	if err == nil && vector && !c.Bool("left") {
		err = c.Errorf("got the vector %v with left=False, want a matrix", b.Sizes)
	}
	return err
}

// pivoted is system with a pivot a row of lhs.
func pivoted(lhs, rhs string) func(*ops.Call) error {
	return func(c *ops.Call) error {
		a, pivots := c.T(lhs), c.T("pivots")
		if err := sidesFit(c, a, c.T(rhs), false); err != nil {
			return err
		}
		return wantSizes(c, pivots, a.Sizes[:len(a.Sizes)-1])
	}
}

// unpackable wants a pivot a row or column of LU, whichever are fewer.
func unpackable(c *ops.Call) error {
	batch, rows, cols, err := matrix(c, c.T("LU_data"))
	if err == nil && c.Bool("unpack_pivots") {
		err = wantSizes(c, c.T("LU_pivots"), with(batch, min(rows, cols)))
	}
	return err
}

func wantSizes(c *ops.Call, t *tensor.Tensor, want []int64) error {
	if !slices.Equal(t.Sizes, want) {
		return c.Errorf("got %v, want %v", t.Sizes, want)
	}
	return nil
}

// reflectors wants a factor in tau for no more columns than input has, which are no more than its
// rows.
func reflectors(c *ops.Call) error {
	if err := tallMatrices(c); err != nil {
		return err
	}
	a, tau := c.T("input"), c.T("tau")
	n := len(a.Sizes)
	if len(tau.Sizes) != n-1 || !slices.Equal(tau.Sizes[:n-2], a.Sizes[:n-2]) || tau.Sizes[n-2] > a.Sizes[n-1] {
		return c.Errorf("got %v and factors %v, want no more than one a column", a.Sizes, tau.Sizes)
	}
	return nil
}

// rotatable wants input3 to have as many rows as the reflectors (columns, on the right), and input2
// a factor for each that acts.
func rotatable(c *ops.Call) error {
	a, tau, x := c.Self(), c.T("input2"), c.T("input3")
	batch, rows, cols, err := matrix(c, a)
	if err != nil {
		return err
	}
	n := len(a.Sizes)
	if len(x.Sizes) != n || !slices.Equal(x.Sizes[:n-2], batch) {
		return c.Errorf("got %v and %v, want as many dimensions and matrices", a.Sizes, x.Sizes)
	}
	side := x.Sizes[n-2]
	if !c.Bool("left") {
		side = x.Sizes[n-1]
	}
	if side != rows {
		return c.Errorf("got %v and %v, want reflectors of the size of what they turn", a.Sizes, x.Sizes)
	}
	return wantSizes(c, tau, with(batch, min(side, cols)))
}

// normDims wants one or two dimensions: given, or the tensor's own where an order is.
func normDims(c *ops.Call) error {
	n := len(c.Self().Sizes)
	switch {
	case c.Has("dim"):
		n = len(c.Ints("dim"))
	case !c.Has("ord"):
		return nil
	}
	if n != 1 && n != 2 {
		return c.Errorf("got %d dimensions, want 1 or 2", n)
	}
	return nil
}

// severalPowers wants more than one column.
func severalPowers(c *ops.Call) error {
	var n int64
	if x := c.T("x"); len(x.Sizes) > 0 {
		n = x.Sizes[len(x.Sizes)-1]
	}
	if n = c.IntOr("N", n); n <= 1 {
		return c.Errorf("got N %d, want more than 1", n)
	}
	return nil
}

// biasFits wants a bias for each feature that weight gives.
func biasFits(c *ops.Call) error {
	w, bias := c.T("weight"), c.T("bias")
	if bias != nil && len(w.Sizes) == 3 && (len(bias.Sizes) == 0 || bias.Sizes[0] != w.Sizes[0]) {
		return c.Errorf("got bias %v, want %d", bias.Sizes, w.Sizes[0])
	}
	return nil
}
