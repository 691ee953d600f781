package torchscript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns statements into nodes and blocks. Expressions are in expr.go, names and their
// scopes in scope.go.

// lowerer lowers one function at a time.
type lowerer struct {
	d      *decoder
	file   *sourceFile
	fn     *program.Func
	parser python.Parser // of bodies
	scope
	nodes   list[*program.Node]
	args    list[program.Arg]
	args2   list[program.Arg]
	outList list[*program.Value]
	stmt    int32 // number of the next printed statement
	line    int32
	in      program.NodeFlags // InReturn or nothing
	forks   bool              // it has forked functions, which are called after it

}

// list gathers items of nested lists on one stack.
type list[T any] struct{ stack []T }

func (l *list[T]) push(v T)  { l.stack = append(l.stack, v) }
func (l *list[T]) mark() int { return len(l.stack) }

// take copies what was pushed since mark to a separate slice.
func (l *list[T]) take(mark int) []T {
	out := slices.Clone(l.stack[mark:])
	l.stack = l.stack[:mark]
	return out
}

// failure is the panic that leaves a lowering: it is caught in body.lower.
type failure struct{ err error }

func (l *lowerer) failf(at python.Pos, format string, args ...any) {
	panic(failure{l.file.Errorf(at, format, args...)})
}

func (l *lowerer) check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// lower reads and lowers a function's body.
func (b *body) lower(fn *program.Func) (g *program.Graph, err error) {
	l := &b.d.low
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	defer func() {
		l.reset()
		switch r := recover().(type) {
		case nil:
		case failure:
			g, err = nil, r.err
		default:
			panic(r)
		}
	}()
	l.file, l.fn = b.file, fn
	l.check(b.d.readDebug(b.file))
	defer func() { b.file.lowered++ }()
	if g := b.d.lowered(b, fn); g != nil {
		return g, nil
	}
	l.parser.Use(&b.file.File)
	stmts, err := l.parser.Body(&b.def)
	l.check(err)
	g = &program.Graph{Params: make([]*program.Value, len(fn.Params))}
	for i, p := range fn.Params {
		v := l.value(p.Name, p.Type)
		g.Params[i] = v
		l.define(p.Name, binding{arg: program.Arg{Value: v}})
	}
	g.Body = l.function(stmts, b.def.End)
	g.NumValues = l.ids
	l.origin(g)
	b.d.keep(b, fn, g)
	return g, nil
}

func (l *lowerer) reset() {
	l.scope.reset()
	l.nodes.stack, l.outList.stack = l.nodes.stack[:0], l.outList.stack[:0]
	l.args.stack, l.args2.stack = l.args.stack[:0], l.args2.stack[:0]
	l.stmt, l.line, l.in, l.forks = 0, 0, 0, false
}

// function lowers a whole body: it ends in a Return.
func (l *lowerer) function(stmts []python.Stmt, end python.Pos) *program.Block {
	m := l.nodes.mark()
	l.stmts(stmts)
	if n := l.nodes.mark(); n == m || l.nodes.stack[n-1].Op != "prim::Return" {
		l.begin(int(l.line))
		l.node("prim::Return", end, 0, program.Arg{})
	}
	return &program.Block{Nodes: l.nodes.take(m)}
}

// stmts lowers statements in order and says whether one returns. Raising does not count: PyTorch
// prints assignments after it.
func (l *lowerer) stmts(stmts []python.Stmt) (left bool) {
	for _, s := range stmts {
		if l.statement(s) {
			left = true
		}
	}
	return left
}

func (l *lowerer) statement(s python.Stmt) (left bool) {
	switch s := s.(type) {
	case *python.Assign:
		l.begin(s.Line)
		l.assign(s)
	case *python.ExprStmt:
		l.begin(s.Line)
		l.effect(s.X)
	case *python.If:
		l.begin(s.Line)
		return l.ifStmt(s)
	case *python.For:
		l.begin(s.Line)
		l.forStmt(s)
	case *python.While:
		l.begin(s.Line)
		l.whileStmt(s)
	case *python.With:
		l.begin(s.Line)
		return l.withStmt(s)
	case *python.Return:
		l.begin(s.Line)
		l.in = program.InReturn
		var v program.Arg
		if s.Value != nil {
			v = l.nested(s.Value)
		}
		l.node("prim::Return", s.Start, 0, v)
		l.in = 0
		return true
	case *python.Raise:
		l.begin(s.Line)
		l.raise(s)
	case *python.Assert:
		l.begin(s.Line)
		l.assert(s)
	case *python.Delete:
		l.begin(s.Line)
		sub, ok := s.X.(*python.Subscript)
		if !ok {
			l.failf(s.Start, "got del of %q, want del x[i]", l.file.Text(s.X.Bounds()))
		}
		x, i := l.nested(sub.X), l.nested(sub.Index)
		l.node("aten::Delete", s.Start, 0, x, i)
	case *python.FuncDef:
		l.forkDef(s)
	case *python.Simple:
		if s.Word != "pass" {
			l.failf(s.Start, "got %s, which serialised TorchScript has not", s.Word)
		}
	default:
		panic(fmt.Sprintf("internal error: got a %T in a function, which the parser refuses", s))
	}
	return false
}

