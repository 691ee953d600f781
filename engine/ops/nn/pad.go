package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

// Padding and rearranging pixels (aten/src/ATen/native/PadNd.cpp, PixelShuffle.cpp,
// ChanelShuffle.cpp, GridSampler.cpp).

// padSizes are self's sizes with pad, which counts from the last dimension.
func padSizes(c *ops.Call, name string) ([]int64, error) {
	self, pad := c.Self(), c.Ints(name)
	if len(pad)%2 != 0 || len(pad)/2 > len(self.Sizes) {
		return nil, c.Errorf("got %d pads for %d dimensions", len(pad), len(self.Sizes))
	}
	sizes := slices.Clone(self.Sizes)
	for i := 0; i < len(pad); i += 2 {
		d := len(sizes) - 1 - i/2
		sizes[d] += pad[i] + pad[i+1]
		if sizes[d] < 0 {
			return nil, c.Errorf("got pads %v for sizes %v, want none below 0", pad, self.Sizes)
		}
	}
	return sizes, nil
}

// constantPad keeps the layout; where nothing is added it is a copy of the part that stays.
func constantPad(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	sizes, err := padSizes(c, "pad")
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Ints("pad"), func(n int64) bool { return n > 0 }) {
		part := *self
		part.Sizes = sizes
		return ops.One(ops.EmptyLike(&part, self.DType, tensor.Preserve))
	}
	return ops.One(ops.FreshFormat(self, self.SuggestFormat(), sizes...))
}

// mirrorPad is reflection and replication: contiguous.
func mirrorPad(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	spatial := len(c.Ints("padding")) / 2
	if n := len(self.Sizes); n != spatial+1 && n != spatial+2 {
		return nil, c.Errorf("got %d dimensions, want %d or %d", n, spatial+1, spatial+2)
	}
	sizes, err := padSizes(c, "padding")
	if err != nil {
		return nil, err
	}
	if err := notEmpty(c, self.Sizes, len(self.Sizes)-spatial-1); err != nil {
		return nil, err
	}
	if slices.Contains(sizes[len(sizes)-spatial:], 0) {
		return nil, c.Errorf("got pads %v for sizes %v, want sizes of at least 1", c.Ints("padding"), self.Sizes)
	}
	return ops.One(ops.FreshLike(self, sizes...))
}

// reflectPad pads by less than the size.
func reflectPad(c *ops.Call) ([]tensor.Meta, error) {
	self, pad := c.Self(), c.Ints("padding")
	for i, n := range pad {
		if d := len(self.Sizes) - 1 - i/2; d >= 0 && n >= self.Sizes[d] {
			return nil, c.Errorf("got pads %v for sizes %v, want less than the sizes", pad, self.Sizes)
		}
	}
	return mirrorPad(c)
}

// padWorkspace is the contiguous copy of a strided input.
func padWorkspace(c *ops.Call) []workspace.Request {
	return workspace.Contiguous("aten/src/ATen/native/cuda/ReflectionPad.cu, ReplicationPadding.cu", &c.Self().Meta)
}

var padModes = [...]string{"reflect", "replicate", "circular", "constant"} // at::padding_mode

// pad chooses the operator by mode and rank.
func pad(c *ops.Call) (any, error) {
	mode := c.Str("mode")
	if n, ok := c.Arg("mode").(int64); ok && n >= 0 && int(n) < len(padModes) {
		mode = padModes[n]
	}
	self, sizes := c.Self(), c.Ints("pad")
	if mode == "constant" {
		value := c.Arg("value")
		if value == nil {
			value = 0.0
		}
		return c.Do("aten::constant_pad_nd", self, ops.IntList(sizes...), value), nil
	}
	if c.Has("value") && c.Float("value") != 0 {
		return nil, c.Errorf("got a value for mode %s, want none", mode)
	}
	rank := len(sizes) / 2
	if n := len(self.Sizes); rank < 1 || rank > 3 || len(sizes)%2 != 0 || n != rank+1 && n != rank+2 {
		return nil, c.Errorf("got %d pads for %d dimensions with mode %s", len(sizes), n, mode)
	}
	suffix := [...]string{"1d", "2d", "3d"}[rank-1]
	switch mode {
	case "reflect":
		return c.Do("aten::reflection_pad"+suffix, self, ops.IntList(sizes...)), nil
	case "replicate":
		return c.Do("aten::replication_pad"+suffix, self, ops.IntList(sizes...)), nil
	case "circular":
		return c.Do("aten::_pad_circular", self, ops.IntList(sizes...)), nil
	}
	return nil, c.Errorf("got mode %q, want constant, reflect, replicate or circular", mode)
}

