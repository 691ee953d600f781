package torchscript

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns expressions without variables into literals.

// constant is the literal an attribute or a default has.
func (d *decoder) constant(f *python.File, x python.Expr) (any, error) {
	text := f.Text(x.Bounds())
	switch text { // nearly all of them
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	v, ok := d.fixed[text]
	if ok {
		return v, nil
	}
	d.small.Use(f)
	y, err := d.small.Expr(x)
	if err != nil {
		return nil, err
	}
	if v, ok, err = d.fold(f, y); err != nil {
		return nil, err
	}
	if !ok {
		return nil, f.Errorf(x.Bounds().Start, "got %q, want a constant", text)
	}
	if immutable(v) {
		d.fixed[text] = v
	}
	return v, nil
}

// fold is the literal x stands for; ok is false where x is no constant, err why it is a wrong one.
// It looks at no local names: the caller makes sure that what it passes holds none.
func (d *decoder) fold(f *python.File, x python.Expr) (v any, ok bool, err error) {
	switch x := x.(type) {
	case *python.Name:
		v, ok = namedConstant(x.Text)
		return v, ok, nil
	case *python.Number:
		v, err = number(f, x)
		return v, err == nil, err
	case *python.String:
		return x.Value, true, nil
	case *python.Paren:
		return d.fold(f, x.X)
	case *python.Unary:
		return d.foldUnary(f, x)
	case *python.Binary:
		return d.foldComplex(f, x)
	case *python.List:
		items, ok, err := d.foldAll(f, x.Elems)
		if !ok {
			return nil, false, err
		}
		return &program.ListLit{Items: items}, true, nil
	case *python.Tuple:
		items, ok, err := d.foldAll(f, x.Elems)
		if !ok {
			return nil, false, err
		}
		return &program.TupleLit{Items: items}, true, nil
	case *python.Dict:
		keys, ok, err := d.foldAll(f, x.Keys)
		if !ok {
			return nil, false, err
		}
		values, ok, err := d.foldAll(f, x.Values)
		if !ok {
			return nil, false, err
		}
		return &program.DictLit{Keys: keys, Values: values}, true, nil
	case *python.Attr:
		if isPath(x) {
			return d.pathConstant(f, x)
		}
	case *python.Call:
		return d.foldCall(f, x)
	}
	return nil, false, nil
}

func (d *decoder) foldAll(f *python.File, list []python.Expr) ([]any, bool, error) {
	items := make([]any, len(list))
	for i, x := range list {
		v, ok, err := d.fold(f, x)
		if !ok {
			return nil, false, err
		}
		items[i] = v
	}
	return items, true, nil
}

func namedConstant(name string) (any, bool) {
	switch name {
	case "None":
		return nil, true
	case "True":
		return true, true
	case "False":
		return false, true
	case "inf":
		return math.Inf(1), true
	case "nan":
		return math.NaN(), true
	case "infj":
		return complex(0, math.Inf(1)), true
	case "nanj":
		return complex(0, math.NaN()), true
	}
	return nil, false
}

func number(f *python.File, x *python.Number) (any, error) {
	text := x.Text
	if text[len(text)-1]|0x20 == 'j' {
		v, err := strconv.ParseFloat(text[:len(text)-1], 64)
		if err != nil && !math.IsInf(v, 0) {
			return nil, f.Errorf(x.Start, "got %q, want a number", text)
		}
		return complex(0, v), nil
	}
	if len(text) < 10 { // short integers, nearly all
		v := int64(0)
		for i := 0; i < len(text); i++ {
			c := text[i] - '0'
			if c > 9 {
				v = -1
				break
			}
			v = v*10 + int64(c)
		}
		if v >= 0 {
			return v, nil
		}
	}
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return nil, f.Errorf(x.Start, "got %q, want a number", text)
	}
	return v, nil
}

// foldUnary folds signs. The least integer is written with a sign and overflows without.
func (d *decoder) foldUnary(f *python.File, x *python.Unary) (any, bool, error) {
	if x.Op != "-" {
		return nil, false, nil
	}
	if n, ok := x.X.(*python.Number); ok && n.Text == "9223372036854775808" {
		return int64(math.MinInt64), true, nil
	}
	v, ok, err := d.fold(f, x.X)
	if !ok {
		return nil, false, err
	}
	switch v := v.(type) {
	case int64:
		return -v, true, nil
	case float64:
		return -v, true, nil
	case complex128:
		return -v, true, nil
	}
	return nil, false, nil
}

// foldComplex folds 1.+2.j, which is how PyTorch prints a complex number.
func (d *decoder) foldComplex(f *python.File, x *python.Binary) (any, bool, error) {
	if x.Op != "+" && x.Op != "-" {
		return nil, false, nil
	}
	re, ok, err := d.fold(f, x.X)
	if !ok {
		return nil, false, err
	}
	im, ok, err := d.fold(f, x.Y)
	if !ok {
		return nil, false, err
	}
	y, ok := im.(complex128)
	if !ok {
		return nil, false, nil
	}
	if x.Op == "-" {
		y = -y
	}
	switch re := re.(type) {
	case int64:
		return complex(float64(re)+real(y), imag(y)), true, nil
	case float64:
		return complex(re+real(y), imag(y)), true, nil
	}
	return nil, false, nil
}

