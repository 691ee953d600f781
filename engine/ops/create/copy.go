package create

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

// Copies and casts (aten/src/ATen/native/TensorConversions.cpp, Copy.cpp).

// format is the memory_format argument, or other where it is None or absent.
func format(c *ops.Call, other tensor.MemoryFormat) tensor.MemoryFormat {
	return tensor.MemoryFormat(c.IntOr("memory_format", int64(other)))
}

// checkFormat refuses a channels-last layout for another rank than its own.
func checkFormat(c *ops.Call, f tensor.MemoryFormat, rank int) error {
	if f == tensor.ChannelsLast && rank != 4 || f == tensor.ChannelsLast3d && rank != 5 {
		return c.Errorf("got %d dimensions for a channels-last layout, want 4, or 5 for 3d", rank)
	}
	return nil
}

// checkedLike is emptyLike with the layout checked.
func checkedLike(c *ops.Call, self *tensor.Tensor, d tensor.DType, f tensor.MemoryFormat) ([]tensor.Meta, error) {
	if err := checkFormat(c, f, len(self.Sizes)); err != nil {
		return nil, err
	}
	return ops.One(ops.EmptyLike(self, d, f))
}

func contiguous(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	f := format(c, tensor.Contiguous)
	if f == tensor.Preserve {
		return nil, c.Errorf("got memory_format preserve, want one that names a layout")
	}
	if self.IsFormat(f) {
		return c.One(self.Meta)
	}
	return checkedLike(c, self, self.DType, f)
}

func contiguousCopies(c *ops.Call) bool { return !c.Self().IsFormat(format(c, tensor.Contiguous)) }

func clone(c *ops.Call) ([]tensor.Meta, error) {
	return checkedLike(c, c.Self(), c.Self().DType, format(c, tensor.Preserve))
}

// target is what a to asks for.
type target struct {
	dtype  tensor.DType
	device string
	format tensor.MemoryFormat
	copy   bool
}

func copyTarget(c *ops.Call) target {
	self := c.Self()
	t := target{c.DTypeOr("dtype", self.DType), c.DeviceOr("device", self.Device), format(c, tensor.Preserve),
		c.Bool("copy")}
	if o := c.T("other"); o != nil {
		t.dtype, t.device = o.DType, o.Device
	}
	return t
}

// to is self where it already is what is asked for (to_will_alias), else a copy.
func to(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	if !toCopies(c) {
		return ops.One(self.Meta)
	}
	return toCopy(c)
}

func toCopies(c *ops.Call) bool {
	self, t := c.Self(), copyTarget(c)
	return t.copy || t.dtype != self.DType || t.device != self.Device || t.format != tensor.Preserve &&
		self.SuggestFormat() != t.format
}

// toCopy is _to_copy: always fresh.
func toCopy(c *ops.Call) ([]tensor.Meta, error) {
	self, t := c.Self(), copyTarget(c)
	if err := checkFormat(c, t.format, len(self.Sizes)); err != nil {
		return nil, err
	}
	m := ops.EmptyLike(self, t.dtype, t.format)
	m.Device = t.device
	return ops.One(m)
}

// toDevice is cpu and cuda.
func toDevice(device string) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		m := c.Self().Meta
		if m.Device != device {
			m = ops.EmptyLike(c.Self(), m.DType, tensor.Preserve)
			m.Device = device
		}
		return ops.One(m)
	}
}

func leaves(device string) func(*ops.Call) bool {
	return func(c *ops.Call) bool { return c.Self().Device != device }
}

// castTo is _cast_Long and its like: self where it has the dtype, else a copy.
func castTo(d tensor.DType) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return c.Do("aten::to.dtype", c.Self(), int64(d), ops.Kw{"memory_format": c.Arg("memory_format")}), nil
	}
}

func typeAs(c *ops.Call) (any, error) { return c.Do("aten::to.other", c.Self(), c.T("other")), nil }

// dataOf is an alias of self.
func dataOf(c *ops.Call) (any, error) { return c.Do("aten::detach", c.Self()), nil }

