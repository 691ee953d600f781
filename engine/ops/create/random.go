package create

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Random numbers and dropout (aten/src/ATen/native/Distributions.cpp, Dropout.cpp).

func randint(c *ops.Call) ([]tensor.Meta, error) { return created(c, tensor.Int64, c.Ints("size")...) }

// someNumber wants a number from low on below high (native/DistributionTemplates.h random_from_to).
func someNumber(c *ops.Call) error {
	low, high := int64(0), c.Int("high")
	if c.Schema.ArgIndex("low") >= 0 {
		low = c.Int("low")
	}
	if low >= high {
		return c.Errorf("got numbers from %d below %d, want at least one", low, high)
	}
	return nil
}

// randintInto writes into the tensor that it is given, of its dtype, resized where its sizes are
// others.
func randintInto(c *ops.Call) ([]tensor.Meta, error) {
	out, sizes := c.T("out"), c.Ints("size")
	if slices.Equal(out.Sizes, sizes) {
		return []tensor.Meta{out.Meta}, nil
	}
	return []tensor.Meta{ops.ViewOf(out, sizes, tensor.ContiguousStrides(sizes), out.StorageOffset)}, nil
}

// contiguousLike has the sizes of self (native/Distributions.cpp LEGACY_CONTIGUOUS_MEMORY_FORMAT).
func contiguousLike(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.FreshLike(c.Self(), c.Self().Sizes...))
}

// spread is std, which is not negative.
func spread(c *ops.Call) error {
	if s := c.Float("std"); s < 0 {
		return c.Errorf("got std %v, want at least 0", s)
	}
	return nil
}

func randperm(c *ops.Call) ([]tensor.Meta, error) { return created(c, tensor.Int64, c.Int("n")) }

// normal has the broadcast sizes of mean and std, laid out as std where that has them.
func normal(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Operands()
	shapes := make([][]int64, len(ts))
	for i, t := range ts {
		shapes[i] = t.Sizes
	}
	shape, err := c.Broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	if std := c.T("std"); std != nil && slices.Equal(std.Sizes, shape) {
		return ops.One(ops.EmptyLike(std, ts[0].DType, tensor.Preserve))
	}
	return ops.One(ops.FreshLike(ts[0], shape...))
}

// multinomial draws num_samples a row.
func multinomial(c *ops.Call) ([]tensor.Meta, error) {
	self, n := c.Self(), c.Int("num_samples")
	rank := len(self.Sizes)
	switch {
	case rank < 1 || rank > 2 || !self.DType.Floating():
		return nil, c.Errorf("got %s of sizes %v, want floats in 1 or 2 dimensions", self.DType, self.Sizes)
	case n < 1 || !c.Bool("replacement") && n > self.Sizes[rank-1]:
		return nil, c.Errorf("got %d samples of %d", n, self.Sizes[rank-1])
	}
	return ops.One(ops.FreshAs(self, tensor.Int64, append(slices.Clone(self.Sizes[:rank-1]), n)...))
}

// multinomialWorkspace is the exponential noise that the weights are divided by, where nothing is
// drawn twice.
func multinomialWorkspace(c *ops.Call) []workspace.Request {
	if !ops.OnCUDA(c.Self()) || c.Bool("replacement") && c.Int("num_samples") > 1 {
		return nil
	}
	return workspace.Before(workspace.CopyOf(&c.Self().Meta, "aten/src/ATen/native/Distributions.cpp multinomial_out"))
}

// isFused says whether dropout runs as one kernel (is_fused_kernel_acceptable).
func isFused(t *tensor.Tensor, p float64) bool {
	return t.Device != "cpu" && p > 0 && p < 1 && t.Numel() > 0
}

// dropoutKind is one of the eight dropouts.
type dropoutKind struct{ feature, alpha, inPlace bool }

// run is _dropout_impl: noise of the input's sizes (or one a channel), then a product. Without
// training the input itself.
func (k dropoutKind) run(c *ops.Call) (any, error) {
	x, p := c.Self(), c.Float("p")
	if p < 0 || p > 1 {
		return nil, c.Errorf("got p %v, want 0 to 1", p)
	}
	if p == 0 || !c.Bool("train") || x.Numel() == 0 {
		return x, nil
	}
	if !k.feature && !k.alpha && !k.inPlace && isFused(x, p) {
		out := c.DoList("aten::native_dropout", x, p, true)
		if c.Err() != nil {
			return nil, nil
		}
		return out[0], nil
	}
	mul := "aten::mul.Tensor"
	if k.inPlace {
		mul = "aten::mul_.Tensor"
	}
	on := ops.Kw{"dtype": int64(x.DType), "device": ops.Device(x.Device)}
	if p == 1 {
		return c.Do(mul, x, c.Do("aten::zeros", ops.IntList(), on)), nil
	}
	var noise *tensor.Tensor
	if k.feature {
		if len(x.Sizes) < 2 {
			return nil, c.Errorf("got %d dimensions, want at least 2", len(x.Sizes))
		}
		sizes := slices.Repeat([]int64{1}, len(x.Sizes))
		copy(sizes, x.Sizes[:2])
		noise = c.Do("aten::new_empty", x, ops.IntList(sizes...))
	} else {
		noise = c.Do("aten::empty_like", x)
	}
	c.DoWrite("aten::bernoulli_.float", noise, 1-p)
	if !k.alpha {
		c.DoWrite("aten::div_.Scalar", noise, 1-p)
		out := c.Do(mul, x, noise)
		c.Free(noise)
		return out, nil
	}
	shift := c.Do("aten::add.Scalar", noise, int64(-1))
	out := c.Do(mul, x, noise)
	c.DoWrite("aten::add_.Tensor", out, shift)
	c.Free(noise, shift)
	return out, nil
}

// nativeDropout is the result and its mask. The CUDA kernel makes the mask first and copies the
// input where it does not train; on fake tensors the result comes first, and is the input.
func nativeDropout(c *ops.Call) (any, error) {
	x := c.Self()
	train := !c.Has("train") || c.Bool("train")
	masked := func() *tensor.Tensor { return c.Do("aten::empty_like", x, ops.Kw{"dtype": int64(tensor.Bool)}) }
	var out, mask *tensor.Tensor
	switch none := c.Platform().IsNone(); {
	case none && !train:
		out = x
		mask = masked()
	case none:
		out = c.Do("aten::empty_like", x)
		mask = masked()
	case train:
		mask = masked()
		out = c.Do("aten::empty_like", x)
	default:
		out = c.Do("aten::clone", x)
		mask = masked()
	}
	if c.Err() != nil {
		return nil, nil
	}
	return c.Tuple(out, mask), nil
}

// fusedDropout keeps its mask as bytes.
func fusedDropout(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	return []tensor.Meta{ops.EmptyLike(x, x.DType, tensor.Preserve), ops.EmptyLike(x, tensor.Uint8, tensor.Preserve)},
		nil
}

// rrelu draws noise of the input's sizes.
func rrelu(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		noise := c.Do("aten::empty_like", c.Self())
		return c.Do(key, slices.Insert(slices.Clone(c.Args), 1, any(noise))...), nil
	}
}
