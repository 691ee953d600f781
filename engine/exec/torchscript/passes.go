package torchscript

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/slab"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// graph is an inlined graph under simplification.
type graph struct {
	m     *interp
	g     *program.Graph
	alias []int32       // by value: what it is replaced by, in by, and one more; 0 for nothing
	by    []program.Arg // another value or a constant
	done  int           // replacements that every argument knows
	made  []folded      // constants computed ahead, in order
	defs  []*program.Node
	used  []bool
}

// simplify runs the executor's passes on g, in its order.
func (m *interp) simplify(g *program.Graph) error {
	if m.effects == nil {
		m.effects = map[call]int32{}
	}
	s := &graph{m: m, g: g, alias: make([]int32, g.NumValues)}
	s.peephole()
	if err := s.fold(false); err != nil {
		return err
	}
	s.decompose(s.g.Body)
	if err := s.fold(true); err != nil {
		return err
	}
	s.sweep()
	s.merge()
	s.peephole()
	s.joinCats()
	s.sweep()
	s.untuple()
	s.sweep()
	s.freeUnused()
	return nil
}

// resolve follows replacements.
func (s *graph) resolve(a *program.Arg) {
	for a.Value != nil {
		id := a.Value.ID
		if id >= len(s.alias) || s.alias[id] == 0 {
			return
		}
		r := &s.by[s.alias[id]-1]
		a.Value, a.Const = r.Value, r.Const
	}
}

// rewrite applies the replacements to every argument.
func (s *graph) rewrite() {
	if s.done < len(s.by) {
		s.done = len(s.by)
		s.rewriteBlock(s.g.Body)
	}
}

func (s *graph) rewriteBlock(b *program.Block) {
	for _, n := range b.Nodes {
		for i := range n.Args {
			s.resolve(&n.Args[i])
		}
		for _, sub := range n.Blocks {
			s.rewriteBlock(sub)
		}
	}
	for i := range b.Outs {
		s.resolve(&b.Outs[i])
	}
}

func (s *graph) replace(v *program.Value, by program.Arg) {
	by.Name = ""
	s.by = append(s.by, by)
	if v.ID >= len(s.alias) {
		s.alias = slab.Extend(s.alias, v.ID+1-len(s.alias))
	}
	s.alias[v.ID] = int32(len(s.by))
}

// definers are the values' nodes, by value; good until the next call.
func (s *graph) definers() []*program.Node {
	s.defs = slab.Extend(s.defs[:0], s.g.NumValues)
	defineAll(s.g.Body, s.defs)
	return s.defs
}

func defineAll(b *program.Block, def []*program.Node) {
	for _, n := range b.Nodes {
		for _, o := range n.Outs {
			def[o.ID] = n
		}
		for _, sub := range n.Blocks {
			defineAll(sub, def)
		}
	}
}

// has says whether a node of a block is an operator.
func has(b *program.Block, op string) bool {
	for _, n := range b.Nodes {
		if n.Op == op {
			return true
		}
		for _, sub := range n.Blocks {
			if has(sub, op) {
				return true
			}
		}
	}
	return false
}

// peephole takes out operations that do nothing: x + 0, x * 1, comparisons with None that types decide, lists taken apart again
// (passes/peephole.cpp, peephole_alias_sensitive.cpp, peephole_list_idioms.cpp).
func (s *graph) peephole() {
	a := s.m.aliasesOf(s.g)
	def := s.definers()
	s.peepholeBlock(s.g.Body, a, def)
	s.rewrite()
}

func (s *graph) peepholeBlock(b *program.Block, a *aliases, def []*program.Node) {
	for _, n := range b.Nodes {
		for i := range n.Args {
			s.resolve(&n.Args[i])
		}
		s.peepholeNode(n, a, def)
		for _, sub := range n.Blocks {
			s.peepholeBlock(sub, a, def)
		}
	}
}

func (s *graph) peepholeNode(n *program.Node, a *aliases, def []*program.Node) {
	switch n.Op {
	case "aten::add", "aten::sub":
		s.dropIdentity(n, a, 0, def)
	case "aten::mul":
		s.dropIdentity(n, a, 1, def)
	case "aten::__is__", "aten::__isnot__":
		if len(n.Args) != 2 {
			return
		}
		x, y := s.noneness(&n.Args[0], def), s.noneness(&n.Args[1], def)
		if x == never && y == always || x == always && y == never {
			s.replace(n.Outs[0], program.Arg{Const: n.Op == "aten::__isnot__"})
		} else if x == always && y == always {
			s.replace(n.Outs[0], program.Arg{Const: n.Op == "aten::__is__"})
		}
	case "prim::unchecked_unwrap_optional", "aten::_unwrap_optional", "prim::unchecked_cast":
		if s.noneness(&n.Args[0], def) == never && len(n.Outs) == 1 {
			s.replace(n.Outs[0], n.Args[0])
		}
	case "aten::__getitem__", "aten::len", "prim::ListUnpack":
		s.listIdiom(n, a, def)
	}
}

