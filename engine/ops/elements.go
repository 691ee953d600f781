package ops

import (
	"github.com/memspec/memspec/engine/tensor"
)

// Elements of small CPU tensors: size arithmetic in traced programs.

// Elements are the elements of an argument, broadcast to shape, as ints and as floats.
type Elements struct {
	Ints   []int64
	Floats []float64
}

func NewElements(n int) Elements { return Elements{make([]int64, n), make([]float64, n)} }

// AsNumber is a Python number or a dtype's element as both.
func AsNumber(v any) (int64, float64) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1
		}
	case int64:
		return v, float64(v)
	case float64:
		return int64(v), v
	}
	return 0, 0
}

// ElementAt is element i of t's data as an int and as a float.
func ElementAt(t *tensor.Tensor, i int) (int64, float64) {
	if t.DType.Integral(true) {
		return t.Data.Ints[i], float64(t.Data.Ints[i])
	}
	return int64(t.Data.Floats[i]), t.Data.Floats[i]
}

// ExpandElements are v's elements as shape shows them.
func ExpandElements(v any, shape []int64) Elements {
	n := int(tensor.Numel(shape))
	out := NewElements(n)
	t, ok := v.(*tensor.Tensor)
	if !ok {
		i, f := AsNumber(v)
		for k := range n {
			out.Ints[k], out.Floats[k] = i, f
		}
		return out
	}
	strides := make([]int64, len(shape))
	off := len(shape) - len(t.Sizes)
	step := int64(1)
	for d := len(t.Sizes) - 1; d >= 0; d-- {
		if t.Sizes[d] != 1 {
			strides[off+d] = step
		}
		step *= t.Sizes[d]
	}
	walk(shape, strides, 0, func(k int, at int64) {
		out.Ints[k], out.Floats[k] = ElementAt(t, int(at))
	})
	return out
}

// walk visits the elements of shape in row-major order with their places under strides and offset.
func walk(shape, strides []int64, offset int64, visit func(k int, at int64)) {
	n := tensor.Numel(shape)
	index := make([]int64, len(shape))
	at := offset
	for k := range n {
		visit(int(k), at)
		for d := len(shape) - 1; d >= 0; d-- {
			index[d]++
			at += strides[d]
			if index[d] < shape[d] {
				break
			}
			at -= index[d] * strides[d]
			index[d] = 0
		}
	}
}

// KnownMeta says whether every element of the result can be known: its Out holds, and it is small
// on the host, or a number on the device, where traced code has its constants once an archive is
// loaded there.
func (c *Call) KnownMeta() (tensor.Meta, bool) {
	metas, err := c.Rule.Out(c)
	if err != nil || len(metas) != 1 {
		return tensor.Meta{}, false
	}
	return metas[0], (metas[0].Device == "cpu" || len(metas[0].Sizes) == 0) && metas[0].Numel() <= tensor.MaxData
}

// Data narrows elements to dtype d.
func (e Elements) Data(d tensor.DType) *tensor.Data {
	if d.Integral(true) {
		if d == tensor.Bool {
			for i := range e.Ints {
				if e.Ints[i] != 0 {
					e.Ints[i] = 1
				}
			}
		}
		return &tensor.Data{Ints: e.Ints}
	}
	if d == tensor.Float32 {
		for i, f := range e.Floats {
			e.Floats[i] = float64(float32(f))
		}
	}
	return &tensor.Data{Floats: e.Floats}
}

// SameValue is the Value of an operator that keeps every element in its place: casts, copies,
// reshapes.
func SameValue(c *Call) *tensor.Data {
	self, ok := c.Args[0].(*tensor.Tensor)
	m, ok2 := c.KnownMeta()
	if !ok || !ok2 || m.DType.Complex() {
		return nil
	}
	out := ExpandElements(self, self.Sizes)
	if m.DType == tensor.Bool {
		for i, f := range out.Floats {
			if f != 0 {
				out.Ints[i] = 1
			}
		}
	}
	return out.Data(m.DType)
}

// FilledValue is a Value of one number everywhere.
func FilledValue(v any, m tensor.Meta) *tensor.Data {
	if m.Device != "cpu" || m.Numel() > tensor.MaxData || m.DType.Complex() || v != nil && !IsScalar(v) {
		return nil
	}
	return ExpandElements(v, m.Sizes).Data(m.DType)
}

// ViewValue is the Value of a view: its elements are found by laying self out contiguously and
// looking at it in the same way.
func ViewValue(c *Call) *tensor.Data {
	self, ok := c.Args[0].(*tensor.Tensor)
	if !ok || self.Data == nil {
		return nil
	}
	flat := *self
	flat.Strides, flat.StorageOffset = tensor.ContiguousStrides(self.Sizes), 0
	d := *c
	d.Args = append([]any{&flat}, c.Args[1:]...)
	m, ok := d.KnownMeta()
	if !ok {
		return nil
	}
	out := NewElements(int(m.Numel()))
	walk(m.Sizes, m.Strides, m.StorageOffset, func(k int, at int64) {
		out.Ints[k], out.Floats[k] = ElementAt(self, int(at))
	})
	return out.Data(m.DType)
}
