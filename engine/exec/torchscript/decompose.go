package torchscript

import "github.com/memspec/memspec/engine/program"

// decompose takes addmm with factors of 1 apart into mm and an addition that allocates (torch/csrc/jit/passes/decompose_ops.cpp).
// aten::linear is not touched.
func (s *graph) decompose(b *program.Block) {
	out := make([]*program.Node, 0, len(b.Nodes))
	for _, n := range b.Nodes {
		for _, sub := range n.Blocks {
			s.decompose(sub)
		}
		if n.Op != "aten::addmm" || !plainAddmm(n) {
			out = append(out, n)
			continue
		}
		mm := &program.Node{Op: "aten::mm", Args: []program.Arg{n.Args[1], n.Args[2]}, Src: n.Src, Line: n.Line, Stmt: n.Stmt, Cache: n.Cache,
			Outs: []*program.Value{{ID: s.g.NumValues}}}
		s.g.NumValues++
		add := &program.Node{Op: "aten::add", Args: []program.Arg{n.Args[0], {Value: mm.Outs[0]}}, Src: n.Src, Line: n.Line, Stmt: n.Stmt,
			Cache: n.Cache, Outs: n.Outs}
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
