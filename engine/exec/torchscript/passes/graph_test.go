package passes

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Graphs as text:
//
//	x: Tensor, c: bool                        the parameters
//	a: Tensor = aten::relu(x)
//	l = prim::ListConstruct(a, 2, None)
//	b = prim::GetAttr[training](@m)           an attribute of the module m
//	y, z = prim::If(c)
//	  then                                    or, of a prim::Loop, `do` and its parameters
//	    d = aten::add(a, 1, alpha=2)
//	    -> d, 1
//	  else
//	    -> a, None
//	prim::Return(y)
//
// A case of a golden file is a line with two sharps and the reason, the graph, an arrow and what
// becomes of it.

// golden runs f on the graphs of a file and compares what it makes of them.
func rewrites(t *testing.T, file string, f func(g *Graph)) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, text, _ := strings.Cut(c, "\n")
		before, want, _ := strings.Cut(text, "=>\n")
		g := read(t, before)
		f(g)
		got := g.String()
		fmt.Fprintf(&out, "## %s\n%s=>\n%s\n", why, before, got)
		if !golden.Updating() {
			require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(got), "%s: %s", file, why)
		}
	}
	if golden.Updating() {
		golden.Write(t, file, []byte(out.String()))
	}
}

// known is an evaluator of integers, lists and tensors of ones, and of modules that a test makes.
type known struct {
	modules map[string]*module
	dropped []string
	held    []string
}

type module struct {
	name  string
	class *program.Class
	attrs map[string]any
}

func (k *known) Class(v any) *program.Class {
	if m, ok := v.(*module); ok {
		return m.class
	}
	return nil
}

func (k *known) Attribute(object any, name string) (any, bool) {
	v, ok := object.(*module).attrs[name]
	return v, ok
}

func (k *known) Effects(op string, n int) ops.Effects { return builtin.Table().Effects(op, n) }

func (k *known) Hold(v any) { k.held = append(k.held, constant(v)) }

func (k *known) Drop(v any) { k.dropped = append(k.dropped, constant(v)) }

func (k *known) Compute(n *program.Node, _ *Call, numbers bool) (any, bool) {
	args := make([]any, len(n.Args))
	for i := range args {
		args[i] = n.Args[i].Const
	}
	switch n.Op {
	case "prim::ListConstruct":
		return &ops.List{Items: args, Refs: 1}, true
	case "prim::TupleConstruct":
		return &ops.Tuple{Items: args, Refs: 1}, true
	case "aten::ones":
		return &tensor.Tensor{Meta: tensor.Meta{Sizes: []int64{args[0].(int64)}}}, !numbers
	case "aten::dict":
		return &ops.Dict{Refs: 1}, true
	case "aten::len", "aten::append", "aten::rand", "aten::frexp", "aten::dequantize", "prim::GetAttr",
		"prim::Uninitialized", "prim::unchecked_unwrap_optional", "prim::unchecked_cast",
		"prim::DictConstruct", "prim::isinstance", "op::f":
		// what nobody should ask for, except the first
		return int64(len(args)), true
	}
	x, ok1 := args[0].(int64)
	y, ok2 := args[len(args)-1].(int64)
	if !ok1 || !ok2 {
		return nil, false
	}
	switch n.Op {
	case "aten::add":
		return x + y, true
	case "aten::eq":
		return x == y, true
	case "aten::gcd":
		return &ops.Dict{Refs: 1}, true // no constant that a graph can hold
	}
	return nil, false
}

// reader reads a graph.
type reader struct {
	t      *testing.T
	k      *known
	g      *program.Graph
	values map[string]*program.Value
	lines  []string
	calls  []*Call
	funcs  map[string]*program.Func
}

func read(t *testing.T, text string) *Graph {
	t.Helper()
	k := &known{modules: map[string]*module{}}
	r := newReader(t, k, text)
	return &Graph{Graph: r.g, calls: r.calls, eval: k}
}

func newReader(t *testing.T, k *known, text string) *reader {
	r := &reader{t: t, k: k, g: &program.Graph{Body: &program.Block{}}, values: map[string]*program.Value{}}
	return r.read(text)
}

func (r *reader) read(text string) *reader {
	r.lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
	params := strings.TrimSpace(r.lines[0])
	r.lines = r.lines[1:]
	if params != "-" {
		for _, p := range strings.Split(params, ", ") {
			r.g.Params = append(r.g.Params, r.value(p))
		}
	}
	r.block(r.g.Body, "")
	return r
}