// pathConstant folds CONSTANTS.c0 and __torch__.Color.RED.
func (d *decoder) pathConstant(f *python.File, x *python.Attr) (any, bool, error) {
	if base, ok := x.X.(*python.Name); ok && base.Text == "CONSTANTS" {
		v, err := d.tableConstant(f, x)
		return v, err == nil, err
	}
	c := d.classes[f.Text(x.X.Bounds())]
	if c == nil || c.Kind != program.EnumClass {
		return nil, false, nil
	}
	for _, a := range c.Attrs {
		if a.Name == x.Name {
			return program.EnumLit{Class: c, Name: a.Name, Value: a.Default}, true, nil
		}
	}
	return nil, false, f.Errorf(x.Start, "got no member %s of %s, want one", x.Name, c.Name)
}

// tableConstant is entry N of constants.pkl, written CONSTANTS.cN.
func (d *decoder) tableConstant(f *python.File, x *python.Attr) (any, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(x.Name, "c"))
	if err != nil || x.Name[0] != 'c' {
		return nil, f.Errorf(x.Start, "got CONSTANTS.%s, want CONSTANTS.c and a number", x.Name)
	}
	if n < 0 || n >= len(d.consts) {
		return nil, f.Errorf(x.Start, "got CONSTANTS.%s, want one of the %d entries of constants.pkl", x.Name,
			len(d.consts))
	}
	return d.consts[n], nil
}

// foldCall folds calls that only dress a constant up: annotate(T, x), torch.device("cpu") and a
// named tuple.
func (d *decoder) foldCall(f *python.File, x *python.Call) (any, bool, error) {
	for _, a := range x.Args {
		if a.Name != "" {
			return nil, false, nil
		}
	}
	if n, ok := x.Fn.(*python.Name); ok {
		if n.Text != "annotate" || len(x.Args) != 2 {
			return nil, false, nil
		}
		v, ok, err := d.fold(f, x.Args[1].Value)
		if !ok {
			return nil, false, err
		}
		t, err := d.typeOf(f, x.Args[0].Value)
		if err != nil {
			return nil, false, err
		}
		return annotated(v, t), true, nil
	}
	if !isPath(x.Fn) {
		return nil, false, nil
	}
	path := f.Text(x.Fn.Bounds())
	if path == "torch.device" {
		return d.foldDevice(f, x)
	}
	c := d.classes[path]
	if c == nil || c.Kind != program.NamedTupleClass || len(x.Args) != len(c.Attrs) {
		return nil, false, nil
	}
	t := &program.TupleLit{Class: c, Items: make([]any, len(x.Args))}
	for i, a := range x.Args {
		v, ok, err := d.fold(f, a.Value)
		if !ok {
			return nil, false, err
		}
		t.Items[i] = v
	}
	return t, true, nil
}

// annotated gives a literal the type it was declared with: an empty list shows none, and an integer
// may stand for a float.
func annotated(v any, t *program.Type) any {
	for t.Kind == program.OptionalType && len(t.Elems) == 1 {
		t = t.Elems[0]
	}
	switch v := v.(type) {
	case *program.ListLit:
		if t.Kind == program.ListType && len(t.Elems) == 1 {
			return &program.ListLit{Items: v.Items, Elem: t.Elems[0]}
		}
	case int64:
		if t.Kind == program.FloatType {
			return float64(v)
		}
	}
	return v
}

// foldDevice folds torch.device("cuda:0") and torch.device("cuda", 0).
func (d *decoder) foldDevice(f *python.File, x *python.Call) (any, bool, error) {
	if len(x.Args) == 0 || len(x.Args) > 2 {
		return nil, false, nil
	}
	v, ok, err := d.fold(f, x.Args[0].Value)
	name, isName := v.(string)
	if !ok || !isName {
		return nil, false, err
	}
	if len(x.Args) == 2 {
		v, ok, err := d.fold(f, x.Args[1].Value)
		n, isInt := v.(int64)
		if !ok || !isInt {
			return nil, false, err
		}
		name += ":" + strconv.FormatInt(n, 10)
	}
	return program.Device(name), true, nil
}

// literalName names a literal's type in messages.
func literalName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *program.Object:
		return "an object of " + v.Class.Name
	case *program.State:
		return "a tensor"
	case *program.ListLit:
		return "a list"
	case *program.TupleLit:
		return "a tuple"
	case *program.DictLit:
		return "a dict"
	case *program.Opaque:
		return "an object of " + v.Class
	}
	return fmt.Sprintf("%v", v)
}
