package program

import (
	"errors"
	"fmt"
	"slices"
)

// Check reports every violation of what the rest of the house relies on: classes sorted and sealed, objects that fit their classes, sane
// states, and in every function values that are defined once, before their use and within their block. It lowers every body.
func Check(p *Program) error {
	c := &checker{}
	if !slices.IsSortedFunc(p.Classes, func(a, b *Class) int {
		if a.Name < b.Name {
			return -1
		}
		if a.Name > b.Name {
			return 1
		}
		return 0
	}) {
		c.errorf("classes: got them unsorted, want them by name")
	}
	for _, class := range p.Classes {
		c.class(class)
	}
	c.states(p.States)
	c.modules(p.Modules)
	for _, f := range functions(p) {
		c.function(f)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	errs []error
	in   string
}

func (c *checker) errorf(format string, args ...any) {
	if c.in != "" {
		format = c.in + ": " + format
	}
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) class(k *Class) {
	for i := range k.Attrs {
		if at, ok := k.AttrIndex(k.Attrs[i].Name); !ok || k.Attrs[at].Name != k.Attrs[i].Name {
			c.errorf("class %s: attribute %s: not in its table, want it sealed", k.Name, k.Attrs[i].Name)
		}
	}
	for _, m := range k.Methods {
		if m.Class != k {
			c.errorf("class %s: method %s: got another class, want its own", k.Name, m.Method)
		}
		if k.Method(m.Method) == nil {
			c.errorf("class %s: method %s: not in its table, want it sealed", k.Name, m.Method)
		}
	}
}

func (c *checker) states(states []*State) {
	bytes := map[int]int64{}
	for _, s := range states {
		if err := s.Meta.Check(); err != nil {
			c.errorf("state %s: %w", s.Name, err)
			continue
		}
		if need := int64(s.Meta.StorageBytes()); !s.Packed && need > s.NBytes {
			c.errorf("state %s: got a storage of %d B, want at least %d B", s.Name, s.NBytes, need)
		}
		if b, ok := bytes[s.Storage]; ok && b != s.NBytes {
			c.errorf("state %s: storage %d: got %d B, want %d B as elsewhere", s.Name, s.Storage, s.NBytes, b)
		}
		bytes[s.Storage] = s.NBytes
	}
}

func (c *checker) modules(modules []*Module) {
	seen := map[*Module]bool{}
	for _, m := range modules {
		seen[m] = true
		if m.Object == nil || m.Object.Class == nil {
			c.errorf("module %q: got no object with a class", m.FQN)
			continue
		}
		if m.Parent != nil && !seen[m.Parent] {
			c.errorf("module %q: got it before its parent", m.FQN)
		}
		if k := m.Object.Class; len(m.Object.Attrs) != len(k.Attrs) {
			c.errorf("module %q: got %d attributes, want the %d of %s", m.FQN, len(m.Object.Attrs), len(k.Attrs), k.Name)
		}
	}
}

func (c *checker) function(f *Func) {
	c.in = f.Name
	defer func() { c.in = "" }()
	g, err := f.Graph()
	if err != nil {
		c.errorf("%w", err)
		return
	}
	v := &values{checker: c, graph: g, defined: make([]bool, g.NumValues), visible: make([]bool, g.NumValues)}
	for _, p := range g.Params {
		v.define(p)
	}
	v.block(g.Body)
}

// values checks one function: what is defined at all, and what is visible at the node being looked at.
type values struct {
	*checker
	graph            *Graph
	defined, visible []bool
	trail            []int
}

func (v *values) define(x *Value) {
	if x.ID < 0 || x.ID >= v.graph.NumValues {
		v.errorf("value %s: got number %d, want less than %d", x, x.ID, v.graph.NumValues)
		return
	}
	if v.defined[x.ID] {
		v.errorf("value %s: defined twice", x)
	}
	v.defined[x.ID], v.visible[x.ID] = true, true
	v.trail = append(v.trail, x.ID)
}

func (v *values) use(n *Node, args []Arg) {
	for _, a := range args {
		if a.Value == nil {
			continue
		}
		if id := a.Value.ID; id < 0 || id >= len(v.visible) || !v.visible[id] {
			v.errorf("%s: got %s, which is not defined here", nodeName(n), a.Value)
		}
	}
}

func nodeName(n *Node) string {
	if n == nil {
		return "the end of a block"
	}
	return fmt.Sprintf("line %d: %s", n.Line, n.Op)
}

// block checks b; what it defines is not visible behind it.
func (v *values) block(b *Block) {
	mark := len(v.trail)
	for _, p := range b.Params {
		v.define(p)
	}
	for _, n := range b.Nodes {
		v.use(n, n.Args)
		v.shape(n)
		for _, inner := range n.Blocks {
			v.block(inner)
		}
		for _, out := range n.Outs {
			v.define(out)
		}
	}
	v.use(nil, b.Outs)
	for _, id := range v.trail[mark:] {
		v.visible[id] = false
	}
	v.trail = v.trail[:mark]
}

// shape checks the numbers of a node that has blocks.
func (v *values) shape(n *Node) {
	switch n.Op {
	case "prim::If":
		v.want(n, "arguments", len(n.Args), 1)
		v.want(n, "blocks", len(n.Blocks), 2)
		for _, b := range n.Blocks {
			v.want(n, "results of a block", len(b.Outs), len(n.Outs))
		}
	case "prim::Loop":
		v.want(n, "blocks", len(n.Blocks), 1)
		v.want(n, "arguments", len(n.Args), 2+len(n.Outs))
		for _, b := range n.Blocks {
			v.want(n, "parameters of the block", len(b.Params), 1+len(n.Outs))
			v.want(n, "results of the block", len(b.Outs), 1+len(n.Outs))
		}
	case "prim::CallFunction":
		if n.Callee == nil {
			v.errorf("%s: got no function", nodeName(n))
		}
	}
}

func (v *values) want(n *Node, what string, got, want int) {
	if got != want {
		v.errorf("%s: got %d %s, want %d", nodeName(n), got, what, want)
	}
}
