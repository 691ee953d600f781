package torchscript

import (
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns expressions into nodes and arguments. Calls are in call.go.

// nested lowers an expression inside a statement: its results have no printed name.
func (l *lowerer) nested(x python.Expr) program.Arg { return l.eval(x, "", program.Nested) }

// named lowers what is assigned to a name. A list or dict becomes a new one, even if it holds
// constants only: the name may be appended to.
func (l *lowerer) named(x python.Expr, name string) binding {
	switch y := x.(type) {
	case *python.Name:
		if b, ok := l.lookup(y.Text); ok {
			return b
		}
	case *python.Attr:
		if fn := l.d.funcs[l.file.Text(y.Span)]; fn != nil && !l.local(y) {
			return binding{fn: fn}
		}
	}
	return binding{arg: l.eval(x, name, 0)}
}

// eval lowers an expression; name is its result's, "" for none.
func (l *lowerer) eval(x python.Expr, name string, flags program.NodeFlags) program.Arg {
	switch x := x.(type) {
	case *python.Name:
		return l.name(x)
	case *python.Paren:
		return l.eval(x.X, name, flags)
	case *python.Number, *python.String:
		return l.constant(x)
	case *python.Attr:
		return l.attr(x, name, flags)
	case *python.Call:
		n, t, v := l.call(x, flags)
		if n == nil {
			return v
		}
		return l.to(n, name, t)
	case *python.Subscript:
		return l.subscript(x, name, flags)
	case *python.List:
		n, lit := l.container(x, "prim::ListConstruct", x.Elems, flags)
		return l.toOrLiteral(n, name, lit)
	case *python.Tuple:
		n, lit := l.container(x, "prim::TupleConstruct", x.Elems, flags)
		return l.toOrLiteral(n, name, lit)
	case *python.Dict:
		return l.to(l.dict(x, flags), name, nil)
	case *python.Unary:
		return l.unary(x, name, flags)
	case *python.Binary:
		return l.binary(x, name, flags)
	case *python.Cond:
		return l.choose(x, x.Test, x.Then, x.Else)
	}
	l.failf(x.Bounds().Start, "got %q, want an expression", l.file.Text(x.Bounds()))
	return program.Arg{}
}

// to gives a node its one result.
func (l *lowerer) to(n *program.Node, name string, t *program.Type) program.Arg {
	v := l.value(name, t)
	n.Outs = l.outs(v)
	return program.Arg{Value: v}
}

func (l *lowerer) toOrLiteral(n *program.Node, name string, lit any) program.Arg {
	if n == nil {
		return program.Arg{Const: lit}
	}
	return l.to(n, name, nil)
}

func (l *lowerer) name(x *python.Name) program.Arg {
	if b, ok := l.lookup(x.Text); ok {
		if b.fn != nil {
			l.failf(x.Start, "got function %s as a value, want a call of it", x.Text)
		}
		return b.arg
	}
	if v, ok := namedConstant(x.Text); ok {
		return program.Arg{Const: v}
	}
	l.failf(x.Start, "got undefined name %s", x.Text)
	return program.Arg{}
}

// constant lowers what holds no names.
func (l *lowerer) constant(x python.Expr) program.Arg {
	v, ok, err := l.d.fold(&l.file.File, x)
	l.check(err)
	if !ok {
		l.failf(x.Bounds().Start, "got %q, want a constant", l.file.Text(x.Bounds()))
	}
	return program.Arg{Const: v}
}

// attr lowers x.name: an attribute of an object, the value or name of an enumeration's member
// (PyTorch prints parentheses around the member), or a constant of the archive.
func (l *lowerer) attr(x *python.Attr, name string, flags program.NodeFlags) program.Arg {
	if isPath(x) && !l.local(x) {
		return l.constant(x)
	}
	op := "prim::GetAttr"
	if p, ok := x.X.(*python.Paren); ok && (x.Name == "value" || x.Name == "name") {
		if v, ok, _ := l.d.fold(&l.file.File, p.X); ok {
			if e, ok := v.(program.EnumLit); ok && x.Name == "value" {
				return program.Arg{Const: e.Value}
			} else if ok {
				return program.Arg{Const: e.Name}
			}
		}
		op = "prim::EnumValue"
		if x.Name == "name" {
			op = "prim::EnumName"
		}
	}
	obj := l.nested(x.X)
	n := l.node(op, x.Start, flags, obj)
	if op == "prim::GetAttr" {
		n.Text = x.Name
	}
	return l.to(n, name, nil)
}

// subscript lowers x[i] and x[i:j]. Whether x is a list, tuple, dict or string is known when it
// runs.
func (l *lowerer) subscript(x *python.Subscript, name string, flags program.NodeFlags) program.Arg {
	obj := l.nested(x.X)
	var n *program.Node
	switch i := x.Index.(type) {
	case *python.Slice:
		bounds := [3]program.Arg{{}, {}, {Const: int64(1)}}
		for k, y := range []python.Expr{i.Lo, i.Hi, i.Step} {
			if y != nil {
				bounds[k] = l.nested(y)
			}
		}
		n = l.node("aten::slice", x.Start, flags, obj, bounds[0], bounds[1], bounds[2])
	case *python.Tuple:
		l.failf(x.Start, "got several indices, want one")
	default:
		n = l.node("aten::__getitem__", x.Start, flags, obj, l.nested(i))
	}
	return l.to(n, name, nil)
}

// container lowers a list or tuple. Without names in it, and unless it is a list that is assigned
// to a name, it is a literal; each reading of a literal list makes a new list.
func (l *lowerer) container(
	x python.Expr, op string, elems []python.Expr, flags program.NodeFlags,
) (*program.Node, any) {
	nested := flags&program.Nested != 0
	if _, isList := x.(*python.List); !isList || nested {
		v, ok, err := l.d.fold(&l.file.File, x)
		l.check(err)
		if ok && (nested || immutable(v)) {
			return nil, v
		}
	}
	m := l.args.mark()
	for _, e := range elems {
		l.args.push(l.nested(e))
	}
	return l.nodeArgs(op, x.Bounds().Start, flags, l.args.take(m)), nil
}

// immutable says whether a literal holds no list or dict.
func immutable(v any) bool {
	switch v := v.(type) {
	case *program.ListLit, *program.DictLit:
		return false
	case *program.TupleLit:
		for _, item := range v.Items {
			if !immutable(item) {
				return false
			}
		}
	}
	return true
}

func (l *lowerer) dict(x *python.Dict, flags program.NodeFlags) *program.Node {
	m := l.args.mark()
	for i := range x.Keys {
		k := l.nested(x.Keys[i])
		v := l.nested(x.Values[i])
		l.args.push(k)
		l.args.push(v)
	}
	return l.nodeArgs("prim::DictConstruct", x.Start, flags, l.args.take(m))
}

func (l *lowerer) unary(x *python.Unary, name string, flags program.NodeFlags) program.Arg {
	if v, ok, _ := l.d.foldUnary(&l.file.File, x); ok {
		return program.Arg{Const: v}
	}
	v := l.nested(x.X)
	op := map[string]string{"-": "aten::neg", "~": "aten::bitwise_not", "not": "aten::__not__"}[x.Op]
	if op == "" {
		return v
	}
	return l.to(l.node(op, x.Start, flags, v), name, nil)
}

// infixOp is the operator behind one of Python's (the table of ir_emitter.cpp, getNodeKind).
func infixOp(op string) string {
	switch op {
	case "+":
		return "aten::add"
	case "-":
		return "aten::sub"
	case "*":
		return "aten::mul"
	case "/":
		return "aten::div"
	case "//":
		return "aten::floordiv"
	case "%":
		return "aten::remainder"
	case "**":
		return "aten::pow"
	case "@":
		return "aten::matmul"
	case "&":
		return "aten::__and__"
	case "|":
		return "aten::__or__"
	case "^":
		return "aten::__xor__"
	case "<<":
		return "aten::__lshift__"
	case ">>":
		return "aten::__rshift__"
	case "==":
		return "aten::eq"
	case "!=":
		return "aten::ne"
	case "<":
		return "aten::lt"
	case "<=":
		return "aten::le"
	case ">":
		return "aten::gt"
	case ">=":
		return "aten::ge"
	case "is":
		return "aten::__is__"
	}
	return "aten::__isnot__" // is not
}

func (l *lowerer) binary(x *python.Binary, name string, flags program.NodeFlags) program.Arg {
	if v, ok, _ := l.d.foldComplex(&l.file.File, x); ok {
		return program.Arg{Const: v}
	}
	switch x.Op {
	case "and":
		return l.choose(x, x.X, x.Y, &python.Name{Span: x.Span, Text: "False"})
	case "or":
		return l.choose(x, x.X, &python.Name{Span: x.Span, Text: "True"}, x.Y)
	}
	a, b := l.nested(x.X), l.nested(x.Y)
	switch x.Op {
	case "in":
		return l.to(l.node("aten::__contains__", x.Start, flags, b, a), name, nil)
	case "not in":
		v := l.result("aten::__contains__", x.Start, b, a)
		return l.to(l.node("aten::__not__", x.Start, flags, v), name, nil)
	}
	return l.to(l.node(infixOp(x.Op), x.Start, flags, a, b), name, nil)
}

// choose lowers then if test else els.
func (l *lowerer) choose(x python.Expr, test, then, els python.Expr) program.Arg {
	cond := l.nested(test)
	var blocks [2]*program.Block
	for i, side := range []python.Expr{then, els} {
		m := l.nodes.mark()
		out := make([]program.Arg, 1)
		out[0] = l.nested(side)
		blocks[i] = &program.Block{Nodes: l.nodes.take(m), Outs: out}
	}
	n := l.node("prim::If", x.Bounds().Start, program.Nested, cond)
	n.Blocks = l.blocks(blocks[0], blocks[1])
	return l.to(n, "", nil)
}
