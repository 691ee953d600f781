package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// The reductions of a loss (at::Reduction).
const (
	reduceNone = 0
	reduceMean = 1
)

// pointLoss is a loss an element, or their mean or sum.
func pointLoss(c *ops.Call) ([]tensor.Meta, error) {
	if err := checkReduction(c); err != nil {
		return nil, err
	}
	if c.Int("reduction") == reduceNone {
		return ops.Pointwise(c)
	}
	m, err := ops.Pointwise(c)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.NewMeta(m[0].DType, m[0].Device, nil))
}

// reduceLoss is apply_loss_reduction.
func reduceLoss(c *ops.Call, t *tensor.Tensor) *tensor.Tensor {
	switch c.Int("reduction") {
	case reduceNone:
		return t
	case reduceMean:
		return c.Do("aten::mean", t)
	}
	return c.Do("aten::sum", t)
}

// checkReduction refuses a reduction that is none of none, mean and sum.
func checkReduction(c *ops.Call) error {
	if r := c.Int("reduction"); r < reduceNone || r > 2 {
		return c.Errorf("got reduction %d, want 0 (none), 1 (mean) or 2 (sum)", r)
	}
	return nil
}

func l1Loss(c *ops.Call) (any, error) {
	return reduceLoss(c, c.Do("aten::abs", c.Do("aten::sub.Tensor", c.T("self"), c.T("target")))), nil
}

func klDiv(c *ops.Call) (any, error) {
	x, y := c.T("self"), c.T("target")
	var a, b, out *tensor.Tensor
	if c.Bool("log_target") {
		a = c.Do("aten::sub.Tensor", y, x)
		b = c.Do("aten::exp", y)
		out = c.Do("aten::mul.Tensor", b, a)
	} else {
		a = c.Do("aten::mul.Tensor", x, y)
		b = c.Do("aten::xlogy.Tensor", y, y)
		out = c.Do("aten::sub.Tensor", b, a)
	}
	c.Free(b, a)
	return reduceLoss(c, out), nil
}

// nllForward gives the loss and the weight it is divided by.
func nllForward(c *ops.Call) ([]tensor.Meta, error) {
	x, y := c.T("self"), c.T("target")
	n := len(x.Sizes)
	if n == 0 || n > 2 && n != 4 {
		return nil, c.Errorf("got input %v, want 1, 2 or 4 dimensions", x.Sizes)
	}
	if n == 2 && (len(y.Sizes) != 1 || y.Sizes[0] != x.Sizes[0]) || n == 4 &&
		(len(y.Sizes) != 3 || y.Sizes[0] != x.Sizes[0] || !slices.Equal(y.Sizes[1:], x.Sizes[2:])) {
		return nil, c.Errorf("got input %v and target %v, want as many of both", x.Sizes, y.Sizes)
	}
	if err := checkClassWeight(c, x); err != nil {
		return nil, err
	}
	var sizes []int64
	if c.Int("reduction") == reduceNone && n > 1 {
		sizes = slices.Clone(y.Sizes)
	}
	return []tensor.Meta{ops.FreshLike(x, sizes...), ops.FreshLike(x)}, nil
}

// checkClassWeight refuses weights that are not one a class.
func checkClassWeight(c *ops.Call, x *tensor.Tensor) error {
	if err := checkReduction(c); err != nil {
		return err
	}
	classes := x.Sizes[min(len(x.Sizes)-1, 1)]
	if w := c.T("weight"); w != nil && (len(w.Sizes) != 1 || w.Sizes[0] != classes) {
		return c.Errorf("got weight %v, want a vector of %d", w.Sizes, classes)
	}
	return nil
}

func nllLossND(c *ops.Call) (any, error) {
	x, y := c.T("self"), c.T("target")
	rest := []any{c.Arg("weight"), c.Arg("reduction"), c.Arg("ignore_index")}
	n := len(x.Sizes)
	if n > 0 && n < 2 || n == 2 {
		return c.Do("aten::nll_loss", append([]any{x, y}, rest...)...), nil
	}
	if n == 4 {
		return c.Do("aten::nll_loss2d", append([]any{x, y}, rest...)...), nil
	}
	if n == 0 {
		return nil, c.Errorf("got an input without dimensions, want at least 1")
	}
	fx := c.Do("aten::view", c.Do("aten::contiguous", x), ops.IntList(x.Sizes[0], x.Sizes[1], 1, -1))
	fy := c.Do("aten::view", c.Do("aten::contiguous", y), ops.IntList(x.Sizes[0], 1, -1))
	out := c.Do("aten::nll_loss2d", append([]any{fx, fy}, rest...)...)
	if c.Int("reduction") == reduceNone {
		return c.Do("aten::view", out, ops.IntList(append([]int64{x.Sizes[0]}, x.Sizes[2:]...)...)), nil
	}
	return out, nil
}

