package torchexport

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// nodes lowers a graph's nodes into a block.
func (l *lowerer) nodes(b *program.Block, g *graph, s *scope) error {
	b.Nodes = make([]*program.Node, 0, len(g.nodes)+1)
	for i := range g.nodes {
		n, err := l.node(&g.nodes[i], s)
		if err != nil {
			return fmt.Errorf("node %d, %s: %w", i, short(g.nodes[i].target), err)
		}
		b.Nodes = append(b.Nodes, n)
	}
	return nil
}

func (l *lowerer) node(n *node, s *scope) (*program.Node, error) {
	out := &program.Node{Operation: &program.Operation{Where: l.where(n), Meta: &program.NodeMeta{}}}
	out.Where.Stmt = l.number()
	out.Op, out.Meta.Key = operator(n.target)
	out.Args = make([]program.Arg, 0, len(n.inputs))
	for i := range n.inputs {
		in := &n.inputs[i]
		if in.kind == graphArg {
			b, err := l.subgraph(in.graph, s)
			if err != nil {
				return nil, fmt.Errorf("graph %s: %w", in.text, err)
			}
			out.Blocks = append(out.Blocks, b)
			continue
		}
		a, err := l.arg(in, s)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", in.name, err)
		}
		a.Name = in.name
		out.Args = append(out.Args, a)
	}
	if len(out.Blocks) > 0 && !strings.HasPrefix(out.Op, program.HigherOrder) {
		return nil, fmt.Errorf("got a graph as an argument, want one in torch.ops.higher_order alone")
	}
	l.takeApart(out)
	for i := range n.outputs {
		if err := l.result(out, &n.outputs[i], s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// result lowers one of a node's results; a list's members are results of the node.
func (l *lowerer) result(n *program.Node, o *argument, s *scope) error {
	switch o.kind {
	case listArg:
		for i := range o.items {
			if err := l.result(n, &o.items[i], s); err != nil {
				return err
			}
		}
		return nil
	case tensorArg, symbolArg, objectArg, noneArg:
	default:
		return fmt.Errorf("got a result of another kind than tensor, number, list or None")
	}
	t := anyType
	var recorded *program.TensorMeta
	if o.kind == tensorArg {
		t = tensorType
		if m := s.tensors[o.text]; m != nil {
			if meta, err := l.meta(m); err == nil { // a size in a form that is not known is not compared with anything
				recorded = meta
			}
		}
	}
	v := l.value(o.text, t)
	n.Outs = append(n.Outs, v)
	n.Meta.Recorded = append(n.Meta.Recorded, recorded)
	if o.text != "" {
		s.names[o.text] = program.Arg{Value: v}
	}
	return nil
}

// subgraph lowers a graph that an operator runs.
func (l *lowerer) subgraph(g *graph, outer *scope) (*program.Block, error) {
	if g == nil {
		return nil, fmt.Errorf("got none, want one")
	}
	b := &program.Block{}
	s := newScope(g, outer)
	for i := range g.inputs {
		in := &g.inputs[i]
		v := l.value(in.text, anyType)
		if in.kind == tensorArg {
			v.Type = tensorType
		}
		b.Params = append(b.Params, v)
		if in.text != "" {
			s.names[in.text] = program.Arg{Value: v}
		}
	}
	if err := l.nodes(b, g, s); err != nil {
		return nil, err
	}
	for i := range g.outputs {
		a, err := l.arg(&g.outputs[i], s)
		if err != nil {
			return nil, fmt.Errorf("result %d: %w", i, err)
		}
		b.Outs = append(b.Outs, a)
	}
	return b, nil
}

// operator is the name and overload of "torch.ops.aten.add.Tensor", and what Python's functions of
// numbers are called as operators.
func operator(target string) (op, key string) {
	rest, ok := strings.CutPrefix(target, "torch.ops.")
	if !ok {
		if op, ok := numberFunctions[target]; ok {
			return op, ""
		}
		return "python::" + target, ""
	}
	space, name, _ := strings.Cut(rest, ".")
	if space == "higher_order" {
		return program.HigherOrder + name, ""
	}
	name, overload, _ := strings.Cut(name, ".")
	op = space + "::" + name
	if overload == "default" || overload == "" {
		return op, op
	}
	return op, op + "." + overload
}

// numberFunctions are the functions of numbers that graphs call (torch/fx/experimental/sym_node.py,
// torch/__init__.py).
var numberFunctions = map[string]string{
	"_operator.add": "aten::add", "_operator.sub": "aten::sub",
	"_operator.mul": "aten::mul", "_operator.floordiv": "aten::floordiv",
	"_operator.mod": "aten::remainder", "_operator.truediv": "aten::div",
	"_operator.neg": "aten::neg", "_operator.pow": "aten::pow",
	"_operator.eq": "aten::eq", "_operator.ne": "aten::ne",
	"_operator.lt": "aten::lt", "_operator.le": "aten::le",
	"_operator.gt": "aten::gt", "_operator.ge": "aten::ge",
	"_operator.and_": "aten::__and__", "_operator.or_": "aten::__or__",
	"_operator.not_": "aten::__not__", "torch.sym_not": "aten::__not__",
	"torch.sym_max": "prim::max", "torch.sym_min": "prim::min",
	"torch.sym_float": "aten::Float", "torch.sym_int": "aten::Int",
	"math.trunc": "aten::Int", "math.ceil": "aten::ceil",
	"math.floor": "aten::floor", "builtins.round": "aten::round",
	"torch._sym_sqrt": "aten::sqrt", "math.sqrt": "aten::sqrt",
	"builtins.int": "aten::Int", "builtins.float": "aten::Float",
}

// find is what a name stands for.
func (s *scope) find(name string) (program.Arg, bool) {
	for ; s != nil; s = s.outer {
		if a, ok := s.names[name]; ok {
			return a, true
		}
	}
	return program.Arg{}, false
}

// arg lowers an argument.
func (l *lowerer) arg(a *argument, s *scope) (program.Arg, error) {
	switch a.kind {
	case tensorArg, symbolArg, objectArg:
		found, ok := s.find(a.text)
		if !ok && a.kind == objectArg {
			return program.Arg{Const: &program.Opaque{Class: a.text}}, nil
		}
		if !ok {
			return found, fmt.Errorf("got the name %q, which stands for nothing yet", a.text)
		}
		return found, nil
	case listArg:
		return l.listArg(a, s)
	}
	v, err := l.literal(a)
	return program.Arg{Const: v}, err
}

// listArg lowers a list, to a literal where it holds nothing else.
func (l *lowerer) listArg(a *argument, s *scope) (program.Arg, error) {
	items := make([]program.Arg, len(a.items))
	plain := true
	for i := range a.items {
		var err error
		if items[i], err = l.arg(&a.items[i], s); err != nil {
			return program.Arg{}, err
		}
		plain = plain && items[i].Value == nil && items[i].Items == nil
	}
	if !plain {
		return program.Arg{Items: items}, nil
	}
	lit := &program.ListLit{Elem: elemTypes[a.elem]}
	for i := range items {
		lit.Items = append(lit.Items, items[i].Const)
	}
	return program.Arg{Const: lit}, nil
}

// elemTypes are the types of a list's members, as far as the file records.
var elemTypes = map[kindOfArgument]*program.Type{
	tensorArg: tensorType, intArg: intType, floatArg: {Kind: program.FloatType},
	boolArg: {Kind: program.BoolType}, stringArg: {Kind: program.StrType},
}

// memoryFormats and layouts are numbered by the schema; to operators they are c10's
// (c10/core/MemoryFormat.h, torch/headeronly/core/Layout.h).
var (
	memoryFormats = map[int64]tensor.MemoryFormat{
		1: tensor.Contiguous, 2: tensor.ChannelsLast, 3: tensor.ChannelsLast3d, 4: tensor.Preserve,
	}
	layouts = map[int64]int64{1: 1, 2: 2, 3: 4, 4: 5, 5: 6, 6: 3, 7: 0}
)

// literal is an argument that names no value.
func (l *lowerer) literal(a *argument) (any, error) {
	switch a.kind {
	case noneArg:
		return nil, nil
	case intArg:
		return a.n, nil
	case floatArg:
		return a.f, nil
	case boolArg:
		return a.n != 0, nil
	case stringArg, operatorArg:
		return a.text, nil
	case deviceArg:
		return program.Device(a.text), nil
	case dtypeArg:
		d, err := dtypeOf(a.n)
		return int64(d), err
	case formatArg:
		if f, ok := memoryFormats[a.n]; ok {
			return int64(f), nil
		}
		return nil, fmt.Errorf("got memory format %d, want one of torch.export's", a.n)
	case layoutArg:
		if n, ok := layouts[a.n]; ok {
			return n, nil
		}
		return nil, fmt.Errorf("got layout %d, want one of torch.export's", a.n)
	case complexArg:
		return complex(a.items[0].f, a.items[1].f), nil
	case dictArg:
		d := &program.DictLit{}
		for i := range a.items {
			v, err := l.literal(&a.items[i])
			if err != nil {
				return nil, err
			}
			d.Keys, d.Values = append(d.Keys, a.items[i].name), append(d.Values, v)
		}
		return d, nil
	case listArg:
		lit := &program.ListLit{Elem: elemTypes[a.elem]}
		for i := range a.items {
			v, err := l.literal(&a.items[i])
			if err != nil {
				return nil, err
			}
			lit.Items = append(lit.Items, v)
		}
		return lit, nil
	}
	return nil, fmt.Errorf("got the name %q where a literal is wanted", a.text)
}
