package exec

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// A traced archive carries no text, but every node its Python stack. This file finds a node's part of it: the frames from the forward of
// the module that the node is in, inward. activations.go rebuilds calls and statements from them, outlive.go what these hold.

// groupsOf cuts a stack at the calls of modules (runs of lines of module.py): each group is one module's forward and the functions it
// calls, the innermost module first, in a group the outermost frame first.
func (s *stacks) groupsOf(t *program.SourceText) [][]*program.Frame {
	if groups, ok := s.grouped[t]; ok {
		return groups
	}
	var groups [][]*program.Frame
	from := len(s.frames)
	for _, f := range t.Stack {
		if strings.HasSuffix(f.File, "torch/nn/modules/module.py") {
			if to := len(s.frames); to > from {
				group := s.frames[from:to:to]
				slices.Reverse(group)
				groups, from = append(groups, group), to
			}
			continue
		}
		s.frames = append(s.frames, f)
	}
	s.frames = s.frames[:from] // what is left called the root: the tracer and the user's script
	s.grouped[t] = groups
	return groups
}

// stacks finds the frames of instructions. A call of a submodule has no record of its own: the first operator inside it tells where it
// was called.
type stacks struct {
	m     *machine
	known map[*program.Func][][]*program.Frame
	depth int

	grouped map[*program.SourceText][][]*program.Frame
	frames  []*program.Frame // of all groups, in one piece

	program *tracedProgram
	opening map[string]int // by record: the line of its first function
}

// stacksOf are the stacks of m's program.
func (m *machine) stacksOf() *stacks {
	if m.stacks == nil {
		m.stacks = &stacks{m: m, known: map[*program.Func][][]*program.Frame{}, grouped: map[*program.SourceText][][]*program.Frame{}}
	}
	return m.stacks
}

// framesOf are the frames of a node inside self's forward, outermost first; nil where nothing tells.
func (s *stacks) framesOf(n *program.Node, objects map[int]*Object) []*program.Frame {
	if n.Op == "prim::CallMethod" {
		if o := objects[firstArg(n)]; o != nil {
			if g := s.groups(o.Class.Method(n.Text), o); len(g) > 1 {
				return g[1]
			}
		}
		return nil
	}
	if n.Src.Text == nil || n.Src.Text.File != "" {
		return nil
	}
	if g := s.groupsOf(n.Src.Text); len(g) > 0 {
		return g[0]
	}
	return nil
}

// groups is the stack of the first operator in fn, in groups; the first is fn's own.
func (s *stacks) groups(fn *program.Func, self *Object) [][]*program.Frame {
	if fn == nil || s.depth > maxNesting {
		return nil
	}
	if g, ok := s.known[fn]; ok {
		return g
	}
	s.depth++
	defer func() { s.depth-- }()
	s.known[fn] = nil
	graph, err := fn.Graph()
	if err != nil {
		return nil
	}
	objects := map[int]*Object{}
	if len(graph.Params) > 0 {
		objects[graph.Params[0].ID] = self
	}
	for _, n := range graph.Body.Nodes {
		s.m.submodule(n, objects)
		if n.Op == "prim::CallMethod" {
			if o := objects[firstArg(n)]; o != nil {
				if g := s.groups(o.Class.Method(n.Text), o); len(g) > 1 {
					s.known[fn] = g[1:]
					return g[1:]
				}
			}
			continue
		}
		if n.Src.Text != nil && n.Src.Text.File == "" && !strings.HasPrefix(n.Op, "prim::") {
			if g := s.groupsOf(n.Src.Text); len(g) > 0 {
				s.known[fn] = g
				return g
			}
		}
	}
	return nil
}

// maxNesting is how deep modules are followed.
const maxNesting = 200

// submodule notes which object a GetAttr of a module reads.
func (m *machine) submodule(n *program.Node, objects map[int]*Object) {
	if n.Op != "prim::GetAttr" || n.Args[0].Value == nil {
		return
	}
	o := objects[n.Args[0].Value.ID]
	if o == nil {
		return
	}
	if v, ok := m.getAttr(o, n.Text); ok {
		if sub, ok := v.(*Object); ok {
			objects[n.Outs[0].ID] = sub
		}
	}
}