// crossEntropy is log_softmax and then a loss by class index or by probability (LossNLL.cpp).
func crossEntropy(c *ops.Call) (any, error) {
	x, y := c.T("self"), c.T("target")
	dim := int64(min(1, len(x.Sizes)-1))
	if dim < 0 {
		return nil, c.Errorf("got an input without dimensions, want at least 1")
	}
	probabilities := slices.Equal(x.Sizes, y.Sizes) && y.DType.Floating()
	if !probabilities && c.Float("label_smoothing") == 0 {
		logits := c.Do("aten::log_softmax.int", x, dim, int64(x.DType))
		return c.Do("aten::nll_loss_nd", logits, y, c.Arg("weight"), c.Arg("reduction"), c.Arg("ignore_index")), nil
	}
	logits := c.Do("aten::log_softmax.int", x, dim, int64(x.DType))
	if probabilities {
		return probabilityLoss(c, logits, y, dim), nil
	}
	return smoothedLoss(c, logits, y, dim), nil
}

// weightView is the class weights with the input's number of dimensions.
func weightView(c *ops.Call, dim int64) *tensor.Tensor {
	w, sizes := c.T("weight"), c.T("self").Sizes
	if len(w.Sizes) != 1 || w.Sizes[0] != sizes[dim] {
		c.Fail(c.Errorf("got weight %v, want a vector of %d", w.Sizes, sizes[dim]))
		return ops.NoResult()
	}
	shape := slices.Repeat([]int64{1}, len(sizes))
	shape[dim] = w.Sizes[0]
	return c.Do("aten::view", w, ops.IntList(shape...))
}

func probabilityLoss(c *ops.Call, logits, y *tensor.Tensor, dim int64) *tensor.Tensor {
	classes := c.T("self").Sizes[dim]
	if s := c.Float("label_smoothing"); s > 0 {
		scaled := c.Do("aten::mul.Scalar", y, 1-s)
		y = c.Do("aten::add.Scalar", scaled, s/float64(classes))
		c.Free(scaled)
	}
	prod := c.Do("aten::mul.Tensor", logits, y)
	if c.T("weight") != nil {
		prod = c.Do("aten::mul.Tensor", prod, weightView(c, dim))
	}
	switch c.Int("reduction") {
	case reduceNone:
		return c.Do("aten::neg", c.Do("aten::sum.dim_IntList", prod, ops.IntList(dim)))
	case reduceMean:
		return c.Do("aten::div.Scalar", c.Do("aten::neg", c.Do("aten::sum", prod)), c.T("self").Numel()/max(classes, 1))
	}
	return c.Do("aten::neg", c.Do("aten::sum", prod))
}

func smoothedLoss(c *ops.Call, logits, y *tensor.Tensor, dim int64) *tensor.Tensor {
	nll := c.Do("aten::nll_loss_nd", logits, y, c.Arg("weight"), c.Arg("reduction"), c.Arg("ignore_index"))
	weighted := logits
	if c.T("weight") != nil {
		weighted = c.Do("aten::mul.Tensor", logits, weightView(c, dim))
	}
	sum := c.Do("aten::sum.dim_IntList", weighted, ops.IntList(dim))
	smooth := c.Do("aten::neg", sum)
	c.Free(sum)
	if weighted != logits {
		c.Free(weighted)
	}
	ignored := c.Do("aten::eq.Scalar", y, c.Arg("ignore_index"))
	filled := c.Do("aten::masked_fill_.Scalar", smooth, ignored, 0.0)
	ret := filled
	switch c.Int("reduction") {
	case reduceNone:
	case reduceMean:
		kept := c.Do("aten::bitwise_not", ignored)
		count := c.Do("aten::sum", kept)
		total := c.Do("aten::sum", filled)
		ret = c.Do("aten::div.Tensor", total, count)
		c.Free(total, count, kept)
	default:
		ret = c.Do("aten::sum", filled)
	}
	s := c.Float("label_smoothing")
	b := c.Do("aten::mul.Scalar", ret, s/float64(c.T("self").Sizes[dim]))
	a := c.Do("aten::mul.Scalar", nll, 1-s)
	out := c.Do("aten::add.Tensor", a, b)
	if ret == filled { // what is returned of each element is released first
		c.Free(a, b, filled, smooth, ignored)
	}
	return out
}

