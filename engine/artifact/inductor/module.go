package inductor

import (
	"slices"
	"strings"
)

// codeLine is a logical line of Python: its words, and an end behind them. A statement behind a semicolon is a line of its own; so is a note.
type codeLine struct {
	words  []token
	indent int32 // the column of its first word
}

// codeLines are the logical lines of a text that begins at a place.
func codeLines(text string, from place) ([]codeLine, error) {
	toks, err := lex(text, from, python)
	if err != nil {
		return nil, err
	}
	var out []codeLine
	var now []token
	indent, starts := int32(0), true
	for _, t := range toks {
		ends := t.kind == lineToken || t.kind == endToken
		if starts && !ends {
			indent = t.where.col
		}
		starts = ends || t.kind == noteToken
		switch {
		case t.kind == noteToken:
			out = append(out, codeLine{[]token{t, {where: t.where}}, indent})
		case ends || t.kind == signToken && t.text == ";":
			if len(now) > 0 {
				out = append(out, codeLine{append(now, token{where: t.where}), indent})
			}
			now = nil
		default:
			now = append(now, t)
		}
	}
	return out, nil
}

// text is a line's words with a blank between them, a string's in quotes.
func (l *codeLine) text() string {
	words := make([]string, 0, len(l.words))
	for _, t := range l.words[:len(l.words)-1] {
		if t.kind == stringToken {
			t.text = "'" + t.text + "'"
		}
		words = append(words, t.text)
	}
	return strings.Join(words, " ")
}

func (l *codeLine) where() place { return l.words[0].where }

// module is what a wrapper's file says outside of its call.
type module struct {
	call       []codeLine
	arguments  []codeLine
	kernels    map[string]bool // names of kernels that inductor made
	constants  map[string]bool // names of constants, which are set from outside
	functions  map[string][]codeLine
	partitions []string // the functions among them that call finds in self.partitions
}

// The names that a wrapper gives functions of PyTorch (torch/_inductor/codegen/wrapper.py write_header).
var aliases = map[string][]string{
	"aten": {"torch.ops.aten"}, "inductor_ops": {"torch.ops.inductor"}, "_quantized": {"torch.ops._quantized"},
	"assert_size_stride":         {"torch._C._dynamo.guards.assert_size_stride"},
	"assert_size_stride_grouped": {"torch._C._dynamo.guards.assert_size_stride_grouped"},
	"assert_alignment":           {"torch._C._dynamo.guards.assert_alignment"},
	"empty_strided_cpu":          {"torch._C._dynamo.guards._empty_strided_cpu"},
	"empty_strided_cpu_pinned":   {"torch._C._dynamo.guards._empty_strided_cpu_pinned"},
	"empty_strided_cuda":         {"torch._C._dynamo.guards._empty_strided_cuda"},
	"empty_strided_xpu":          {"torch._C._dynamo.guards._empty_strided_xpu"},
	"empty_strided_mtia":         {"torch._C._dynamo.guards._empty_strided_mtia"},
	"empty_strided_p2p":          {"torch._C._distributed_c10d._SymmetricMemory.empty_strided_p2p"},
	"reinterpret_tensor":         {"torch._C._dynamo.guards._reinterpret_tensor", "torch.ops.inductor._reinterpret_tensor"},
	"alloc_from_pool":            {"torch.ops.inductor._alloc_from_pool"},
	"call":                       {"runner.call"}, "recursively_apply_fns": {"runner.recursively_apply_fns"},
}

// imported are the packages that a wrapper takes names from.
var imported = []string{"torch", "triton", "ctypes", "math", "cmath", "random", "os", "tempfile"}

// methods are those of a wrapper's class beside call, line by line.
var methods = map[string][]string{
	"def __init__ ( self , partitions ) :": {"self . partitions = partitions"},
	"def recursively_apply_fns ( self , fns ) :": {"new_callables = [ ]", "for fn , c in zip ( fns , self . partitions ) :",
		"new_callables . append ( fn ( c ) )", "self . partitions = new_callables"},
}

