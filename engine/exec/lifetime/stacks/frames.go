package stacks

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// The first step: by node, the frames of its stack that belong to the function it stands in,
// outermost first.

// groupsOf cuts a stack at the calls of modules (runs of lines of module.py): each group is one
// module's forward and the functions it calls, the innermost module first, in a group the outermost
// frame first.
func (p *Program) groupsOf(t *program.Stack) [][]*program.Frame {
	if groups, ok := p.groups[t]; ok {
		return groups
	}
	calls := 0
	for _, f := range t.Frames {
		if callsModule(f) {
			calls++
		}
	}
	groups := make([][]*program.Frame, 0, calls)
	from := len(p.frames)
	for _, f := range t.Frames {
		if callsModule(f) {
			if to := len(p.frames); to > from {
				group := p.frames[from:to:to]
				slices.Reverse(group)
				groups, from = append(groups, group), to
			}
			continue
		}
		p.frames = append(p.frames, f)
	}
	p.frames = p.frames[:from] // what is left called the root: the tracer and the user's script
	p.groups[t] = groups
	return groups
}

// callsModule says whether a frame is one of a module's call.
func callsModule(f *program.Frame) bool {
	return strings.HasSuffix(f.File, "torch/nn/modules/module.py")
}

// framesOf are the frames of each node, nil where nothing records. A call of a submodule has no own
// record: the first operator inside it says where it was called.
func (p *Program) framesOf(nodes []*program.Node, objects []*program.Object) [][]*program.Frame {
	frames := make([][]*program.Frame, len(nodes))
	for i, n := range nodes {
		switch {
		case n.Op == "prim::CallMethod":
			if o := at(objects, firstArg(n)); o != nil {
				if g := p.firstGroups(o.Class.Method(n.Text), o); len(g) > 1 {
					frames[i] = g[1]
				}
			}
		case n.Where.Stack != nil:
			if g := p.groupsOf(n.Where.Stack); len(g) > 0 {
				frames[i] = g[0]
			}
		}
	}
	return frames
}

// firstGroups is the stack of the first operator in fn, in groups; the first is fn's own.
func (p *Program) firstGroups(fn *program.Func, self *program.Object) [][]*program.Frame {
	if fn == nil || p.depth > maxNesting {
		return nil
	}
	if g, ok := p.first[fn]; ok {
		return g
	}
	p.depth++
	defer func() { p.depth-- }()
	p.first[fn] = nil
	graph, err := fn.Graph()
	if err != nil {
		return nil
	}
	objects := p.objects(graph, self)
	for _, n := range graph.Body.Nodes {
		if n.Op == "prim::CallMethod" {
			if o := at(objects, firstArg(n)); o != nil {
				if g := p.firstGroups(o.Class.Method(n.Text), o); len(g) > 1 {
					p.first[fn] = g[1:]
					return g[1:]
				}
			}
			continue
		}
		if n.Where.Stack != nil && !strings.HasPrefix(n.Op, "prim::") {
			if g := p.groupsOf(n.Where.Stack); len(g) > 0 {
				p.first[fn] = g
				return g
			}
		}
	}
	return nil
}

// fillFrames gives nodes without a stack that of their user, which takes them at once, or, for what
// takes a value apart, that of the one before.
func fillFrames(t *function, frames [][]*program.Frame) [][]*program.Frame {
	var last []*program.Frame
	for i := range frames {
		switch op := t.nodes[i].Op; {
		case frames[i] != nil:
			last = frames[i]
		case op == "prim::TupleUnpack" || op == "prim::ListUnpack" || op == "prim::Return":
			frames[i] = last
		}
	}
	var next []*program.Frame
	for i := len(frames) - 1; i >= 0; i-- {
		switch {
		case frames[i] != nil:
			next = frames[i]
		case t.nodes[i].Op != "prim::GetAttr" && (t.nodes[i].Op != "prim::CallMethod" || t.used(t.nodes[i])):
			frames[i] = next
		}
	}
	return frames
}

// used says whether anything takes a result of n.
func (t *function) used(n *program.Node) bool {
	return slices.ContainsFunc(n.Outs, func(v *program.Value) bool { return len(t.uses[v.ID]) > 0 })
}
