package ops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Resolve finds the overload of name that takes these arguments, as TorchScript does
// (torch/csrc/jit/frontend/schema_matching.cpp): one round with exact types, one with conversions
// (a tensor for a number, an int for a float), each in the order of the rows. It returns the
// arguments in the schema's order with defaults filled in.
func (t *Table) Resolve(name string, pos []any, kw Kw) (*Bound, []any, error) {
	first := t.first[name]
	if first == nil {
		return nil, nil, &MissingError{Op: name}
	}
	for _, convert := range [2]bool{false, true} {
		for r := first; r != nil; r = r.next {
			b, err := r.get()
			if err != nil {
				return nil, nil, err
			}
			if args, ok := b.match(pos, kw, convert); ok {
				return b, args, nil
			}
		}
	}
	return nil, nil, &NoOverloadError{Op: name, Got: describe(pos, kw), Tried: tried(first)}
}

// NoOverloadError is a call that fits no overload with a rule.
type NoOverloadError struct {
	Op    string
	Got   string
	Tried []string
}

func (e *NoOverloadError) Error() string {
	return fmt.Sprintf("%s: got arguments (%s), want those of %s", e.Op, e.Got, strings.Join(e.Tried, " or "))
}

func tried(first *row) (out []string) {
	for r := first; r != nil; r = r.next {
		out = append(out, fill(r.rule.Schema, r.of))
	}
	return out
}

func describe(pos []any, kw Kw) string {
	parts := make([]string, 0, len(pos)+len(kw))
	for _, v := range pos {
		parts = append(parts, TypeName(v))
	}
	for _, k := range sortedKeys(kw) {
		parts = append(parts, k+"="+TypeName(kw[k]))
	}
	return strings.Join(parts, ", ")
}

// TypeName names a value's type as TorchScript would.
func TypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case complex128:
		return "complex"
	case string:
		return "str"
	case *tensor.Tensor:
		return "Tensor"
	case Device:
		return "Device"
	case *List:
		if len(v.Items) > 0 {
			return TypeName(v.Items[0]) + "[]"
		}
		return "[]"
	case *Tuple:
		parts := make([]string, len(v.Items))
		for i, m := range v.Items {
			parts[i] = TypeName(m)
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case *Dict:
		return "Dict"
	case Unbacked:
		return "unknown"
	}
	return fmt.Sprintf("%T", v)
}

// Fill puts args into the schema's order and fills in defaults; a Kw as the last argument names the
// rest. It converts nothing and checks no types: it is for rules that call rules. Where nothing is
// to be filled in, args are what it returns.
func (b *Bound) Fill(args []any) ([]any, error) {
	var kw Kw
	if n := len(args); n > 0 {
		if k, ok := args[n-1].(Kw); ok {
			kw, args = k, args[:n-1]
		}
	}
	s := b.Schema
	if len(args) == len(s.Args) && kw == nil && !s.VarArgs {
		return args, nil
	}
	full := make([]any, len(s.Args))
	if len(args) > len(full) && !s.VarArgs {
		return nil, fmt.Errorf("%s: got %d arguments, want at most %d", s.Key(), len(args), len(full))
	}
	used := 0
	for i := range s.Args {
		a := &s.Args[i]
		switch v, named := kw[a.Name]; {
		case i < len(args):
			full[i] = args[i]
		case named:
			full[i] = v
			used++
		case a.HasDefault:
			full[i] = defaultValue(a)
		case a.Type.Kind == schema.Optional:
		default:
			return nil, fmt.Errorf("%s: got no argument %s", s.Key(), a.Name)
		}
	}
	if used != len(kw) {
		return nil, fmt.Errorf("%s: got keyword arguments %v, want those of %s", s.Key(), sortedKeys(kw), b.Rule.Schema)
	}
	if s.VarArgs && len(args) > len(full) {
		full = append(full, args[len(full):]...)
	}
	return full, nil
}

// Takes says whether argument i may be v, a number for a tensor not among what is converted.
func (b *Bound) Takes(i int, v any) bool {
	_, ok := fit(v, b.Schema.Args[i].Type, true)
	return ok
}

// Default is what argument i is where it is not given.
func (b *Bound) Default(i int) any { return defaultValue(&b.Schema.Args[i]) }

func defaultValue(a *schema.Arg) any {
	if l, ok := a.Default.([]any); ok {
		t := a.Type
		if t.Kind == schema.Optional {
			t = t.Elems[0]
		}
		return &List{Items: l, Elem: t.Elems[0].Kind}
	}
	if n, ok := a.Default.(int64); ok && a.Type.Kind == schema.Float {
		return float64(n)
	}
	return a.Default
}

func sortedKeys(kw Kw) []string { return slices.Sorted(maps.Keys(kw)) }

// match fits the arguments to the schema.
func (b *Bound) match(pos []any, kw Kw, convert bool) ([]any, bool) {
	s := b.Schema
	if len(pos) > len(s.Args) && !s.VarArgs {
		return nil, false
	}
	if s.VarArgs {
		return pos, len(kw) == 0
	}
	var full []any
	used := 0
	for i := range s.Args {
		a := &s.Args[i]
		var v any
		switch {
		case i < len(pos):
			if a.KwOnly {
				return nil, false
			}
			v = pos[i]
		default:
			named, ok := kw[a.Name]
			switch {
			case ok:
				used++
				v = named
			case a.HasDefault:
				if full == nil {
					full = make([]any, len(s.Args))
				}
				full[i] = defaultValue(a)
				continue
			default:
				return nil, false
			}
		}
		c, ok := fit(v, a.Type, convert)
		if !ok {
			return nil, false
		}
		if full == nil {
			full = make([]any, len(s.Args))
		}
		full[i] = c
	}
	if full == nil {
		full = []any{}
	}
	return full, used == len(kw)
}

