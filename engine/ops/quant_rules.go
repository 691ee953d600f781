package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

func quantized(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	d := c.DTypeOr("dtype", tensor.QUint8)
	if !d.Quantized() {
		return nil, c.Errorf("got %s, want a quantized dtype", d)
	}
	return one(emptyLike(x, d, x.SuggestFormat()))
}

func quantizedEach(c *Call) ([]tensor.Meta, error) {
	var out []tensor.Meta
	for _, t := range c.Tensors("tensors") {
		out = append(out, emptyLike(t, c.DTypeOr("dtype", tensor.QUint8), t.SuggestFormat()))
	}
	return out, nil
}

func dequantized(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	return one(emptyLike(x, tensor.Float32, x.SuggestFormat()))
}

func dequantizedEach(c *Call) ([]tensor.Meta, error) {
	var out []tensor.Meta
	for _, v := range c.Args[0].(*List).Items {
		if t, ok := v.(*tensor.Tensor); ok {
			out = append(out, emptyLike(t, tensor.Float32, t.SuggestFormat()))
		}
	}
	return out, nil
}

func dequantizeAny(c *Call) (any, error) {
	switch v := c.Args[0].(type) {
	case *tensor.Tensor:
		return c.Do("aten::dequantize.self", v), nil
	case *List:
		return c.DoAny("aten::dequantize.tensors", v), nil
	case *Tuple:
		return c.DoAny("aten::dequantize.tensors", NewList(0, v.Items...)), nil
	}
	return c.Args[0], nil
}

func intRepr(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	d, ok := map[tensor.DType]tensor.DType{tensor.QUint8: tensor.Uint8, tensor.QInt8: tensor.Int8, tensor.QInt32: tensor.Int32,
		tensor.QUint4x2: tensor.Uint8, tensor.QUint2x4: tensor.Uint8}[x.DType]
	if !ok {
		return nil, c.Errorf("got %s, want a quantized dtype", x.DType)
	}
	return one(emptyLike(x, d, tensor.Preserve))
}

// unknownNumber is a scale or zero point: data, not metadata.
func unknownNumber(c *Call) (any, error) {
	return Unknown{Op: c.Schema.Name, Kind: KindOf(c.Schema.Returns[0].Type)}, nil
}

// channelScales are the parameters of the channels; which dimension they belong to is not known here, mostly the first.
func channelScales(d tensor.DType) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x := c.self()
		if len(x.Sizes) == 0 {
			return nil, c.Errorf("got no dimensions, want at least 1")
		}
		return one(freshAs(x, d, x.Sizes[0]))
	}
}

func withMask(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	return []tensor.Meta{emptyLike(x, x.DType, tensor.Preserve), emptyLike(x, tensor.Bool, tensor.Preserve)}, nil
}

func emptyQuantized(c *Call) ([]tensor.Meta, error) {
	return one(newMeta(c.DTypeOr("dtype", tensor.QUint8), c.DeviceOr("device", "cpu"), c.Ints("size")))
}

func reQuantized(c *Call) ([]tensor.Meta, error) {
	x := c.self()
	d, ok := map[tensor.DType]tensor.DType{tensor.Uint8: tensor.QUint8, tensor.Int8: tensor.QInt8, tensor.Int32: tensor.QInt32}[x.DType]
	if !ok {
		return nil, c.Errorf("got %s, want uint8, int8 or int32", x.DType)
	}
	return one(emptyLike(x, d, tensor.Preserve))
}

// quantSame is a result like the first tensor.
func quantSame(c *Call) ([]tensor.Meta, error) {
	x := c.operands()[0]
	return one(emptyLike(x, x.DType, x.SuggestFormat()))
}

func quantPointwise(c *Call) ([]tensor.Meta, error) {
	ts := c.operands()
	shape := ts[0].Sizes
	for _, t := range ts[1:] {
		var err error
		if shape, err = c.broadcast(shape, t.Sizes); err != nil {
			return nil, err
		}
	}
	return one(freshFormat(ts[0], ts[0].SuggestFormat(), shape...))
}

func quantCat(c *Call) ([]tensor.Meta, error) {
	ts := c.Tensors("qx")
	if len(ts) == 0 || ts[0] == nil {
		return nil, c.Errorf("got no tensors, want at least 1")
	}
	d, err := c.wrapDim(c.Int("dim"), len(ts[0].Sizes))
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
	return one(freshFormat(ts[0], ts[0].SuggestFormat(), sizes...))
}

func quantMatmul(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("qa"), c.T("qb")
	n := len(a.Sizes)
	if n < 2 || len(b.Sizes) != n || a.Sizes[n-1] != b.Sizes[n-2] {
		return nil, c.Errorf("got %v and %v, want [… n m] and [… m p]", a.Sizes, b.Sizes)
	}
	return one(fresh(a, append(slices.Clone(a.Sizes[:n-1]), b.Sizes[n-1])...))
}

func quantPool(n int) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x := c.T("qx")
		sizes, err := c.pooledSizes(x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return one(freshFormat(x, poolFormat(x, n), sizes...))
	}
}

// quantizedLayer is a recurrent layer with packed weights: its states tell the sizes.
func quantizedLayer(mode rnnMode) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x, hx := c.self(), c.T("hx")
		var cx *tensor.Tensor
		if mode == lstmMode {
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
		out := []tensor.Meta{fresh(x, append(slices.Clone(x.Sizes[:n]), hx.Sizes[len(hx.Sizes)-1]*c.rnnDirections())...), fresh(hx, hx.Sizes...)}
		if mode == lstmMode {
			out = append(out, fresh(cx, cx.Sizes...))
		}
		return out, nil
	}
}

func quantizedCell(c *Call) ([]tensor.Meta, error) {
	states := c.Tensors("hx")
	if t := c.T("hx"); t != nil {
		states = []*tensor.Tensor{t}
	}
	var out []tensor.Meta
	for _, t := range states {
		out = append(out, fresh(t, t.Sizes...))
	}
	return out, nil
}
