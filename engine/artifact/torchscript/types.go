package torchscript

import (
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns annotations into types.

// typeOf is the type an annotation names. Equal texts give the same *Type: a big model repeats few
// annotations thousands of times.
func (d *decoder) typeOf(f *python.File, x python.Expr) (*program.Type, error) {
	text := f.Text(x.Bounds())
	if kind, ok := plainType(text); ok {
		return &d.plain[kind], nil
	}
	if t := d.types[text]; t != nil {
		return t, nil
	}
	if _, raw := x.(*python.Raw); raw {
		if isDotted(text) { // a class's name, of which a big model has many
			t := d.classType(text)
			d.types[text] = t
			return t, nil
		}
		d.small.Use(f)
		var err error
		if x, err = d.small.Expr(x); err != nil {
			return nil, err
		}
	}
	t, err := d.makeType(f, x)
	if err != nil {
		return nil, err
	}
	d.types[text] = t
	return t, nil
}

// typeText is typeOf of a type given as text, as pickles do.
func (d *decoder) typeText(text string) (*program.Type, error) {
	f := &python.File{Name: "type", Source: text}
	return d.typeOf(f, &python.Raw{Span: python.Span{End: python.Pos(len(text))}, Text: text})
}

// isDotted says whether a text is names with points between them.
func isDotted(text string) bool {
	first := true // of a name
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_':
			first = false
		case c >= '0' && c <= '9' && !first:
		case c == '.' && !first:
			first = true
		default:
			return false
		}
	}
	return !first
}

// plainType is a type without parts, as PyTorch's printer and older ones write them.
func plainType(name string) (program.TypeKind, bool) {
	switch name {
	case "Tensor":
		return program.TensorType, true
	case "int":
		return program.IntType, true
	case "float":
		return program.FloatType, true
	case "complex":
		return program.ComplexType, true
	case "bool":
		return program.BoolType, true
	case "str":
		return program.StrType, true
	case "None", "NoneType":
		return program.NoneType, true
	case "number", "Scalar":
		return program.NumberType, true
	case "Device":
		return program.DeviceType, true
	case "Generator":
		return program.GeneratorType, true
	case "Stream":
		return program.StreamType, true
	case "Any":
		return program.AnyType, true
	case "list", "List":
		return program.ListType, true // of anything: only isinstance asks for it
	case "tuple", "Tuple":
		return program.TupleType, true
	case "dict", "Dict":
		return program.DictType, true
	}
	return 0, false
}

// typeHead is a type with parts and how many it takes; 0 is any number.
func typeHead(name string) (kind program.TypeKind, parts int, ok bool) {
	switch name {
	case "List":
		return program.ListType, 1, true
	case "Optional":
		return program.OptionalType, 1, true
	case "Dict":
		return program.DictType, 2, true
	case "Tuple":
		return program.TupleType, 0, true
	case "Union":
		return program.UnionType, 0, true
	case "Future", "Await":
		return program.FutureType, 1, true
	}
	return 0, 0, false
}

func (d *decoder) makeType(f *python.File, x python.Expr) (*program.Type, error) {
	switch x := x.(type) {
	case *python.Name:
		if kind, ok := plainType(x.Text); ok {
			return &d.plain[kind], nil
		}
		return d.classType(x.Text), nil
	case *python.Attr:
		if isPath(x) {
			return d.classType(f.Text(x.Span)), nil
		}
	case *python.Subscript:
		return d.genericType(f, x)
	}
	return nil, f.Errorf(x.Bounds().Start, "got %q, want a type", f.Text(x.Bounds()))
}

func (d *decoder) classType(name string) *program.Type {
	t := &program.Type{Kind: program.ClassType, Name: name, Class: d.classes[name]}
	if t.Class == nil {
		d.classTypes = append(d.classTypes, t) // it may be defined later
	}
	return t
}

// isPath says whether x is a.b.c.
func isPath(x python.Expr) bool {
	for {
		switch y := x.(type) {
		case *python.Name:
			return true
		case *python.Attr:
			x = y.X
		default:
			return false
		}
	}
}

func (d *decoder) genericType(f *python.File, x *python.Subscript) (*program.Type, error) {
	head, ok := x.X.(*python.Name)
	if !ok {
		return nil, f.Errorf(x.Start, "got %q, want a type", f.Text(x.Span))
	}
	parts := []python.Expr{x.Index}
	if t, ok := x.Index.(*python.Tuple); ok {
		parts = t.Elems
	}
	if head.Text == "Final" && len(parts) == 1 {
		return d.makeType(f, parts[0])
	}
	kind, n, ok := typeHead(head.Text)
	if !ok && head.Text == "RRef" {
		return d.classType(f.Text(x.Span)), nil
	}
	if !ok || n != 0 && n != len(parts) {
		return nil, f.Errorf(x.Start, "got %q, want a type", f.Text(x.Span))
	}
	t := &program.Type{Kind: kind, Elems: make([]*program.Type, len(parts))}
	for i, p := range parts {
		var err error
		if t.Elems[i], err = d.makeType(f, p); err != nil {
			return nil, err
		}
	}
	return t, nil
}
