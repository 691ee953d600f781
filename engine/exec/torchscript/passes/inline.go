package passes

import (
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/program"
)

// Call says which call of a function a node was inlined from.
type Call struct {
	Func   *program.Func
	Module any // the module whose method it is, or is called from: an object of the evaluator's
	Parent *Call
	Node   *program.Node // the call, in the parent
}

// within says whether a call is of fn or inside of one: TorchScript knows no recursion, and a
// function that does it all the same stays a call.
func (c *Call) within(fn *program.Func) bool {
	for ; c != nil; c = c.Parent {
		if c.Func == fn {
			return true
		}
	}
	return false
}

// maxNodes is how many nodes an inlined graph may have, maxDepth how deep calls nest: beyond, a
// call stays a call.
const (
	maxNodes = 1 << 20
	maxDepth = 200
)

// Inline copies entry, and every function that it calls, into one graph. root is the module that
// entry is a method of, nil where it is none. The graph is nil where entry cannot be inlined.
func Inline(entry *program.Func, root any, e Evaluator) (*Graph, error) {
	return (&inliner{eval: e, most: maxNodes, possible: map[*program.Func]bool{}}).inline(entry, root)
}

func (in *inliner) inline(entry *program.Func, root any) (*Graph, error) {
	if ok, err := in.can(entry); !ok {
		return nil, err
	}
	src, _ := entry.Graph() // can has read it
	g := &program.Graph{Body: &program.Block{}}
	args := make([]program.Arg, len(entry.Params))
	from := 0
	if root != nil && len(args) > 0 {
		args[0] = program.Arg{Const: root}
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
	at := &Call{Func: entry, Module: root}
	result, err := in.fn(entry, args, at, g.Body)
	if err != nil {
		return nil, err
	}
	last := in.node(at)
	last.Operation, last.Args = &program.Operation{Op: "prim::Return"}, []program.Arg{result}
	g.Body.Nodes = append(g.Body.Nodes, last)
	g.NumValues = in.numValues
	return &Graph{Graph: g, calls: in.calls, eval: in.eval}, nil
}

type inliner struct {
	eval      Evaluator
	most      int // nodes
	numValues int
	calls     []*Call // by node
	depth     int
	possible  map[*program.Func]bool   // whether a function can be inlined
	written   map[*program.Func][]bool // the parameters that a function may write

	envs  []program.Arg // of the functions under way, a stack
	given []program.Arg // to the functions under way, a stack
}

// node makes a node that comes from a call.
func (in *inliner) node(at *Call) *program.Node {
	n := new(program.Node)
	n.ID = len(in.calls)
	in.calls = append(in.calls, at)
	return n
}

func (in *inliner) value(v *program.Value) *program.Value {
	n := new(program.Value)
	n.ID, n.Name, n.Type = in.numValues, v.Name, v.Type
	in.numValues++
	return n
}

// can says whether fn's one return is its last statement: what PyTorch's own exit transform makes
// of every function.
func (in *inliner) can(fn *program.Func) (bool, error) {
	if ok, known := in.possible[fn]; known {
		return ok, nil
	}
	g, err := fn.Graph()
	if err != nil {
		return false, err
	}
	n := len(g.Body.Nodes)
	ok := n > 0 && g.Body.Nodes[n-1].Op == "prim::Return" && !returns(g.Body.Nodes[:n-1])
	in.possible[fn] = ok
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

// fn copies fn's body behind out's nodes, its parameters standing for args, and returns what it
// returns.
func (in *inliner) fn(fn *program.Func, args []program.Arg, at *Call, out *program.Block) (program.Arg, error) {
	g, _ := fn.Graph() // can has read it
	base := len(in.envs)
	in.envs = zeroed.Extend(in.envs, g.NumValues)
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
	out := make([]program.Arg, len(args))
	for i := range args {
		out[i] = mapped(&args[i], env)
	}
	return out
}

// block copies nodes.
func (in *inliner) block(nodes []*program.Node, env []program.Arg, at *Call, out *program.Block) error {
	for _, n := range nodes {
		done, err := in.call(n, env, at, out)
		if err != nil {
			return err
		}
		if done || in.attr(n, env) {
			continue
		}
		if len(in.calls) >= in.most {
			return &exec.LimitError{What: "nodes after inlining", Limit: in.most}
		}
		c := in.node(at)
		c.Operation, c.Args = n.Operation, in.mapped(n.Args, env)
		c.Blocks = make([]*program.Block, len(n.Blocks))
		for i, b := range n.Blocks {
			nb := new(program.Block)
			nb.Params, nb.Nodes = make([]*program.Value, len(b.Params)), make([]*program.Node, 0, len(b.Nodes))
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
		c.Outs = make([]*program.Value, len(n.Outs))
		for i, o := range n.Outs {
			c.Outs[i] = in.value(o)
			env[o.ID] = program.Arg{Value: c.Outs[i]}
		}
		out.Nodes = append(out.Nodes, c)
	}
	return nil
}

// attr follows a module's attribute that is a module: it is known, and takes nothing.
func (in *inliner) attr(n *program.Node, env []program.Arg) bool {
	if n.Op != "prim::GetAttr" {
		return false
	}
	a := mapped(&n.Args[0], env)
	if in.eval.Class(a.Const) == nil {
		return false
	}
	v, ok := in.eval.Attribute(a.Const, n.Text)
	if !ok || !isModule(in.eval.Class(v)) {
		return false
	}
	env[n.Outs[0].ID] = program.Arg{Const: v}
	return true
}

func isModule(c *program.Class) bool { return c != nil && c.Kind == program.ModuleClass }

// call inlines a call whose callee is known.
func (in *inliner) call(n *program.Node, env []program.Arg, at *Call, out *program.Block) (bool, error) {
	fn, module := n.Callee, at.Module
	switch n.Op {
	case "prim::CallFunction":
	case "prim::CallMethod":
		self := mapped(&n.Args[0], env).Const
		class := in.eval.Class(self)
		if class == nil {
			return false, nil
		}
		fn = class.Method(n.Text)
		if isModule(class) {
			module = self
		}
	default:
		return false, nil
	}
	if fn == nil || in.depth >= maxDepth || at.within(fn) {
		return false, nil
	}
	if ok, err := in.can(fn); !ok {
		return false, err
	}
	base := len(in.given)
	args, ok := in.staticArgs(fn, n.Args, env)
	if !ok {
		in.given = in.given[:base]
		return false, nil
	}
	in.literals(fn, args, at, out)
	in.depth++
	c := new(Call)
	*c = Call{Func: fn, Module: module, Parent: at, Node: n}
	result, err := in.fn(fn, args, c, out)
	in.depth--
	in.given = in.given[:base]
	if err != nil {
		return false, err
	}
	if len(n.Outs) > 0 { // a call has one at most
		env[n.Outs[0].ID] = program.Arg{Value: result.Value, Const: result.Const}
	}
	return true, nil
}

// staticArgs fits a call's arguments to fn's parameters, on the stack of arguments.
func (in *inliner) staticArgs(fn *program.Func, args, env []program.Arg) ([]program.Arg, bool) {
	base := len(in.given)
	in.given = zeroed.Extend(in.given, len(fn.Params))
	out := in.given[base : base+len(fn.Params) : base+len(fn.Params)]
	const missing = "\x00"
	for j := range out {
		out[j].Name = missing
	}
	pos := 0
	for i := range args {
		at := fn.ParamOf(&args[i], &pos)
		if at < 0 || at >= len(out) {
			return nil, false
		}
		out[at] = mapped(&args[i], env)
	}
	for j := range out {
		if out[j].Name == missing {
			if !fn.Params[j].HasDef {
				return nil, false
			}
			out[j] = program.Arg{Const: fn.Params[j].Default}
		}
	}
	return out, true
}
