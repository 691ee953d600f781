package quant

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/nn"
	"github.com/memspec/memspec/engine/tensor"
)

func quantized(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	d := c.DTypeOr("dtype", tensor.QUint8)
	if !d.Quantized() {
		return nil, c.Errorf("got %s, want a quantized dtype", d)
	}
	return ops.One(ops.EmptyLike(x, d, x.SuggestFormat()))
}

func quantizedEach(c *ops.Call) ([]tensor.Meta, error) {
	var out []tensor.Meta
	for _, t := range c.Tensors("tensors") {
		out = append(out, ops.EmptyLike(t, c.DTypeOr("dtype", tensor.QUint8), t.SuggestFormat()))
	}
	return out, nil
}

func dequantized(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	return ops.One(ops.EmptyLike(x, tensor.Float32, x.SuggestFormat()))
}

func dequantizedEach(c *ops.Call) ([]tensor.Meta, error) {
	var out []tensor.Meta
	for _, v := range c.Args[0].(*ops.List).Items {
		if t, ok := v.(*tensor.Tensor); ok {
			out = append(out, ops.EmptyLike(t, tensor.Float32, t.SuggestFormat()))
		}
	}
	return out, nil
}

func dequantizeAny(c *ops.Call) (any, error) {
	switch v := c.Args[0].(type) {
	case *tensor.Tensor:
		return c.Do("aten::dequantize.self", v), nil
	case *ops.List:
		return c.DoAny("aten::dequantize.tensors", v), nil
	case *ops.Tuple:
		return c.DoAny("aten::dequantize.tensors", ops.NewList(0, v.Items...)), nil
	}
	return c.Args[0], nil
}

func intRepr(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	d, ok := map[tensor.DType]tensor.DType{tensor.QUint8: tensor.Uint8, tensor.QInt8: tensor.Int8,
		tensor.QInt32:   tensor.Int32,
		tensor.QUint4x2: tensor.Uint8, tensor.QUint2x4: tensor.Uint8}[x.DType]
	if !ok {
		return nil, c.Errorf("got %s, want a quantized dtype", x.DType)
	}
	return ops.One(ops.EmptyLike(x, d, tensor.Preserve))
}

// unknownNumber is a scale or zero point: data, not metadata.
func unknownNumber(c *ops.Call) (any, error) {
	return ops.NewUnbacked(c.Schema.Name, ops.KindOf(c.Schema.Returns[0].Type)), nil
}

// channelScales are the parameters of the channels; which dimension they belong to is not known
// here, mostly the first.
func channelScales(d tensor.DType) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x := c.Self()
		if len(x.Sizes) == 0 {
			return nil, c.Errorf("got no dimensions, want at least 1")
		}
		return ops.One(ops.FreshAs(x, d, x.Sizes[0]))
	}
}

func withMask(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	return []tensor.Meta{ops.EmptyLike(x, x.DType, tensor.Preserve), ops.EmptyLike(x, tensor.Bool, tensor.Preserve)},
		nil
}

func emptyQuantized(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.NewMeta(c.DTypeOr("dtype", tensor.QUint8), c.DeviceOr("device", "cpu"), c.Ints("size")))
}

func reQuantized(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	d, ok := map[tensor.DType]tensor.DType{tensor.Uint8: tensor.QUint8, tensor.Int8: tensor.QInt8,
		tensor.Int32: tensor.QInt32}[x.DType]
	if !ok {
		return nil, c.Errorf("got %s, want uint8, int8 or int32", x.DType)
	}
	return ops.One(ops.EmptyLike(x, d, tensor.Preserve))
}

// quantSame is a result like the first tensor.
func quantSame(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Operands()[0]
	return ops.One(ops.EmptyLike(x, x.DType, x.SuggestFormat()))
}

// quantNorm is a batch norm over images or volumes, whose kernel gives channels last
// (aten/src/ATen/native/quantized/cpu/Normalization.cpp).
func quantNorm(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("qx")
	if len(x.Sizes) < 4 {
		return quantSame(c)
	}
	return ops.One(channelsLast(x, x.Sizes))
}

// quantDense is contiguous, of the first tensor's sizes.
func quantDense(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Operands()[0]
	return ops.One(ops.FreshLike(x, x.Sizes...))
}

func quantPointwise(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Operands()
	shape := ts[0].Sizes
	for _, t := range ts[1:] {
		var err error
		if shape, err = c.Broadcast(shape, t.Sizes); err != nil {
			return nil, err
		}
	}
	return ops.One(ops.FreshFormat(ts[0], ts[0].SuggestFormat(), shape...))
}

func quantCat(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("qx")
	if len(ts) == 0 || ts[0] == nil {
		return nil, c.Errorf("got no tensors, want at least 1")
	}
	d, err := c.WrapDim(c.Int("dim"), len(ts[0].Sizes))
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(ts[0].Sizes)
	for _, t := range ts[1:] {
		if len(t.Sizes) != len(sizes) {
			return nil, c.Errorf("got %v and %v, want as many dimensions", ts[0].Sizes, t.Sizes)
		}
		sizes[d] += t.Sizes[d]
	}
	return ops.One(ops.FreshFormat(ts[0], ts[0].SuggestFormat(), sizes...))
}

func quantMatmul(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("qa"), c.T("qb")
	n := len(a.Sizes)
	if n < 2 || len(b.Sizes) != n || a.Sizes[n-1] != b.Sizes[n-2] {
		return nil, c.Errorf("got %v and %v, want [… n m] and [… m p]", a.Sizes, b.Sizes)
	}
	return ops.One(ops.FreshLike(a, append(slices.Clone(a.Sizes[:n-1]), b.Sizes[n-1])...))
}

func quantPool(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x := c.T("qx")
		sizes, err := nn.PooledSizes(c, x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return ops.One(ops.FreshFormat(x, nn.PoolFormat(x, n), sizes...))
	}
}

// quantizedLayer is a recurrent layer with packed weights: its states have the sizes.
func quantizedLayer(mode nn.RNNMode) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x, hx := c.Self(), c.T("hx")
		var cx *tensor.Tensor
		if mode == nn.LSTM {
			hs := c.Tensors("hx")
			if len(hs) != 2 {
				return nil, c.Errorf("got %d hidden states, want 2", len(hs))
			}
			hx, cx = hs[0], hs[1]
		}
		if len(hx.Sizes) == 0 || len(x.Sizes) < 2 {
			return nil, c.Errorf("got input %v and state %v, want at least 2 dimensions", x.Sizes, hx.Sizes)
		}
		n := len(x.Sizes) - 1
		y := ops.FreshLike(x, append(slices.Clone(x.Sizes[:n]), hx.Sizes[len(hx.Sizes)-1]*nn.RNNDirections(c))...)
		if n == 2 && c.Bool("batch_first") {
			y = ops.TransposedMeta(ops.FreshLike(x, y.Sizes[1], y.Sizes[0], y.Sizes[2]), 0, 1)
		}
		out := []tensor.Meta{y, ops.FreshLike(hx, hx.Sizes...)}
		if mode == nn.LSTM {
			out = append(out, ops.FreshLike(cx, cx.Sizes...))
		}
		return out, nil
	}
}

func quantizedCell(c *ops.Call) ([]tensor.Meta, error) {
	states := c.Tensors("hx")
	if t := c.T("hx"); t != nil {
		states = []*tensor.Tensor{t}
	}
	var out []tensor.Meta
	for _, t := range states {
		out = append(out, ops.FreshLike(t, t.Sizes...))
	}
	return out, nil
}