// readModule reads the lines of a file. What runs when the file is imported is held to the forms that inductor writes; the code that measures the
// wrapper's time (benchmark_compiled_module, and what a file does that is run by itself) is no part of a call, and is passed over.
func readModule(lines []codeLine) (*module, error) {
	m := &module{kernels: map[string]bool{}, constants: map[string]bool{}, functions: map[string][]codeLine{}}
	for len(lines) > 0 {
		l := &lines[0]
		block := blockOf(lines)
		lines = lines[1+len(block):]
		text := l.text()
		var err error
		switch first := l.words[0]; {
		case first.kind == noteToken:
			continue
		case l.indent != 1:
			return nil, fail(l.where(), "got an indented line, want one of the module")
		case text == "class Runner :":
			err = m.class(block)
			block = nil
		case text == "def call ( args ) :":
			m.call, block = block, nil
		case text == "def get_args ( ) :":
			m.arguments, block = block, nil
		case strings.HasPrefix(text, "def benchmark_compiled_module ("):
			if m.arguments == nil { // before 2.9 they stand there
				m.arguments = block
			}
			block = nil
		case text == "if __name__ == '__main__' :":
			block = nil
		case first.text == "def" && len(l.words) == 7 && strings.HasSuffix(text, " ( args ) :"):
			m.functions[l.words[1].text], block = block, nil
		default:
			err = m.line(l)
		}
		if err == nil && len(block) > 0 {
			err = fail(block[0].where(), "got an indented line, want one of the module")
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// blockOf are the lines behind the first that are indented further.
func blockOf(lines []codeLine) []codeLine {
	end := 1
	for end < len(lines) && lines[end].indent > lines[0].indent {
		end++
	}
	return lines[1:end]
}

// class reads the methods of a wrapper.
func (m *module) class(lines []codeLine) error {
	for len(lines) > 0 {
		l := &lines[0]
		block := blockOf(lines)
		lines = lines[1+len(block):]
		text := l.text()
		if text == "def call ( self , args ) :" {
			m.call = block
			continue
		}
		want, known := methods[text]
		if !known {
			return fail(l.where(), "got %s in the class of a wrapper, want its methods __init__, recursively_apply_fns and call", short(text))
		}
		for i := range block {
			if got := block[i].text(); i >= len(want) || got != want[i] {
				return fail(block[i].where(), "got %s, want a line of a wrapper's class", short(got))
			}
		}
	}
	return nil
}

// line reads one of a module.
func (m *module) line(l *codeLine) error {
	text, first := l.text(), l.words[0]
	switch {
	case first.text == "import" || first.text == "from":
		return imports(l)
	case first.kind == stringToken && len(l.words) == 2, text == "async_compile . wait ( globals ( ) )", text == "del async_compile":
		return nil
	case first.kind == nameToken && l.words[1].text == "=":
		return m.assign(l)
	}
	return fail(l.where(), "got %s, want a line of a wrapper's module", short(text))
}

// imports reads import a.b as c, from a.b import c, d, and the latter in brackets over several lines.
func imports(l *codeLine) error {
	for _, t := range l.words[:len(l.words)-1] {
		if t.kind != nameToken && (t.kind != signToken || !strings.Contains(".,*()", t.text)) {
			return fail(t.where, "got %s, want an import", got(&t))
		}
	}
	if root := l.words[1]; !slices.Contains(imported, root.text) {
		return fail(root.where, "got an import of %s, want one that a wrapper makes: %s", short(root.text), strings.Join(imported, ", "))
	}
	if l.words[0].text == "import" && slices.ContainsFunc(l.words, func(t token) bool { return t.text == "," }) {
		return fail(l.where(), "got several imports on a line, want one")
	}
	return nil
}

// assign reads name = x.
func (m *module) assign(l *codeLine) error {
	p := &parser{toks: l.words, lang: python, pos: 2}
	x, err := p.term()
	if err != nil {
		return err
	}
	if p.peek().kind != endToken {
		return fail(p.peek().where, "got %s, want the end of the line", got(p.peek()))
	}
	name := l.words[0].text
	switch {
	case x.kind == nameTerm && x.text == "None":
		m.constants[name] = true
		return nil
	case x.kind == nameTerm && slices.Contains(aliases[name], x.text):
		return nil
	case x.kind == callTerm && name == "async_compile" && x.text == "AsyncCompile" && len(x.args) == 0:
		return nil
	case x.kind == callTerm && name == "runner" && x.text == "Runner" && len(x.args) == 1 && x.args[0].text == "=partitions":
		list := x.args[0].args[0]
		for _, item := range list.args {
			if list.kind != listTerm || item.kind != nameTerm || m.functions[item.text] == nil {
				return fail(x.where, "got partitions that are no functions of the module")
			}
			m.partitions = append(m.partitions, item.text)
		}
		return nil
	case x.kind == callTerm && strings.HasPrefix(x.text, "async_compile.") && aliases[name] == nil:
		m.kernels[name] = true
		return computed(x.args...)
	}
	return fail(l.where(), "got %s = %s, want a line of a wrapper's module", short(name), x)
}

// computed refuses terms that call anything but the functions that sizes are written with.
func computed(list ...*term) error {
	for _, x := range list {
		if x.kind == callTerm && sizeFunctions[x.text] == "" && x.text != "int" {
			return fail(x.where, "got a call of %s, want numbers and names", short(x.text))
		}
		if x.kind == indexTerm {
			return fail(x.where, "got %s, want numbers and names", x)
		}
		if err := computed(x.args...); err != nil {
			return err
		}
	}
	return nil
}
