package nn

import (
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Resizing images (aten/src/ATen/native/UpSample.h, cuda/UpSample*.cu).

// resizedTo are the sizes after resizing: output_size, or each size times its scale, rounded down.
func resizedTo(c *ops.Call, spatial int) ([]int64, error) {
	self := c.Self()
	if len(self.Sizes) != spatial+2 {
		return nil, c.Errorf("got %d dimensions, want %d", len(self.Sizes), spatial+2)
	}
	to := c.Ints("output_size")
	scales := floats(c, "scale_factors")
	if c.Schema.Overload == "vec" && (len(to) > 0) == (len(scales) > 0) {
		return nil, c.Errorf("got output_size %v and scale_factors %v, want one of them", to, scales)
	}
	for i, f := range scales {
		if i >= spatial {
			return nil, c.Errorf("got scale_factors %v, want %d", scales, spatial)
		}
		n := float64(self.Sizes[2+i]) * f
		if !(n < 1<<62) {
			return nil, c.Errorf("got scale_factors %v for sizes %v, want sizes that fit int64", scales, self.Sizes)
		}
		to = append(to, int64(n))
	}
	if err := notEmpty(c, self.Sizes, 1); err != nil {
		return nil, err
	}
	if len(to) != spatial {
		return nil, c.Errorf("got output_size %v, want %d", to, spatial)
	}
	for i, n := range to {
		if n < 1 || self.Sizes[2+i] < 1 {
			return nil, c.Errorf("got sizes %v to %v, want none below 1", self.Sizes, to)
		}
	}
	return append(slices.Clone(self.Sizes[:2]), to...), nil
}

// floats is a float[] argument.
func floats(c *ops.Call, name string) []float64 {
	l, _ := c.Arg(name).(*ops.List)
	if l == nil {
		return nil
	}
	out := make([]float64, len(l.Items))
	for i, v := range l.Items {
		_, out[i] = ops.AsNumber(v)
	}
	return out
}

// upsample keeps the layout the input suggests.
func upsample(spatial int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		sizes, err := resizedTo(c, spatial)
		if err != nil {
			return nil, err
		}
		return ops.One(ops.FreshFormat(c.Self(), c.Self().SuggestFormat(), sizes...))
	}
}

// minChannelsLast is the channels from which the linear kernels work on channels last
// (upsample_bilinear2d_out_cuda_template).
const minChannelsLast = 16

// upsampleLinear is upsample; on the device none tensors of few channels come out contiguous, as
// PyTorch's own decomposition gives them.
func upsampleLinear(spatial int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.Self()
		if c.Platform().IsNone() && self.Device != "cpu" && len(self.Sizes) > 1 && self.Sizes[1] < minChannelsLast {
			sizes, err := resizedTo(c, spatial)
			if err != nil {
				return nil, err
			}
			return ops.One(ops.FreshLike(self, sizes...))
		}
		return upsample(spatial)(c)
	}
}

// The channels from which kernels work on channels last; never takes every layout but contiguous
// through copies.
const (
	minChannelsNearest = 4 // upsample_nearest2d_out_cuda_template
	never              = math.MaxInt64
)

// upsampleWorkspace are contiguous copies of other layouts.
func upsampleWorkspace(minChannels int64) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		sizes, err := resizedTo(c, len(c.Self().Sizes)-2)
		if err != nil {
			return nil
		}
		return workspace.Upsample(&c.Self().Meta, sizes, minChannels)
	}
}

// interpolate is torch.nn.functional.interpolate as old archives call it: by mode and rank.
func interpolate(c *ops.Call) (any, error) {
	input := c.Self()
	spatial := len(input.Sizes) - 2
	if spatial < 1 || spatial > 3 {
		return nil, c.Errorf("got %d dimensions, want 3 to 5", len(input.Sizes))
	}
	wide := func(name string, conv func(any) any) *ops.List {
		v := c.Arg(name)
		if v == nil {
			return nil
		}
		l, isList := v.(*ops.List)
		out := ops.NewList(schema.Int)
		for i := range spatial {
			item := v
			if isList {
				item = l.Items[min(i, len(l.Items)-1)]
			}
			out.Items = append(out.Items, conv(item))
		}
		return out
	}
	size := wide("size", func(v any) any { return v })
	scale := wide("scale_factor", func(v any) any { _, f := ops.AsNumber(v); return f })
	if (size == nil) == (scale == nil) {
		return nil, c.Errorf("got size and scale_factor both or neither, want one of them")
	}
	if c.Bool("recompute_scale_factor") && scale != nil {
		size = ops.NewList(schema.Int)
		for i, v := range scale.Items {
			size.Items = append(size.Items, int64(math.Floor(float64(input.Sizes[2+i])*v.(float64))))
		}
		scale = nil
	}
	var sizeArg, scaleArg any
	if size != nil {
		sizeArg = size
	} else {
		scaleArg = scale
	}
	mode := "nearest"
	switch {
	case c.Has("mode"):
		mode = c.Str("mode")
	case strings.HasSuffix(c.Schema.Name, "bilinear"):
		mode = "bilinear"
	}
	suffix := [...]string{"1d", "2d", "3d"}[spatial-1]
	switch mode {
	case "nearest":
		return c.Do("aten::upsample_nearest"+suffix+".vec", input, sizeArg, scaleArg), nil
	case "nearest-exact":
		return c.Do("aten::_upsample_nearest_exact"+suffix+".vec", input, sizeArg, scaleArg), nil
	case "area":
		if size == nil {
			size = ops.NewList(schema.Int)
			for i, v := range scale.Items {
				size.Items = append(size.Items, int64(math.Floor(float64(input.Sizes[2+i])*v.(float64))))
			}
		}
		return c.Do("aten::adaptive_avg_pool"+suffix, input, size), nil
	case "linear", "bilinear", "trilinear", "bicubic":
		op := "aten::upsample_" + mode + suffix
		if c.Bool("antialias") {
			op = "aten::_upsample_" + mode + suffix + "_aa"
		}
		return c.Do(op+".vec", input, sizeArg, c.Bool("align_corners"), scaleArg), nil
	}
	return nil, c.Errorf("got mode %q", mode)
}

// upsampleGradient keeps the layout the incoming gradient suggests.
func upsampleGradient(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.FreshFormat(c.Self(), c.Self().SuggestFormat(), c.Ints("input_size")...))
}
