package create

import (
	"math"
	"math/big"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Factories (aten/src/ATen/native/TensorFactories.cpp).

// created is a contiguous tensor of these sizes with the call's dtype and device; without a device
// it lies on the host.
func created(c *ops.Call, d tensor.DType, sizes ...int64) ([]tensor.Meta, error) {
	for _, n := range sizes {
		if n < 0 {
			return nil, c.Errorf("got sizes %v, want none below 0", sizes)
		}
	}
	return ops.One(ops.NewMeta(c.DTypeOr("dtype", d), c.DeviceOr("device", "cpu"), sizes))
}

// empty is empty, zeros, ones, rand and the like.
func empty(c *ops.Call) ([]tensor.Meta, error) {
	m, err := created(c, tensor.Float32, c.Ints("size")...)
	if f := format(c, tensor.Contiguous); err == nil && f != tensor.Contiguous {
		m[0].Strides = tensor.FormatStrides(m[0].Sizes, f)
		err = checkFormat(c, f, len(m[0].Sizes))
	}
	return m, err
}

func emptyStrided(c *ops.Call) ([]tensor.Meta, error) {
	m, err := empty(c)
	return strided(c, m, err)
}

// strided gives a new tensor the strides that the call names.
func strided(c *ops.Call, m []tensor.Meta, err error) ([]tensor.Meta, error) {
	if err != nil {
		return nil, err
	}
	m[0].Strides = c.Ints("stride")
	if len(m[0].Strides) != len(m[0].Sizes) {
		return nil, c.Errorf("got %d sizes and %d strides", len(m[0].Sizes), len(m[0].Strides))
	}
	return m, nil
}

// emptyPermuted lays dimensions out in the order of physical_layout.
func emptyPermuted(c *ops.Call) ([]tensor.Meta, error) {
	m, err := empty(c)
	if err != nil {
		return nil, err
	}
	order := c.Ints("physical_layout")
	once := len(order) == len(m[0].Sizes)
	for d := range m[0].Sizes { // none counted from the end
		once = once && slices.Contains(order, int64(d))
	}
	if !once {
		return nil, c.Errorf("got physical_layout %v for %d dimensions, want each of them once", order, len(m[0].Sizes))
	}
	next := int64(1)
	for _, d := range slices.Backward(order) {
		m[0].Strides[d] = next
		next *= max(m[0].Sizes[d], 1)
	}
	return m, nil
}

// full takes its dtype from the number.
func full(c *ops.Call) ([]tensor.Meta, error) {
	return created(c, ops.ScalarDType(c.Arg("fill_value")), c.Ints("size")...)
}

// like is empty_like and its kin.
func like(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	f := format(c, tensor.Preserve)
	if err := checkFormat(c, f, len(self.Sizes)); err != nil {
		return nil, err
	}
	m := ops.EmptyLike(self, c.DTypeOr("dtype", self.DType), f)
	m.Device = c.DeviceOr("device", self.Device)
	return ops.One(m)
}

// anew is new_empty and its kin.
func anew(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	return ops.One(ops.NewMeta(c.DTypeOr("dtype", self.DType), c.DeviceOr("device", self.Device), c.Ints("size")))
}

func anewStrided(c *ops.Call) ([]tensor.Meta, error) {
	m, err := anew(c)
	return strided(c, m, err)
}

// fillWith is the Value of a factory that writes one number.
func fillWith(v any) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data {
		m, ok := c.KnownMeta()
		if !ok {
			return nil
		}
		return ops.FilledValue(v, m)
	}
}

func fillArg(name string) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data { return fillWith(c.Arg(name))(c) }
}

// span is start, step and length of an arange or range.
func span(c *ops.Call) (start, step float64, n int64, err error) {
	start, step = c.Float("start"), 1
	end := c.Float("end")
	if c.Has("step") {
		step = c.Float("step")
	}
	if step == 0 || (end-start)*step < 0 {
		return 0, 0, 0, c.Errorf("got start %v, end %v, step %v, want a step toward the end", start, end, step)
	}
	f := math.Ceil((end - start) / step)
	if f > 1<<62 || math.IsNaN(f) {
		return 0, 0, 0, c.Errorf("got start %v, end %v, step %v", start, end, step)
	}
	return start, step, int64(f), nil
}

// arange holds integers where every number given is one.
func arange(c *ops.Call) ([]tensor.Meta, error) {
	_, _, n, err := span(c)
	if err != nil {
		return nil, err
	}
	d := tensor.Int64
	for _, name := range [...]string{"start", "end", "step"} {
		if _, isFloat := c.Arg(name).(float64); isFloat {
			d = tensor.Float32
		}
	}
	return created(c, d, n)
}

