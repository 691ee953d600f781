package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// rows are the leading sizes of x that a norm over shape leaves, and the statistics' sizes: those
// and ones.
func rows(c *ops.Call, x *tensor.Tensor, shape []int64) ([]int64, error) {
	n := len(x.Sizes) - len(shape)
	if len(shape) == 0 || n < 0 || !slices.Equal(x.Sizes[n:], shape) {
		return nil, c.Errorf("got input %v, want one that ends in %v", x.Sizes, shape)
	}
	stat := slices.Clone(x.Sizes)
	for i := n; i < len(stat); i++ {
		stat[i] = 1
	}
	return stat, nil
}

func layerNorm(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::native_layer_norm", c.T("input"), c.Arg("normalized_shape"), c.Arg("weight"),
		c.Arg("bias"), c.Arg("eps")), nil
}

func nativeLayerNorm(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input")
	stat, err := rows(c, x, c.Ints("normalized_shape"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"weight", "bias"} {
		t := c.T(name)
		if t == nil {
			continue
		}
		if !slices.Equal(t.Sizes, c.Ints("normalized_shape")) {
			return nil, c.Errorf("got %s %v, want %v", name, t.Sizes, c.Ints("normalized_shape"))
		}
		if ops.OnCUDA(x) && t.DType != x.DType {
			return nil, c.Errorf("got input of %s and %s of %s, want one dtype", x.DType, name, t.DType)
		}
	}
	d := x.DType.AccumulateType()
	return []tensor.Meta{ops.FreshLike(x, x.Sizes...), ops.FreshAs(x, d, stat...), ops.FreshAs(x, d, stat...)}, nil
}

// normWorkspace are contiguous copies of the operands, made before the results.
func normWorkspace(c *ops.Call) []workspace.Request {
	return workspace.Before(workspace.Contiguous("native/layer_norm.cpp expect_contiguous", c.OperandMetas()...)...)
}

func groupNorm(c *ops.Call) (any, error) {
	x, groups := c.T("input"), c.Int("num_groups")
	if len(x.Sizes) < 2 || groups <= 0 || x.Sizes[1]%groups != 0 {
		return nil, c.Errorf("got input %v in %d groups, want channels that divide", x.Sizes, groups)
	}
	n, ch := x.Sizes[0], x.Sizes[1]
	return c.DoGet(0, "aten::native_group_norm", x, c.Arg("weight"), c.Arg("bias"), n, ch, tensor.Numel(x.Sizes[2:]),
		groups, c.Arg("eps")), nil
}

func nativeGroupNorm(c *ops.Call) ([]tensor.Meta, error) {
	x, n, g := c.T("input"), c.Int("N"), c.Int("group")
	if g <= 0 || c.Int("C")%g != 0 || x.Numel() != n*c.Int("C")*c.Int("HxW") {
		return nil, c.Errorf("got input %v for N %d, C %d, HxW %d in %d groups", x.Sizes, n, c.Int("C"), c.Int("HxW"),
			g)
	}
	if c.Int("HxW") == 0 && n > 0 && c.Int("C") > 0 {
		return nil, c.Errorf("got input %v, want more than one value a group", x.Sizes)
	}
	if err := checkChannels(c, c.Int("C"), "weight", "bias"); err != nil {
		return nil, err
	}
	d := x.DType
	if x.Device == "cpu" && c.T("weight") != nil {
		d = c.T("weight").DType
	}
	return []tensor.Meta{ops.FreshFormat(x, x.SuggestFormat(), x.Sizes...), ops.FreshAs(x, d, n, g),
		ops.FreshAs(x, d, n, g)}, nil
}

func groupNormWorkspace(c *ops.Call) []workspace.Request {
	x, affine := c.T("input"), c.T("weight") != nil || c.T("bias") != nil
	return workspace.GroupNorm{Input: &x.Meta, N: c.Int("N"), Channels: c.Int("C"), PerChannel: c.Int("HxW"),
		Groups: c.Int("group"), Affine: affine}.Requests()
}

// rmsNorm takes the fused kernel where it can (native/layer_norm.cpp rms_norm_symint).
func rmsNorm(c *ops.Call) (any, error) {
	x, w := c.T("input"), c.T("weight")
	shape := c.Ints("normalized_shape")
	if _, err := rows(c, x, shape); err != nil {
		return nil, err
	}
	if w != nil && !slices.Equal(w.Sizes, shape) {
		return nil, c.Errorf("got weight %v, want %v", w.Sizes, shape)
	}
	last := x.SuggestFormat() != tensor.Contiguous
	if !last && !x.DType.Complex() && (w == nil || w.DType == x.DType) && ops.OnCUDA(x) &&
		c.Platform().Release().FusedRMSNorm {
		return c.DoGet(0, "aten::_fused_rms_norm", x, ops.IntList(shape...), ops.OrNone(w), c.Arg("eps")), nil
	}
	dims := make([]int, len(shape))
	for i := range dims {
		dims[i] = len(x.Sizes) - len(shape) + i
	}
	up := x
	if x.DType == tensor.Float16 || x.DType == tensor.BFloat16 {
		up = c.Do("aten::_to_copy", x, ops.Kw{"dtype": int64(tensor.Float32)})
	}
	square := c.Do("aten::pow.Tensor_Scalar", up, int64(2))
	mean := c.Do("aten::add_.Scalar", c.Do("aten::mean.dim", square, ops.DimList(dims), true), rmsEps(c))
	scale := c.Do("aten::rsqrt", mean)
	c.Free(mean) // held twice: by mean.dim's result and by add_'s
	c.Free(mean, square)
	out := c.Do("aten::mul.Tensor", up, scale)
	if w != nil {
		weighted := c.Do("aten::mul.Tensor", out, w)
		c.Free(out)
		out = weighted
	}
	if !last && c.OK() && !out.IsContiguous() {
		dense := c.Do("aten::contiguous", out)
		c.Free(out)
		out = dense
	}
	if up != x {
		c.Free(up)
	}
	if c.OK() && out.DType != x.DType { // of half, or of another weight
		out = c.Do("aten::type_as", out, x)
	}
	return out, nil
}

func rmsEps(c *ops.Call) any {
	if e := c.Arg("eps"); e != nil {
		return e
	}
	return 1e-7
}

func fusedRMSNorm(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input")
	stat, err := rows(c, x, c.Ints("normalized_shape"))
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{ops.FreshLike(x, x.Sizes...), ops.FreshAs(x, x.DType.AccumulateType(), stat...)}, nil
}

// weightNorm is fused for the first and the last dimension (WeightNorm.cpp).
func weightNorm(c *ops.Call) (any, error) {
	v, g, dim := c.T("v"), c.T("g"), c.Int("dim")
	dv, dg := c.Do("aten::contiguous", v), c.Do("aten::contiguous", g)
	if dim == 0 || dim == int64(len(v.Sizes)-1) {
		return c.DoGet(0, "aten::_weight_norm_interface", dv, dg, dim), nil
	}
	ratio := c.Do("aten::div.Tensor", dg, c.Do("aten::norm_except_dim", dv, int64(2), dim))
	return c.Do("aten::mul.Tensor", dv, ratio), nil
}

func weightNormInterface(c *ops.Call) ([]tensor.Meta, error) {
	v, g := c.T("v"), c.T("g")
	return []tensor.Meta{ops.FreshLike(v, v.Sizes...), ops.FreshAs(g, g.DType.AccumulateType(), g.Sizes...)}, nil
}

func normExceptDim(c *ops.Call) (any, error) {
	v, pow, dim := c.T("v"), c.Int("pow"), c.Int("dim")
	n := int64(len(v.Sizes))
	if dim == -1 {
		return c.Do("aten::norm.Scalar", v, pow), nil
	}
	if dim < 0 || dim >= n {
		return nil, c.Errorf("got dim %d, want one in [-1, %d]", dim, n-1)
	}
	shape := slices.Repeat([]int64{1}, int(n))
	shape[dim] = v.Sizes[dim]
	switch dim {
	case 0:
		flat := c.Do("aten::view", c.Do("aten::contiguous", v), ops.IntList(v.Sizes[0], -1))
		return c.Do("aten::view", c.Do("aten::norm.ScalarOpt_dim", flat, pow, ops.IntList(1)), ops.IntList(shape...)),
			nil
	case n - 1:
		flat := c.Do("aten::view", c.Do("aten::contiguous", v), ops.IntList(-1, v.Sizes[dim]))
		return c.Do("aten::view", c.Do("aten::norm.ScalarOpt_dim", flat, pow, ops.IntList(0)), ops.IntList(shape...)),
			nil
	}
	t := c.Do("aten::norm_except_dim", c.Do("aten::transpose.int", v, int64(0), dim), pow, int64(0))
	return c.Do("aten::transpose.int", t, int64(0), dim), nil
}