// padCircular copies parts of self into a new tensor.
func padCircular(c *ops.Call) (any, error) {
	self, pads := c.Self(), c.Ints("pad")
	sizes, err := padSizes(c, "pad")
	if err != nil {
		return nil, err
	}
	for i, n := range pads {
		if n > self.Sizes[len(sizes)-1-i/2] {
			return nil, c.Errorf("got pads %v for sizes %v, want no more than the sizes", pads, self.Sizes)
		}
	}
	return c.Do("aten::new_empty", self, ops.IntList(sizes...)), nil
}

// pixelShuffle turns channels into pixels.
func pixelShuffle(c *ops.Call) ([]tensor.Meta, error) {
	self, r := c.Self(), c.Int("upscale_factor")
	n := len(self.Sizes)
	if n < 3 || r < 1 || self.Sizes[n-3]%(r*r) != 0 {
		return nil, c.Errorf("got sizes %v and factor %d", self.Sizes, r)
	}
	sizes := slices.Clone(self.Sizes)
	sizes[n-3] /= r * r
	sizes[n-2] *= r
	sizes[n-1] *= r
	return ops.One(ops.FreshLike(self, sizes...))
}

func pixelUnshuffle(c *ops.Call) ([]tensor.Meta, error) {
	self, r := c.Self(), c.Int("downscale_factor")
	n := len(self.Sizes)
	if n < 3 || r < 1 || self.Sizes[n-2]%r != 0 || self.Sizes[n-1]%r != 0 {
		return nil, c.Errorf("got sizes %v and factor %d", self.Sizes, r)
	}
	sizes := slices.Clone(self.Sizes)
	sizes[n-3] *= r * r
	sizes[n-2] /= r
	sizes[n-1] /= r
	return ops.One(ops.FreshLike(self, sizes...))
}

func channelShuffle(c *ops.Call) ([]tensor.Meta, error) {
	self, g := c.Self(), c.Int("groups")
	if len(self.Sizes) < 3 || g < 1 || self.Sizes[1]%g != 0 {
		return nil, c.Errorf("got sizes %v and %d groups", self.Sizes, g)
	}
	return ops.FreshSelf(c)
}

// gridSample takes its spatial sizes from the grid.
func gridSample(c *ops.Call) ([]tensor.Meta, error) {
	input, grid := c.T("input"), c.T("grid")
	n := len(input.Sizes)
	if n != len(grid.Sizes) || n < 4 || input.Sizes[0] != grid.Sizes[0] || grid.Sizes[n-1] != int64(n-2) {
		return nil, c.Errorf("got input %v and grid %v", input.Sizes, grid.Sizes)
	}
	if err := notEmpty(c, input.Sizes, 2); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(input, append(slices.Clone(input.Sizes[:2]), grid.Sizes[1:n-1]...)...))
}

func gridSampler(c *ops.Call) (any, error) {
	if len(c.T("input").Sizes) == 5 {
		return c.Do("aten::grid_sampler_3d", c.Args...), nil
	}
	return c.Do("aten::grid_sampler_2d", c.Args...), nil
}

// affineGrid is a grid of the asked sizes, with a coordinate for each spatial dimension.
func affineGrid(c *ops.Call) ([]tensor.Meta, error) {
	theta, size := c.T("theta"), c.Ints("size")
	if len(size) != 4 && len(size) != 5 {
		return nil, c.Errorf("got sizes %v, want 4 or 5", size)
	}
	if k := int64(len(size) - 2); !slices.Equal(theta.Sizes, []int64{size[0], k, k + 1}) {
		return nil, c.Errorf("got theta %v for sizes %v, want [%d %d %d]", theta.Sizes, size, size[0], k, k+1)
	}
	sizes := append([]int64{size[0]}, size[2:]...)
	return ops.One(ops.FreshLike(theta, append(sizes, int64(len(size)-2))...))
}

// affineGridWorkspace is the base grid, in homogeneous coordinates.
func affineGridWorkspace(c *ops.Call) []workspace.Request {
	m, err := affineGrid(c)
	if err != nil || m[0].Device == "cpu" {
		return nil
	}
	k := m[0].Sizes[len(m[0].Sizes)-1]
	return workspace.Before(workspace.Request{
		Bytes:  m[0].NBytes() / units.Bytes(k) * units.Bytes(k+1),
		Source: "aten/src/ATen/native/AffineGridGenerator.cpp make_base_grid",
	})
}

// gridGradients are those of input and grid, where asked for.
func gridGradients(c *ops.Call) ([]tensor.Meta, error) {
	mask, _ := c.Arg("output_mask").(*ops.List)
	input, grid := c.T("input"), c.T("grid")
	in := ops.FreshLike(input, input.Sizes...)
	if mask != nil && len(mask.Items) == 2 && mask.Items[0] == false {
		in = tensor.Meta{DType: tensor.Undefined}
	}
	return []tensor.Meta{in, ops.FreshLike(grid, grid.Sizes...)}, nil
}
