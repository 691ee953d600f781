package ops

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Type promotion (c10/core/ScalarType.cpp promoteTypes, aten/src/ATen/native/TypeProperties.cpp
// result_type).

// PromoteTypes is the dtype two dtypes meet in.
func PromoteTypes(a, b tensor.DType) tensor.DType {
	if a == b {
		return a
	}
	if a == tensor.Undefined {
		return b
	}
	if b == tensor.Undefined {
		return a
	}
	if a == tensor.Bool {
		return b
	}
	if b == tensor.Bool {
		return a
	}
	if a.Complex() || b.Complex() {
		return promoteComplex(a, b)
	}
	switch {
	case a.Floating() && b.Floating():
		return promoteFloat(a, b)
	case a.Floating():
		return a
	case b.Floating():
		return b
	}
	return promoteInt(a, b)
}

func promoteComplex(a, b tensor.DType) tensor.DType {
	ra, rb := a.ToReal(), b.ToReal()
	if !ra.Floating() {
		return b
	}
	if !rb.Floating() {
		return a
	}
	return promoteFloat(ra, rb).ToComplex()
}

func promoteFloat(a, b tensor.DType) tensor.DType {
	if a == b {
		return a
	}
	if a.ItemSize() == b.ItemSize() { // float16 with bfloat16
		return tensor.Float32
	}
	return wider(a, b)
}

func wider(a, b tensor.DType) tensor.DType {
	bySize := func(a, b tensor.DType) int { return cmp.Compare(a.ItemSize(), b.ItemSize()) }
	return slices.MaxFunc([]tensor.DType{a, b}, bySize)
}

func promoteInt(a, b tensor.DType) tensor.DType {
	ua, ub := a.Unsigned(), b.Unsigned()
	if ua == ub {
		return wider(a, b)
	}
	if ub {
		a, b = b, a
	}
	// a is unsigned, b signed
	if b.ItemSize() > a.ItemSize() {
		return b
	}
	return tensor.Int16 // of uint8 and int8: PyTorch refuses wider unsigned dtypes beside signed ones
}

// ResultType is at::result_type over tensors and Python numbers: dimensioned tensors decide, then
// 0-dim tensors, then numbers, each group only where it is of a higher category (bool < int < float
// < complex).
func ResultType(values ...any) tensor.DType {
	dim, zero, wrapped := tensor.Undefined, tensor.Undefined, tensor.Undefined
	for _, v := range values {
		switch v := v.(type) {
		case *tensor.Tensor:
			if v == nil {
				continue
			}
			switch {
			case len(v.Sizes) > 0:
				dim = PromoteTypes(dim, v.DType)
			case v.Wrapped:
				wrapped = PromoteTypes(wrapped, wrappedDType(v.DType))
			case v.Storage != nil && v.Storage.Category == tensor.Constant && v.DType == tensor.Float64:
				// a constant of the code's is a number: traced `x * 1.5`
				wrapped = PromoteTypes(wrapped, ScalarDType(0.0))
			default:
				zero = PromoteTypes(zero, v.DType)
			}
		case bool, int64, float64, complex128:
			d := ScalarDType(v)
			wrapped = PromoteTypes(wrapped, d)
		}
	}
	return combine(dim, combine(zero, wrapped))
}

// combine is combine_categories: the lower group counts only where its category is higher.
func combine(higher, lower tensor.DType) tensor.DType {
	switch {
	case higher == tensor.Undefined:
		return lower
	case lower == tensor.Undefined:
		return higher
	case higher.Complex():
		return higher
	case higher.Floating():
		if lower.Complex() {
			return PromoteTypes(lower, higher)
		}
		return higher
	case higher == tensor.Bool || lower.Floating() || lower.Complex():
		return PromoteTypes(higher, lower)
	}
	return higher
}

// FloatType is the dtype of results that are floating for integral inputs (sin, mean of ints
// refuses, true division).
func FloatType(d tensor.DType) tensor.DType {
	if d.Integral(true) {
		return tensor.Float32
	}
	return d
}

// CanCast is c10::canCast: a result may be written to a dtype of the same or a higher category.
func CanCast(from, to tensor.DType) bool {
	switch {
	case from.Complex() && !to.Complex():
		return false
	case from.Floating() && to.Integral(true):
		return false
	case from != tensor.Bool && to == tensor.Bool:
		return false
	}
	return true
}

// WrappedNumber is the tensor that PyTorch makes of a Python number given for a tensor, nil for any
// other value: without dimensions, on the host, as wide as Python's (c10/core/ScalarType.h,
// ScalarOps.h).
func WrappedNumber(v any) *tensor.Tensor {
	d, data := tensor.Undefined, (*tensor.Data)(nil)
	switch v := v.(type) {
	case bool:
		d, data = tensor.Bool, &tensor.Data{Ints: []int64{0}}
		if v {
			data.Ints[0] = 1
		}
	case int64:
		d, data = tensor.Int64, &tensor.Data{Ints: []int64{v}}
	case float64:
		d, data = tensor.Float64, &tensor.Data{Floats: []float64{v}}
	case complex128:
		d = tensor.Complex128
	case Unbacked:
		switch v.Kind {
		case schema.Bool:
			d = tensor.Bool
		case schema.Int:
			d = tensor.Int64
		case schema.Float:
			d = tensor.Float64
		}
	}
	if d == tensor.Undefined {
		return nil
	}
	m := NewMeta(d, "cpu", nil)
	s := &tensor.Storage{ID: -1, NBytes: m.StorageBytes(), Device: m.Device, Category: tensor.Constant}
	return &tensor.Tensor{Meta: m, Storage: s, Data: data, Wrapped: true}
}

// wrappedDType is what a wrapped number counts as in promotion: the default dtype where it is a
// fraction.
func wrappedDType(d tensor.DType) tensor.DType {
	switch d {
	case tensor.Float64:
		return ScalarDType(0.0)
	case tensor.Complex128:
		return ScalarDType(complex(0, 0))
	}
	return d
}
