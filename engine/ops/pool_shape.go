package ops

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/tensor"
)

// pooledSizes are the spatial sizes after pooling over n dimensions (native/Pool.h pooling_output_shape).
func (c *Call) pooledSizes(sizes []int64, n int) ([]int64, error) {
	if len(sizes) != n+1 && len(sizes) != n+2 {
		return nil, c.Errorf("got input %v, want %d or %d dimensions", sizes, n+1, n+2)
	}
	var p [4][]int64
	for i, name := range [4]string{"kernel_size", "stride", "padding", "dilation"} {
		w, err := c.wide(name, n, int64(i%2)) // no padding, dilation 1
		if err != nil {
			return nil, err
		}
		p[i] = w
	}
	if err := c.notEmpty(sizes, len(sizes)-n-1); err != nil {
		return nil, err
	}
	if c.Has("divisor_override") && c.Int("divisor_override") == 0 {
		return nil, c.Errorf("got divisor_override 0, want another")
	}
	kernel, stride, padding, dilation := p[0], p[1], p[2], p[3]
	if len(c.Ints("stride")) == 0 {
		stride = kernel
	}
	lead := len(sizes) - n
	out := slices.Clone(sizes[:lead])
	for i := range n {
		in := sizes[lead+i]
		if kernel[i] <= 0 || stride[i] <= 0 || dilation[i] <= 0 || padding[i] < 0 || 2*padding[i] > dilation[i]*(kernel[i]-1)+1 {
			return nil, c.Errorf("got kernel %v, stride %v and padding %v, want positive ones and padding of at most half the kernel", kernel, stride, padding)
		}
		span := in + 2*padding[i] - dilation[i]*(kernel[i]-1) - 1
		if c.Bool("ceil_mode") {
			span += stride[i] - 1
		}
		d := divFloor(span, stride[i]) + 1
		// the last window must begin inside the input or its left padding
		if c.Bool("ceil_mode") && (d-1)*stride[i] >= in+padding[i] {
			d--
		}
		if d < 1 {
			return nil, c.Errorf("got input %v, too small for kernel %v", sizes, kernel)
		}
		out = append(out, d)
	}
	return out, nil
}

// poolFormat is the layout of a pooled result: the input's, where it has a batch.
func poolFormat(x *tensor.Tensor, n int) tensor.MemoryFormat {
	if len(x.Sizes) != n+2 {
		return tensor.Contiguous
	}
	return x.SuggestFormat()
}

// withIndices is a result and the int64 places it came from.
func withIndices(m tensor.Meta) []tensor.Meta {
	i := m.Clone()
	i.DType = tensor.Int64
	return []tensor.Meta{m, i}
}

func maxPool(n int) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x := c.T("self")
		sizes, err := c.pooledSizes(x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return withIndices(freshFormat(x, poolFormat(x, n), sizes...)), nil
	}
}

func avgPool(n int) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x := c.T("self")
		sizes, err := c.pooledSizes(x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return one(freshFormat(x, poolFormat(x, n), sizes...))
	}
}

// flat gives a 1-d pooling its second dimension: pools of one dimension run as pools of two with a height of 1.
func flat(c *Call, name string) (*List, error) {
	v := c.Ints(name)
	switch {
	case len(v) == 0:
		return intList(), nil
	case len(v) != 1:
		return nil, c.Errorf("got %s %v, want 1 number", name, v)
	case name == "padding":
		return intList(0, v[0]), nil
	}
	return intList(1, v[0]), nil
}