// fit says whether v may be passed as t, and what is passed.
func fit(v any, t *schema.Type, convert bool) (any, bool) {
	if u, unbacked := v.(Unbacked); unbacked {
		return fitUnbacked(u, t, convert)
	}
	switch t.Kind {
	case schema.Any, schema.Var:
		return v, true
	case schema.Class:
		return v, t.Name != "AnyEnumType" || isForeign(v)
	case schema.Optional:
		if v == nil {
			return nil, true
		}
		return fit(v, t.Elems[0], convert)
	case schema.Tensor:
		_, ok := v.(*tensor.Tensor)
		return v, ok
	case schema.Int, schema.ScalarType, schema.Layout, schema.MemoryFormat, schema.QScheme:
		if n, ok := v.(int64); ok {
			return n, true
		}
		return fromTensor(v, convert, tensor.Int64)
	case schema.Float:
		switch n := v.(type) {
		case float64:
			return n, true
		case int64:
			return float64(n), convert
		}
		return fromTensor(v, convert, tensor.Float64)
	case schema.Number:
		if _, isBool := v.(bool); !isBool && IsScalar(v) || isBool && convert {
			return v, true
		}
		return fromTensor(v, convert, tensor.Undefined)
	case schema.Complex:
		_, ok := v.(complex128)
		return v, ok
	case schema.Bool:
		_, ok := v.(bool)
		return v, ok
	case schema.Str:
		_, ok := v.(string)
		return v, ok
	case schema.Device:
		switch d := v.(type) {
		case Device:
			return d, true
		case string:
			return Device(d), convert
		}
		return nil, false
	case schema.None:
		return nil, v == nil
	case schema.List:
		return fitList(v, t, convert)
	case schema.Tuple:
		tu, ok := v.(*Tuple)
		return v, ok && len(tu.Items) == len(t.Elems)
	case schema.Dict:
		return fitDict(v, t)
	}
	return v, true
}

// isForeign says whether v is a value only exec knows: an object, an enum member.
func isForeign(v any) bool {
	switch v.(type) {
	case nil, bool, int64, float64, complex128, string, *tensor.Tensor, Device, *List, *Tuple, *Dict:
		return false
	}
	return true
}

func fitDict(v any, t *schema.Type) (any, bool) {
	d, ok := v.(*Dict)
	if !ok {
		return nil, false
	}
	if len(d.Keys) > 0 {
		if _, ok := fit(d.Keys[0], t.Elems[0], false); !ok {
			return nil, false
		}
	}
	return v, true
}

func fitList(v any, t *schema.Type, convert bool) (any, bool) {
	elem := t.Elems[0]
	switch l := v.(type) {
	case *List:
		if len(l.Items) == 0 && l.Elem != schema.Any && elem.Kind != schema.Var && elem.Kind != schema.Any &&
			elem.Kind != schema.Optional && l.Elem != elem.Kind && !convert {
			return nil, false
		}
		if elem.Kind == schema.Optional && !convert && l.Elem == elem.Elems[0].Kind {
			return nil, false // lists are invariant: Tensor[] is no Tensor?[]
		}
		for _, m := range l.Items {
			if _, ok := fit(m, elem, convert); !ok {
				return nil, false
			}
		}
		return l, true
	case *Tuple:
		// a tuple literal passes for a list of one type
		if !convert && elem.Kind != schema.Int {
			return nil, false
		}
		for _, m := range l.Items {
			if _, ok := fit(m, elem, convert); !ok {
				return nil, false
			}
		}
		return &List{Items: l.Items, Elem: elem.Kind}, true
	}
	if t.Size > 0 { // int[2] takes one int for both (broadcasting list)
		if c, ok := fit(v, elem, convert); ok {
			items := make([]any, t.Size)
			for i := range items {
				items[i] = c
			}
			return &List{Items: items, Elem: elem.Kind}, true
		}
	}
	return nil, false
}

// fromTensor is the implicit conversion of a 0-dim tensor to a number: its value where it is known,
// else Unbacked.
func fromTensor(v any, convert bool, d tensor.DType) (any, bool) {
	t, ok := v.(*tensor.Tensor)
	if !ok || !convert || t.Numel() != 1 {
		return nil, false
	}
	return Item(t, d), true
}

// Item is the one element of t as a Python number of dtype d (Undefined: of t's own), Unbacked
// where the value is not known.
func Item(t *tensor.Tensor, d tensor.DType) any {
	if d == tensor.Undefined {
		d = t.DType
	}
	if t.Data == nil {
		return NewUnbacked("aten::item", kindOfDType(d))
	}
	var f float64
	var n int64
	if len(t.Data.Ints) > 0 {
		n = t.Data.Ints[0]
		f = float64(n)
	} else if len(t.Data.Floats) > 0 {
		f = t.Data.Floats[0]
		n = int64(f)
	}
	switch {
	case d == tensor.Bool:
		return f != 0
	case d.Integral(false):
		return n
	}
	return f
}
