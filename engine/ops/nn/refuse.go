package nn

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/ops"
)

// What PyTorch refuses though the results would have sizes (native/LossMulti.h, Loss.cpp,
// Distance.cpp, Normalization.cpp, FractionalMaxPooling.h, cuda/MaxUnpooling.cu,
// cuda/AdaptiveAveragePooling3d.cu, cuda/Embedding.cu, EmbeddingBag.cpp).

// rowsAndColumns is an input of a multi-class loss: a sample a row.
func rowsAndColumns(c *ops.Call) (rows, cols int64, err error) {
	switch x := c.Self().Sizes; {
	case len(x) == 0:
		return 1, 1, nil
	case len(x) == 1 && x[0] != 0:
		return 1, x[0], nil
	case len(x) == 2 && x[1] != 0:
		return x[0], x[1], nil
	default:
		return 0, 0, c.Errorf("got %v, want a vector or matrix of some classes", x)
	}
}

// classEach wants a class a sample, a weight a class and an order of 1 or 2.
func classEach(c *ops.Call) error {
	rows, cols, err := rowsAndColumns(c)
	if err != nil {
		return err
	}
	if y := c.T("target"); len(y.Sizes) > 1 || y.Numel() != rows {
		return c.Errorf("got a target of %v, want %d", y.Sizes, rows)
	}
	if w := c.T("weight"); w != nil && (len(w.Sizes) > 1 || w.Numel() != cols) {
		return c.Errorf("got a weight of %v, want %d", w.Sizes, cols)
	}
	if p := ops.AsFloat(c.Arg("p")); p != 1 && p != 2 {
		return c.Errorf("got p %v, want 1 or 2", p)
	}
	return nil
}

// classesEach wants a target for each class of each sample.
func classesEach(c *ops.Call) error {
	rows, cols, err := rowsAndColumns(c)
	if err != nil {
		return err
	}
	y := c.T("target")
	fits := slices.Equal(y.Sizes, []int64{rows, cols})
	if len(c.Self().Sizes) <= 1 {
		fits = len(y.Sizes) <= 1 && y.Numel() == cols
	}
	if !fits {
		return c.Errorf("got a target of %v for %v, want as many", y.Sizes, c.Self().Sizes)
	}
	return nil
}

// targetEach wants vectors for a target without dimensions, and rows for a vector of targets.
func targetEach(c *ops.Call) error {
	n := len(c.T("target").Sizes) + 1
	a, b := c.T("input1").Sizes, c.T("input2").Sizes
	if n > 2 || len(a) != n || len(b) != n {
		return c.Errorf("got %v and %v for a target of %v, want one more dimension, 2 at most", a, b,
			c.T("target").Sizes)
	}
	return nil
}

// knownMode wants a way of computing distances that there is.
func knownMode(c *ops.Call) error {
	if mode := c.IntOr("compute_mode", 0); mode < 0 || mode > 2 {
		return c.Errorf("got compute_mode %d, want 0, 1 or 2", mode)
	}
	return nil
}

// normalizable wants slices that have a norm, and a limit for it.
func normalizable(c *ops.Call) error {
	x := c.Self()
	p, limit := ops.AsFloat(c.Arg("p")), ops.AsFloat(c.Arg("maxnorm"))
	if len(x.Sizes) < 2 || p <= 0 || limit < 0 {
		return c.Errorf("got %v, p %v and maxnorm %v, want at least 2 dimensions, p above 0 and maxnorm not below",
			x.Sizes, p, limit)
	}
	dim, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil {
		return err
	}
	for i, n := range x.Sizes {
		if i != dim && n == 0 && math.IsInf(p, 1) {
			return c.Errorf("got %v, want something that has a largest", x.Sizes)
		}
	}
	return nil
}

// samplesEach wants n random numbers for each channel of each input.
func samplesEach(n int) func(*ops.Call) error {
	return func(c *ops.Call) error {
		x, s := c.Self().Sizes, c.T("random_samples").Sizes
		if len(x) == n+1 {
			x = append([]int64{1}, x...)
		}
		if len(x) != n+2 || len(s) != 3 || s[0] < x[0] || s[1] != x[1] || s[2] != int64(n) {
			return c.Errorf("got random_samples %v for %v, want %d for each channel", s, c.Self().Sizes, n)
		}
		return nil
	}
}

// threeSteps wants strides and padding for three dimensions.
func threeSteps(c *ops.Call) error {
	strides, padding := c.Ints("stride"), c.Ints("padding")
	if len(strides) != 3 || len(padding) != 3 || slices.Min(strides) <= 0 {
		return c.Errorf("got stride %v and padding %v, want 3 of each and strides above 0", strides, padding)
	}
	return nil
}

// channelsToPool wants something in each dimension but the first.
func channelsToPool(c *ops.Call) error {
	if x := c.Self().Sizes; len(x) > 1 && slices.Contains(x[1:], 0) {
		return c.Errorf("got %v, want no dimension of 0 but the first", x)
	}
	return nil
}

// rowsToRenorm wants a matrix.
func rowsToRenorm(c *ops.Call) error {
	if x := c.Self().Sizes; len(x) != 2 {
		return c.Errorf("got %v, want 2 dimensions", x)
	}
	return nil
}

// paddingInside wants padding_idx to be a row of weight.
func paddingInside(c *ops.Call) error {
	w := c.T("weight").Sizes
	if at, given := c.Arg("padding_idx").(int64); given && len(w) > 0 && (at < -w[0] || at >= w[0]) {
		return c.Errorf("got padding_idx %d for %d rows, want one of them", at, w[0])
	}
	return nil
}

// someClasses wants a class, or -1 for as many as are met.
func someClasses(c *ops.Call) error {
	if n := c.IntOr("num_classes", -1); n == 0 || n < -1 {
		return c.Errorf("got num_classes %d, want at least 1", n)
	}
	return nil
}
