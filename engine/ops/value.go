package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// The values a run computes with:
//
//	nil                        None
//	bool int64 float64 complex128 string
//	*tensor.Tensor             a tensor without data (Data set where the values are known)
//	Device                     a torch.device
//	*List *Tuple *Dict         containers; they hold their members (Machine.Hold, Machine.Drop)
//	Unbacked                   a number that depends on tensor data, or what an operator without a rule would have given
//
// and whatever exec adds (modules, functions), which rules pass through without looking.
type (
	// Device is a torch.device value: "cuda", "cuda:0", "cpu".
	Device string

	// List is a TorchScript list. Elem is an empty list's type (schema.Any where nothing is known).
	List struct {
		Items []any
		Elem  schema.Kind
		Refs  int32 // exec's count of holders
	}

	// Tuple is a tuple, or a named one.
	Tuple struct {
		Items  []any
		Names  []string // of a named tuple's fields
		Class  string
		Refs   int32
		Struct bool // what an operator with named results gives (torch.return_types)
	}

	// Dict is a dict in insertion order.
	Dict struct {
		Keys, Values []any
		Refs         int32

		places map[any]int // of the first keys, so many as it has entries; nil of a small one
	}
)

// NewList makes a list of items that no one holds yet; see Call.List.
func NewList(elem schema.Kind, items ...any) *List { return &List{Items: items, Elem: elem} }

// Find is the place of key in d, -1 where it has none. Keys are strings, ints, bools, floats or
// tensors (by identity).
func (d *Dict) Find(key any) int {
	if len(d.Keys) > smallDict {
		return d.place(key)
	}
	for i, k := range d.Keys {
		if k == key {
			return i
		}
	}
	return -1
}

// smallDict is how many keys are compared one by one.
const smallDict = 16

// place is Find of a dict with many keys. Keys are only ever added at the end, except Remove.
func (d *Dict) place(key any) int {
	if d.places == nil || len(d.places) > len(d.Keys) {
		d.places = make(map[any]int, len(d.Keys))
	}
	for i := len(d.places); i < len(d.Keys); i++ {
		if _, twice := d.places[d.Keys[i]]; twice || d.Keys[i] != d.Keys[i] { // not made by this language
			d.places = nil
			return slices.Index(d.Keys, key)
		}
		d.places[d.Keys[i]] = i
	}
	if i, ok := d.places[key]; ok {
		return i
	}
	return -1
}

// Remove takes the key at a place out.
func (d *Dict) Remove(i int) {
	d.Keys, d.Values = slices.Delete(d.Keys, i, i+1), slices.Delete(d.Values, i, i+1)
	d.places = nil
}

// IsScalar says whether v is a Python number: what a Scalar argument takes.
func IsScalar(v any) bool {
	switch v.(type) {
	case int64, float64, bool, complex128:
		return true
	}
	return false
}

// ScalarDType is the dtype a Python number takes when it meets no tensor: int64, the default float,
// bool or complex64.
func ScalarDType(v any) tensor.DType {
	switch v.(type) {
	case bool:
		return tensor.Bool
	case int64:
		return tensor.Int64
	case complex128:
		return tensor.Complex64
	}
	return tensor.Float32
}

// AsFloat is a number as a float, 0 for anything else.
func AsFloat(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	case bool:
		if n {
			return 1
		}
	}
	return 0
}

// Packed is an object of a custom class (__torch__.torch.classes): packed parameters of quantized
// operators, and others that rules pass on.
type Packed struct {
	Class string
	State any // what the archive held, in values of a run
}

// Members are those of a tuple or list; none of another value.
func Members(v any) []any {
	switch v := v.(type) {
	case *Tuple:
		return v.Items
	case *List:
		return v.Items
	}
	return nil
}