func (l *lowerer) begin(line int) {
	l.stmt++
	l.line = int32(line)
}

// effect lowers an expression statement. It has no results: what PyTorch prints as one has none.
func (l *lowerer) effect(x python.Expr) {
	if c, ok := x.(*python.Call); ok {
		l.call(c, 0)
		return
	}
	l.nested(x)
}

// assign lowers the forms of assignment:
//
//	x = e            x is the value of e
//	a, b = f(x)      an operator with two results
//	a, b = x, y      side by side
//	a, b, = x        x, a tuple or list, taken apart
//	self.a = x, x[i] = y
func (l *lowerer) assign(s *python.Assign) {
	if s.Value == nil {
		l.failf(s.Start, "got a declaration in a function, want a value")
	}
	if len(s.Targets) == 1 && !s.Unpack {
		l.assignOne(s)
		return
	}
	if t, ok := s.Value.(*python.Tuple); ok {
		if len(t.Elems) != len(s.Targets) {
			l.failf(s.Start, "got %d names for %d values", len(s.Targets), len(t.Elems))
		}
		m := l.bound.mark()
		for i, x := range t.Elems {
			l.bound.push(l.named(x, l.target(s.Targets[i])))
		}
		// all values exist before any name is bound
		for i, target := range s.Targets {
			l.define(l.target(target), l.bound.stack[m+i])
		}
		l.bound.stack = l.bound.stack[:m]
		return
	}
	if s.Unpack {
		v := l.nested(s.Value)
		outs := make([]*program.Value, len(s.Targets))
		l.names(s, outs)
		l.nodeOuts("prim::TupleUnpack", s.Start, outs, 0, v)
		return
	}
	c, ok := s.Value.(*python.Call)
	if !ok {
		l.failf(s.Start, "got %q for %d names, want a call", l.file.Text(s.Value.Bounds()), len(s.Targets))
	}
	n, _, _ := l.call(c, 0)
	if n == nil {
		l.failf(s.Start, "got %q for %d names, want an operator", l.file.Text(s.Value.Bounds()), len(s.Targets))
	}
	n.Outs = make([]*program.Value, len(s.Targets))
	l.names(s, n.Outs)
}

// target is the name of a target that must be one.
func (l *lowerer) target(x python.Expr) string {
	n, ok := x.(*python.Name)
	if !ok {
		l.failf(x.Bounds().Start, "got %q among several targets, want names", l.file.Text(x.Bounds()))
	}
	return n.Text
}

// names makes a value for each target.
func (l *lowerer) names(s *python.Assign, outs []*program.Value) {
	for i, t := range s.Targets {
		name := l.target(t)
		outs[i] = l.value(name, nil)
		l.define(name, binding{arg: program.Arg{Value: outs[i]}})
	}
}

func (l *lowerer) assignOne(s *python.Assign) {
	switch t := s.Targets[0].(type) {
	case *python.Name:
		b := l.named(s.Value, t.Text)
		if s.Type != nil {
			typ, err := l.d.typeOf(&l.file.File, s.Type)
			l.check(err)
			switch v := b.arg.Value; {
			case v == nil:
				b.arg.Const = annotated(b.arg.Const, typ)
			case v.Type == nil:
				v.Type = typ
			}
		}
		l.define(t.Text, b)
	case *python.Attr:
		obj := l.nested(t.X)
		v := l.nested(s.Value)
		l.node("prim::SetAttr", s.Start, 0, obj, v).Text = t.Name
	case *python.Subscript:
		obj, i := l.nested(t.X), l.nested(t.Index)
		v := l.nested(s.Value)
		l.node("aten::_set_item", s.Start, 0, obj, i, v)
	}
}

// raise lowers raise Name(message): PyTorch prints ops.prim.RaiseException instead, older source
// may hold this.
func (l *lowerer) raise(s *python.Raise) {
	if c, ok := s.X.(*python.Call); ok {
		var msg program.Arg
		if len(c.Args) > 0 {
			msg = l.nested(c.Args[0].Value)
		}
		l.node("prim::RaiseException", s.Start, 0, msg).Text = l.file.Text(c.Fn.Bounds())
		return
	}
	l.node("prim::RaiseException", s.Start, 0, program.Arg{}).Text = l.file.Text(s.X.Bounds())
}

// assert lowers to an If whose else branch raises.
func (l *lowerer) assert(s *python.Assert) {
	cond := l.nested(s.X)
	m := l.nodes.mark()
	var msg program.Arg
	if s.Msg != nil {
		msg = l.nested(s.Msg)
	}
	l.node("prim::RaiseException", s.Start, 0, msg).Text = "AssertionError"
	fails := &program.Block{Nodes: l.nodes.take(m)}
	n := l.node("prim::If", s.Start, 0, cond)
	n.Blocks = l.blocks(&program.Block{}, fails)
}

