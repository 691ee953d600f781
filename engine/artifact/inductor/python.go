package inductor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// WrapperFormat is the name of programs that were read from a wrapper in Python.
const WrapperFormat = "inductor"

// header begins what torch.compile writes (TORCH_COMPILE_DEBUG's output_code.py, the file in inductor's cache).
const header = "# AOT ID: ["

// SniffWrapper says whether a text begins as inductor's wrapper in Python does.
func SniffWrapper(head []byte) bool {
	return strings.HasPrefix(strings.TrimLeft(string(head), "\r\n\t "), header)
}

// Wrapper is a program with what the file says it is of.
type Wrapper struct {
	*program.Program
	Training bool // the forward pass of a training step
}

// DecodeWrapper reads the file that torch.compile writes for one graph. Its parameters are the graph's, weights among them, and have as defaults what the
// file's own get_args makes. A backward pass is refused: what it frees of its arguments its caller decides.
func DecodeWrapper(text, record string) (*Wrapper, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("got %d bytes, want at most %d", len(text), maxText)
	}
	_, id, _ := strings.Cut(text, header)
	id, _, _ = strings.Cut(id, "]")
	switch {
	case strings.Contains(id, "backward"):
		return nil, errors.New("got the wrapper of a backward pass, want that of a forward pass: what a backward pass frees of its arguments its caller decides; memshim capture records whole steps")
	case !strings.Contains(id, "inference") && !strings.Contains(id, "forward"):
		return nil, fmt.Errorf("got a wrapper of %s, want an inference or a forward pass", short(id))
	}
	lines, err := codeLines(text, place{1, 1})
	if err != nil {
		return nil, err
	}
	m, err := readModule(lines)
	if err != nil {
		return nil, err
	}
	if m.call == nil || m.arguments == nil {
		return nil, errors.New("got no call(args) or no get_args(), want a wrapper of inductor")
	}
	r := &pyReader{graph: newGraph(), module: m}
	if err := r.arguments(); err != nil {
		return nil, err
	}
	for i := range m.call {
		if r.returned {
			return nil, fail(m.call[i].where(), "got code after the return, want the end of call")
		}
		if err := r.line(&m.call[i]); err != nil {
			return nil, err
		}
	}
	if !r.returned {
		return nil, errors.New("got a call without a return")
	}
	p, err := r.program(record)
	if err != nil {
		return nil, err
	}
	return &Wrapper{p, strings.Contains(id, "forward")}, program.CheckTables(p)
}

// pyReader reads the lines of call (torch/_inductor/codegen/wrapper.py).
type pyReader struct {
	*graph
	module   *module
	streams  map[string]bool
	params   []*input
	examples map[string]*term // by argument: what get_args makes of it
	returned bool
	pending  *program.Node // the operator whose result is described next
	counter  int
}

// arguments reads get_args: the example of each argument, and of each open size.
func (r *pyReader) arguments() error {
	r.examples, r.streams = map[string]*term{}, map[string]bool{}
	for i := range r.module.arguments {
		l := &r.module.arguments[i]
		text, first := l.text(), l.words[0]
		switch {
		case first.kind == noteToken, strings.HasPrefix(text, "fn = lambda : call ("), strings.HasPrefix(text, "return print_performance ("): // the latter before 2.9
			continue
		case first.text == "from" || first.text == "import":
			if err := imports(l); err != nil {
				return err
			}
			continue
		case first.text == "global" && len(l.words) == 3 && l.words[1].kind == nameToken:
			continue
		}
		p := &parser{toks: l.words, lang: python, pos: 2}
		if first.text == "return" {
			p.pos = 1
		} else if first.kind != nameToken || l.words[1].text != "=" {
			return fail(l.where(), "got %s, want an example of an argument", short(text))
		}
		x, err := p.term()
		if err != nil {
			return err
		}
		inner := []*term{x}
		if x.kind == callTerm && (strings.HasSuffix(x.text, "rand_strided") || x.text == "torch.as_strided") {
			inner = x.args
		}
		if err := computed(inner...); err != nil {
			return err
		}
		if p.peek().kind != endToken {
			return fail(p.peek().where, "got %s, want the end of the line", got(p.peek()))
		}
		if first.text != "return" {
			r.examples[first.text] = x
		}
	}
	return nil
}

