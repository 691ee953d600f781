package passes

import "github.com/memspec/memspec/engine/program"

// A literal of a container is made anew wherever it is read. One that goes into a function which
// writes it is one container, so it gets a node there.

// literals gives a node to each container among a call's arguments that is a literal and that the
// function may write.
func (in *inliner) literals(fn *program.Func, args []program.Arg, at *Call, out *program.Block) {
	for i := range args {
		a := &args[i]
		if a.Value != nil {
			continue
		}
		n := construct(a.Const)
		if n == nil || !in.writes(fn)[i] {
			continue
		}
		c := in.node(at)
		c.Operation, c.Args = n.Operation, n.Args
		a.Value, a.Const = in.value(&program.Value{Type: typeOfLiteral(a.Const)}), nil
		c.Outs = append(c.Outs, a.Value)
		out.Nodes = append(out.Nodes, c)
	}
}

var (
	listConstruct = &program.Operation{Op: "prim::ListConstruct"}
	dictConstruct = &program.Operation{Op: "prim::DictConstruct"}
)

// construct is the node that makes a container, nil of what is none.
func construct(v any) *program.Node {
	switch v := v.(type) {
	case *program.ListLit:
		n := &program.Node{Operation: listConstruct}
		for _, item := range v.Items {
			n.Args = append(n.Args, program.Arg{Const: item})
		}
		return n
	case *program.DictLit:
		n := &program.Node{Operation: dictConstruct}
		for i := range v.Keys {
			n.Args = append(n.Args, program.Arg{Const: v.Keys[i]}, program.Arg{Const: v.Values[i]})
		}
		return n
	}
	return nil
}

// typeOfLiteral is a list's type, where it reports its members'.
func typeOfLiteral(v any) *program.Type {
	if l, ok := v.(*program.ListLit); ok && l.Elem != nil {
		return &program.Type{Kind: program.ListType, Elems: []*program.Type{l.Elem}}
	}
	return nil
}

// writes says which of fn's parameters an operator may write, in fn or in a function that it passes
// them to.
func (in *inliner) writes(fn *program.Func) []bool {
	if w, ok := in.written[fn]; ok {
		return w
	}
	w := make([]bool, len(fn.Params))
	if in.written == nil {
		in.written = map[*program.Func][]bool{}
	}
	in.written[fn] = w // before it is gone through: a function may call itself
	if g, err := fn.Graph(); err == nil {
		in.writesIn(g.Body, g.Params, w)
	}
	return w
}

func (in *inliner) writesIn(b *program.Block, params []*program.Value, w []bool) {
	for _, n := range b.Nodes {
		var callee []bool
		if n.Op == "prim::CallFunction" && n.Callee != nil {
			callee = in.writes(n.Callee)
		}
		writes, next := in.eval.Effects(n.Op, len(n.Args)).Writes, 0
		for i := range n.Args {
			written := marked(writes, i)
			if callee != nil {
				at := n.Callee.ParamOf(&n.Args[i], &next)
				written = at >= 0 && at < len(callee) && callee[at]
			}
			for k, p := range params {
				w[k] = w[k] || written && n.Args[i].Value == p
			}
		}
		eachBlock(n, func(sub *program.Block) { in.writesIn(sub, params, w) })
	}
}
