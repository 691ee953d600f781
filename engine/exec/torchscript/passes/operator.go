package passes

import (
	"iter"
	"strings"

	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// signature is an operator with the number of its arguments.
type signature struct {
	op string
	n  int
}

// operator is what the passes know of one by its name and the number of its arguments.
type operator struct {
	ops.Effects
	stays  bool // also where no one uses its results
	random certainty
}

// effects is what is known of a node's operator, looked up once a node.
func (g *Graph) effects(n *program.Node) *operator {
	if n.ID >= len(g.operator) {
		g.operator = zeroed.Extend(g.operator, n.ID+1-len(g.operator))
	}
	at := &g.operator[n.ID]
	if *at == 0 {
		c := signature{n.Op, len(n.Args)}
		*at = g.numbers[c]
		if *at == 0 {
			e := g.eval.Effects(c.op, c.n)
			g.operators = append(g.operators, operator{Effects: e, stays: stays(c.op, &e), random: randomness(c.op)})
			*at = int32(len(g.operators))
			g.numbers[c] = *at
		}
	}
	return &g.operators[*at-1]
}

// marked says whether a mask of arguments has one: bit i, those from the 31st on together
// (ops.Effects).
func marked(mask uint32, i int) bool { return mask>>min(i, 31)&1 != 0 }

// used are the values among arguments.
func used(args []program.Arg) iter.Seq[*program.Value] {
	return func(yield func(*program.Value) bool) {
		for i := range args {
			if v := args[i].Value; v != nil && !yield(v) {
				return
			}
		}
	}
}

// sideEffects keeps a node whose results no one uses.
func (g *Graph) sideEffects(n *program.Node) bool {
	if g.effects(n).stays {
		return true
	}
	if n.Op == "prim::If" || n.Op == "prim::Loop" {
		for _, b := range n.Blocks {
			for _, sub := range b.Nodes {
				if g.sideEffects(sub) {
					return true
				}
			}
		}
		return false
	}
	for i := range n.Args {
		if n.Args[i].Name == "out" {
			return true
		}
	}
	return false
}

// stays says of an operator that each of its nodes is kept.
func stays(op string, e *ops.Effects) bool {
	switch op {
	case "prim::Return", "prim::RaiseException", "prim::SetAttr", "prim::CallMethod", "prim::CallFunction",
		"prim::fork", "aten::wait", "prim::Print",
		"aten::warn", "prim::Enter", "prim::Exit", "prim::AddStatValue", "aten::manual_seed", "aten::set_grad_enabled",
		"prim::CreateObject",
		"aten::_assert_scalar", "aten::_assert_async", "aten::_assert_tensor_metadata":
		return true
	}
	return e.Writes != 0 || !e.Known && !strings.HasPrefix(op, "prim::")
}

// nondeterministic operators are never merged or computed ahead.
func (g *Graph) nondeterministic(n *program.Node) bool {
	switch g.effects(n).random {
	case never:
		return false
	case always:
		return true
	}
	for i := range n.Args {
		if train, ok := n.Args[i].Const.(bool); ok && !train {
			return false
		}
	}
	return true
}

// randomness says whether an operator is nondeterministic; unsure means unless it is known that
// nothing is trained.
func randomness(op string) certainty {
	name := strings.TrimPrefix(op, "aten::")
	switch {
	case strings.HasPrefix(name, "rand"), strings.HasPrefix(name, "bernoulli"), strings.HasPrefix(name, "normal"),
		name == "multinomial", name == "poisson",
		name == "rrelu", name == "_standard_gamma", name == "_sample_dirichlet", name == "binomial",
		name == "native_dropout", name == "_fused_dropout":
		return always
	case strings.Contains(name, "dropout"):
		return unsure
	}
	return never
}
