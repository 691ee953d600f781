package aotinductor

import (
	"maps"
	"math"
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// Code that chooses, loops and reads values (torch/_inductor/codegen/cpp_wrapper_cpu.py and
// wrapper.py codegen_switch, codegen_while_loop, codegen_dynamic_scalar). A name that stands
// outside of a block keeps its place in the program there: code in the block gives it another
// content (program.BufferAssign), so that what follows finds it whichever way was gone.

// declare makes a name that names nothing yet.
func (g *graph) declare(name string, where place) { g.name(name, g.node(program.BufferDeclare, where)) }

// assign gives what a name holds to another that is there already.
func (g *graph) assign(to, from string, where place) error {
	a, target := g.names[from], g.names[to]
	if a.Value == nil || target.Value == nil {
		return fail(where, "got %s given to %s, want two names of tensors", short(from), short(to))
	}
	n := g.node(program.BufferAssign, where)
	n.Args = []program.Arg{target, a}
	g.forget(from)
	if !slices.Contains(g.owned, to) {
		g.owned = append(g.owned, to)
	}
	return nil
}

// item reads the value of a tensor, under a name or without one.
func (g *graph) item(name string, of program.Arg, where place) *program.Value {
	n := g.node(program.ValueRead, where)
	n.Args, n.Text = []program.Arg{of}, name
	v := g.value(name)
	v.Type = &program.Type{Kind: program.IntType}
	n.Outs = []*program.Value{v}
	if name != "" {
		g.reads[name] = n
	}
	return v
}

// renamed gives a number that was read its other name.
func (g *graph) renamed(from, to string) bool {
	n := g.reads[from]
	if n == nil {
		return false
	}
	n.Text, g.reads[to] = to, n
	g.numbers[from] = &term{kind: nameTerm, text: to}
	return true
}

// size reads a size of a tensor under a name.
func (g *graph) size(name string, of program.Arg, dim int64, where place) {
	n := g.node(program.SizeRead, where)
	n.Args, n.Text = []program.Arg{of, {Const: dim}}, name
	g.reads[name] = n
}

// bounded keeps what a wrapper checks of a number that it read: u0 <= 8.
func (g *graph) bounded(x *term) {
	if x == nil || x.kind != signTerm || len(x.args) != 2 {
		return
	}
	left, right, sign := x.args[0], x.args[1], x.text
	if left.kind == intTerm {
		left, right, sign = right, left, map[string]string{"<=": ">=", ">=": "<=", "<": ">", ">": "<"}[sign]
	}
	if left.kind != nameTerm || right.kind != intTerm {
		return
	}
	name, n := left.text, right.n
	switch {
	case sign == "<": // the least number wraps round to the largest, which bounds nothing
		n--
		fallthrough
	case sign == "<=":
		if most, ok := g.most[name]; ok {
			n = min(n, most)
		}
		g.most[name] = n
	case sign == ">":
		n++
		fallthrough
	case sign == ">=":
		g.least[name] = max(g.least[name], n)
	}
}

// symbols are the numbers that the code reads, with the ranges that it checks.
func (g *graph) symbols() []program.Symbol {
	var out []program.Symbol
	for name, n := range g.reads {
		if n.Text != name {
			continue
		}
		s := program.Symbol{Name: name, Min: g.least[name], Max: math.MaxInt64, Unbacked: true}
		if most, ok := g.most[name]; ok && most >= s.Min {
			s.Max = most
		}
		out = append(out, s)
	}
	return out
}

// inside reads code that goes into a separate block. What is named in it ends with it.
func (g *graph) inside(where place, read func() error) (*program.Block, error) {
	outer, before := g.now, maps.Clone(g.names)
	b := &program.Block{}
	g.now = b
	err := read()
	if err == nil {
		err = g.leave(before, where)
	}
	g.now = outer
	for name := range g.names {
		if _, old := before[name]; !old {
			delete(g.names, name)
		}
	}
	return b, err
}

// leave ends what was named since, the latest first.
func (g *graph) leave(before map[string]program.Arg, where place) error {
	for i := len(g.owned) - 1; i >= 0; i-- {
		if _, old := before[g.owned[i]]; old {
			continue
		}
		if err := g.free(g.owned[i], where); err != nil {
			return err
		}
	}
	return nil
}

// choice is code that goes one way where a value that was read is a number, else the other.
func (g *graph) choice(value *program.Value, is int64, where place, then, otherwise func() error) error {
	n := g.node(program.Choice, where)
	n.Args = []program.Arg{{Value: value}, {Const: is}}
	owned := slices.Clone(g.owned)
	names := maps.Clone(g.names)
	var after [2][]string
	for i, read := range []func() error{then, otherwise} {
		g.owned, g.names = slices.Clone(owned), maps.Clone(names)
		b, err := g.inside(where, read)
		if err != nil {
			return err
		}
		n.Blocks = append(n.Blocks, b)
		after[i] = g.owned
	}
	g.names = names
	g.owned = after[0] // what a name holds after one of the two ends with the name: it may hold nothing
	for _, name := range after[1] {
		if !slices.Contains(g.owned, name) {
			g.owned = append(g.owned, name)
		}
	}
	return nil
}

// loop is code that runs again and again.
func (g *graph) loop(where place, read func() error) error {
	n := g.node(program.RoundsOf, where)
	owned := slices.Clone(g.owned)
	b, err := g.inside(where, read)
	if err != nil {
		return err
	}
	n.Blocks = []*program.Block{b}
	breaks := 0
	for _, inner := range b.Nodes {
		if inner.Op == program.LeaveLoop {
			breaks++
		}
	}
	if breaks != 1 {
		return fail(where, "got a loop that is left in %d places, want one", breaks)
	}
	for _, name := range owned {
		if !slices.Contains(g.owned, name) {
			g.owned = append(g.owned, name)
		}
	}
	return nil
}

// leaves goes out of the loop whose names before it are given, where a value that was read is
// nought.
func (g *graph) leaves(value *program.Value, before map[string]program.Arg, where place) error {
	n := g.node(program.LeaveLoop, where)
	n.Args = []program.Arg{{Value: value}}
	outer, owned := g.now, slices.Clone(g.owned)
	b := &program.Block{}
	g.now = b
	err := g.leave(before, where)
	g.now, g.owned = outer, owned
	n.Blocks = []*program.Block{b}
	return err
}
