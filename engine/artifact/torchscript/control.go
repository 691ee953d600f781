package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file lowers branches and loops: which names become results of a node is decided as in
// PyTorch's compiler (torch/csrc/jit/frontend/ir_emitter.cpp emitIfElseBlocks and
// convert_to_ssa.cpp).

// branch is one side of an If being built.
type branch struct {
	nodes   []*program.Node
	changes []change
	left    bool
}

func (l *lowerer) branch(stmts []python.Stmt) (b branch) {
	nodes, names, from := l.nodes.mark(), l.openBlock(), l.changes.mark()
	b.left = l.stmts(stmts)
	l.closeBlock(names)
	b.nodes = l.nodes.take(nodes)
	b.changes = l.changes.stack[from:]
	return b
}

// ifStmt makes a result of every name that both sides bind, and of every name known before that one
// side binds anew; where one side returns, of every name the other binds. Names that one side alone
// knows stay its own.
func (l *lowerer) ifStmt(s *python.If) (left bool) {
	number := l.stmt - 1
	cond := l.nested(s.Cond)
	mark := l.changes.mark()
	then := l.branch(s.Then)
	els := l.branch(s.Else)
	n := l.node("prim::If", s.Start, 0, cond)
	n.Where.Stmt, n.Where.Line = number, int32(s.Line)
	blocks := [2]*program.Block{{Nodes: then.nodes}, {Nodes: els.nodes}}
	n.Blocks = l.blocks(blocks[0], blocks[1])
	for i, c := range els.changes {
		l.place[c.number] = int32(i + 1)
	}
	outs := l.outList.mark()
	m0, m1 := l.args.mark(), l.args2.mark()
	join := func(c change, a, b binding) {
		if a.fn != nil || b.fn != nil {
			return
		}
		v := l.value(l.texts[c.number], nil)
		if a.arg.Value != nil && b.arg.Value != nil && a.arg.Value.Type == b.arg.Value.Type {
			v.Type = a.arg.Value.Type
		}
		l.outList.push(v)
		l.args.push(a.arg)
		l.args2.push(b.arg)
	}
	for _, c := range then.changes {
		if i := l.place[c.number]; i != 0 {
			join(c, c.b, els.changes[i-1].b)
		} else if c.had {
			join(c, c.b, c.before)
		} else if els.left && !then.left {
			join(c, c.b, binding{})
		}
	}
	for _, c := range els.changes {
		l.place[c.number] = 0
	}
	for i, c := range then.changes {
		l.place[c.number] = int32(i + 1)
	}
	for _, c := range els.changes {
		if l.place[c.number] != 0 {
			continue
		}
		if c.had {
			join(c, c.before, c.b)
		} else if then.left && !els.left {
			join(c, binding{}, c.b)
		}
	}
	for _, c := range then.changes {
		l.place[c.number] = 0
	}
	l.changes.stack = l.changes.stack[:mark]
	n.Outs = l.outList.take(outs)
	blocks[0].Outs = l.args.take(m0)
	blocks[1].Outs = l.args2.take(m1)
	for _, v := range n.Outs {
		l.define(v.Name, binding{arg: program.Arg{Value: v}})
	}
	return then.left && els.left
}

// carriedNames are the names a loop's body binds that stand for something before it, in the order
// the body binds them.
func (l *lowerer) carriedNames(stmts []python.Stmt, to []int32) []int32 {
	for _, s := range stmts {
		switch s := s.(type) {
		case *python.Assign:
			for _, t := range s.Targets {
				if n, ok := t.(*python.Name); ok {
					to = l.carried(n.Text, to)
				}
			}
		case *python.If:
			to = l.carriedNames(s.Then, to)
			to = l.carriedNames(s.Else, to)
		case *python.For:
			to = l.carriedNames(s.Body, to)
		case *python.While:
			to = l.carriedNames(s.Body, to)
		case *python.With:
			if n, ok := s.As.(*python.Name); ok {
				to = l.carried(n.Text, to)
			}
			to = l.carriedNames(s.Body, to)
		}
	}
	return to
}

func (l *lowerer) carried(name string, to []int32) []int32 {
	b, ok := l.lookup(name)
	if !ok || b.fn != nil {
		return to
	}
	n := l.number(name)
	if l.place[n] == 0 {
		l.place[n] = 1
		to = append(to, n)
	}
	return to
}

// loop lowers a loop. trip and cond are its bound and first condition; item, where not nil, runs at
// the body's beginning with the iteration's number; next is the condition for another round.
type loop struct {
	at         python.Pos
	line       int
	trip, cond program.Arg
	iteration  string
	body       []python.Stmt
	item       func(iteration program.Arg)
	next       func() program.Arg
	test       string // the name that is the condition: true in the body, false behind it
}

