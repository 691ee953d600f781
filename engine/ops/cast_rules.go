package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Copies and casts (aten/src/ATen/native/TensorConversions.cpp, Copy.cpp).

// format is the memory_format argument, or other where it is None or absent.
func (c *Call) format(other tensor.MemoryFormat) tensor.MemoryFormat {
	return tensor.MemoryFormat(c.IntOr("memory_format", int64(other)))
}

// checkFormat refuses a channels-last layout for another rank than its own.
func (c *Call) checkFormat(f tensor.MemoryFormat, rank int) error {
	if f == tensor.ChannelsLast && rank != 4 || f == tensor.ChannelsLast3d && rank != 5 {
		return c.Errorf("got %d dimensions for a channels-last layout, want 4, or 5 for 3d", rank)
	}
	return nil
}

// like is emptyLike with the layout checked.
func (c *Call) like(self *tensor.Tensor, d tensor.DType, f tensor.MemoryFormat) ([]tensor.Meta, error) {
	if err := c.checkFormat(f, len(self.Sizes)); err != nil {
		return nil, err
	}
	return one(emptyLike(self, d, f))
}

func contiguous(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	f := c.format(tensor.Contiguous)
	if f == tensor.Preserve {
		return nil, c.Errorf("got memory_format preserve, want one that names a layout")
	}
	if self.IsFormat(f) {
		return c.one(self.Meta)
	}
	return c.like(self, self.DType, f)
}

func contiguousCopies(c *Call) bool { return !c.self().IsFormat(c.format(tensor.Contiguous)) }

func clone(c *Call) ([]tensor.Meta, error) {
	return c.like(c.self(), c.self().DType, c.format(tensor.Preserve))
}

// target is what a to asks for.
type target struct {
	dtype  tensor.DType
	device string
	format tensor.MemoryFormat
	copy   bool
}

func (c *Call) target() target {
	self := c.self()
	t := target{c.DTypeOr("dtype", self.DType), c.DeviceOr("device", self.Device), c.format(tensor.Preserve), c.Bool("copy")}
	if o := c.T("other"); o != nil {
		t.dtype, t.device = o.DType, o.Device
	}
	return t
}

// to is self where it already is what is asked for (to_will_alias), else a copy.
func to(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	if !toCopies(c) {
		return one(self.Meta)
	}
	return toCopy(c)
}

func toCopies(c *Call) bool {
	self, t := c.self(), c.target()
	return t.copy || t.dtype != self.DType || t.device != self.Device || t.format != tensor.Preserve && self.SuggestFormat() != t.format
}

// toCopy is _to_copy: always fresh.
func toCopy(c *Call) ([]tensor.Meta, error) {
	self, t := c.self(), c.target()
	if err := c.checkFormat(t.format, len(self.Sizes)); err != nil {
		return nil, err
	}
	m := emptyLike(self, t.dtype, t.format)
	m.Device = t.device
	return one(m)
}

// toDevice is cpu and cuda.
func toDevice(device string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		m := c.self().Meta
		if m.Device != device {
			m = emptyLike(c.self(), m.DType, tensor.Preserve)
			m.Device = device
		}
		return one(m)
	}
}

func leaves(device string) func(*Call) bool {
	return func(c *Call) bool { return c.self().Device != device }
}

// castTo is _cast_Long and its like: self where it has the dtype, else a copy.
func castTo(d tensor.DType) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.Do("aten::to.dtype", c.self(), int64(d), Kw{"memory_format": c.Arg("memory_format")}), nil
	}
}

func typeAs(c *Call) (any, error) { return c.Do("aten::to.other", c.self(), c.T("other")), nil }

// dataOf is an alias of self.
func dataOf(c *Call) (any, error) { return c.Do("aten::detach", c.self()), nil }

// lower is autocast's cast to its dtype, for floating tensors on the device.
func lower(c *Call) (tensor.DType, bool) {
	self := c.self()
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
func raise(c *Call) (tensor.DType, bool) {
	self := c.self()
	on := self.Device != "cpu" && c.Bool("cuda_enabled") || self.Device == "cpu" && c.Bool("cpu_enabled")
	return tensor.Float32, on && (self.DType == tensor.Float16 || self.DType == tensor.BFloat16)
}

// autocast casts as choose says.
func autocast(choose func(*Call) (tensor.DType, bool)) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		if d, casts := choose(c); casts {
			return one(emptyLike(c.self(), d, tensor.Preserve))
		}
		return one(c.self().Meta)
	}
}

func autocasts(choose func(*Call) (tensor.DType, bool)) func(*Call) bool {
	return func(c *Call) bool { _, casts := choose(c); return casts }
}

// copyInto writes src into self; src must broadcast.
func copyInto(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	if src, ok := c.Args[1].(*tensor.Tensor); ok {
		shape, err := c.broadcast(self.Sizes, src.Sizes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(shape, self.Sizes) {
			return nil, c.Errorf("got a source of sizes %v for sizes %v", src.Sizes, self.Sizes)
		}
	}
	return one(self.Meta)
}

// copyOver is a tensor like self with the elements of src.
func copyOver(c *Call) ([]tensor.Meta, error) {
	if _, err := copyInto(c); err != nil {
		return nil, err
	}
	return clone(c)
}

// checkFill refuses to fill with more than one number.
func (c *Call) checkFill() error {
	if v := c.T("value"); v != nil && len(v.Sizes) > 0 {
		return c.Errorf("got a value of sizes %v, want a 0-dim tensor", v.Sizes)
	}
	return nil
}

func fillInto(c *Call) ([]tensor.Meta, error) {
	if err := c.checkFill(); err != nil {
		return nil, err
	}
	return copyInto(c)
}

func filledLike(c *Call) ([]tensor.Meta, error) {
	if err := c.checkFill(); err != nil {
		return nil, err
	}
	return clone(c)
}

// copyScratch is the contiguous copy on the device that a copy between host and device makes of a strided side
// (aten/src/ATen/native/cuda/Copy.cu copy_kernel_cuda).
func copyScratch(c *Call) []Scratch {
	self := c.self()
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
	return []Scratch{{Bytes: units.Bytes(self.Numel() * side.DType.ItemSize()), Source: "aten/src/ATen/native/cuda/Copy.cu copy_kernel_cuda"}}
}

// copyValue is the elements copied; only where the whole of a contiguous tensor is written.
func copyValue(c *Call) *tensor.Data {
	self := c.self()
	if self.Device != "cpu" || self.Numel() > tensor.MaxData || self.DType.Complex() {
		return nil
	}
	return expandElems(c.Args[1], self.Sizes).data(self.DType)
}

func zeroValue(c *Call) *tensor.Data {
	m, ok := c.resultMeta()
	if !ok {
		return nil
	}
	return filled(int64(0), m)
}
