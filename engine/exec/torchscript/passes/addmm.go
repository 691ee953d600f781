package passes

import "github.com/memspec/memspec/engine/program"

// decomposeAddmm takes addmm with factors of 1 apart into mm and an addition that allocates (torch/csrc/jit/passes/decompose_ops.cpp).
// aten::linear is not touched.
func (g *Graph) decomposeAddmm(b *program.Block) {
	out := make([]*program.Node, 0, len(b.Nodes))
	for _, n := range b.Nodes {
		for _, sub := range n.Blocks {
			g.decomposeAddmm(sub)
		}
		if n.Op != "aten::addmm" || !plainAddmm(n) {
			out = append(out, n)
			continue
		}
		product := &program.Value{ID: g.NumValues}
		g.NumValues++
		mm := g.newNode(n)
		mm.Op, mm.Args, mm.Outs = "aten::mm", []program.Arg{n.Args[1], n.Args[2]}, []*program.Value{product}
		add := g.newNode(n)
		add.Op, add.Args, add.Outs = "aten::add", []program.Arg{n.Args[0], {Value: product}}, n.Outs
		out = append(out, mm, add)
	}
	b.Nodes = out
}

// plainAddmm says whether beta and alpha are 1, and all is positional.
func plainAddmm(n *program.Node) bool {
	if len(n.Args) < 3 {
		return false
	}
	for i := range n.Args {
		a := &n.Args[i]
		if i < 3 {
			if a.Name != "" {
				return false
			}
			continue
		}
		if a.Value != nil || a.Name != "beta" && a.Name != "alpha" {
			return false
		}
		switch v := a.Const.(type) {
		case int64:
			if v != 1 {
				return false
			}
		case float64:
			if v != 1 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