func (c *Call) flats(names ...string) ([]any, error) {
	if n := len(c.T("self").Sizes); n != 2 && n != 3 {
		return nil, c.Errorf("got input %v, want 2 or 3 dimensions", c.T("self").Sizes)
	}
	out := []any{c.Do("aten::unsqueeze", c.T("self"), int64(-2))}
	for _, name := range names {
		l, err := flat(c, name)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func maxPool1dIndices(c *Call) (any, error) {
	args, err := c.flats("kernel_size", "stride", "padding", "dilation")
	if err != nil {
		return nil, err
	}
	ts := c.parts("aten::max_pool2d_with_indices", append(args, c.Bool("ceil_mode"))...)
	return c.Tuple(c.Do("aten::squeeze.dim", ts[0], int64(-2)), c.Do("aten::squeeze.dim", ts[1], int64(-2))), nil
}

// maxPool1d has a path of its own for the host, where it keeps no indices.
func maxPool1d(c *Call) (any, error) {
	return c.get(0, "aten::max_pool1d_with_indices", c.Args...), nil
}

func avgPool1d(c *Call) (any, error) {
	args, err := c.flats("kernel_size", "stride", "padding")
	if err != nil {
		return nil, err
	}
	out := c.Do("aten::avg_pool2d", append(args, c.Bool("ceil_mode"), c.Bool("count_include_pad"))...)
	return c.Do("aten::squeeze.dim", out, int64(-2)), nil
}

// adaptiveAvg is an average over all where that is asked for, as native/AdaptiveAveragePooling.cpp does it.
func (c *Call) adaptiveAvg(n int) (any, error) {
	x := c.T("self")
	size, err := c.adaptiveSize(n)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(size, slices.Repeat([]int64{1}, n)) || x.DType.Quantized() {
		return c.Do([]string{"aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d"}[n-2], x, intList(size...)), nil
	}
	dims := []int64{-1, -2, -3}[:n]
	out := c.Do("aten::mean.dim", x, intList(dims...), true)
	if f := x.SuggestFormat(); f != tensor.Contiguous && c.ok() && len(x.Sizes) == n+2 {
		ch := x.Sizes[1]
		strides := append([]int64{ch, 1}, slices.Repeat([]int64{ch}, n)...)
		return c.Do("aten::as_strided_", out, intList(out.Sizes...), intList(strides...)), nil
	}
	return out, nil
}

// adaptiveSize is the output size of an adaptive pool over n dimensions.
func (c *Call) adaptiveSize(n int) ([]int64, error) {
	x, size := c.T("self"), c.Ints("output_size")
	if len(x.Sizes) != n+1 && len(x.Sizes) != n+2 {
		return nil, c.Errorf("got input %v, want %d or %d dimensions", x.Sizes, n+1, n+2)
	}
	if len(size) != n || slices.ContainsFunc(size, func(n int64) bool { return n < 0 }) {
		return nil, c.Errorf("got output_size %v, want %d of at least 0", size, n)
	}
	from := len(x.Sizes) - n
	if strings.Contains(c.Schema.Name, "max") {
		from--
	}
	if err := c.notEmpty(x.Sizes, from); err != nil {
		return nil, err
	}
	if k := c.Ints("kernel_size"); c.Schema.ArgIndex("kernel_size") >= 0 {
		for i := range n { // fractional
			if len(k) != n || k[i] < 1 || size[i]+k[i]-1 > x.Sizes[len(x.Sizes)-n+i] {
				return nil, c.Errorf("got kernel %v and output_size %v, want them to fit input %v", k, size, x.Sizes)
			}
		}
	}
	return size, nil
}

func adaptiveAvg2d(c *Call) (any, error) { return c.adaptiveAvg(2) }
func adaptiveAvg3d(c *Call) (any, error) { return c.adaptiveAvg(3) }

func adaptiveAvg1d(c *Call) (any, error) {
	args, err := c.flats("output_size")
	if err != nil {
		return nil, err
	}
	return c.Do("aten::squeeze.dim", c.Do("aten::adaptive_avg_pool2d", args...), int64(-2)), nil
}

func adaptiveMax1d(c *Call) (any, error) {
	args, err := c.flats("output_size")
	if err != nil {
		return nil, err
	}
	ts := c.parts("aten::adaptive_max_pool2d", args...)
	i := c.Do("aten::squeeze.dim", ts[1], int64(-2))
	return c.Tuple(c.Do("aten::squeeze.dim", ts[0], int64(-2)), i), nil
}

// adaptivePool has its output sizes given.
func adaptivePool(n int, indices bool) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x := c.T("self")
		size, err := c.adaptiveSize(n)
		if err != nil {
			return nil, err
		}
		lead := len(x.Sizes) - n
		f := poolFormat(x, n)
		if n == 3 || c.Schema.ArgIndex("random_samples") >= 0 { // these keep no channels last
			f = tensor.Contiguous
		}
		m := freshFormat(x, f, append(slices.Clone(x.Sizes[:lead]), size...)...)
		if indices {
			return withIndices(m), nil
		}
		return one(m)
	}
}

func maxUnpool(n int) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		x, size := c.T("self"), c.Ints("output_size")
		if len(x.Sizes) != n+1 && len(x.Sizes) != n+2 || len(size) != n {
			return nil, c.Errorf("got input %v and output size %v, want %d or %d dimensions", x.Sizes, size, n+1, n+2)
		}
		if !slices.Equal(x.Sizes, c.T("indices").Sizes) {
			return nil, c.Errorf("got input %v and indices %v, want one shape", x.Sizes, c.T("indices").Sizes)
		}
		return one(fresh(x, append(slices.Clone(x.Sizes[:len(x.Sizes)-n]), size...)...))
	}
}