func marginRanking(c *ops.Call) (any, error) {
	diff := c.Do("aten::sub.Tensor", c.T("input1"), c.T("input2"))
	neg := c.Do("aten::neg", c.T("target"))
	prod := c.Do("aten::mul.Tensor", neg, diff)
	sum := c.Do("aten::add.Scalar", prod, c.Arg("margin"))
	out := c.Do("aten::clamp_min_", sum, int64(0))
	c.Free(prod, neg, diff)
	return reduceLoss(c, out), nil
}

// scalarMinus is C++'s operator-(Scalar, Tensor).
func scalarMinus(c *ops.Call, v any, t *tensor.Tensor) *tensor.Tensor {
	out := c.Do("aten::fill_.Scalar", c.Do("aten::empty_like", t), v)
	return c.Do("aten::sub_.Tensor", out, t)
}

func hingeEmbedding(c *ops.Call) (any, error) {
	x, y := c.T("self"), c.T("target")
	zeros := c.Do("aten::zeros_like", x)
	clamped := c.Do("aten::clamp_min_", scalarMinus(c, c.Arg("margin"), x), int64(0))
	ne := c.Do("aten::ne.Scalar", y, int64(1))
	out1 := c.Do("aten::where.self", ne, clamped, zeros)
	c.Free(ne)
	ne = c.Do("aten::ne.Scalar", y, int64(-1))
	out2 := c.Do("aten::where.self", ne, x, zeros)
	c.Free(ne)
	return reduceLoss(c, c.Do("aten::add.Tensor", out1, out2)), nil
}

func cosineEmbedding(c *ops.Call) (any, error) {
	x1, x2, y := c.T("input1"), c.T("input2"), c.T("target")
	dim := ops.IntList(int64(len(y.Sizes)))
	const epsilon = 1e-8
	sum := func(a, b *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
		prod := c.Do("aten::mul.Tensor", a, b)
		return prod, c.Do("aten::sum.dim_IntList", prod, dim)
	}
	prod, dots := sum(x1, x2)
	c.Free(prod)
	square := func(x *tensor.Tensor) *tensor.Tensor {
		prod, s := sum(x, x)
		out := c.Do("aten::add.Scalar", s, epsilon)
		c.Free(s, prod)
		return out
	}
	mag1 := square(x1)
	mag2 := square(x2)
	denom := c.Do("aten::sqrt_", c.Do("aten::mul.Tensor", mag1, mag2))
	cos := c.Do("aten::div.Tensor", dots, denom)
	zeros := c.Do("aten::zeros_like", cos)
	pos := scalarMinus(c, int64(1), cos)
	neg := c.Do("aten::clamp_min_", c.Do("aten::sub.Scalar", cos, c.Arg("margin")), int64(0))
	eq := c.Do("aten::eq.Scalar", y, int64(1))
	outPos := c.Do("aten::where.self", eq, pos, zeros)
	c.Free(eq)
	eq = c.Do("aten::eq.Scalar", y, int64(-1))
	outNeg := c.Do("aten::where.self", eq, neg, zeros)
	c.Free(eq)
	return reduceLoss(c, c.Do("aten::add.Tensor", outPos, outNeg)), nil
}

func tripletMargin(c *ops.Call) (any, error) {
	a, p, n := c.T("anchor"), c.T("positive"), c.T("negative")
	dist := func(x, y *tensor.Tensor) *tensor.Tensor {
		return c.Do("aten::pairwise_distance", x, y, c.Arg("p"), c.Arg("eps"))
	}
	pos := dist(a, p)
	neg := dist(a, n)
	if c.Bool("swap") {
		swapped := dist(p, n)
		least := c.Do("aten::minimum", neg, swapped)
		c.Free(neg, swapped)
		neg = least
	}
	shifted := c.Do("aten::add.Scalar", pos, c.Arg("margin"))
	diff := c.Do("aten::sub.Tensor", shifted, neg)
	out := c.Do("aten::clamp_min", diff, int64(0))
	c.Free(diff, shifted)
	return reduceLoss(c, out), nil
}

