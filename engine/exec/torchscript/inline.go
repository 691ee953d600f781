package torchscript

import (
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/slab"
	"github.com/memspec/memspec/engine/program"
)

// TorchScript's executor first inlines every call into one graph and then simplifies it, so that values live and die by the whole graph
// and not by function (torch/csrc/jit/api/function_impl.cpp preoptimizeGraph, torch/csrc/jit/runtime/profiling_graph_executor_impl.cpp
// runProfilingInsensitiveOptimizations). This file inlines; passes.go and fold.go simplify.

// inlinedAt says which call a node came from; it stands in Node.Cache.
type inlinedAt struct {
	fn     *program.Func
	module *Object
	parent *inlinedAt
	call   *program.Node // in the parent
}

// maxInlined is how many nodes an inlined graph may have, maxInlineDepth how deep calls nest: beyond, a call stays a call.
const (
	maxInlined     = 1 << 20
	maxInlineDepth = 200
)

type inliner struct {
	m     *interp
	next  int // value numbers
	count int // nodes
	depth int
	cost  map[*program.Func]bool // whether a function can be inlined

	copies slab.Of[program.Node]
	values slab.Of[program.Value]
	args   slab.Of[program.Arg]
	outs   slab.Of[*program.Value]
	blocks slab.Of[program.Block]
	lists  slab.Of[*program.Block]
	nodes  slab.Of[*program.Node]
	envs   []program.Arg // of the functions under way, a stack
}

// inlined builds the graph of the whole program, and says whether it could.
func (m *interp) inlined() (*program.Graph, error) {
	in := &inliner{m: m, cost: map[*program.Func]bool{}}
	entry := m.prog.Entry
	if ok, err := in.can(entry); !ok {
		return nil, err
	}
	g := &program.Graph{Body: &program.Block{}}
	args := make([]program.Arg, len(entry.Params))
	src, err := entry.Graph()
	if err != nil {
		return nil, err
	}
	from := 0
	var self *Object
	if m.prog.Root != nil && len(args) > 0 {
		self = m.object(m.prog.Root)
		args[0] = program.Arg{Const: self}
		from = 1
	}
	for i := from; i < len(args); i++ {
		v := in.value(src.Params[i])
		if v.Type == nil {
			v.Type = entry.Params[i].Type
		}
		g.Params = append(g.Params, v)
		args[i] = program.Arg{Value: v}
	}
	result, err := in.fn(entry, args, &inlinedAt{fn: entry, module: self}, g.Body)
	if err != nil {
		return nil, err
	}
	g.Body.Nodes = append(g.Body.Nodes, &program.Node{Op: "prim::Return", Args: []program.Arg{result}, Cache: &inlinedAt{fn: entry, module: self}})
	g.NumValues = in.next
	return g, nil
}

func (in *inliner) value(v *program.Value) *program.Value {
	n := in.values.New()
	n.ID, n.Name, n.Type = in.next, v.Name, v.Type
	in.next++
	return n
}

// can says whether fn's one return is its last statement: what PyTorch's own exit transform makes of every function.
func (in *inliner) can(fn *program.Func) (bool, error) {
	if ok, known := in.cost[fn]; known {
		return ok, nil
	}
	in.cost[fn] = false // a recursive function stays a call
	g, err := fn.Graph()
	if err != nil {
		return false, err
	}
	n := len(g.Body.Nodes)
	ok := n > 0 && g.Body.Nodes[n-1].Op == "prim::Return" && !returns(g.Body.Nodes[:n-1])
	in.cost[fn] = ok
	return ok, nil
}

func returns(nodes []*program.Node) bool {
	for _, n := range nodes {
		if n.Op == "prim::Return" {
			return true
		}
		for _, b := range n.Blocks {
			if returns(b.Nodes) {
				return true
			}
		}
	}
	return false
}

// fn copies fn's body behind out's nodes, its parameters standing for args, and returns what it returns.
func (in *inliner) fn(fn *program.Func, args []program.Arg, at *inlinedAt, out *program.Block) (program.Arg, error) {
	g, err := fn.Graph()
	if err != nil {
		return program.Arg{}, err
	}
	base := len(in.envs)
	in.envs = slab.Extend(in.envs, g.NumValues)
	env := in.envs[base : base+g.NumValues : base+g.NumValues]
	defer func() { in.envs = in.envs[:base] }()
	for i, p := range g.Params {
		env[p.ID] = program.Arg{Value: args[i].Value, Const: args[i].Const}
	}
	nodes := g.Body.Nodes
	last := nodes[len(nodes)-1]
	if err := in.block(nodes[:len(nodes)-1], env, at, out); err != nil {
		return program.Arg{}, err
	}
	if len(last.Args) == 0 {
		return program.Arg{}, nil
	}
	return mapped(&last.Args[0], env), nil
}

