package workspace

import (
	"errors"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// ByFormula is the workspace of a call to cuDNN by the formula of its class, in bytes: the likely
// one and the upper figure. It is for a cuDNN that cannot be asked.
func ByFormula(p *platform.Platform, c *profile.Call) (likely, upper units.Bytes, err error) {
	v, out, err := ofCall(c)
	if err != nil {
		return 0, 0, err
	}
	asked := *p
	asked.Workspace, asked.Benchmark, asked.TF32CuDNN = nil, false, c.AllowTF32
	r := v.CuDNN(&asked, out, false)[0]
	return r.Bytes, r.Upper, nil
}

// ofCall is the convolution that Convolution.Call describes, with the sizes of its result.
func ofCall(c *profile.Call) (*Convolution, []int64, error) {
	if err := c.Check(); err != nil {
		return nil, nil, err
	}
	dtype, err := tensor.ParseDType(c.DType)
	if err != nil {
		return nil, nil, err
	}
	f := tensor.Contiguous
	if !slices.Equal(c.InputStrides, tensor.FormatStrides(c.Input, f)) ||
		!slices.Equal(c.WeightStrides, tensor.FormatStrides(c.Weight, f)) {
		f = tensor.ChannelsLast
		if len(c.Input) == 5 {
			f = tensor.ChannelsLast3d
		}
	}
	y := []int64{c.Input[0], c.Weight[0]}
	for i := range c.Stride {
		n := c.Input[i+2] + 2*c.Padding[i] - c.Dilation[i]*(c.Weight[i+2]-1) - 1
		if c.Stride[i] < 1 || n < 0 {
			return nil, nil, fmt.Errorf("got a window of %v with stride %v on an input of %v, want one that fits",
				c.Weight[2:], c.Stride, c.Input)
		}
		y = append(y, n/c.Stride[i]+1)
	}
	var metas [3]*tensor.Meta
	for i, sizes := range [][]int64{c.Input, c.Weight, y} {
		if n, err := tensor.Product(sizes); err != nil || n > hugeOperand {
			return nil, nil, errors.Join(err, fmt.Errorf("got an operand of sizes %v, want fewer than %d elements",
				sizes, int64(hugeOperand)))
		}
		metas[i] = &tensor.Meta{DType: dtype, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f), Device: "cuda"}
	}
	v := &Convolution{
		Input: metas[0], Weight: metas[1], Stride: c.Stride, Padding: c.Padding, Dilation: c.Dilation,
		OutputPadding: make([]int64, len(c.Stride)), Groups: c.Groups,
	}
	switch c.Direction {
	case "dgrad":
		v.Input, v.Transposed = metas[2], true
		return v, c.Input, nil
	case "wgrad":
		v.Grad = metas[2]
	}
	return v, y, nil
}
