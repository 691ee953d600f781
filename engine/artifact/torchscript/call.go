package torchscript

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file lowers calls: operators, functions, methods, constructors and the forms only serialised
// code has.

// call lowers a call. Where it is a mere literal or another value seen as a type, there is no node
// and the argument is returned; else the caller gives the node its results, of type t where that is
// known.
func (l *lowerer) call(x *python.Call, flags program.NodeFlags) (n *program.Node, t *program.Type, v program.Arg) {
	switch fn := x.Fn.(type) {
	case *python.Name:
		if b, ok := l.lookup(fn.Text); ok {
			if b.fn == nil || b.forked {
				l.failf(x.Start, "got a call of %s, which is no function", fn.Text)
			}
			return l.callFunction(x, b.fn, flags), b.fn.Result, v
		}
		return l.builtin(x, fn.Text, flags)
	case *python.Attr:
		if isPath(fn) && !l.local(fn) {
			return l.callPath(x, fn, flags)
		}
		return l.callMethod(x, fn, flags), nil, v
	}
	l.failf(x.Start, "got a call of %q, want a name", l.file.Text(x.Fn.Bounds()))
	return
}

// arguments lowers a call's arguments in order.
func (l *lowerer) arguments(x *python.Call, before ...program.Arg) []program.Arg {
	m := l.args.mark()
	for _, a := range before {
		l.args.push(a)
	}
	for _, a := range x.Args {
		v := l.nested(a.Value)
		v.Name = a.Name
		l.args.push(v)
	}
	return l.args.take(m)
}

// callFunction: the records of a call of a function lie at its parenthesis, the printed path has
// none.
func (l *lowerer) callFunction(x *python.Call, fn *program.Func, flags program.NodeFlags) *program.Node {
	n := l.nodeArgs("prim::CallFunction", x.Open, flags, l.arguments(x))
	n.Callee = fn
	return n
}

// callMethod lowers (x).name(...). The object comes first; which method it is is known when it
// runs.
func (l *lowerer) callMethod(x *python.Call, fn *python.Attr, flags program.NodeFlags) *program.Node {
	obj := l.nested(fn.X)
	if _, paren := fn.X.(*python.Paren); fn.Name == "tolist" && len(x.Args) == 0 && !paren {
		return l.node("prim::tolist", x.Start, flags, obj)
	}
	n := l.nodeArgs("prim::CallMethod", x.Start, flags, l.arguments(x, obj))
	n.Text = fn.Name
	return n
}

// callPath lowers calls of qualified names: operators, functions and classes of the archive.
func (l *lowerer) callPath(
	x *python.Call, fn *python.Attr, flags program.NodeFlags,
) (n *program.Node, t *program.Type, v program.Arg) {
	path := l.file.Text(fn.Span)
	if op, ok := l.opName(path); ok {
		return l.operator(x, op, flags)
	}
	if f := l.d.funcs[path]; f != nil {
		return l.callFunction(x, f, flags), f.Result, v
	}
	if fn.Name == "__new__" {
		class := l.file.Text(fn.X.Bounds())
		n = l.node("prim::CreateObject", x.Start, flags)
		n.Text, n.Class = class, l.d.classes[class]
		if n.Class == nil && !strings.HasPrefix(class, customClasses) {
			l.failf(x.Start, "got class %s, which no code record defines", class)
		}
		return n, l.d.classType(class), v
	}
	c := l.d.classes[path]
	if c == nil {
		l.failf(x.Start, "got a call of %s, which no code record defines", path)
	}
	if c.Kind == program.NamedTupleClass {
		if lit, ok, _ := l.d.foldCall(&l.file.File, x); ok && flags&program.Nested != 0 {
			return nil, nil, program.Arg{Const: lit}
		}
	}
	n = l.nodeArgs("prim::CreateObject", x.Start, flags, l.arguments(x))
	n.Text, n.Class = path, c
	return n, l.d.classType(path), v
}

// operator lowers torch.f(...) and ops.ns.f(...).
func (l *lowerer) operator(
	x *python.Call, op string, flags program.NodeFlags,
) (n *program.Node, t *program.Type, v program.Arg) {
	switch op {
	case "aten::device":
		if lit, ok, err := l.d.foldDevice(&l.file.File, x); err == nil && ok {
			return nil, nil, program.Arg{Const: lit}
		}
	case "prim::RaiseException":
		args := l.arguments(x)
		if len(args) == 0 {
			args = make([]program.Arg, 1)
		}
		n = l.nodeArgs(op, x.Start, flags, args[:1])
		if len(args) > 1 {
			n.Text, _ = args[1].Const.(string)
		}
		return n, nil, v
	}
	return l.nodeArgs(op, x.Start, flags, l.arguments(x)), nil, v
}