func (r *pyReader) line(l *codeLine) error {
	words := l.words
	if words[0].kind == noteToken {
		r.note(words[0].text)
		return nil
	}
	first := words[0].text
	switch {
	case first == "with":
		return guard(l)
	case first == "pass" && len(words) == 2:
		return nil
	case first == "del":
		return r.deletes(words)
	case first == "return":
		return r.returns(words)
	case first == "if" || first == "for" || first == "while" || first == "else" || first == "try" || first == "raise":
		return fail(l.where(), "got %s, want code that runs straight on: control flow in compiled code is not read", first)
	}
	at := assignment(words)
	p := &parser{toks: words, lang: python, pos: at + 1}
	x, err := p.term()
	if err != nil {
		return err
	}
	if p.peek().kind != endToken {
		return fail(p.peek().where, "got %s, want the end of the line", got(p.peek()))
	}
	switch {
	case at < 0:
		return r.call(x)
	case x.kind == nameTerm && x.text == "args":
		return r.takes(words[:at])
	case at != 1 || words[0].kind != nameToken:
		return fail(l.where(), "got an assignment to %s…, want one to a name", short(first))
	}
	return r.assign(first, x)
}

// guard reads with torch.cuda._DeviceGuard(0):.
func guard(l *codeLine) error {
	p := &parser{toks: l.words, lang: python, pos: 1}
	x, err := p.term()
	switch {
	case err != nil:
		return err
	case x.kind != callTerm || x.text != "torch.cuda._DeviceGuard" || len(x.args) != 1 || x.args[0].kind != intTerm:
		return fail(l.where(), "got with %s, want one of torch.cuda._DeviceGuard(…)", x)
	case !p.take(":") || p.peek().kind != endToken:
		return fail(p.peek().where, "got %s, want : and the end of the line", got(p.peek()))
	}
	return nil
}

// assignment is where a line's = is; -1 of one without.
func assignment(l []token) int {
	depth := 0
	for i, t := range l {
		switch {
		case t.kind == signToken && strings.Contains("([{", t.text):
			depth++
		case t.kind == signToken && strings.Contains(")]}", t.text):
			depth--
		case t.kind == signToken && t.text == "=" && depth == 0:
			return i
		}
	}
	return -1
}

// takes reads a, b = args.
func (r *pyReader) takes(l []token) error {
	for i, t := range l {
		if t.kind == signToken && t.text == "," && i%2 == 1 {
			continue
		}
		if t.kind != nameToken || i%2 == 1 {
			return fail(t.where, "got %s among the arguments, want their names", got(&t))
		}
		x := r.examples[t.text]
		if x == nil {
			return fail(t.where, "got the argument %s, of which get_args has no example", short(t.text))
		}
		v := r.value(t.text)
		in := &input{name: t.text, value: v}
		if x.kind == intTerm {
			v.Type = &program.Type{Kind: program.IntType}
		} else {
			r.bind(t.text, program.Arg{Value: v})
		}
		r.params = append(r.params, in)
	}
	return nil
}

// deletes reads del a, b.
func (r *pyReader) deletes(l []token) error {
	for i, t := range l[1 : len(l)-1] {
		if t.kind == signToken && t.text == "," && i%2 == 1 {
			continue
		}
		if t.kind != nameToken || i%2 == 1 {
			return fail(t.where, "got %s after del, want names", got(&t))
		}
		if r.numbers[t.text] != nil {
			continue
		}
		if _, ok := r.names[t.text]; !ok && r.symbolArgument(t.text) {
			continue
		}
		if err := r.free(t.text, t.where); err != nil {
			return err
		}
	}
	return nil
}

func (r *pyReader) symbolArgument(name string) bool {
	return slices.ContainsFunc(r.params, func(in *input) bool { return in.name == name && in.value.Type.Kind == program.IntType })
}

// assign reads name = x.
func (r *pyReader) assign(name string, x *term) error {
	switch {
	case x.kind == callTerm && strings.HasPrefix(x.text, "get_raw_stream") && len(x.args) == 1 && x.args[0].kind == intTerm:
		r.streams[name] = true
		return nil
	case x.kind == callTerm && x.text == "copy_if_misaligned" && len(x.args) == 1 && r.names[name].Value != nil && r.names[x.args[0].text].Value != nil:
		return nil // an allocator's block is aligned
	case x.kind == callTerm && strings.HasPrefix(x.text, "empty_strided_") && len(x.args) >= 3:
		return r.allocates(name, x)
	case x.kind == callTerm && (x.text == "reinterpret_tensor" || x.text == "alloc_from_pool" || x.text == "torch.ops.inductor._alloc_from_pool"):
		a, err := r.tensor(x)
		if err != nil {
			return err
		}
		temp := r.owned[len(r.owned)-1]
		r.forget(temp)
		a.Value.Name = name
		r.bind(name, a)
		return nil
	case x.kind == nameTerm && r.names[x.text].Value != nil:
		r.view(name, r.names[x.text], nil, x.where)
		return nil
	case x.kind == indexTerm && x.args[0].kind == nameTerm && x.args[1].kind == intTerm && r.names[x.args[0].text].Value != nil:
		n := r.node(program.BufferItem, x.where)
		n.Args = []program.Arg{r.names[x.args[0].text], {Const: x.args[1].n}}
		made := r.made[n.Args[0].Value]
		v := r.name(name, n)
		if r.made[v] = made; made == nil {
			delete(r.made, v)
		}
		return nil
	case x.kind == callTerm:
		return r.operator(x, name)
	case x.kind == intTerm || x.kind == floatTerm || x.kind == signTerm || x.kind == nameTerm:
		if err := computed(x); err != nil {
			return err
		}
		r.numbers[name] = x
		if x.kind == nameTerm && r.symbolArgument(x.text) { // s77 = arg0_1
			delete(r.numbers, name)
			r.numbers[x.text] = &term{kind: nameTerm, text: name, where: x.where}
		}
		return nil
	}
	return fail(x.where, "got %s = %s, want a line of a wrapper", short(name), x)
}

