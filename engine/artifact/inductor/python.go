package inductor

import (
	"errors"
	"fmt"
	"io/fs"
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

// DecodeWrapper reads the file that torch.compile writes for one graph, or the files of a forward pass and of its backward pass, one behind the other:
// a step. Its parameters are the graph's, weights among them, and have as defaults what the file's own get_args makes. A backward pass alone is refused:
// what it frees of its arguments its forward pass tells.
func DecodeWrapper(text, record string) (*Wrapper, error) { return DecodeWrapperIn(nil, text, record) }

// DecodeWrapperIn reads a wrapper with what lies beside it in its folder, which may tell the lines of its kernels: of one graph in that folder itself, of a
// step in the folders forward and backward there, where they hold the very files that were joined.
func DecodeWrapperIn(folder fs.FS, text, record string) (*Wrapper, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("got %d bytes, want at most %d", len(text), maxText)
	}
	files, err := passes(text)
	if err != nil {
		return nil, err
	}
	out := &program.Program{Format: WrapperFormat, Compiled: true}
	r := &pyReader{graph: newGraph(), build: &build{program: out, symbols: map[string]int64{}}}
	r.lang = python
	places := make([]map[string]*lines, len(files))
	for i, p := range files {
		if places[i], err = passLines(folder, p, len(files) == 1); err != nil {
			return nil, err
		}
	}
	r.places = places[0]
	last, err := r.read(files[0])
	if err != nil {
		return nil, err
	}
	results := make([]program.Arg, 0, len(r.returns))
	for _, a := range r.returns {
		if a.Value != nil || a.Const != nil {
			results = append(results, a)
		}
	}
	if len(files) == 2 {
		r.places = places[1]
		if results, last, err = r.step(files[1], results); err != nil {
			return nil, err
		}
	}
	r.end(results, last)
	p := r.finish(record)
	return &Wrapper{p, files[0].kind == "forward"}, program.CheckTables(p)
}

// pass is the text of one graph.
type pass struct {
	text  string
	where place
	id    string // 0_forward
	kind  string // inference, forward, backward
}

// passes are the graphs of a text: one, or a forward pass and its backward pass.
func passes(text string) ([]pass, error) {
	var out []pass
	for at := strings.Index(text, header); at >= 0; {
		next := strings.Index(text[at+1:], "\n"+header)
		end := len(text)
		if next >= 0 {
			end = at + 1 + next + 1
		}
		id, _, _ := strings.Cut(text[at+len(header):end], "]")
		number, kind, _ := strings.Cut(strings.Trim(id, "'\""), "_")
		p := pass{text: text[at:end], where: placeOf(text, at), id: number, kind: kind}
		if kind != "inference" && kind != "forward" && kind != "backward" {
			return nil, fail(p.where, "got a wrapper of %s, want an inference, a forward or a backward pass", short(id))
		}
		if out = append(out, p); len(out) > 2 {
			break
		}
		if at = end; next < 0 {
			break
		}
	}
	switch {
	case len(out) == 1 && out[0].kind == "backward":
		return nil, errors.New("got the wrapper of a backward pass, want that of its forward pass before it in one file: it tells what the backward pass frees")
	case len(out) == 1, len(out) == 2 && out[0].kind == "forward" && out[1].kind == "backward" && out[0].id == out[1].id:
		return out, nil
	case len(out) == 0:
		return nil, fail(place{1, 1}, "got no %s…, want a wrapper of inductor", header)
	}
	return nil, fail(out[1].where, "got a wrapper of %s_%s behind one of %s_%s, want one graph, or a forward pass and its backward pass", out[1].id, out[1].kind, out[0].id, out[0].kind)
}

// read reads one graph, and returns where it ends.
func (r *pyReader) read(p pass) (place, error) {
	lines, err := codeLines(p.text, p.where)
	if err != nil {
		return place{}, err
	}
	if r.module, err = readModule(lines); err != nil {
		return place{}, err
	}
	if r.module.call == nil || r.module.arguments == nil {
		return place{}, fail(p.where, "got no call(args) or no get_args(), want a wrapper of inductor")
	}
	if err := r.arguments(); err != nil {
		return place{}, err
	}
	if err := r.lines(r.module.call); err != nil {
		return place{}, err
	}
	if !r.returned {
		return place{}, fail(p.where, "got a call without a return")
	}
	return r.module.call[len(r.module.call)-1].where(), r.parameters()
}

