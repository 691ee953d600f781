package passes

import "github.com/memspec/memspec/engine/program"

// combineConcats puts the members of an inner concatenation along the same dimension into the outer one that alone uses it
// (passes/concat_opt.cpp CombineConcats).
func (g *Graph) combineConcats() {
	if !has(g.Body, "aten::cat") {
		return
	}
	def := g.definers()
	uses := map[int][]int{}
	var count func(*program.Block)
	count = func(b *program.Block) {
		for i, n := range b.Nodes {
			collectUses(n, i, uses)
			for _, sub := range n.Blocks {
				count(sub)
			}
		}
	}
	count(g.Body)
	list := func(a *program.Arg) *program.Node {
		if a.Value == nil || len(uses[a.Value.ID]) != 1 {
			return nil
		}
		if d := def[a.Value.ID]; d != nil && d.Op == "prim::ListConstruct" {
			return d
		}
		return nil
	}
	dim := func(n *program.Node) (int64, bool) {
		if len(n.Args) < 2 {
			return 0, len(n.Args) == 1
		}
		d, ok := n.Args[1].Const.(int64)
		return d, ok && n.Args[1].Value == nil
	}
	var walk func(*program.Block)
	walk = func(b *program.Block) {
		for _, n := range b.Nodes {
			for _, sub := range n.Blocks {
				walk(sub)
			}
			outer, ok := dim(n)
			if n.Op != "aten::cat" || !ok {
				continue
			}
			l := list(&n.Args[0])
			if l == nil {
				continue
			}
			var members []program.Arg
			for i := range l.Args {
				a := l.Args[i]
				inner := (*program.Node)(nil)
				if a.Value != nil && len(uses[a.Value.ID]) == 1 {
					inner = def[a.Value.ID]
				}
				if inner != nil && inner.Op == "aten::cat" {
					if d, ok := dim(inner); ok && d == outer {
						if il := list(&inner.Args[0]); il != nil {
							members = append(members, il.Args...)
							continue
						}
					}
				}
				members = append(members, a)
			}
			l.Args = members
			g.operator[l.ID] = 0 // it may have another number of arguments
		}
	}
	walk(g.Body)
}

// eachUse calls f with every value that n and its blocks use.
func eachUse(n *program.Node, f func(*program.Value)) {
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			f(v)
		}
	}
	for _, b := range n.Blocks {
		for _, sub := range b.Nodes {
			eachUse(sub, f)
		}
		for j := range b.Outs {
			if v := b.Outs[j].Value; v != nil {
				f(v)
			}
		}
	}
}

// collectUses notes that instruction i is n.
func collectUses(n *program.Node, i int, uses map[int][]int) {
	eachUse(n, func(v *program.Value) { uses[v.ID] = append(uses[v.ID], i) })
}