// lower is autocast's cast to its dtype, for floating tensors on the device.
func lower(c *ops.Call) (tensor.DType, bool) {
	self := c.Self()
	d := self.DType
	switch {
	case self.Device != "cpu" && c.Bool("cuda_enabled"):
		d = c.DTypeOr("cuda_dtype", d)
	case self.Device == "cpu" && c.Bool("cpu_enabled"):
		d = c.DTypeOr("cpu_dtype", d)
	}
	eligible := self.DType.Floating() && self.DType != tensor.Float64
	return d, eligible && d != self.DType
}

// raise is autocast's cast to float32.
func raise(c *ops.Call) (tensor.DType, bool) {
	self := c.Self()
	on := self.Device != "cpu" && c.Bool("cuda_enabled") || self.Device == "cpu" && c.Bool("cpu_enabled")
	return tensor.Float32, on && (self.DType == tensor.Float16 || self.DType == tensor.BFloat16)
}

// autocast casts as choose says.
func autocast(choose func(*ops.Call) (tensor.DType, bool)) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		if d, casts := choose(c); casts {
			return ops.One(ops.EmptyLike(c.Self(), d, tensor.Preserve))
		}
		return ops.One(c.Self().Meta)
	}
}

func autocasts(choose func(*ops.Call) (tensor.DType, bool)) func(*ops.Call) bool {
	return func(c *ops.Call) bool { _, casts := choose(c); return casts }
}

// copyInto writes src into self; src must broadcast.
func copyInto(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	if src, ok := c.Args[1].(*tensor.Tensor); ok {
		shape, err := c.Broadcast(self.Sizes, src.Sizes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(shape, self.Sizes) {
			return nil, c.Errorf("got a source of sizes %v for sizes %v", src.Sizes, self.Sizes)
		}
	}
	return ops.One(self.Meta)
}

// copyOver is a tensor like self with the elements of src.
func copyOver(c *ops.Call) ([]tensor.Meta, error) {
	if _, err := copyInto(c); err != nil {
		return nil, err
	}
	return clone(c)
}

// checkFill refuses to fill with more than one number.
func checkFill(c *ops.Call) error {
	if v := c.T("value"); v != nil && len(v.Sizes) > 0 {
		return c.Errorf("got a value of sizes %v, want a 0-dim tensor", v.Sizes)
	}
	return nil
}

func fillInto(c *ops.Call) ([]tensor.Meta, error) {
	if err := checkFill(c); err != nil {
		return nil, err
	}
	return copyInto(c)
}

func filledLike(c *ops.Call) ([]tensor.Meta, error) {
	if err := checkFill(c); err != nil {
		return nil, err
	}
	return clone(c)
}

// copyWorkspace is the contiguous copy on the device that a copy between host and device makes of a
// strided side (aten/src/ATen/native/cuda/Copy.cu copy_kernel_cuda).
func copyWorkspace(c *ops.Call) []workspace.Request {
	self := c.Self()
	src, ok := c.Args[1].(*tensor.Tensor)
	if !ok || src.Device == self.Device {
		return nil
	}
	side := self
	if self.Device == "cpu" {
		side = src
	}
	if side.IsContiguous() || slices.Equal(self.Strides, src.Strides) && self.DType == src.DType && self.IsDense() {
		return nil
	}
	return []workspace.Request{{Bytes: units.Bytes(self.Numel() * side.DType.ItemSize()),
		Source: "aten/src/ATen/native/cuda/Copy.cu copy_kernel_cuda"}}
}

// copyValue is the elements copied; only where the whole of a contiguous tensor is written.
func copyValue(c *ops.Call) *tensor.Data {
	self := c.Self()
	if self.Device != "cpu" || self.Numel() > tensor.MaxData || self.DType.Complex() {
		return nil
	}
	return ops.ExpandElements(c.Args[1], self.Sizes).Data(self.DType)
}

func zeroValue(c *ops.Call) *tensor.Data {
	m, ok := c.KnownMeta()
	if !ok {
		return nil
	}
	return ops.FilledValue(int64(0), m)
}

// toDense is a strided tensor itself, cast where a dtype is given.
func toDense(c *ops.Call) (any, error) {
	return c.Do("aten::to.dtype", c.Self(), int64(c.DTypeOr("dtype", c.Self().DType))), nil
}