func (l *lowerer) loop(p loop) {
	number := l.stmt - 1
	names := l.carriedNames(p.body, nil)
	if p.test != "" && l.known(p.test) {
		n := l.number(p.test)
		l.place[n] = 0
		if i := slices.Index(names, n); i >= 0 {
			names = slices.Delete(names, i, i+1)
		}
	}
	args := make([]program.Arg, 2+len(names))
	args[0], args[1] = p.trip, p.cond
	params := make([]*program.Value, 1+len(names))
	iteration := l.value(p.iteration, nil)
	params[0] = iteration
	for i, n := range names {
		l.place[n] = 0
		args[2+i] = l.now[n].arg
		params[1+i] = l.value(l.texts[n], nil)
		if v := args[2+i].Value; v != nil {
			params[1+i].Type = v.Type
		}
	}
	nodes, block, changes := l.nodes.mark(), l.openBlock(), l.changes.mark()
	for i, n := range names {
		l.defineNumber(n, binding{arg: program.Arg{Value: params[1+i]}})
	}
	if p.test != "" {
		l.define(p.test, binding{arg: program.Arg{Const: true}})
	}
	p.item(program.Arg{Value: iteration})
	l.stmts(p.body)
	outs := make([]program.Arg, 1+len(names))
	outs[0] = p.next()
	for i, n := range names {
		b := l.now[n]
		if b.fn != nil {
			l.failf(p.at, "got %s bound to a function in a loop, want a value", l.texts[n])
		}
		outs[1+i] = b.arg
	}
	l.closeBlock(block)
	l.changes.stack = l.changes.stack[:changes]
	body := &program.Block{Params: params, Nodes: l.nodes.take(nodes), Outs: outs}
	n := l.nodeArgs("prim::Loop", p.at, 0, args)
	n.Where.Stmt, n.Where.Line = number, int32(p.line)
	n.Blocks = l.blocks(body)
	n.Outs = make([]*program.Value, len(names))
	for i, name := range names {
		v := l.value(l.texts[name], params[1+i].Type)
		n.Outs[i] = v
		l.defineNumber(name, binding{arg: program.Arg{Value: v}})
	}
	if p.test != "" {
		l.define(p.test, binding{arg: program.Arg{Const: false}})
	}
}

// whileStmt: the condition is evaluated before the loop and at the end of each round.
func (l *lowerer) whileStmt(s *python.While) {
	p := loop{at: s.Start, line: s.Line, cond: l.nested(s.Cond), body: s.Body, item: func(program.Arg) {},
		next: func() program.Arg { return l.nested(s.Cond) }}
	if n, ok := s.Cond.(*python.Name); ok {
		if _, constant := namedConstant(n.Text); !constant {
			p.test = n.Text
		}
	}
	l.loop(p)
}

// forStmt: over range(n), which is what PyTorch prints, or over a list or tuple, by index.
func (l *lowerer) forStmt(s *python.For) {
	p := loop{at: s.Start, line: s.Line, body: s.Body, cond: program.Arg{Const: true},
		next: func() program.Arg { return program.Arg{Const: true} }}
	name, plain := s.Target.(*python.Name)
	c, ok := s.Iter.(*python.Call)
	if fn, isName := callee(c); ok && isName && fn == "range" && !l.known("range") {
		if len(c.Args) == 0 || len(c.Args) > 3 || !plain {
			l.failf(c.Start, "got %q, want range of 1 to 3 numbers into a name", l.file.Text(c.Span))
		}
		var start, step program.Arg
		if len(c.Args) == 1 {
			p.trip, p.iteration = l.nested(c.Args[0].Value), name.Text
		} else {
			start = l.nested(c.Args[0].Value)
			stop := l.nested(c.Args[1].Value)
			step = program.Arg{Const: int64(1)}
			if len(c.Args) == 3 {
				step = l.nested(c.Args[2].Value)
			}
			p.trip = l.result("aten::__range_length", c.Start, start, stop, step)
		}
		p.item = func(i program.Arg) {
			if len(c.Args) > 1 {
				i = l.result("aten::__derive_index", c.Start, i, start, step)
				i.Value.Name = name.Text
			}
			l.define(name.Text, binding{arg: i})
		}
		l.loop(p)
		return
	}
	iter := l.nested(s.Iter)
	p.trip = l.result("aten::len", s.Start, iter)
	p.item = func(i program.Arg) {
		v := l.result("aten::__getitem__", s.Start, iter, i)
		if plain {
			v.Value.Name = name.Text
			l.define(name.Text, binding{arg: v})
			return
		}
		t, ok := s.Target.(*python.Tuple)
		if !ok {
			l.failf(s.Start, "got %q, want names", l.file.Text(s.Target.Bounds()))
		}
		outs := make([]*program.Value, len(t.Elems))
		for k, x := range t.Elems {
			outs[k] = l.value(l.target(x), nil)
			l.define(outs[k].Name, binding{arg: program.Arg{Value: outs[k]}})
		}
		l.nodeOuts("prim::TupleUnpack", s.Start, outs, 0, v)
	}
	l.loop(p)
}

// callee is the plain name a call calls.
func callee(c *python.Call) (string, bool) {
	if c == nil {
		return "", false
	}
	n, ok := c.Fn.(*python.Name)
	if !ok {
		return "", false
	}
	return n.Text, true
}

// known says whether a name is the function's own.
func (l *lowerer) known(name string) bool {
	_, ok := l.lookup(name)
	return ok
}

// result adds an operation the source does not print, with one result.
func (l *lowerer) result(op string, at python.Pos, args ...program.Arg) program.Arg {
	n := l.node(op, at, program.Nested, args...)
	v := l.value("", nil)
	n.Outs = l.outs(v)
	return program.Arg{Value: v}
}