func arangeValue(c *ops.Call) *tensor.Data {
	m, ok := c.KnownMeta()
	start, step, n, err := span(c)
	if !ok || err != nil {
		return nil
	}
	out := ops.NewElements(int(n))
	for i := range out.Floats {
		out.Floats[i] = start + float64(i)*step
		out.Ints[i] = int64(out.Floats[i])
	}
	return out.Data(m.DType)
}

// rangeOf is range: its end belongs to it.
func rangeOf(c *ops.Call) ([]tensor.Meta, error) {
	start, step, _, err := span(c)
	if err != nil {
		return nil, err
	}
	return created(c, tensor.Float32, int64(math.Floor((c.Float("end")-start)/step))+1)
}

// linspace is linspace and logspace.
func linspace(c *ops.Call) ([]tensor.Meta, error) {
	d := tensor.Float32
	for _, name := range [...]string{"start", "end"} {
		if _, isComplex := c.Arg(name).(complex128); isComplex {
			d = tensor.Complex64
		}
		if t := c.T(name); t != nil && len(t.Sizes) > 0 {
			return nil, c.Errorf("got %s of sizes %v, want a 0-dim tensor", name, t.Sizes)
		}
	}
	out, err := created(c, d, c.Int("steps"))
	// the only number is filled in, not computed
	if err == nil && c.Schema.Name == "aten::logspace" && c.Int("steps") == 1 && ops.IsScalar(c.Arg("start")) {
		if v := math.Pow(c.Float("base"), c.Float("start")); !math.IsInf(v, 0) && math.Abs(v) > largest(out[0].DType) {
			return nil, c.Errorf("got %v to the power of %v, want a number that %s can hold", c.Arg("base"),
				c.Arg("start"), out[0].DType)
		}
	}
	return out, err
}

// largest is the largest number of a floating dtype (c10/util/TypeCast.h); of others none is known
// to be too large.
func largest(d tensor.DType) float64 {
	switch d {
	case tensor.Float16:
		return 65504
	case tensor.BFloat16:
		return 0x1.fep127
	case tensor.Float32:
		return math.MaxFloat32
	}
	return math.Inf(1)
}

func eye(c *ops.Call) ([]tensor.Meta, error) {
	return created(c, tensor.Float32, c.Int("n"), c.IntOr("m", c.Int("n")))
}

// scalarTensor has no dimension.
func scalarTensor(c *ops.Call) ([]tensor.Meta, error) {
	return created(c, tensor.Float32)
}

// flattenData are the sizes of nested lists and their numbers in order.
func flattenData(v any) (sizes []int64, items []any, ok bool) {
	l, isList := v.(*ops.List)
	if !isList {
		if t, isTensor := v.(*tensor.Tensor); isTensor && t.Numel() == 1 {
			v = ops.Item(t, tensor.Undefined)
			if _, unbacked := v.(ops.Unbacked); unbacked {
				return nil, []any{t}, true
			}
		}
		return nil, []any{v}, true
	}
	sizes = []int64{int64(len(l.Items))}
	for i, m := range l.Items {
		s, inner, ok := flattenData(m)
		if !ok {
			return nil, nil, false
		}
		if i == 0 {
			sizes = append(sizes, s...)
		} else if !slices.Equal(sizes[1:], s) {
			return nil, nil, false
		}
		items = append(items, inner...)
	}
	return sizes, items, true
}

// numbers is the first argument of tensor and as_tensor as sizes, dtype and elements.
func numbers(c *ops.Call) (sizes []int64, d tensor.DType, items []any, err error) {
	sizes, items, ok := flattenData(c.Args[0])
	if !ok {
		return nil, 0, nil, c.Errorf("got lists of different lengths, want them equal")
	}
	d = tensor.Float32
	if len(items) > 0 {
		if t, isTensor := items[0].(*tensor.Tensor); isTensor {
			d = t.DType
		} else {
			d = ops.ScalarDType(items[0])
		}
	}
	for _, v := range items {
		if e := ops.ScalarDType(v); ops.IsScalar(v) && (e == tensor.Float32 || e == tensor.Complex64) {
			d = ops.PromoteTypes(d, e)
		}
	}
	return sizes, d, items, nil
}

// tensorOf is torch.tensor.
func tensorOf(c *ops.Call) ([]tensor.Meta, error) {
	sizes, d, _, err := numbers(c)
	if err != nil {
		return nil, err
	}
	return created(c, d, sizes...)
}

func tensorValue(c *ops.Call) *tensor.Data {
	m, ok := c.KnownMeta()
	_, _, items, err := numbers(c)
	if !ok || err != nil || m.DType.Complex() {
		return nil
	}
	out := ops.NewElements(len(items))
	for i, v := range items {
		if !ops.IsScalar(v) {
			return nil
		}
		out.Ints[i], out.Floats[i] = ops.AsNumber(v)
	}
	if m.DType == tensor.Bool {
		for i, f := range out.Floats {
			if f != 0 {
				out.Ints[i] = 1
			}
		}
	}
	return out.Data(m.DType)
}

