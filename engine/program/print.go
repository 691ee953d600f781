package program

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write prints p as text: what it is, its state, and every function, in the order of the archive. It lowers every body; one that cannot be
// lowered is the error.
func Write(w io.Writer, p *Program) error {
	b := bufio.NewWriter(w)
	pr := printer{w: b}
	pr.f("program %s, %s", p.Format, p.Kind)
	if p.Producer != "" {
		pr.f(", %s", p.Producer)
	}
	pr.f("\n")
	for _, n := range p.Notes {
		pr.f("note %s\n", n)
	}
	for _, s := range p.States {
		pr.f("state %s %s %s storage %d %d B\n", s.Class, s.Name, metaText(s), s.Storage, s.NBytes)
	}
	for _, m := range p.Modules {
		pr.f("module %s %s\n", strconv.Quote(m.FQN), m.Object.Class.Name)
	}
	for _, c := range p.Classes {
		pr.class(c)
	}
	for _, f := range functions(p) {
		if err := pr.function(f); err != nil {
			return err
		}
	}
	return b.Flush()
}

// functions are the entry first, then every method by class, then free functions as they are called.
func functions(p *Program) []*Func {
	seen := map[*Func]bool{}
	var out []*Func
	add := func(f *Func) {
		if f != nil && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	add(p.Entry)
	for _, c := range p.Classes {
		for _, m := range c.Methods {
			add(m)
		}
	}
	for i := 0; i < len(out); i++ {
		if g, err := out[i].Graph(); err == nil {
			eachNode(g.Body, func(n *Node) { add(n.Callee) })
		}
	}
	return out
}

func eachNode(b *Block, f func(*Node)) {
	for _, n := range b.Nodes {
		f(n)
		for _, inner := range n.Blocks {
			eachNode(inner, f)
		}
	}
}

type printer struct {
	w     *bufio.Writer
	depth int
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) line(format string, args ...any) {
	p.w.WriteString(strings.Repeat("  ", p.depth))
	p.f(format+"\n", args...)
}

func metaText(s *State) string {
	m := &s.Meta
	dims := make([]string, len(m.Sizes))
	for i, d := range m.Sizes {
		dims[i] = strconv.FormatInt(d, 10)
	}
	t := m.DType.String() + "[" + strings.Join(dims, ",") + "]"
	if !m.IsContiguous() {
		t += fmt.Sprintf(" strides %v", m.Strides)
	}
	if m.StorageOffset != 0 {
		t += fmt.Sprintf(" offset %d", m.StorageOffset)
	}
	return t
}

var classKinds = [...]string{"class", "module class", "named tuple", "enum", "interface"}

func (p *printer) class(c *Class) {
	p.f("%s %s\n", classKinds[c.Kind], c.Name)
	for _, a := range c.Attrs {
		p.f("  %s: %s", a.Name, a.Type)
		if a.HasDef {
			p.f(" = %s", literal(a.Default))
		}
		p.f("\n")
	}
}

func (p *printer) function(f *Func) error {
	g, err := f.Graph()
	if err != nil {
		return err
	}
	params := make([]string, len(g.Params))
	for i, v := range g.Params {
		params[i] = declared(v)
		if i < len(f.Params) && f.Params[i].HasDef {
			params[i] += " = " + literal(f.Params[i].Default)
		}
	}
	p.f("func %s(%s) -> %s\n", f.Name, strings.Join(params, ", "), f.Result)
	p.depth = 1
	p.block(g.Body)
	p.depth = 0
	return nil
}

func (p *printer) block(b *Block) {
	for _, n := range b.Nodes {
		p.node(n)
	}
}

func (p *printer) node(n *Node) {
	var b strings.Builder
	for i, v := range n.Outs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(declared(v))
	}
	if len(n.Outs) > 0 {
		b.WriteString(" = ")
	}
	b.WriteString(n.Op)
	if what := nodeText(n); what != "" {
		b.WriteString("[" + what + "]")
	}
	b.WriteString("(" + argsText(n.Args) + ")")
	if pos := n.Src.Pos(); pos.File != "" {
		fmt.Fprintf(&b, "  # %s:%d", pos.File, pos.Line)
	}
	p.line("%s", b.String())
	for i, inner := range n.Blocks {
		params := make([]string, len(inner.Params))
		for j, v := range inner.Params {
			params[j] = declared(v)
		}
		p.line("block %d(%s):", i, strings.Join(params, ", "))
		p.depth++
		p.block(inner)
		p.line("-> (%s)", argsText(inner.Outs))
		p.depth--
	}
}

// nodeText is what a node says besides its arguments.
func nodeText(n *Node) string {
	var parts []string
	if n.Text != "" {
		parts = append(parts, n.Text)
	}
	if n.Callee != nil {
		parts = append(parts, n.Callee.Name)
	}
	if n.Class != nil {
		parts = append(parts, n.Class.Name)
	}
	for _, t := range n.Types {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, " ")
}

func argsText(args []Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		if a.Value != nil {
			parts[i] = a.Value.String()
		} else {
			parts[i] = literal(a.Const)
		}
		if a.Name != "" {
			parts[i] = a.Name + "=" + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// String is %name.id, or %id for a value the archive does not name.
func (v *Value) String() string {
	if v.Name == "" {
		return "%" + strconv.Itoa(v.ID)
	}
	return "%" + v.Name + "." + strconv.Itoa(v.ID)
}

func declared(v *Value) string {
	if v.Type == nil {
		return v.String()
	}
	return v.String() + ": " + v.Type.String()
}

// literal prints a literal value the way Python would, as far as Python has one.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return strconv.Quote(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return s
	case Device:
		return "device(" + strconv.Quote(string(v)) + ")"
	case *State:
		return "state(" + v.Name + ")"
	case *Object:
		return "object(" + strings.TrimSpace(v.FQN+" "+v.Class.Name) + ")"
	case *ListLit:
		return "[" + literals(v.Items) + "]"
	case *TupleLit:
		if v.Class != nil {
			return v.Class.Name + "(" + literals(v.Items) + ")"
		}
		return "(" + literals(v.Items) + ")"
	case *DictLit:
		parts := make([]string, len(v.Keys))
		for i := range v.Keys {
			parts[i] = literal(v.Keys[i]) + ": " + literal(v.Values[i])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case EnumLit:
		return v.Class.Name + "." + v.Name
	case *Opaque:
		return "opaque(" + v.Class + ")"
	}
	return fmt.Sprint(v)
}

func literals(vs []any) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = literal(v)
	}
	return strings.Join(parts, ", ")
}