// dropIdentity replaces x + 0 and x * 1, where the number is an int (another would promote), by x.
func (s *graph) dropIdentity(n *program.Node, a *aliases, identity int64, def []*program.Node) {
	if len(n.Args) < 2 || len(n.Outs) != 1 || n.Args[0].Value == nil || n.Args[1].Value != nil {
		return
	}
	for i := 2; i < len(n.Args); i++ {
		if alpha, ok := n.Args[i].Const.(int64); n.Args[i].Value != nil || !ok || alpha != 1 {
			return
		}
	}
	k, ok := scalarConst(n.Args[1].Const)
	if !ok || k != identity || !s.tensorValue(n.Args[0].Value, def) {
		return
	}
	if a.mayMerge(n.Args[0].Value, n.Outs[0]) {
		s.replace(n.Outs[0], n.Args[0])
	}
}

// scalarConst is an int constant, or a 0-dim tensor constant of an integral dtype (passes/canonicalize_ops.cpp makes it a number).
func scalarConst(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case *program.State:
		if len(v.Meta.Sizes) == 0 && v.Meta.DType.Integral(false) && v.Data != nil && len(v.Data.Ints) == 1 {
			return v.Data.Ints[0], true
		}
	}
	return 0, false
}

// tensorValue says whether an argument is a tensor, as far as its source tells.
func (s *graph) tensorValue(v *program.Value, def []*program.Node) bool {
	if v.Type != nil && v.Type.Kind != program.AnyType {
		return v.Type.Kind == program.TensorType
	}
	d := def[v.ID]
	if d == nil || len(d.Args) == 0 {
		return false
	}
	switch d.Op {
	case "aten::__getitem__", "prim::ListUnpack", "prim::TupleUnpack":
		if d.Args[0].Value == nil || def[d.Args[0].Value.ID] == nil {
			return false
		}
		e := s.m.effectsOf(def[d.Args[0].Value.ID])
		return e.Known && e.Lists
	case "prim::GetAttr", "prim::If", "prim::Loop", "prim::TupleIndex":
		return false // may be a number
	}
	e := s.m.effectsOf(d)
	if e.Known && e.Tensors {
		return true
	}
	// an operator on tensors and on numbers or lists (slice, add): it gives what it was given
	return e.Known && d.Args[0].Value != nil && !e.Immutable && s.tensorValue(d.Args[0].Value, def)
}

type certainty uint8

const (
	unsure certainty = iota
	never
	always
)

// noneness says whether an argument is None, as far as types tell.
func (s *graph) noneness(a *program.Arg, def []*program.Node) certainty {
	if a.Value == nil {
		if a.Const == nil {
			return always
		}
		return never
	}
	if t := a.Value.Type; t != nil {
		switch t.Kind {
		case program.NoneType:
			return always
		case program.OptionalType, program.AnyType, program.UnionType:
		default:
			return never
		}
	}
	d := def[a.Value.ID]
	if d == nil {
		return unsure
	}
	switch d.Op {
	case "prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::CreateObject", "prim::unchecked_cast":
		return never
	case "prim::GetAttr":
		return s.attrNone(d)
	case "prim::If", "prim::Loop", "prim::TupleUnpack", "prim::ListUnpack", "aten::__getitem__", "prim::TupleIndex", "prim::Uninitialized":
		return unsure
	}
	if e := s.m.effectsOf(d); e.Known && e.NeverNil {
		return never
	}
	return unsure
}

// attrNone looks at an attribute's declared type.
func (s *graph) attrNone(n *program.Node) certainty {
	o, ok := n.Args[0].Const.(*Object)
	if !ok {
		return unsure
	}
	i, ok := o.Class.AttrIndex(n.Text)
	if !ok || o.Class.Attrs[i].Type == nil {
		return unsure
	}
	switch o.Class.Attrs[i].Type.Kind {
	case program.NoneType:
		return always
	case program.OptionalType, program.AnyType, program.UnionType:
		return unsure
	}
	return never
}

// listIdiom takes a constant list apart without making it.
func (s *graph) listIdiom(n *program.Node, a *aliases, def []*program.Node) {
	v := n.Args[0].Value
	if v == nil || def[v.ID] == nil || def[v.ID].Op != "prim::ListConstruct" || a.written[a.find(a.of(v))] {
		return
	}
	items := def[v.ID].Args
	switch n.Op {
	case "aten::len":
		s.replace(n.Outs[0], program.Arg{Const: int64(len(items))})
	case "aten::__getitem__":
		i, ok := n.Args[1].Const.(int64)
		if n.Args[1].Value != nil || !ok {
			return
		}
		if i < 0 {
			i += int64(len(items))
		}
		if i >= 0 && i < int64(len(items)) {
			s.replace(n.Outs[0], items[i])
		}
	case "prim::ListUnpack":
		if len(items) == len(n.Outs) {
			for i, o := range n.Outs {
				s.replace(o, items[i])
			}
		}
	}
}

