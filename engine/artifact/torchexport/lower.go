package torchexport

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/program"
)

// lower makes a program of a document.
func lower(d *document, record string, weights *payloads) (*program.Program, error) {
	l := &lowerer{document: d, places: newPlaces(), sizes: map[string]sizeOrError{},
		states: states{payloads: weights, byName: map[string]*program.State{}, storages: map[string]int{},
			subclasses: map[*program.State][]part{}}, examples: map[string]int64{}}
	if err := d.refused(); err != nil {
		return nil, err
	}
	f := &program.Func{Name: "forward", Method: "forward", Record: record, Line: 1}
	g, err := l.entry(f)
	if err != nil {
		return nil, err
	}
	p := &program.Program{
		Format: "torchexport", Producer: fmt.Sprintf("torch %s, export schema %d.%d", d.torch, d.major, d.minor),
		Records: program.RecordsModules, Modules: l.list,
	}
	p.States, p.Symbols = l.loadOrder(), l.symbols()
	p.Entry = program.NewFunc(f, func(*program.Func) (*program.Graph, error) { return g, nil })
	if err := program.CheckTables(p); err != nil {
		return nil, err
	}
	if _, err := p.Entry.Graph(); err != nil {
		return nil, err
	}
	return p, nil
}

// refused are programs of another kind than a model's forward.
func (d *document) refused() error {
	for _, o := range d.outputs {
		if o.kind == gradientSpec || o.kind == lossSpec {
			return errors.New("got a joint graph of forward and backward, want a program of forward alone: a training step is " +
				"recorded instead (python -m memshim capture)")
		}
	}
	return nil
}

type lowerer struct {
	*document
	*places
	states

	sizes    map[string]sizeOrError // by raw text
	examples map[string]int64       // by symbol
	values   int
	numbers  int // of statements: every node is one
}

// symbol sizes that were read, or why not.
type sizeOrError struct {
	size program.Size
	err  error
}

// scope is what the names of one graph stand for.
type scope struct {
	names   map[string]program.Arg
	tensors map[string]*tensorMeta
	outer   *scope
}

func newScope(g *graph, outer *scope) *scope {
	s := &scope{names: make(map[string]program.Arg, len(g.nodes)+len(g.inputs)),
		tensors: make(map[string]*tensorMeta, len(g.tensors)), outer: outer}
	for i := range g.tensors {
		s.tensors[g.tensors[i].name] = &g.tensors[i].meta
	}
	return s
}

func (l *lowerer) value(name string, t *program.Type) *program.Value {
	l.values++
	return &program.Value{ID: l.values - 1, Name: name, Type: t}
}

// The types that values have.
var (
	tensorType = &program.Type{Kind: program.TensorType}
	intType    = &program.Type{Kind: program.IntType}
	anyType    = &program.Type{Kind: program.AnyType}
)

// entry lowers the program's graph: parameters, buffers and constants are literals, the user's
// inputs the parameters.
func (l *lowerer) entry(f *program.Func) (*program.Graph, error) {
	g := l.graph
	if len(g.inputs) != len(l.inputs) {
		return nil, fmt.Errorf("got %d inputs of the graph and %d of its signature", len(g.inputs), len(l.inputs))
	}
	out := &program.Graph{Body: &program.Block{}}
	s := newScope(g, nil)
	for i := range g.inputs {
		if err := l.input(f, out, s, i); err != nil {
			return nil, err
		}
	}
	var err error
	if f.Inputs, err = l.callerInputs(f.Params); err != nil {
		return nil, err
	}
	if err := l.nodes(out.Body, g, s); err != nil {
		return nil, err
	}
	result, err := l.results(out.Body, s)
	if err != nil {
		return nil, err
	}
	if f.Output, err = readTree(l.outTree); err != nil {
		return nil, err
	}
	if f.Output != nil && f.Output.Leaves() != len(result.Items) {
		return nil, fmt.Errorf("got %d results, want the %d leaves of out_spec", len(result.Items), f.Output.Leaves())
	}
	out.Body.Nodes = append(out.Body.Nodes, &program.Node{Operation: &program.Operation{Op: "prim::Return",
		Where: program.Where{Stmt: int32(l.numbers)}}, Args: []program.Arg{result}})
	out.NumValues = l.values
	return out, nil
}