// pyReader reads the lines of call (torch/_inductor/codegen/wrapper.py).
type pyReader struct {
	*graph
	build    *build
	module   *module
	streams  map[string]bool
	params   []*input
	before   *[]program.Arg   // of a backward pass: what its forward pass returned
	given    []program.Arg    // what the first arguments are, where another pass gives them
	returns  []program.Arg    // an empty one for None and for an open size
	examples map[string]*term // by argument: what get_args makes of it
	returned bool
	pending  *program.Node // the operator whose result is described next
	counter  int
	items    map[*program.Value]int // which result of its operator it is
	lists    map[string]int64       // names of lists: how many members each has
	calling  []callee               // what the function under way was called with; nil in call
	depth    int                    // of functions that are called
	inlined  int                    // their lines
}

// arguments reads get_args: the example of each argument, and of each open size.
func (r *pyReader) arguments() error {
	r.examples, r.streams, r.lists, r.items = map[string]*term{}, map[string]bool{}, map[string]int64{}, map[*program.Value]int{}
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
		return r.results(words)
	case first == "for" || first == "else" || first == "elif" || first == "try" || first == "raise":
		return fail(l.where(), "got %s, want if or while: other control flow in compiled code is not read", first)
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
	case x.kind == nameTerm && x.text == "args" && at > 0 && r.calling != nil:
		return r.unpacks(words[:at])
	case x.kind == nameTerm && x.text == "args" && at > 0:
		return r.takes(words[:at])
	case at > 0 && r.called(x) != "":
		r.pending = nil
		return r.callsOwn(words[:at], x)
	case at == 4 && words[1].text == "[": // buf1[0] = …
		return r.setMember(words[:at], x)
	case at != 1 || words[0].kind != nameToken:
		return fail(l.where(), "got an assignment to %s…, want one to a name", short(first))
	}
	return r.named(first, x)
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
	if r.before != nil {
		if err := r.hand(l); err != nil {
			return err
		}
	}
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
		if x.kind != intTerm && len(r.given) > 0 {
			r.bind(t.text, r.given[0])
			r.given = r.given[1:]
			continue
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
		if n, isList := r.lists[t.text]; isList {
			for i := range n {
				if name := element(t.text, i); slices.Contains(r.owned, name) {
					if err := r.free(name, t.where); err != nil {
						return err
					}
				}
			}
			continue
		}
		if r.numbers[t.text] != nil || r.reads[t.text] != nil {
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

// named reads name = x. A name that stands outside of the block under way is the same in it; outside of blocks it is another.
func (r *pyReader) named(name string, x *term) error {
	before, held := r.names[name], slices.Contains(r.owned, name)
	if err := r.binds(name, x); err != nil || before.Value == nil || r.names[name].Value == before.Value {
		return err
	}
	if r.now == &r.body {
		if held { // what it stood for ends when it stands for something else
			n := r.node(program.BufferFree, x.where)
			n.Args = []program.Arg{before}
			r.forget(name)
		}
		return nil
	}
	now := r.names[name]
	r.counter++
	temp := fmt.Sprintf("content %d", r.counter)
	for slices.Contains(r.owned, name) { // as it was, and as it is
		r.forget(name)
	}
	r.bind(temp, now)
	r.names[name] = before
	r.owned = append(r.owned, name)
	return r.assign(name, temp, x.where)
}

// binds reads name = x.
func (r *pyReader) binds(name string, x *term) error {
	if ok, err := r.readsValue(name, x); ok || err != nil {
		return err
	}
	if ok, err := r.list(name, x); ok || err != nil {
		return err
	}
	switch {
	case x.kind == callTerm && strings.HasPrefix(x.text, "get_raw_stream") && len(x.args) == 1 && x.args[0].kind == intTerm:
		r.streams[name] = true
		return nil
	case x.kind == callTerm && x.text == "copy_if_misaligned" && len(x.args) == 1 && r.names[name].Value != nil && r.names[x.args[0].text].Value != nil:
		return nil // an allocator's block is aligned
	case strings.HasPrefix(x.text, "empty_strided_") && len(x.args) >= 3:
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
	case x.kind == indexTerm && x.args[0].kind == nameTerm && x.args[1].kind == intTerm && r.names[element(x.args[0].text, x.args[1].n)].Value != nil:
		r.view(name, r.names[element(x.args[0].text, x.args[1].n)], nil, x.where)
		return nil
	case x.kind == indexTerm && x.args[0].kind == nameTerm && x.args[1].kind == intTerm && r.names[x.args[0].text].Value != nil:
		n := r.node(program.BufferItem, x.where)
		n.Args = []program.Arg{r.names[x.args[0].text], {Const: x.args[1].n}}
		made := r.made[n.Args[0].Value]
		v := r.name(name, n)
		r.items[v] = int(x.args[1].n)
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
		if x.kind == nameTerm && x.text == name { // u0 = u0
			return nil
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
	if x.text != "reinterpret_tensor" && !strings.HasSuffix(x.text, "alloc_from_pool") || len(x.args) < 4 {
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