// builtinOp is the operator behind one of Python's functions (the environment of
// ir_emitter.cpp). PyTorch's printer uses the first six only.
func builtinOp(name string) string {
	switch name {
	case "int":
		return "aten::Int"
	case "float":
		return "aten::Float"
	case "bool":
		return "aten::Bool"
	case "str":
		return "aten::str"
	case "print":
		return "prim::Print"
	case "sorted":
		return "aten::sorted"
	case "complex":
		return "aten::Complex"
	case "len", "all", "any", "divmod", "sum", "list", "dict", "ord", "chr", "bin", "pow", "round", "hex", "oct",
		"hash":
		return "aten::" + name
	case "min", "max", "abs", "id":
		return "prim::" + name
	}
	return ""
}

// builtin lowers calls of plain names that are not the function's own.
func (l *lowerer) builtin(
	x *python.Call, name string, flags program.NodeFlags,
) (n *program.Node, t *program.Type, v program.Arg) {
	if op := builtinOp(name); op != "" {
		return l.nodeArgs(op, x.Start, flags, l.arguments(x)), nil, v
	}
	want := map[string]int{
		"annotate": 2, "unchecked_cast": 2, "uninitialized": 1, "isinstance": 2, "getattr": 2, "fork": 1,
	}[name]
	if want == 0 {
		l.failf(x.Start, "got a call of undefined name %s", name)
	}
	if len(x.Args) != want {
		l.failf(x.Start, "got %d arguments of %s, want %d", len(x.Args), name, want)
	}
	switch name {
	case "annotate":
		return l.annotate(x, flags)
	case "unchecked_cast":
		t = l.typeArg(x.Args[0].Value)
		n = l.node("prim::unchecked_cast", x.Start, flags, l.nested(x.Args[1].Value))
		n.Types = l.typesOf(t)
	case "uninitialized":
		t = l.typeArg(x.Args[0].Value)
		n = l.node("prim::Uninitialized", x.Start, flags)
	case "isinstance":
		types := []python.Expr{x.Args[1].Value}
		if tu, ok := types[0].(*python.Tuple); ok {
			types = tu.Elems
		}
		n = l.node("prim::isinstance", x.Start, flags, l.nested(x.Args[0].Value))
		for _, y := range types {
			n.Types = append(n.Types, l.typeArg(y))
		}
	case "getattr":
		s, ok := x.Args[1].Value.(*python.String)
		if !ok {
			l.failf(x.Start, "got %q as an attribute, want a string", l.file.Text(x.Args[1].Value.Bounds()))
		}
		n = l.node("prim::GetAttr", x.Start, flags, l.nested(x.Args[0].Value))
		n.Text = s.Value
	case "fork":
		fn, ok := x.Args[0].Value.(*python.Name)
		b, known := binding{}, false
		if ok {
			b, known = l.lookup(fn.Text)
		}
		if !known || !b.forked {
			l.failf(x.Start, "got fork of %q, want a function defined before", l.file.Text(x.Args[0].Value.Bounds()))
		}
		n = l.nodeArgs("prim::fork", x.Start, flags, b.captured)
		n.Callee = b.fn
	}
	return n, t, v
}

// annotate lowers annotate(T, x), which PyTorch prints for a container whose members do not record
// its type, for a tensor used where a number is wanted, and for tolist. For everything else it
// changes nothing.
func (l *lowerer) annotate(x *python.Call, flags program.NodeFlags) (*program.Node, *program.Type, program.Arg) {
	t := l.typeArg(x.Args[0].Value)
	var v program.Arg
	switch y := x.Args[1].Value.(type) {
	case *python.List:
		n, lit := l.container(y, "prim::ListConstruct", y.Elems, flags)
		if n != nil {
			return n, t, v
		}
		v.Const = lit
	case *python.Dict:
		return l.dict(y, flags), t, v
	case *python.Call:
		n, own, w := l.call(y, program.Nested)
		switch {
		case n == nil:
			v = w
		case n.Op == "prim::tolist":
			n.Types, n.Flags = l.typesOf(t), flags|l.in
			l.locate(n, x.Start)
			return n, t, v
		default:
			v = l.to(n, "", own)
		}
	default:
		v = l.nested(y)
	}
	if v.Value == nil {
		v.Const = annotated(v.Const, t)
		return nil, nil, v
	}
	if op := implicitOp(t); op != "" {
		return l.node(op, x.Start, flags, v), t, v
	}
	return nil, nil, v
}

// implicitOp is the conversion of a tensor to a number that PyTorch inserts where a number is
// wanted.
func implicitOp(t *program.Type) string {
	switch t.Kind {
	case program.IntType:
		return "aten::IntImplicit"
	case program.FloatType:
		return "aten::FloatImplicit"
	case program.ComplexType:
		return "aten::ComplexImplicit"
	case program.NumberType:
		return "aten::ScalarImplicit"
	}
	return ""
}

func (l *lowerer) typeArg(x python.Expr) *program.Type {
	t, err := l.d.typeOf(&l.file.File, x)
	l.check(err)
	return t
}

func (l *lowerer) typesOf(t *program.Type) []*program.Type {
	s := make([]*program.Type, 1)
	s[0] = t
	return s
}