func mapped(a *program.Arg, env []program.Arg) program.Arg {
	if a.Value == nil {
		return *a
	}
	r := env[a.Value.ID]
	r.Name = a.Name
	return r
}

func (in *inliner) mapped(args []program.Arg, env []program.Arg) []program.Arg {
	out := in.args.Cut(len(args))
	for i := range args {
		out[i] = mapped(&args[i], env)
	}
	return out
}

// block copies nodes.
func (in *inliner) block(nodes []*program.Node, env []program.Arg, at *inlinedAt, out *program.Block) error {
	for _, n := range nodes {
		done, err := in.call(n, env, at, out)
		if err != nil {
			return err
		}
		if done || in.attr(n, env) {
			continue
		}
		if in.count++; in.count > maxInlined {
			return &exec.LimitError{What: "nodes after inlining", Limit: maxInlined}
		}
		c := in.copies.New()
		*c = program.Node{Op: n.Op, Args: in.mapped(n.Args, env), Text: n.Text, Callee: n.Callee, Class: n.Class, Types: n.Types,
			Src: n.Src, Line: n.Line, Stmt: n.Stmt, Flags: n.Flags, Cache: at}
		c.Blocks = in.lists.Cut(len(n.Blocks))
		for i, b := range n.Blocks {
			nb := in.blocks.New()
			nb.Params, nb.Nodes = in.outs.Cut(len(b.Params)), in.nodes.Cut(len(b.Nodes))[:0]
			for i, p := range b.Params {
				nb.Params[i] = in.value(p)
				env[p.ID] = program.Arg{Value: nb.Params[i]}
			}
			if err := in.block(b.Nodes, env, at, nb); err != nil {
				return err
			}
			nb.Outs = in.mapped(b.Outs, env)
			c.Blocks[i] = nb
		}
		c.Outs = in.outs.Cut(len(n.Outs))
		for i, o := range n.Outs {
			c.Outs[i] = in.value(o)
			env[o.ID] = program.Arg{Value: c.Outs[i]}
		}
		out.Nodes = append(out.Nodes, c)
	}
	return nil
}

// attr follows a module's attribute that is an object: it is known, and takes nothing.
func (in *inliner) attr(n *program.Node, env []program.Arg) bool {
	if n.Op != "prim::GetAttr" {
		return false
	}
	a := mapped(&n.Args[0], env)
	o, ok := a.Const.(*Object)
	if !ok || a.Value != nil {
		return false
	}
	v, ok := in.m.getAttr(o, n.Text)
	if !ok {
		return false
	}
	sub, ok := v.(*Object)
	if !ok || !sub.Module {
		return false
	}
	env[n.Outs[0].ID] = program.Arg{Const: sub}
	return true
}

// call inlines a call whose callee is known.
func (in *inliner) call(n *program.Node, env []program.Arg, at *inlinedAt, out *program.Block) (bool, error) {
	fn, module := n.Callee, at.module
	switch n.Op {
	case "prim::CallFunction":
	case "prim::CallMethod":
		o, ok := mapped(&n.Args[0], env).Const.(*Object)
		if !ok {
			return false, nil
		}
		fn = o.Class.Method(n.Text)
		if o.Module {
			module = o
		}
	default:
		return false, nil
	}
	if fn == nil || in.depth >= maxInlineDepth {
		return false, nil
	}
	if ok, err := in.can(fn); !ok {
		return false, err
	}
	args, ok := staticArgs(fn, in.mapped(n.Args, env))
	if !ok {
		return false, nil
	}
	in.depth++
	result, err := in.fn(fn, args, &inlinedAt{fn: fn, module: module, parent: at, call: n}, out)
	in.depth--
	if err != nil {
		return false, err
	}
	switch len(n.Outs) {
	case 0:
	case 1:
		env[n.Outs[0].ID] = program.Arg{Value: result.Value, Const: result.Const}
	default:
		return false, nil
	}
	return true, nil
}

// staticArgs fits a call's arguments to fn's parameters.
func staticArgs(fn *program.Func, args []program.Arg) ([]program.Arg, bool) {
	out := make([]program.Arg, len(fn.Params))
	given := make([]bool, len(fn.Params))
	pos := 0
	for i := range args {
		a := &args[i]
		at := paramOf(fn, a, &pos)
		if at < 0 || at >= len(out) {
			return nil, false
		}
		out[at], given[at] = program.Arg{Value: a.Value, Const: a.Const}, true
	}
	for j := range out {
		if !given[j] {
			if !fn.Params[j].HasDef {
				return nil, false
			}
			out[j] = program.Arg{Const: fn.Params[j].Default}
		}
	}
	return out, true
}