// windowed is a window function: periodic ones are one longer and lose their last element.
func windowed(c *ops.Call) (any, error) {
	n := c.Int("window_length")
	on := ops.Kw{"dtype": int64(c.DTypeOr("dtype", tensor.Float32)), "device": ops.Device(c.DeviceOr("device", "cpu"))}
	periodic := c.Schema.ArgIndex("periodic") < 0 || c.Bool("periodic")
	switch {
	case n < 0:
		return nil, c.Errorf("got length %d, want at least 0", n)
	case n == 0:
		return c.Do("aten::empty.memory_format", ops.IntList(0), on), nil
	case n == 1:
		return c.Do("aten::ones", ops.IntList(1), on), nil
	case !periodic:
		return c.Do("aten::arange", n, on), nil
	}
	return c.Do("aten::narrow", c.Do("aten::arange", n+1, on), int64(0), int64(0), n), nil
}

// window is one made in its own length.
func window(c *ops.Call) ([]tensor.Meta, error) {
	return created(c, tensor.Float32, c.Int("window_length"))
}

// complexOf joins two real tensors.
func complexOf(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Operands()
	if ts[0].DType != ts[1].DType || !ts[0].DType.Floating() {
		return nil, c.Errorf("got %s and %s, want one floating dtype", ts[0].DType, ts[1].DType)
	}
	return c.Elementwise(ts[0].DType.ToComplex(), ts)
}

// trianglePlaces is tril_indices and triu_indices: rows and columns below (above) a diagonal.
func trianglePlaces(lower bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		row, col, off := c.Int("row"), c.Int("col"), c.Int("offset")
		if row < 0 || col < 0 {
			return nil, c.Errorf("got %d rows and %d columns", row, col)
		}
		off = min(max(off, -row-1), col)
		n := clampedSum(row, off+1, col) // columns up to the diagonal, of all rows
		if !lower {
			all := new(big.Int).Mul(big.NewInt(row), big.NewInt(col))
			n = all.Sub(all, clampedSum(row, off, col))
		}
		if !n.IsInt64() {
			return nil, c.Errorf("size overflows int64")
		}
		return created(c, tensor.Int64, 2, n.Int64())
	}
}

// clampedSum is the sum of i+off, kept within 0 and most, over the rows i.
func clampedSum(rows, off, most int64) *big.Int {
	off = min(max(off, -rows), most)
	first, end := max(0, -off), min(rows, most-off) // where it lies between
	sum := new(big.Int)
	if first < end {
		sum.Mul(big.NewInt((first+off)+(end-1+off)), big.NewInt(end-first))
		sum.Rsh(sum, 1)
	}
	full := big.NewInt(max(rows-end, 0))
	return sum.Add(sum, full.Mul(full, big.NewInt(most)))
}

// vander is powers of a vector, the highest first.
func vander(c *ops.Call) (any, error) {
	x := c.Self()
	if len(x.Sizes) != 1 {
		return nil, c.Errorf("got sizes %v, want a vector", x.Sizes)
	}
	n := c.IntOr("N", x.Sizes[0])
	d := ops.PromoteTypes(x.DType, tensor.Int64)
	out := c.Do("aten::empty.memory_format", ops.IntList(x.Sizes[0], n),
		ops.Kw{"dtype": int64(d), "device": ops.Device(x.Device)})
	if n > 1 {
		powers := c.Do("aten::cumprod", c.Do("aten::slice.Tensor", out, int64(1), int64(1)), int64(1))
		c.Free(powers)
	}
	if !c.Bool("increasing") {
		return c.Do("aten::flip", out, ops.IntList(1)), nil
	}
	return out, nil
}

// shapeTensor holds the sizes, on the host.
func shapeTensor(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.NewMeta(tensor.Int64, "cpu", []int64{int64(len(c.Self().Sizes))}))
}

func shapeValue(c *ops.Call) *tensor.Data { return &tensor.Data{Ints: slices.Clone(c.Self().Sizes)} }

// fromInts is _list_to_tensor.
func fromInts(c *ops.Call) (any, error) { return c.Do("aten::tensor", c.Args[0]), nil }

// dimRange is a range as long as a dimension.
func dimRange(c *ops.Call) (any, error) {
	like := c.Self()
	d, err := c.WrapDim(c.Int("dim"), len(like.Sizes))
	if err != nil {
		return nil, err
	}
	return c.Do("aten::arange", like.Sizes[d], ops.Kw{"dtype": int64(tensor.Int64), "device": ops.Device(like.Device)}),
		nil
}

// noGrad is an initialiser that TorchScript runs without gradients.
func noGrad(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return c.Do(key, c.Args...), nil }
}