// input lowers an input of the program's graph.
func (l *lowerer) input(f *program.Func, out *program.Graph, s *scope, i int) error {
	in, spec := &l.graph.inputs[i], &l.inputs[i]
	switch spec.kind {
	case parameterSpec, bufferSpec, constantSpec:
		st, err := l.state(spec, s.tensors[in.text])
		if err != nil {
			return err
		}
		s.names[in.text] = program.Arg{Const: st}
		return nil
	case objectSpec:
		s.names[in.text] = program.Arg{Const: &program.Opaque{Class: spec.target}}
		return nil
	case tokenSpec:
		s.names[in.text] = program.Arg{}
		return nil
	}
	p := program.Param{Name: in.text, Type: tensorType}
	switch {
	case in.kind == tensorArg:
		m := s.tensors[in.text]
		if m == nil {
			return fmt.Errorf("input %s: got no tensor_values of it", in.text)
		}
		meta, err := l.meta(m)
		if err != nil {
			return fmt.Errorf("input %s: %w", in.text, err)
		}
		p.Meta = meta
	case in.kind == symbolArg:
		p.Type = anyType
		for k := range l.graph.ints {
			if l.graph.ints[k].name == in.text {
				size, err := l.size(&l.graph.ints[k].size)
				if err != nil {
					return fmt.Errorf("input %s: %w", in.text, err)
				}
				p.Size, p.Type = &size, intType
			}
		}
	default:
		v := *in
		if spec.kind == literalSpec {
			v = spec.arg
			p.Name = spec.target
		}
		lit, err := l.literal(&v)
		if err != nil {
			return fmt.Errorf("input %s: %w", p.Name, err)
		}
		p.Type, p.Default, p.HasDef = anyType, lit, true
	}
	f.Params = append(f.Params, p)
	v := l.value(p.Name, p.Type)
	out.Params = append(out.Params, v)
	if in.text != "" {
		s.names[in.text] = program.Arg{Value: v}
	}
	return nil
}

// results copies what the program writes back, and returns what it gives its caller.
func (l *lowerer) results(b *program.Block, s *scope) (program.Arg, error) {
	out := program.Arg{Items: []program.Arg{}}
	copied := map[string]program.Arg{}
	for i := range l.outputs {
		o := &l.outputs[i]
		var to program.Arg
		switch o.kind {
		case bufferMutation, parameterMutation:
			st := l.states.byName[o.target]
			if st == nil {
				return out, fmt.Errorf("got a write to %s, which is no parameter or buffer", o.target)
			}
			to.Const = st
		case inputMutation:
			var ok bool
			if to, ok = s.find(o.target); !ok {
				return out, fmt.Errorf("got a write to %s, which is no input", o.target)
			}
		default:
			continue
		}
		from, err := l.arg(&o.arg, s)
		if err != nil {
			return out, err
		}
		v := l.value("copy__"+o.arg.text, tensorType)
		to.Name, from.Name = "self", "src"
		n := &program.Node{Operation: &program.Operation{Op: "aten::copy_",
			Meta: &program.NodeMeta{Key: "aten::copy_"}}, Args: []program.Arg{to, from}, Outs: []*program.Value{v}}
		n.Where.Stmt = l.number()
		b.Nodes = append(b.Nodes, n)
		copied[o.arg.text] = program.Arg{Value: v}
	}
	for i := range l.outputs {
		o := &l.outputs[i]
		if o.kind != userSpec {
			continue
		}
		a, err := l.arg(&o.arg, s)
		if err != nil {
			return out, err
		}
		if c, ok := copied[o.arg.text]; ok && o.arg.kind == tensorArg {
			a = c
		}
		out.Items = append(out.Items, a)
	}
	return out, nil
}

func (l *lowerer) number() int32 {
	l.numbers++
	return int32(l.numbers - 1)
}

// symbols are those of the range constraints, and those that sizes name without one.
func (l *lowerer) symbols() []program.Symbol {
	byName := map[string]program.Symbol{}
	for _, c := range l.document.symbols {
		s := program.Symbol{Name: c.name, Min: 0, Max: maxSize}
		// of 2 and less nothing is compared with an input (torch/_export/utils.py
		// _check_input_constraints_for_graph)
		if c.min != nil && *c.min > 2 {
			s.Min = *c.min
		}
		if c.max != nil {
			s.Max = *c.max
		}
		if !expr.IsName(c.name) {
			continue // an expression's range; those of its symbols bound it
		}
		byName[c.name] = s
	}
	for _, known := range l.sizes {
		for _, name := range known.size.Names() {
			if _, ok := byName[name]; !ok {
				byName[name] = program.Symbol{Name: name, Max: maxSize}
			}
		}
	}
	out := make([]program.Symbol, 0, len(byName))
	for _, s := range byName {
		s.Unbacked = strings.HasPrefix(s.Name, "u")
		s.Example = l.examples[s.Name]
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b program.Symbol) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// size reads a size, each text once.
func (l *lowerer) size(s *size) (program.Size, error) {
	if s.text == nil {
		return expr.Const(s.n), nil
	}
	known, ok := l.sizes[string(s.text)]
	if !ok {
		known.size, known.err = parseSize(unescaped(s.text))
		l.sizes[string(s.text)] = known
	}
	if names := known.size.Names; s.hasHint && known.err == nil && expr.IsName(known.size.String()) {
		l.examples[names()[0]] = s.hint
	}
	return known.size, known.err
}

// meta lowers a recorded tensor.
func (l *lowerer) meta(m *tensorMeta) (*program.TensorMeta, error) {
	d, err := dtypeOf(m.dtype)
	if err != nil {
		return nil, err
	}
	out := &program.TensorMeta{DType: d, Device: m.device, Sizes: make([]program.Size, len(m.sizes)),
		Strides: make([]program.Size, len(m.strides))}
	for i := range m.sizes {
		if out.Sizes[i], err = l.size(&m.sizes[i]); err != nil {
			return nil, err
		}
	}
	for i := range m.strides {
		if out.Strides[i], err = l.size(&m.strides[i]); err != nil {
			return nil, err
		}
	}
	out.Offset, err = l.size(&m.offset)
	return out, err
}