// value makes the value of `name: type`.
func (r *reader) value(text string) *program.Value {
	name, typ, typed := strings.Cut(text, ": ")
	v := &program.Value{ID: r.g.NumValues, Name: name}
	if typed {
		v.Type = typeOf(r.t, typ)
	}
	r.g.NumValues++
	r.values[name] = v
	return v
}

func typeOf(t *testing.T, text string) *program.Type {
	if inner, ok := strings.CutPrefix(text, "Optional["); ok {
		return &program.Type{Kind: program.OptionalType, Elems: []*program.Type{typeOf(t, strings.TrimSuffix(inner, "]"))}}
	}
	if inner, ok := strings.CutPrefix(text, "List["); ok {
		return &program.Type{Kind: program.ListType, Elems: []*program.Type{typeOf(t, strings.TrimSuffix(inner, "]"))}}
	}
	if inner, ok := strings.CutPrefix(text, "Tuple["); ok {
		tuple := &program.Type{Kind: program.TupleType}
		for _, elem := range strings.Split(strings.TrimSuffix(inner, "]"), ";") {
			tuple.Elems = append(tuple.Elems, typeOf(t, elem))
		}
		return tuple
	}
	kind, ok := map[string]program.TypeKind{"Tensor": program.TensorType, "int": program.IntType, "bool": program.BoolType,
		"None": program.NoneType, "Any": program.AnyType,
		"Union": program.UnionType}[text]
	require.True(t, ok, text)
	return &program.Type{Kind: kind}
}

func (r *reader) block(b *program.Block, indent string) {
	for len(r.lines) > 0 {
		line := r.lines[0]
		if strings.TrimSpace(line) == "" {
			r.lines = r.lines[1:]
			continue
		}
		if !strings.HasPrefix(line, indent) {
			return
		}
		line = strings.TrimPrefix(line, indent)
		if outs, ok := strings.CutPrefix(line, "->"); ok {
			b.Outs = r.args(outs)
			r.lines = r.lines[1:]
			return
		}
		r.lines = r.lines[1:]
		b.Nodes = append(b.Nodes, r.node(line, indent))
	}
}

var nodeLine = regexp.MustCompile(`^(?:(.+?) = )?([\w:]+)(?:\[(\w+)\])?\((.*)\)$`)

func (r *reader) node(line, indent string) *program.Node {
	m := nodeLine.FindStringSubmatch(line)
	require.NotNil(r.t, m, line)
	n := &program.Node{Operation: &program.Operation{Op: m[2], Text: m[3]}, Args: r.args(m[4]), ID: len(r.calls)}
	n.Where.Line = int32(len(r.calls))
	r.calls = append(r.calls, &Call{})
	if n.Op == "prim::CallFunction" {
		n.Callee = r.funcs[n.Text]
	}
	for len(r.lines) > 0 {
		word, params, _ := strings.Cut(strings.TrimPrefix(r.lines[0], indent+"  "), " ")
		if !strings.HasPrefix(r.lines[0], indent+"  ") || word != "then" && word != "else" && word != "do" {
			break
		}
		r.lines = r.lines[1:]
		b := &program.Block{}
		if params != "" {
			for _, p := range strings.Split(params, ", ") {
				b.Params = append(b.Params, r.value(p))
			}
		}
		r.block(b, indent+"    ")
		n.Blocks = append(n.Blocks, b)
	}
	if m[1] != "" {
		for _, o := range strings.Split(m[1], ", ") {
			n.Outs = append(n.Outs, r.value(o))
		}
	}
	return n
}

func (r *reader) args(text string) (out []program.Arg) {
	for _, a := range strings.Split(text, ",") {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		arg := program.Arg{}
		if name, rest, ok := strings.Cut(a, "="); ok {
			arg.Name, a = name, rest
		}
		if v := r.values[a]; v != nil {
			arg.Value = v
		} else {
			arg.Const = r.constant(a)
		}
		out = append(out, arg)
	}
	return out
}

