package nn

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// PooledSizes are the spatial sizes after pooling over n dimensions (native/Pool.h
// pooling_output_shape).
func PooledSizes(c *ops.Call, sizes []int64, n int) ([]int64, error) {
	if len(sizes) != n+1 && len(sizes) != n+2 {
		return nil, c.Errorf("got input %v, want %d or %d dimensions", sizes, n+1, n+2)
	}
	var p [4][]int64
	for i, name := range [4]string{"kernel_size", "stride", "padding", "dilation"} {
		w, err := wide(c, name, n, int64(i%2)) // no padding, dilation 1
		if err != nil {
			return nil, err
		}
		p[i] = w
	}
	if err := notEmpty(c, sizes, len(sizes)-n-1); err != nil {
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
		if kernel[i] <= 0 || stride[i] <= 0 || dilation[i] <= 0 || padding[i] < 0 ||
			2*padding[i] > dilation[i]*(kernel[i]-1)+1 {
			return nil, c.Errorf("got kernel %v, stride %v and padding %v, want positive ones and padding of at most half the "+
				"kernel", kernel, stride, padding)
		}
		span := in + 2*padding[i] - dilation[i]*(kernel[i]-1) - 1
		if c.Bool("ceil_mode") {
			span += stride[i] - 1
		}
		d := ops.DivFloor(span, stride[i]) + 1
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

// PoolFormat is the layout of a pooled result: the input's, where it has a batch.
func PoolFormat(x *tensor.Tensor, n int) tensor.MemoryFormat {
	if len(x.Sizes) != n+2 {
		return tensor.Contiguous
	}
	return x.SuggestFormat()
}

func maxPool(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x := c.T("self")
		sizes, err := PooledSizes(c, x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return ops.WithIndices(ops.FreshFormat(x, PoolFormat(x, n), sizes...)), nil
	}
}

func avgPool(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x := c.T("self")
		sizes, err := PooledSizes(c, x.Sizes, n)
		if err != nil {
			return nil, err
		}
		return ops.One(ops.FreshFormat(x, PoolFormat(x, n), sizes...))
	}
}

// flat gives a 1-d pooling its second dimension: pools of one dimension run as pools of two with a
// height of 1.
func flat(c *ops.Call, name string) (*ops.List, error) {
	v := c.Ints(name)
	switch {
	case len(v) == 0:
		return ops.IntList(), nil
	case len(v) != 1:
		return nil, c.Errorf("got %s %v, want 1 number", name, v)
	case name == "padding":
		return ops.IntList(0, v[0]), nil
	}
	return ops.IntList(1, v[0]), nil
}

func flats(c *ops.Call, names ...string) ([]any, error) {
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

func maxPool1dIndices(c *ops.Call) (any, error) {
	args, err := flats(c, "kernel_size", "stride", "padding", "dilation")
	if err != nil {
		return nil, err
	}
	ts := c.DoParts("aten::max_pool2d_with_indices", append(args, c.Bool("ceil_mode"))...)
	return c.Tuple(c.Do("aten::squeeze.dim", ts[0], int64(-2)), c.Do("aten::squeeze.dim", ts[1], int64(-2))), nil
}

// maxPool1d has a separate path for the host, where it keeps no indices.
func maxPool1d(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::max_pool1d_with_indices", c.Args...), nil
}

func avgPool1d(c *ops.Call) (any, error) {
	args, err := flats(c, "kernel_size", "stride", "padding")
	if err != nil {
		return nil, err
	}
	out := c.Do("aten::avg_pool2d", append(args, c.Bool("ceil_mode"), c.Bool("count_include_pad"))...)
	return c.Do("aten::squeeze.dim", out, int64(-2)), nil
}

// adaptiveAvg is an average over all where that is asked for, as native/AdaptiveAveragePooling.cpp
// does it.
func adaptiveAvg(c *ops.Call, n int) (any, error) {
	x := c.T("self")
	size, err := adaptiveSize(c, n)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(size, slices.Repeat([]int64{1}, n)) || x.DType.Quantized() {
		return c.Do([]string{"aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d"}[n-2], x, ops.IntList(size...)),
			nil
	}
	dims := []int64{-1, -2, -3}[:n]
	out := c.Do("aten::mean.dim", x, ops.IntList(dims...), true)
	if f := x.SuggestFormat(); f != tensor.Contiguous && c.OK() && len(x.Sizes) == n+2 {
		ch := x.Sizes[1]
		strides := append([]int64{ch, 1}, slices.Repeat([]int64{ch}, n)...)
		return c.Do("aten::as_strided_", out, ops.IntList(out.Sizes...), ops.IntList(strides...)), nil
	}
	return out, nil
}

// adaptiveSize is the output size of an adaptive pool over n dimensions.
func adaptiveSize(c *ops.Call, n int) ([]int64, error) {
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
	if err := notEmpty(c, x.Sizes, from); err != nil {
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

func adaptiveAvg2d(c *ops.Call) (any, error) { return adaptiveAvg(c, 2) }

func adaptiveAvg3d(c *ops.Call) (any, error) { return adaptiveAvg(c, 3) }

func adaptiveAvg1d(c *ops.Call) (any, error) {
	args, err := flats(c, "output_size")
	if err != nil {
		return nil, err
	}
	return c.Do("aten::squeeze.dim", c.Do("aten::adaptive_avg_pool2d", args...), int64(-2)), nil
}

func adaptiveMax1d(c *ops.Call) (any, error) {
	args, err := flats(c, "output_size")
	if err != nil {
		return nil, err
	}
	ts := c.DoParts("aten::adaptive_max_pool2d", args...)
	i := c.Do("aten::squeeze.dim", ts[1], int64(-2))
	return c.Tuple(c.Do("aten::squeeze.dim", ts[0], int64(-2)), i), nil
}

// adaptivePool has its output sizes given.
func adaptivePool(n int, indices bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x := c.T("self")
		size, err := adaptiveSize(c, n)
		if err != nil {
			return nil, err
		}
		lead := len(x.Sizes) - n
		f := PoolFormat(x, n)
		if n == 3 || c.Schema.ArgIndex("random_samples") >= 0 { // these keep no channels last
			f = tensor.Contiguous
		}
		m := ops.FreshFormat(x, f, append(slices.Clone(x.Sizes[:lead]), size...)...)
		if indices {
			return ops.WithIndices(m), nil
		}
		return ops.One(m)
	}
}

func maxUnpool(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x, size := c.T("self"), c.Ints("output_size")
		if len(x.Sizes) != n+1 && len(x.Sizes) != n+2 || len(size) != n {
			return nil, c.Errorf("got input %v and output size %v, want %d or %d dimensions", x.Sizes, size, n+1, n+2)
		}
		if !slices.Equal(x.Sizes, c.T("indices").Sizes) {
			return nil, c.Errorf("got input %v and indices %v, want one shape", x.Sizes, c.T("indices").Sizes)
		}
		return ops.One(ops.FreshLike(x, append(slices.Clone(x.Sizes[:len(x.Sizes)-n]), size...)...))
	}
}

// wide is an argument's members, widened.
func wide(c *ops.Call, name string, n int, other int64) ([]int64, error) {
	return widened(c, name, c.Ints(name), n, other)
}

// widened is v repeated to n members: int[n] arguments take one member for all; of none each is
// other.
func widened(c *ops.Call, name string, v []int64, n int, other int64) ([]int64, error) {
	switch len(v) {
	case n:
		return v, nil
	case 1:
		return slices.Repeat(v, n), nil
	case 0:
		return slices.Repeat([]int64{other}, n), nil
	}
	return nil, c.Errorf("got %s %v, want 1 or %d members", name, v, n)
}

// notEmpty refuses sizes of 0 from dimension from on: only batches may be empty.
func notEmpty(c *ops.Call, sizes []int64, from int) error {
	if slices.Contains(sizes[from:], 0) {
		return c.Errorf("got input %v, want none of its sizes 0 but the batch's", sizes)
	}
	return nil
}

// layoutCopy is the input in a layout that the kernel reads: row by row, or channels last.
func layoutCopy(c *ops.Call) []workspace.Request {
	x := c.Self()
	if !ops.OnCUDA(x) || x.IsFormat(x.SuggestFormat()) {
		return nil
	}
	return []workspace.Request{workspace.CopyOf(&x.Meta,
		"native/cuda/DilatedMaxPool2d.cu, AveragePool2d.cu self.contiguous(suggested)")}
}

// layoutCopyBefore is the same before the result (native/cuda/AdaptiveAveragePooling.cu).
// One without a batch is read as it lies.
func layoutCopyBefore(c *ops.Call) []workspace.Request {
	if len(c.Self().Sizes) == 3 {
		return nil
	}
	return workspace.Before(layoutCopy(c)...)
}

// adaptiveMaxCopies are results and input row by row, where they lie otherwise
// (native/cuda/AdaptiveMaxPooling2d.cu).
func adaptiveMaxCopies(c *ops.Call) []workspace.Request {
	ms, err := c.Rule.Out(c)
	if err != nil || len(c.Self().Sizes) == 3 {
		return nil
	}
	return workspace.Contiguous("native/cuda/AdaptiveMaxPooling2d.cu", &ms[0], &ms[1], &c.Self().Meta)
}

// rowByRow is an input of 3 dimensions row by row, where it lies otherwise
// (native/cuda/AdaptiveMaxPooling3d.cu).
func rowByRow(c *ops.Call) []workspace.Request {
	return workspace.Contiguous("native/cuda/AdaptiveMaxPooling3d.cu", &c.Self().Meta)
}

// rowByRowBefore is the same before the result (native/cuda/AdaptiveAveragePooling3d.cu).
func rowByRowBefore(c *ops.Call) []workspace.Request { return workspace.Before(rowByRow(c)...) }