func (r *pyReader) allocates(name string, x *term) error {
	d, err := dtypeOf(x.args[2])
	if err != nil {
		return err
	}
	m, err := r.meta(d, x.args[0], x.args[1])
	if err != nil {
		return err
	}
	if m.Device, _, _ = strings.Cut(strings.TrimPrefix(x.text, "empty_strided_"), "_"); m.Device != "cuda" || strings.HasSuffix(x.text, "_pinned") {
		m.Device = "cpu"
	}
	r.empty(name, m, x.where)
	return nil
}

// tensor reads what stands for a tensor: a name, or a view, which is a name of its own to the end of the line.
func (r *pyReader) tensor(x *term) (program.Arg, error) {
	if x.kind == nameTerm {
		if a, ok := r.names[x.text]; ok {
			return a, nil
		}
	}
	if x.kind != callTerm || x.text != "reinterpret_tensor" && !strings.HasSuffix(x.text, "alloc_from_pool") || len(x.args) < 4 {
		return program.Arg{}, fail(x.where, "got %s, want a buffer", x)
	}
	of, err := r.tensor(x.args[0])
	if err != nil {
		return of, err
	}
	d, layout := tensor.Undefined, x.args[1:3]
	if x.text != "reinterpret_tensor" { // pool, offset in bytes, dtype, sizes, strides
		if d, err = dtypeOf(x.args[2]); err != nil {
			return of, err
		}
		layout = x.args[3:]
	}
	if len(layout) != 2 {
		return of, fail(x.where, "got a view without sizes and strides")
	}
	m, err := r.meta(d, layout[0], layout[1])
	if err != nil {
		return of, err
	}
	if x.text == "reinterpret_tensor" {
		if m.Offset, err = x.args[3].size(r.numbers); err != nil {
			return of, err
		}
	}
	r.counter++
	name := fmt.Sprintf("view %d", r.counter)
	r.view(name, of, m, x.where)
	return r.names[name], nil
}

// program is what was read.
func (r *pyReader) program(record string) (*program.Program, error) {
	f := &program.Func{Name: "call", Method: "call", Record: record, Line: 1}
	out := &program.Program{Format: WrapperFormat, Compiled: true}
	symbols := map[string]int64{}
	var params []*program.Value
	for _, in := range r.params {
		p := program.Param{Name: in.name, Type: in.value.Type, HasDef: true}
		x := r.examples[in.name]
		if x.kind == intTerm {
			s, err := (&term{kind: nameTerm, text: in.name}).size(r.numbers)
			if err != nil {
				return nil, err
			}
			p.Size, p.Default = &s, x.n
			for _, name := range s.Names() {
				symbols[name] = x.n
			}
		} else {
			st, err := r.example(in, x)
			if err != nil {
				return nil, err
			}
			st.Storage = len(out.States)
			out.States = append(out.States, st)
			p.Default = st
			if in.sizes == nil {
				in.sizes, in.strides = x.args[0], x.args[1]
			}
			if p.Meta, err = r.meta(st.Meta.DType, in.sizes, in.strides); err != nil {
				return nil, err
			}
			p.Meta.Device = st.Meta.Device
			for _, s := range p.Meta.Sizes {
				for _, name := range s.Names() {
					if _, ok := symbols[name]; !ok {
						symbols[name] = 0
					}
				}
			}
		}
		f.Params = append(f.Params, p)
		params = append(params, in.value)
	}
	for name, example := range symbols {
		out.Symbols = append(out.Symbols, program.Symbol{Name: name, Max: math.MaxInt64, Example: example})
	}
	slices.SortFunc(out.Symbols, func(a, b program.Symbol) int { return strings.Compare(a.Name, b.Name) })
	g := r.function(params)
	out.Entry = program.NewFunc(f, func(*program.Func) (*program.Graph, error) { return g, nil })
	return out, nil
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