func (r *reader) constant(a string) any {
	switch a {
	case "None":
		return nil
	case "True", "False":
		return a == "True"
	}
	if name, ok := strings.CutPrefix(a, "@"); ok {
		return r.module(name)
	}
	if strings.HasPrefix(a, "[") || strings.HasPrefix(a, "{") { // a literal, its members apart by semicolons
		var items []any
		for _, item := range strings.Split(a[1:len(a)-1], ";") {
			items = append(items, r.constant(item))
		}
		if a[0] == '[' {
			return &program.ListLit{Items: items, Elem: &program.Type{Kind: program.IntType}}
		}
		return &program.DictLit{Keys: items[:1], Values: items[1:]}
	}
	if n, ok := strings.CutPrefix(a, "scalar"); ok { // a tensor without dimensions of the archive's
		k, err := strconv.ParseInt(n, 10, 64)
		require.NoError(r.t, err)
		return &program.State{Name: a, Meta: tensor.Meta{DType: tensor.Int64}, Data: &tensor.Data{Ints: []int64{k}}}
	}
	if n, err := strconv.ParseInt(a, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(a, 64); err == nil {
		return f
	}
	require.True(r.t, strings.HasPrefix(a, "'"), a)
	return strings.Trim(a, "'")
}

// module is the one of a name: attributes reported, one that is None, one that may be.
func (r *reader) module(name string) *module {
	m := r.k.modules[name]
	if m == nil {
		m = &module{name: name, attrs: map[string]any{"training": false},
			class: &program.Class{Name: name, Kind: program.ModuleClass, Attrs: []program.Attr{
				{Name: "training", Type: &program.Type{Kind: program.BoolType}},
				{Name: "nothing", Type: &program.Type{Kind: program.NoneType}},
				{Name: "perhaps", Type: &program.Type{Kind: program.OptionalType, Elems: []*program.Type{{Kind: program.IntType}}}},
				{Name: "untyped"},
				{Name: "bias", Type: &program.Type{Kind: program.OptionalType, Elems: []*program.Type{{Kind: program.TensorType}}}},
			}}}
		r.k.modules[name] = m
	}
	return m
}

func (g *Graph) String() string {
	p := &printer{names: map[int]string{}, taken: map[string]bool{}}
	params := make([]string, len(g.Params))
	for i, v := range g.Params {
		params[i] = p.value(v)
	}
	p.line("", strings.Join(params, ", "))
	p.block(g.Body, "")
	return p.String()
}

type printer struct {
	strings.Builder
	names map[int]string
	taken map[string]bool
}

func (p *printer) line(indent, s string) { fmt.Fprintf(p, "%s%s\n", indent, s) }

func (p *printer) value(v *program.Value) string {
	if n, ok := p.names[v.ID]; ok {
		return n
	}
	name := v.Name
	for name == "" || p.taken[name] {
		name += "%" + strconv.Itoa(v.ID)
	}
	p.names[v.ID], p.taken[name] = name, true
	return name
}

func (p *printer) args(args []program.Arg) string {
	out := make([]string, len(args))
	for i := range args {
		a := &args[i]
		if a.Value != nil {
			out[i] = p.value(a.Value)
		} else {
			out[i] = constant(a.Const)
		}
		if a.Name != "" {
			out[i] = a.Name + "=" + out[i]
		}
	}
	return strings.Join(out, ", ")
}

func (p *printer) block(b *program.Block, indent string) {
	for _, n := range b.Nodes {
		outs := make([]string, len(n.Outs))
		for i, v := range n.Outs {
			outs[i] = p.value(v)
		}
		s := n.Op
		if n.Text != "" {
			s += "[" + n.Text + "]"
		}
		s += "(" + p.args(n.Args) + ")"
		if len(outs) > 0 {
			s = strings.Join(outs, ", ") + " = " + s
		}
		p.line(indent, s)
		for i, sub := range n.Blocks {
			word := [...]string{"then", "else"}[i]
			if n.Op == "prim::Loop" {
				word = "do"
			}
			for i, v := range sub.Params {
				word += [...]string{" ", ", "}[min(i, 1)] + p.value(v)
			}
			p.line(indent+"  ", word)
			p.block(sub, indent+"    ")
			p.line(indent+"    ", strings.TrimSpace("-> "+p.args(sub.Outs)))
		}
	}
}

func constant(v any) string {
	items := func(vs []any) string {
		out := make([]string, len(vs))
		for i, v := range vs {
			out[i] = constant(v)
		}
		return strings.Join(out, ", ")
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return "'" + v + "'"
	case *module:
		return "@" + v.name
	case *program.State:
		return v.Name
	case *tensor.Tensor:
		return fmt.Sprintf("tensor%v", v.Sizes)
	case *program.ListLit:
		return "[" + strings.ReplaceAll(items(v.Items), ", ", ";") + "]"
	case *program.DictLit:
		return "{" + items(v.Keys) + ";" + items(v.Values) + "}"
	case *ops.List:
		return "[" + items(v.Items) + "]"
	case *ops.Tuple:
		return "(" + items(v.Items) + ")"
	case float64:
		if s := fmt.Sprint(v); strings.Contains(s, ".") {
			return s
		}
		return fmt.Sprint(v) + ".0"
	}
	return fmt.Sprint(v)
}
