package passes

import (
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// decomposeAddmm takes addmm with factors of 1 apart into mm and an addition that allocates
// (torch/csrc/jit/passes/decompose_ops.cpp). aten::linear is not touched.
func (g *Graph) decomposeAddmm(b *program.Block) {
	for at := 0; at < len(b.Nodes); at++ {
		n := b.Nodes[at]
		eachBlock(n, g.decomposeAddmm)
		args, ok := factorless(n)
		if n.Op != "aten::addmm" || !ok {
			continue
		}
		product := &program.Value{ID: g.NumValues}
		g.NumValues++
		mm := g.newNode("aten::mm", n)
		mm.Args, mm.Outs = []program.Arg{args[1], args[2]}, []*program.Value{product}
		add := g.newNode("aten::add", n)
		add.Args, add.Outs = []program.Arg{args[0], {Value: product}}, n.Outs
		b.Nodes = slices.Replace(b.Nodes, at, at+1, mm, add)
	}
}

// factorless are the summand and the two matrices of an addmm whose factors are 1.
func factorless(n *program.Node) (args [3]program.Arg, ok bool) {
	given := 0
	for i := range n.Args {
		a := n.Args[i]
		at := i
		if a.Name != "" {
			at = slices.Index([]string{"self", "mat1", "mat2", "beta", "alpha"}, a.Name)
		}
		switch {
		case at < 0:
			return args, false
		case at > 2:
			if a.Const != int64(1) && a.Const != 1.0 {
				return args, false
			}
			continue
		}
		a.Name = ""
		args[at] = a
		given++
	}
	return args, given == 3
}
