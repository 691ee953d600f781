package passes

import "github.com/memspec/memspec/engine/program"

// lowerSimpleTuples gives the users of a tuple that is made and taken apart its members
// (passes/lower_tuples.cpp LowerSimpleTuples).
func (g *Graph) lowerSimpleTuples() {
	if !has(g.Body, "prim::TupleConstruct") {
		return
	}
	def := g.definers()
	var walk func(*program.Block)
	walk = func(b *program.Block) {
		for _, n := range b.Nodes {
			for i := range n.Args {
				g.resolve(&n.Args[i])
			}
			eachBlock(n, walk)
			if len(n.Args) == 0 || n.Args[0].Value == nil {
				continue
			}
			d := def[n.Args[0].Value.ID]
			if d == nil || d.Op != "prim::TupleConstruct" {
				continue
			}
			switch n.Op {
			case "prim::TupleUnpack":
				if len(d.Args) == len(n.Outs) {
					for i, o := range n.Outs {
						g.replace(o, d.Args[i])
					}
				}
			case "aten::__getitem__", "prim::TupleIndex":
				if i, ok := n.Args[1].Const.(int64); ok {
					if i < 0 {
						i += int64(len(d.Args))
					}
					if i >= 0 && i < int64(len(d.Args)) {
						g.replace(n.Outs[0], d.Args[i])
					}
				}
			}
		}
	}
	walk(g.Body)
	g.rewrite()
}