// untuple gives the users of a tuple that is made and taken apart its members (passes/lower_tuples.cpp LowerSimpleTuples).
func (s *graph) untuple() {
	if !has(s.g.Body, "prim::TupleConstruct") && !has(s.g.Body, "prim::NamedTupleConstruct") {
		return
	}
	def := s.definers()
	var walk func(*program.Block)
	walk = func(b *program.Block) {
		for _, n := range b.Nodes {
			for i := range n.Args {
				s.resolve(&n.Args[i])
			}
			for _, sub := range n.Blocks {
				walk(sub)
			}
			if len(n.Args) == 0 || n.Args[0].Value == nil {
				continue
			}
			d := def[n.Args[0].Value.ID]
			if d == nil || d.Op != "prim::TupleConstruct" && d.Op != "prim::NamedTupleConstruct" {
				continue
			}
			switch n.Op {
			case "prim::TupleUnpack":
				if len(d.Args) == len(n.Outs) {
					for i, o := range n.Outs {
						s.replace(o, d.Args[i])
					}
				}
			case "aten::__getitem__", "prim::TupleIndex":
				if i, ok := n.Args[1].Const.(int64); ok && n.Args[1].Value == nil {
					if i < 0 {
						i += int64(len(d.Args))
					}
					if i >= 0 && i < int64(len(d.Args)) {
						s.replace(n.Outs[0], d.Args[i])
					}
				}
			}
		}
	}
	walk(s.g.Body)
	s.rewrite()
}

// sideEffects keeps a node whose results no one uses.
func (s *graph) sideEffects(n *program.Node) bool {
	if s.m.effectsOf(n).stays {
		return true
	}
	if n.Op == "prim::If" || n.Op == "prim::Loop" {
		for _, b := range n.Blocks {
			for _, sub := range b.Nodes {
				if s.sideEffects(sub) {
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
	case "prim::Return", "prim::RaiseException", "prim::SetAttr", "prim::CallMethod", "prim::CallFunction", "prim::fork", "aten::wait", "prim::Print",
		"aten::warn", "prim::Enter", "prim::Exit", "prim::AddStatValue", "aten::manual_seed", "aten::set_grad_enabled", "prim::CreateObject",
		"aten::_assert_scalar", "aten::_assert_async", "aten::_assert_tensor_metadata":
		return true
	}
	return e.Writes != 0 || !e.Known && !strings.HasPrefix(op, "prim::")
}

// sweep removes nodes whose results no one uses (passes/dead_code_elimination.cpp).
func (s *graph) sweep() {
	s.used = slab.Extend(s.used[:0], s.g.NumValues)
	s.sweepBlock(s.g.Body, s.used)
}

func (s *graph) sweepBlock(b *program.Block, used []bool) {
	for i := range b.Outs {
		if v := b.Outs[i].Value; v != nil {
			used[v.ID] = true
		}
	}
	kept := len(b.Nodes)
	nodes := b.Nodes
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		live := s.sideEffects(n)
		for _, o := range n.Outs {
			live = live || used[o.ID]
		}
		if !live {
			continue
		}
		for j := range n.Args {
			if v := n.Args[j].Value; v != nil {
				used[v.ID] = true
			}
		}
		if n.Op == "prim::Loop" { // a value carried round is used by the next round
			for _, sub := range n.Blocks {
				for j := range sub.Outs {
					if v := sub.Outs[j].Value; v != nil {
						used[v.ID] = true
					}
				}
			}
		}
		for j := len(n.Blocks) - 1; j >= 0; j-- {
			s.sweepBlock(n.Blocks[j], used)
		}
		kept--
		nodes[kept] = n
	}
	b.Nodes = nodes[kept:]
}

// nondeterministic operators are never merged or computed ahead.
func (s *graph) nondeterministic(n *program.Node) bool {
	switch s.m.effectsOf(n).random {
	case never:
		return false
	case always:
		return true
	}
	for i := range n.Args {
		if train, ok := n.Args[i].Const.(bool); ok && n.Args[i].Value == nil && !train {
			return false
		}
	}
	return true
}

// randomness says whether an operator is nondeterministic; unsure means unless it is told that nothing is trained.
func randomness(op string) certainty {
	name := strings.TrimPrefix(op, "aten::")
	switch {
	case strings.HasPrefix(name, "rand"), strings.HasPrefix(name, "bernoulli"), strings.HasPrefix(name, "normal"), name == "multinomial", name == "poisson",
		name == "rrelu", name == "_standard_gamma", name == "_sample_dirichlet", name == "binomial", name == "native_dropout", name == "_fused_dropout":
		return always
	case strings.Contains(name, "dropout"):
		return unsure
	}
	return never
}
