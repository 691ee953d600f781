package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

// Input is one argument of a run. Name is empty where it is given by position.
type Input struct {
	Name  string
	Value Value
	Pos   Pos
}

// Value is a Tensor, List, Tuple, Dict, Int, Float, Bool, Str or None.
type Value interface {
	String() string // in the grammar of ParseInput
	bind(dims map[string]int64) (Value, error)
}

// Tensor is a tensor without data. Before Bind its sizes may name dims.
type Tensor struct {
	DType  tensor.DType
	Shape  []Expr
	Format tensor.MemoryFormat // Contiguous, ChannelsLast or ChannelsLast3d
	Device string              // "cpu" keeps it on the host; empty: the case's device
}

// The other values.
type (
	List  []Value
	Tuple []Value
	Dict  []DictItem // in the order written
	Int   int64
	Float float64
	Bool  bool
	Str   string
	None  struct{}
)

// DictItem is an entry of a Dict. Its key is a string.
type DictItem struct {
	Key   string
	Value Value
}

// Bind gives every dim its value.
func (in Input) Bind(dims map[string]int64) (Input, error) {
	v, err := in.Value.bind(dims)
	in.Value = v
	return in, err
}

// InputTexts are inputs in the grammar of --input.
func InputTexts(ins []Input) []string {
	out := make([]string, len(ins))
	for i, in := range ins {
		out[i] = in.String()
	}
	return out
}

// String writes the input as ParseInput reads it.
func (in Input) String() string {
	if in.Name == "" {
		return in.Value.String()
	}
	return in.Name + "=" + in.Value.String()
}

// exprs calls fn for every expression in a value, in the order written.
func exprs(v Value, fn func(Expr)) {
	switch v := v.(type) {
	case Tensor:
		for _, e := range v.Shape {
			fn(e)
		}
	case List:
		for _, it := range v {
			exprs(it, fn)
		}
	case Tuple:
		for _, it := range v {
			exprs(it, fn)
		}
	case Dict:
		for _, it := range v {
			exprs(it.Value, fn)
		}
	}
}

// Sizes are the tensor's sizes once bound.
func (t Tensor) Sizes() ([]int64, error) {
	out := make([]int64, len(t.Shape))
	for i := range t.Shape {
		n, err := t.Shape[i].Eval(nil)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// Strides are the tensor's strides once bound.
func (t Tensor) Strides() ([]int64, error) {
	sizes, err := t.Sizes()
	if err != nil {
		return nil, err
	}
	return tensor.FormatStrides(sizes, t.Format), nil
}

func (t Tensor) bind(dims map[string]int64) (Value, error) {
	out := t
	out.Shape = make([]Expr, len(t.Shape))
	sizes := make([]int64, len(t.Shape))
	for i := range t.Shape {
		n, err := t.Shape[i].Eval(dims)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, t.Shape[i].Errorf("got size %d, want 0 or more", n)
		}
		out.Shape[i], sizes[i] = Const(n), n
	}
	n, err := tensor.Product(sizes)
	if err != nil || n > math.MaxInt64/max(1, t.DType.ItemSize()) {
		return nil, &SizeError{Tensor: out.String()}
	}
	return out, nil
}

func (t Tensor) String() string {
	var b strings.Builder
	b.WriteString(t.DType.String())
	b.WriteByte('[')
	for i := range t.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(t.Shape[i].String())
	}
	b.WriteByte(']')
	if name := FormatName(t.Format); name != "" {
		b.WriteString(" " + name)
	}
	if t.Device != "" {
		b.WriteString(" " + t.Device)
	}
	return b.String()
}

// SizeError is a tensor whose bytes do not fit int64.
type SizeError struct{ Tensor string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("got %s, want a tensor whose bytes fit int64", e.Tensor)
}

// FormatName is a memory format as memspec.yaml spells it; empty for contiguous.
func FormatName(f tensor.MemoryFormat) string {
	switch f {
	case tensor.ChannelsLast:
		return "channels_last"
	case tensor.ChannelsLast3d:
		return "channels_last_3d"
	}
	return ""
}

func bindAll(vs []Value, dims map[string]int64) ([]Value, error) {
	out := make([]Value, len(vs))
	for i, v := range vs {
		b, err := v.bind(dims)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func (l List) bind(dims map[string]int64) (Value, error) {
	out, err := bindAll(l, dims)
	return List(out), err
}

func (t Tuple) bind(dims map[string]int64) (Value, error) {
	out, err := bindAll(t, dims)
	return Tuple(out), err
}

func (d Dict) bind(dims map[string]int64) (Value, error) {
	out := make(Dict, len(d))
	for i, it := range d {
		v, err := it.Value.bind(dims)
		if err != nil {
			return nil, err
		}
		out[i] = DictItem{it.Key, v}
	}
	return out, nil
}

func (i Int) bind(map[string]int64) (Value, error)   { return i, nil }
func (f Float) bind(map[string]int64) (Value, error) { return f, nil }
func (b Bool) bind(map[string]int64) (Value, error)  { return b, nil }
func (s Str) bind(map[string]int64) (Value, error)   { return s, nil }
func (n None) bind(map[string]int64) (Value, error)  { return n, nil }

func join(vs []Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

func (l List) String() string { return "[" + join(l) + "]" }

func (t Tuple) String() string {
	if len(t) == 1 {
		return "(" + t[0].String() + ",)"
	}
	return "(" + join(t) + ")"
}

func (d Dict) String() string {
	parts := make([]string, len(d))
	for i, it := range d {
		key := it.Key
		if !expr.IsName(key) {
			key = Str(key).String()
		}
		parts[i] = key + ": " + it.Value.String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (i Int) String() string { return strconv.FormatInt(int64(i), 10) }

// String keeps a point or an exponent, so that it reads back as a float.
func (f Float) String() string {
	s := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

func (b Bool) String() string { return strconv.FormatBool(bool(b)) }

func (n None) String() string { return "null" }

var quoter = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

func (s Str) String() string { return "'" + quoter.Replace(string(s)) + "'" }
