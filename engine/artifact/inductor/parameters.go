package inductor

import (
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// build is a program under way.
type build struct {
	program *program.Program
	params  []program.Param
	values  []*program.Value
	symbols map[string]int64 // with their examples
}

// parameters tells of the arguments that the caller gives.
func (r *pyReader) parameters() error {
	out, b := r.build.program, r.build
	for _, in := range r.params {
		p := program.Param{Name: in.name, Type: in.value.Type, HasDef: true}
		x := r.examples[in.name]
		if x.kind == intTerm {
			s, err := (&term{kind: nameTerm, text: in.name}).size(r.numbers)
			if err != nil {
				return err
			}
			p.Size, p.Default = &s, x.n
			for _, name := range s.Names() {
				b.symbols[name] = x.n
			}
		} else {
			st, err := r.example(in, x)
			if err != nil {
				return err
			}
			st.Storage = len(out.States)
			out.States = append(out.States, st)
			p.Default = st
			if in.sizes == nil {
				in.sizes, in.strides = x.args[0], x.args[1]
			}
			if p.Meta, err = r.meta(st.Meta.DType, in.sizes, in.strides); err != nil {
				return err
			}
			p.Meta.Device = st.Meta.Device
			for _, s := range p.Meta.Sizes {
				for _, name := range s.Names() {
					if _, ok := b.symbols[name]; !ok {
						b.symbols[name] = 0
					}
				}
			}
		}
		b.params = append(b.params, p)
		b.values = append(b.values, in.value)
	}
	r.params = nil
	return nil
}

// finish is what was read.
func (r *pyReader) finish(record string) *program.Program {
	b, out := r.build, r.build.program
	for name, example := range b.symbols {
		out.Symbols = append(out.Symbols, program.Symbol{Name: name, Max: math.MaxInt64, Example: example})
	}
	out.Symbols = append(out.Symbols, r.graph.symbols()...)
	slices.SortFunc(out.Symbols, func(a, b program.Symbol) int { return strings.Compare(a.Name, b.Name) })
	g := r.function(b.values)
	out.Entry = program.NewFunc(&program.Func{Name: "call", Method: "call", Record: record, Line: 1, Params: b.params}, func(*program.Func) (*program.Graph, error) { return g, nil })
	return out
}

// example reads rand_strided((8, 64), (64, 1), device='cuda:0', dtype=torch.float32).
func (r *pyReader) example(in *input, x *term) (*program.State, error) {
	if x.kind != callTerm || !strings.HasSuffix(x.text, "rand_strided") || len(x.args) < 2 {
		return nil, fail(x.where, "got %s as an example of %s, want rand_strided", x, in.name)
	}
	st := &program.State{Name: in.name, Class: tensor.Input, Meta: tensor.Meta{DType: tensor.Float32, Device: "cuda"}}
	for _, a := range x.args[2:] {
		var err error
		switch {
		case a.kind == signTerm && a.text == "=dtype":
			st.Meta.DType, err = dtypeOf(a.args[0])
		case a.kind == signTerm && a.text == "=device":
			st.Meta.Device, _, _ = strings.Cut(a.args[0].text, ":")
		}
		if err != nil {
			return nil, err
		}
	}
	for i, list := range []*[]int64{&st.Meta.Sizes, &st.Meta.Strides} {
		l, err := r.listOf(x.args[i])
		if err != nil {
			return nil, err
		}
		*list = []int64{}
		for _, n := range l.args {
			s, err := n.size(r.examples)
			if err != nil {
				return nil, err
			}
			v, plain := s.Constant()
			if !plain {
				if v, err = s.Eval(nil); err != nil {
					return nil, fail(n.where, "got the size %s in an example, want a number", n)
				}
			}
			*list = append(*list, v)
		}
	}
	if err := st.Meta.Check(); err != nil {
		return nil, fail(x.where, "%v", err)
	}
	st.NBytes = int64(st.Meta.StorageBytes())
	return st, nil
}
