package passes

import (
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// canonicalize puts the number in the place of a constant tensor without dimensions, where one is
// added, subtracted, multiplied with or divided by
// (torch/csrc/jit/passes/canonicalize_graph_fuser_ops.cpp). A number of the host's stays there
// then, though the constant lay on the device.
func (g *Graph) canonicalize(b *program.Block) {
	for _, n := range b.Nodes {
		eachBlock(n, g.canonicalize)
		switch n.Op {
		case "aten::add", "aten::sub", "aten::mul", "aten::div":
		default:
			continue
		}
		if n.Op == "aten::div" && len(n.Args) > 2 { // with a rounding mode
			continue
		}
		other := at(n, 1, "other")
		if other == nil {
			continue
		}
		if v, ok := number(other.Const); ok {
			other.Const = v
		}
	}
}

// at is the argument in a place, or of its name.
func at(n *program.Node, place int, name string) *program.Arg {
	for i := range n.Args {
		if a := &n.Args[i]; a.Name == name || a.Name == "" && i == place {
			return a
		}
	}
	return nil
}

// number is the value of a constant tensor without dimensions, where the archive states it.
func number(v any) (any, bool) {
	s, ok := v.(*program.State)
	if !ok || len(s.Meta.Sizes) > 0 || s.Data == nil {
		return nil, false
	}
	switch {
	case s.Meta.DType.Integral(false) && len(s.Data.Ints) == 1:
		return s.Data.Ints[0], true
	case s.Meta.DType == tensor.Bool && len(s.Data.Ints) == 1:
		return s.Data.Ints[0] != 0, true
	case s.Meta.DType.Floating() && len(s.Data.Floats) == 1:
		return s.Data.Floats[0], true
	}
	return nil, false
}