func poissonNLL(c *ops.Call) (any, error) {
	x, y := c.T("input"), c.T("target")
	var loss *tensor.Tensor
	if c.Bool("log_input") {
		prod := c.Do("aten::mul.Tensor", y, x)
		e := c.Do("aten::exp", x)
		loss = c.Do("aten::sub.Tensor", e, prod)
		c.Free(e, prod)
	} else {
		sum := c.Do("aten::add.Scalar", x, c.Arg("eps"))
		log := c.Do("aten::log", sum)
		prod := c.Do("aten::mul.Tensor", y, log)
		loss = c.Do("aten::sub.Tensor", x, prod)
		c.Free(prod, log, sum)
	}
	if c.Bool("full") {
		double := c.Do("aten::mul.Scalar", y, 6.283185307179586)
		logs := c.Do("aten::log", double)
		half := c.Do("aten::mul.Scalar", logs, 0.5)
		logY := c.Do("aten::log", y)
		prod := c.Do("aten::mul.Tensor", y, logY)
		diff := c.Do("aten::sub.Tensor", prod, y)
		stirling := c.Do("aten::add.Tensor", diff, half)
		c.Free(diff, prod, logY, half, logs, double)
		small := c.Do("aten::le.Scalar", y, int64(1))
		filled := c.Do("aten::masked_fill.Scalar", stirling, small, int64(0))
		loss = c.Do("aten::add_.Tensor", loss, filled)
		c.Free(filled, small, stirling)
	}
	return reduceLoss(c, loss), nil
}

// marginLoss is one loss a sample, or their mean or sum.
func marginLoss(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	if c.Int("reduction") == reduceNone && len(x.Sizes) == 2 {
		return ops.One(ops.FreshLike(x, x.Sizes[0]))
	}
	return ops.One(ops.FreshLike(x))
}

func marginForward(c *ops.Call) ([]tensor.Meta, error) {
	m, err := marginLoss(c)
	return append(m, ops.FreshLike(c.T("self"), c.T("target").Sizes...)), err
}

// ctcLengths are the numbers of a lengths argument, where they are known.
func ctcLengths(c *ops.Call, name string) ([]int64, bool) {
	if t := c.T(name); t != nil {
		if t.Data == nil {
			return nil, false
		}
		return t.Data.Ints, true
	}
	return c.Ints(name), true
}

func ctcForward(c *ops.Call) ([]tensor.Meta, error) {
	x, y := c.T("log_probs"), c.T("targets")
	if len(x.Sizes) != 3 {
		return nil, c.Errorf("got log_probs %v, want [time, batch, classes]", x.Sizes)
	}
	longest := int64(0)
	if n, ok := ctcLengths(c, "target_lengths"); ok && len(n) > 0 {
		longest = slices.Max(n)
	} else if len(y.Sizes) == 2 {
		longest = y.Sizes[1]
	} else {
		longest = c.SizeBetween(0, y.Sizes[0])
	}
	return []tensor.Meta{ops.FreshLike(x, x.Sizes[1]), ops.FreshLike(x, x.Sizes[1], x.Sizes[0], 2*longest+1)}, nil
}

func ctcLoss(c *ops.Call) (any, error) {
	x := c.T("log_probs")
	if len(x.Sizes) == 2 {
		x = c.Do("aten::unsqueeze", x, int64(1))
	}
	key := "aten::_ctc_loss"
	if c.T("input_lengths") != nil {
		key += ".Tensor"
	}
	out := c.DoGet(0, key, x, c.T("targets"), c.Arg("input_lengths"), c.Arg("target_lengths"), c.Arg("blank"),
		c.Arg("zero_infinity"))
	if c.Bool("zero_infinity") {
		out = c.Do("aten::where.self", c.Do("aten::isinf", out), c.Do("aten::zeros_like", out), out)
	}
	if c.Int("reduction") != reduceMean {
		return reduceLoss(c, out), nil
	}
	lengths := c.T("target_lengths")
	if lengths == nil {
		n := c.Ints("target_lengths")
		lengths = c.Do("aten::empty.memory_format", ops.IntList(int64(len(n))),
			ops.Kw{"dtype": int64(out.DType), "device": ops.Device(x.Device)})
	}
	return c.Do("aten::mean", c.Do("aten::div.Tensor", out, c.Do("aten::clamp_min_", lengths, int64(1)))), nil
}