// withStmt lowers to Enter, the body and Exit in the same block: PyTorch's graph has it so.
func (l *lowerer) withStmt(s *python.With) (left bool) {
	x := l.nested(s.X)
	enter := l.node("prim::Enter", s.Start, 0, x)
	if s.As != nil {
		name := l.target(s.As)
		v := l.value(name, nil)
		enter.Outs = l.outs(v)
		l.define(name, binding{arg: program.Arg{Value: v}})
	}
	left = l.stmts(s.Body)
	if !left {
		l.node("prim::Exit", s.Start, 0, x)
	}
	return left
}

// forkDef lowers the function PyTorch prints for a fork. It has no parameters but uses names around
// it: these become its parameters.
func (l *lowerer) forkDef(s *python.FuncDef) {
	if len(s.Params) != 0 {
		l.failf(s.Start, "got parameters of a function in a function, want none")
	}
	l.forks = true
	fn := &program.Func{Name: l.fn.Name + "." + s.Name, Method: s.Name, Record: l.file.Name, Line: s.Line}
	outer := l.enterFunction()
	stmt := l.stmt
	g := &program.Graph{Body: l.function(s.Body, s.End)}
	ids, captured := l.leaveFunction(outer)
	args := make([]program.Arg, len(captured))
	for i, c := range captured {
		g.Params = append(g.Params, c.param)
		fn.Params = append(fn.Params, program.Param{Name: c.param.Name, Type: c.param.Type})
		args[i] = c.from
	}
	g.NumValues = ids
	l.origin(g)
	l.stmt = stmt
	program.NewFunc(fn, func(*program.Func) (*program.Graph, error) { return g, nil })
	l.define(s.Name, binding{fn: fn, captured: args, forked: true})
}

// value makes a value.
func (l *lowerer) value(name string, t *program.Type) *program.Value {
	l.ids++
	return &program.Value{ID: l.ids - 1, Name: name, Type: t}
}

func (l *lowerer) outs(v *program.Value) []*program.Value {
	o := make([]*program.Value, 1)
	o[0] = v
	return o
}

func (l *lowerer) blocks(bs ...*program.Block) []*program.Block {
	o := make([]*program.Block, len(bs))
	copy(o, bs)
	return o
}

// node adds an operation without results.
func (l *lowerer) node(op string, at python.Pos, flags program.NodeFlags, args ...program.Arg) *program.Node {
	a := make([]program.Arg, len(args))
	copy(a, args)
	return l.nodeArgs(op, at, flags, a)
}

func (l *lowerer) nodeOuts(
	op string, at python.Pos, outs []*program.Value, flags program.NodeFlags, args ...program.Arg,
) {
	l.node(op, at, flags, args...).Outs = outs
}

func (l *lowerer) nodeArgs(op string, at python.Pos, flags program.NodeFlags, args []program.Arg) *program.Node {
	of := &program.Operation{Op: op, Where: program.Where{Line: l.line, Stmt: l.stmt - 1}, Flags: flags | l.in,
		Means: upgrade(op, l.d.version)}
	n := &program.Node{Operation: of, Args: args}
	l.locate(n, at)
	l.nodes.push(n)
	return n
}

// locate says where a node comes from, by its place in the printed code.
func (l *lowerer) locate(n *program.Node, at python.Pos) {
	from, err := l.d.where(l.file, at)
	l.check(err)
	n.Where.SourceRange, n.Where.Stack = from.SourceRange, from.Stack
	if t := from.Text; t != nil && t.File == builtinFile {
		n.Flags |= program.Builtin
	}
}

// origin says where a lowered function comes from.
func (l *lowerer) origin(g *program.Graph) {
	if l.d.prog.Records == program.RecordsSource {
		g.Source, g.Library = sourceOf(g.Body), isLibrary(l.file.Name, g.Body)
	}
}

// local says whether a path begins with a name of this function, so that it is no path.
func (l *lowerer) local(x python.Expr) bool {
	for {
		switch y := x.(type) {
		case *python.Attr:
			x = y.X
		case *python.Name:
			_, ok := l.lookup(y.Text)
			return ok
		default:
			return true
		}
	}
}

// opName is the operator a printed path calls: torch.add is aten::add, ops.prim.device is
// prim::device.
func (l *lowerer) opName(path string) (string, bool) {
	if op, ok := l.d.ops[path]; ok {
		return op, op != ""
	}
	op := ""
	switch head, rest, _ := strings.Cut(path, "."); head {
	case "torch", "aten":
		rest = strings.TrimPrefix(rest, "autograd.") // torch.autograd.grad and backward are printed so
		if rest != "" && !strings.Contains(rest, ".") {
			op = "aten::" + rest
		}
	case "ops":
		if ns, name, ok := strings.Cut(rest, "."); ok && !strings.Contains(name, ".") {
			op = ns + "::" + name
		}
	}
	l.d.ops[path] = op
	return op, op != ""
}
