// Package tensor describes tensors without their data: dtype, sizes, strides, offset, device, and
// the storage they look at.
//
// Two Tensors with one *Storage are aliases. Nothing here holds tensor bytes; Data carries the
// values of small CPU tensors only, because traced programs compute shapes with them.
package tensor

import (
	"fmt"
	"strings"
)

// DType is PyTorch's c10::ScalarType with the same numbers (c10/core/ScalarType.h), which
// serialised TorchScript writes as plain ints.
type DType uint8

// The scalar types, numbered as in c10::ScalarType.
const (
	Uint8         DType = 0
	Int8          DType = 1
	Int16         DType = 2
	Int32         DType = 3
	Int64         DType = 4
	Float16       DType = 5
	Float32       DType = 6
	Float64       DType = 7
	ComplexHalf   DType = 8
	Complex64     DType = 9
	Complex128    DType = 10
	Bool          DType = 11
	QInt8         DType = 12
	QUint8        DType = 13
	QInt32        DType = 14
	BFloat16      DType = 15
	QUint4x2      DType = 16
	QUint2x4      DType = 17
	Float8E5M2    DType = 23
	Float8E4M3FN  DType = 24
	Float8E5M2UZ  DType = 25
	Float8E4M3UZ  DType = 26
	Uint16        DType = 27
	Uint32        DType = 28
	Uint64        DType = 29
	Float8E8M0FNU DType = 44
	Undefined     DType = 255
)

type dtypeFact struct {
	name string // as torch.<name>
	alt  string // a second spelling PyTorch accepts
	size int64  // bytes an element
	kind byte   // b bool, i signed, u unsigned, f float, c complex, q quantized
}

var dtypeFacts = map[DType]dtypeFact{
	Uint8: {"uint8", "", 1, 'u'}, Int8: {"int8", "", 1, 'i'}, Int16: {"int16", "short", 2, 'i'},
	Int32: {"int32", "int", 4, 'i'}, Int64: {"int64", "long", 8, 'i'},
	Float16: {"float16", "half", 2, 'f'}, Float32: {"float32", "float", 4, 'f'}, Float64: {"float64", "double", 8, 'f'},
	ComplexHalf: {"complex32", "chalf", 4, 'c'}, Complex64: {"complex64", "cfloat", 8, 'c'},
	Complex128: {"complex128", "cdouble", 16, 'c'},
	Bool:       {"bool", "", 1, 'b'}, QInt8: {"qint8", "", 1, 'q'}, QUint8: {"quint8", "", 1, 'q'},
	QInt32:   {"qint32", "", 4, 'q'},
	BFloat16: {"bfloat16", "", 2, 'f'}, QUint4x2: {"quint4x2", "", 1, 'q'}, QUint2x4: {"quint2x4", "", 1, 'q'},
	Float8E5M2: {"float8_e5m2", "", 1, 'f'}, Float8E4M3FN: {"float8_e4m3fn", "", 1, 'f'},
	Float8E5M2UZ: {"float8_e5m2fnuz", "", 1, 'f'}, Float8E4M3UZ: {"float8_e4m3fnuz", "", 1, 'f'},
	Uint16: {"uint16", "", 2, 'u'}, Uint32: {"uint32", "", 4, 'u'}, Uint64: {"uint64", "", 8, 'u'},
	Float8E8M0FNU: {"float8_e8m0fnu", "", 1, 'f'},
}

// dtypeTable is dtypeFacts by number: item sizes are asked on every operator.
var dtypeTable = func() (t [256]dtypeFact) {
	for d, f := range dtypeFacts {
		t[d] = f
	}
	return t
}()

var dtypeByName = func() map[string]DType {
	m := make(map[string]DType, 2*len(dtypeFacts))
	for d, f := range dtypeFacts {
		m[f.name] = d
		if f.alt != "" {
			m[f.alt] = d
		}
	}
	return m
}()

// dtypeElsewhere are names that other tools have for dtypes.
var dtypeElsewhere = map[string]string{"fp64": "float64", "f64": "float64", "fp32": "float32", "f32": "float32",
	"single": "float32", "fp16": "float16", "f16": "float16",
	"bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "boolean": "bool"}

// ParseDType reads a dtype's name in either of PyTorch's spellings, with or without "torch.".
func ParseDType(s string) (DType, error) {
	s = strings.TrimPrefix(s, "torch.")
	if d, ok := dtypeByName[s]; ok {
		return d, nil
	}
	if meant, ok := dtypeElsewhere[strings.ToLower(s)]; ok {
		return Undefined, fmt.Errorf("got dtype %q, want one of PyTorch's: did you mean %s?", s, meant)
	}
	return Undefined, fmt.Errorf("got dtype %q, want one of PyTorch's, such as float32, float16, bfloat16, int64, bool", s)
}

// Valid says whether d is a dtype this package knows.
func (d DType) Valid() bool { return dtypeTable[d].size != 0 }

// ItemSize is the bytes of one element, 0 for an unknown dtype.
func (d DType) ItemSize() int64 { return dtypeTable[d].size }

func (d DType) String() string {
	if f := dtypeTable[d]; f.name != "" {
		return f.name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Floating says whether d is a real floating type (complex is not).
func (d DType) Floating() bool { return dtypeTable[d].kind == 'f' }

// Complex says whether d is a complex type.
func (d DType) Complex() bool { return dtypeTable[d].kind == 'c' }

// Integral says whether d is an integer type; bool counts only when withBool.
func (d DType) Integral(withBool bool) bool {
	k := dtypeTable[d].kind
	return k == 'i' || k == 'u' || withBool && k == 'b'
}

// Quantized says whether d is a quantized type.
func (d DType) Quantized() bool { return dtypeTable[d].kind == 'q' }

// ToReal is the dtype of a complex type's parts; other types are themselves.
func (d DType) ToReal() DType {
	switch d {
	case ComplexHalf:
		return Float16
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// ToComplex is the complex type whose parts are d. Of bfloat16 it is the next wider one, as in
// every release up to 2.14 or earlier; 2.15 has bcomplex32, which hardly an operator takes yet.
func (d DType) ToComplex() DType {
	switch d {
	case Float16:
		return ComplexHalf
	case Float32, BFloat16:
		return Complex64
	case Float64:
		return Complex128
	}
	return d
}

// Unsigned says whether d is an unsigned integer type.
func (d DType) Unsigned() bool { return dtypeTable[d].kind == 'u' }

// AccumulateType is the dtype that kernels on d add up in on a GPU: float32 for half and bfloat16
// (ATen/AccumulateType.h).
func (d DType) AccumulateType() DType {
	switch {
	case d == Float16 || d == BFloat16:
		return Float32
	case d == ComplexHalf:
		return Complex64
	case d.Integral(true):
		return Int64
	}
	return d
}
